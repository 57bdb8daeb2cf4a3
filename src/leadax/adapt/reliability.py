"""Whether the forecasts of a new environment can be trusted: checks that need no further data."""

import jax
import numpy as np

from ..data import Trajectories
from ..methods.mixture import Mixture
from ..model import Model
from ..records import Reliability
from .schemes import states_of

STARTS, TIMES = 48, 25
NEAR = 0.3  # standard deviation of the starts around the data, in standard units
LARGEST_ERROR = 0.1  # of what was held out, as a part of the variance of the data that the model was trained on
UNLIKE = 4.0  # standard deviations of the known environments


def examine(new: Model, known: Model, data: Trajectories, held_out: float | str) -> Reliability:
    """Look for reasons not to trust a model of new environments.

    **Arguments**

    - `known`: the model that it was adapted from; `data`: what it learnt from;
    - `held_out`: its error on data that were held out, in standard units; or why nothing was.
    """
    faults = [fault for fault in (_wrong(held_out), _unlike(new), _runs_away(new, known, data)) if fault]
    if faults:
        return Reliability(False, "; ".join(faults))
    return Reliability(True, f"the held-out part was forecast with an error of {held_out:.2g} of the variance")


def _wrong(held_out: float | str) -> str:
    if isinstance(held_out, str):
        return f"{held_out}, so its forecasts are untested"
    if not held_out <= LARGEST_ERROR:
        return f"the error on the held-out part is {held_out:.2g} of the variance"
    return ""


def _unlike(new: Model) -> str:
    if not isinstance(new.method, Mixture):
        return ""
    furthest = float(np.abs(np.asarray(new.levels.specific)).max())
    if furthest <= UNLIKE:
        return ""
    return f"it is unlike any known environment ({furthest:.2g} standard deviations away from their mean)"


def _runs_away(new: Model, known: Model, data: Trajectories) -> str:
    """Forecasts from states near the data should stay near them; at least as well as in known environments.

    Where inputs act, forecasts from other states under the same inputs say little: nothing is checked.
    """
    if new.layout.inputs:
        return ""
    usual = max(_leaving(known, data, data.environments[0], name) for name in known.environments[:16])
    for name in data.environments:
        share = _leaving(new, data, name, name)
        if share > usual + 0.1:
            return f"{share:.0%} of its forecasts from states near the data in `{name}` leave their region"
    return ""


def _leaving(model: Model, data: Trajectories, starts_from: str, environment: str) -> float:
    """The share of forecasts, from states near those of the data, that leave twice the region of the data."""
    own = data.select(starts_from)
    states = states_of(model, own)
    keys = jax.random.split(jax.random.key(0))
    picked = states[np.asarray(jax.random.randint(keys[0], (STARTS,), 0, len(states)))]
    shape = picked.shape if picked.ndim == 2 else (STARTS, *(1,) * (picked.ndim - 1))
    starts = picked + NEAR * np.asarray(jax.random.normal(keys[1], shape))
    last = float(np.nanmax(own.times) - np.nanmin(own.times))
    times = np.linspace(0, last, TIMES)
    members = np.asarray(model.predict(model.units.raw(starts), times, environment=environment).members, float)
    forecast = model.units.standard(members)
    axes = tuple(range(states.ndim - 1))
    low, high = np.minimum(states.min(axis=axes), -2.0), np.maximum(states.max(axis=axes), 2.0)
    margin = high - low
    out = ~((forecast > low - margin) & (forecast < high + margin))
    return float(np.any(out, axis=tuple(range(2, out.ndim))).mean())
