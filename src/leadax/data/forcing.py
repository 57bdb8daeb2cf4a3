"""What acts on trajectories from outside: inputs, covariates and impulses, in standard units."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ..errors import InputError
from .input_series import check_ends, filled
from .layout import IMPULSE, Layout
from .trajectories import Trajectories
from .units import Units


class Forcing(NamedTuple):
    """What acts along trajectories. A solver divides it among its steps.

    - `first`, `last`: the inputs at the start and the end of each interval between points, linear in between;
    - `impulses`: what is added to each channel of the state at each point, after it was observed.

    Each is None where there is nothing of the kind.
    """

    first: Float[np.ndarray, "..."] | None = None
    last: Float[np.ndarray, "..."] | None = None
    impulses: Float[np.ndarray, "*batch time channel"] | None = None


class Driving(NamedTuple):
    """What acts at the points of a data set.

    - `values`: of inputs and covariates, in standard units; `held`: which keep their value until the next point;
    - `impulses`: what is added to each channel of the state, in standard units.
    """

    values: Float[np.ndarray, "env traj time *input"] | None
    held: Bool[np.ndarray, " input"]
    impulses: Float[np.ndarray, "env traj time channel"] | None

    def forcing(self) -> Forcing:
        """The same for the intervals between points."""
        if self.values is None:
            return Forcing(impulses=self.impulses)
        first, following = self.values[:, :, :-1], self.values[:, :, 1:]
        held = np.broadcast_to(self.held, first.shape)
        return Forcing(first, np.where(held, first, following), self.impulses)


def driving(data: Trajectories, units: Units, layout: Layout) -> Driving | None:
    """What acts on a data set by a model's layout; None for nothing. `InputError` if something is missing."""
    if not layout.inputs and not layout.covariates:
        return None
    if layout.inputs:
        check_ends(data)
    return _driving(filled(data) if layout.inputs else None, raw_inputs(data, layout), units, layout)


def driving_at(
    times: Float[np.ndarray, " time"],
    inputs: Float[np.ndarray, "time *input"] | None,
    covariates: Mapping[str, Sequence[float]],
    units: Units,
    layout: Layout,
) -> Driving | None:
    """The same for one trajectory that is not observed, only forecast."""
    if not layout.inputs and not layout.covariates:
        return None
    states = np.zeros((1, 1, len(times), len(layout.channels)))
    data = Trajectories.from_arrays(
        times,
        states,
        channels=layout.channels,
        parameters={name: np.asarray(values, float) for name, values in covariates.items()},
        inputs=None if inputs is None else inputs[None, None],
        input_names=layout.inputs or None,
        input_kinds=layout.kinds or None,
    )
    return driving(data, units, layout)


def _driving(series: np.ndarray | None, values: np.ndarray | None, units: Units, layout: Layout) -> Driving:
    kinds = [kind for kind in layout.kinds if not kind.startswith(IMPULSE)]
    held = np.array([kind == "held" for kind in kinds] + [True] * len(layout.covariates), bool)
    standard = None if values is None else units.standard_inputs(values)
    return Driving(standard, held, None if series is None else _impulses(series, units, layout))


def raw_inputs(data: Trajectories, layout: Layout) -> np.ndarray | None:
    """What a field sees of inputs and covariates at the points of a data set, in the units of the data."""
    parts: list[np.ndarray] = []
    kept = [i for i, kind in enumerate(layout.kinds) if not kind.startswith(IMPULSE)]
    if kept:
        parts.append(filled(data)[..., kept])
    if layout.covariates:
        constant = np.stack([_covariate(data, name) for name in layout.covariates], axis=-1)
        shape = parts[0].shape[:-1] if parts else data.times.shape
        spread = constant.reshape(len(constant), *(1,) * (len(shape) - 1), -1)
        parts.append(np.broadcast_to(spread, (*shape, constant.shape[-1])))
    return np.concatenate(parts, axis=-1) if parts else None


def hidden_scales(data: Trajectories, layout: Layout) -> tuple[float, ...]:
    """The root mean square dose that goes to each hidden channel, 1 for none; empty where none goes to any.

    Amounts of milligrams or of tonnes would otherwise be what nets compute with, and the prior of what is hidden.
    """
    first = len(layout.channels)
    found = [1.0] * layout.hidden
    kinds = [(i, kind) for i, kind in enumerate(layout.kinds) if kind.startswith(IMPULSE)]
    targets = [(i, layout.target(kind) - first) for i, kind in kinds if layout.target(kind) >= first]
    for i, channel in targets:
        doses = data.inputs[..., i] if data.inputs is not None else np.zeros(0)
        doses = doses[np.isfinite(doses) & (doses != 0)]
        found[channel] = float(np.sqrt(np.mean(doses**2))) if doses.size else 1.0
    return tuple(found) if targets else ()


def covariate_rows(data: Trajectories, layout: Layout) -> tuple[tuple[float, ...], ...]:
    """The covariates of each environment; empty where there are none."""
    if not layout.covariates:
        return ()
    columns = [_covariate(data, name).tolist() for name in layout.covariates]
    return tuple(zip(*columns, strict=True))


def check_inputs(data: Trajectories, layout: Layout) -> None:
    """An `InputError` unless data have the inputs and covariates that a model was trained with."""
    if (data.input_names, data.input_kinds) != (layout.inputs, layout.kinds):
        shown = lambda names, kinds: ", ".join(f"{n} ({k})" for n, k in zip(names, kinds, strict=True)) or "none"
        raise InputError(
            f"the data have other inputs, {shown(data.input_names, data.input_kinds)}, than the model was trained "
            f"with, {shown(layout.inputs, layout.kinds)}: name them with `--inputs`, in the same order"
        )
    for name in layout.covariates:
        _covariate(data, name)


def _covariate(data: Trajectories, name: str) -> np.ndarray:
    if name not in data.parameters:
        known = ", ".join(data.parameters) or "none"
        raise InputError(
            f"the data lack the covariate `{name}` of their environments, they have {known}: "
            "name its column with `--covariates`"
        )
    values = np.asarray(data.parameters[name], float)
    if not np.all(np.isfinite(values)):
        e = int(np.argmin(np.isfinite(values)))
        raise InputError(f"the covariate `{name}` of environment `{data.environments[e]}` is missing: fill it in")
    return values


def _impulses(series: np.ndarray, units: Units, layout: Layout) -> np.ndarray | None:
    """Amounts added to each channel of the state, in standard units."""
    scale = units.with_hidden(layout.hidden).scale
    found = [(i, layout.target(kind)) for i, kind in enumerate(layout.kinds) if kind.startswith(IMPULSE)]
    if not found:
        return None
    added = np.zeros((*series.shape[:3], len(layout.state)))
    for i, channel in found:
        added[..., channel] += series[..., i] / scale[channel]
    return added
