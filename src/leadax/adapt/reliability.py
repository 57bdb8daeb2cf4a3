"""Whether the forecasts of a new environment can be trusted: checks that need no further data."""

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ..arrays import on_device
from ..data import Trajectories
from ..methods import Levels, Method
from ..methods.prepare import numbers_as_arrays
from ..model import Model
from ..records import Reliability
from .schemes import points_around, states_of
from .trial import divided

STARTS, TIMES = 48, 25
NEAR = 0.3  # standard deviation of the starts around the data, in standard units
FAR = 0.5  # ranges of the data beyond which a forecast has left them
LARGEST_ERROR = 0.1  # of what was held out, as a part of the variance of the data that the model was trained on
# How far the field of a new environment is from the mean of the known ones, compared with the furthest of these. Beyond
# the first number it extrapolates, and must forecast what was held out ten times better; beyond the second it is of
# another kind.
OUTSIDE, UNLIKE = 1.1, 3.0
STRICTER = 0.1


def examine(new: Model, known: Model, data: Trajectories, held_out: float | str) -> Reliability:
    """Look for reasons not to trust a model of new environments.

    **Arguments**

    - `known`: the model that it was adapted from; `data`: what it learnt from;
    - `held_out`: its error on data that were held out, in standard units; or why nothing was.
    """
    distance = _distance(new, known, data)
    faults = (_wrong(held_out, distance, _moving(known, data)), _unlike(distance), _runs_away(new, known, data))
    if any(faults):
        return Reliability(False, "; ".join(filter(None, faults)))
    return Reliability(True, f"the held-out part was forecast with an error of {held_out:.2g} of the variance")


def _moving(known: Model, data: Trajectories) -> float:
    """How much the held-out part differs from the mean of the rest, at most 1: what a forecast of it should explain."""
    parts = divided(data)
    if parts is None:
        return 1.0
    past, future = (known.units.standard(part.states) for part in parts)
    axes, seen = tuple(range(past.ndim - 1)), np.isfinite(past)
    mean = np.sum(np.where(seen, past, 0.0), axis=axes) / np.maximum(seen.sum(axis=axes), 1)
    return min(1.0, float(np.nanmean((future - mean) ** 2)))


def _wrong(held_out: float | str, distance: float, moving: float) -> str:
    if isinstance(held_out, str):
        return f"{held_out}, so its forecasts are untested"
    error = f"the error on the held-out part is {held_out:.2g} of the variance"
    if not held_out <= LARGEST_ERROR:
        return f"{error} (at most {LARGEST_ERROR:g} is trusted)"
    if not held_out <= LARGEST_ERROR * moving:
        return f"{error}, that of the mean of the rest {moving:.2g}"
    if distance > OUTSIDE and held_out > STRICTER * LARGEST_ERROR:
        return (
            f"it lies outside the known environments, and the error on the held-out part is {held_out:.2g} of the "
            f"variance (at most {STRICTER * LARGEST_ERROR:g} is trusted there)"
        )
    return ""


def _unlike(distance: float) -> str:
    if distance <= UNLIKE:
        return ""
    return f"it is unlike any known environment ({distance:.2g} times as far from their mean as the furthest of them)"


def _distance(new: Model, known: Model, data: Trajectories) -> float:
    """How far new fields are from the mean of the known ones near the data; 1 for the furthest known one.

    0 where that says nothing: a method without a vector field, or a single known environment.
    """
    if len(known.environments) < 2 or not (known.has_field and new.has_field):
        return 0.0
    states, inputs = points_around(states_of(known, data), known.layout, jax.random.key(0))
    fields = _fields_at(known, states, inputs)
    mean = fields.mean(axis=0)
    size = lambda field: float(np.sqrt(np.mean((field - mean) ** 2)))
    furthest = max(size(field) for field in fields)
    found = max(size(field) for field in _fields_at(new, states, inputs))
    return found / furthest if furthest > 0 else 0.0


def _fields_at(model: Model, states: np.ndarray, inputs: np.ndarray | None) -> np.ndarray:
    """f + g_e of each environment at some states, in standard units, the mean over members."""
    method = numbers_as_arrays(model.method, model.dtype)
    points = on_device(states, model.dtype), None if inputs is None else on_device(inputs, model.dtype)
    found = _tangents(method, model.levels._replace(local=()), len(model.environments), *points)
    return np.asarray(found).mean(axis=0)


@eqx.filter_jit
def _tangents(method: Method, levels: Levels, environments: int, states: Array, inputs: Array | None) -> Array:
    now = jnp.zeros((), states.dtype)

    def environment(shared: PyTree, specific: PyTree) -> Array:
        fields = method.split(shared, specific)
        assert fields is not None, "`has_field` was asked"
        return jax.vmap(lambda x, u: fields[0](now, x, u) + fields[1](now, x, u))(states, inputs)

    # Where nothing is specific, nothing else says how many environments there are.
    each = lambda levels: jax.vmap(partial(environment, levels.shared), axis_size=environments)(levels.specific)
    return jax.vmap(each)(levels)


class _Trial(NamedTuple):
    """Forecasts that should stay in a region: their starts, in standard units, how long they are, and the region."""

    starts: np.ndarray
    length: float
    low: np.ndarray
    high: np.ndarray
    where: str


def _runs_away(new: Model, known: Model, data: Trajectories) -> str:
    """Forecasts from near the data, and from where known data are, should stay there as well as in known environments.

    Where inputs act, forecasts from other states under the same inputs say little: nothing is checked.
    """
    if new.layout.inputs:
        return ""
    for name in data.environments:
        for trial in _trials(known, data.select(name)):
            usual = max(_leaving(known, trial, other) for other in known.environments[:16])
            share = _leaving(new, trial, name)
            if share > usual + 0.1:
                return f"{share:.0%} of its forecasts from states {trial.where} in `{name}` leave their region"
    return ""


def _trials(known: Model, data: Trajectories) -> Iterator[_Trial]:
    """From states near those of the data; and from anywhere between those that the known model was trained on."""
    states, length = states_of(known, data), float(np.nanmax(data.times) - np.nanmin(data.times))
    keys = jax.random.split(jax.random.key(0))
    picked = states[np.asarray(jax.random.randint(keys[0], (STARTS,), 0, len(states)))]
    shape = picked.shape if picked.ndim == 2 else (STARTS, *(1,) * (picked.ndim - 1))
    axes = tuple(range(states.ndim - 1))
    low, high = np.minimum(states.min(axis=axes), -2.0), np.maximum(states.max(axis=axes), 2.0)
    yield _Trial(picked + NEAR * np.asarray(jax.random.normal(keys[1], shape)), length, low, high, "near the data")
    if known.box is not None and not data.space:
        low, high = np.asarray(known.box.low) + known.box.range, np.asarray(known.box.high) - known.box.range
        between = low + (high - low) * np.asarray(jax.random.uniform(keys[0], (STARTS, len(low))))
        yield _Trial(between, length, low, high, "between the known data")


def _leaving(model: Model, trial: _Trial, environment: str) -> float:
    """The share of forecasts that get half a range beyond their region.

    The box around the data keeps them from getting much further.
    """
    times = np.linspace(0, trial.length, TIMES)
    members = model.predict(model.units.raw(trial.starts), times, environment=environment).members
    forecast = model.units.standard(np.asarray(members, float))
    margin = FAR * (trial.high - trial.low)
    out = ~((forecast > trial.low - margin) & (forecast < trial.high + margin))
    return float(np.any(out, axis=tuple(range(2, out.ndim))).mean())
