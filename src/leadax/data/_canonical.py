"""Convert trajectories to one canonical form: float64, padded at the end with NaN, read-only, and checked.

The same data give the same arrays, whatever file they came from, and so the same fingerprint.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, SupportsIndex

import numpy as np

from .._memory import check_fits
from ..errors import InputError

AXES = "(environment, trajectory, time, …, {})"
LAST = {"states": "channel", "inputs": "input"}


def dense(times: Any, values: Any, what: str = "states") -> tuple[np.ndarray, np.ndarray]:
    """Full arrays of times and of states (or `what` they are), from arrays or nested lists `[environment][trajectory]`.

    Nested lists are padded with NaN. Times of shape `(time,)` are broadcast to all trajectories.
    """
    if not isinstance(values, np.ndarray) and is_nested(values):
        return _pad_nested(times, values, what)
    values, times = _float_array(what, values), _float_array("times", times)
    if values.ndim < 4:
        raise InputError(
            f"`{what}` must have the axes {AXES.format(LAST[what])}, got shape {values.shape}: "
            f"add the missing axes, for example with `{what}[..., None]` for a single {LAST[what]}"
        )
    if times.ndim == 1 and len(times) == values.shape[2]:
        times = np.broadcast_to(times, values.shape[:3])
    if times.shape != values.shape[:3]:
        raise InputError(
            f"`times` and `{what}` differ in length: `times` has shape {times.shape}, expected {values.shape[2:3]} or "
            f"{values.shape[:3]} to match `{what}` of shape {values.shape}"
        )
    return times, values


def pack(
    times: np.ndarray, states: np.ndarray, inputs: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Move empty trajectories to the end of their environment, remove unused padding, and pad with NaN only."""
    times, states = dense(times, states)
    if states.size == 0:
        axes = AXES.format(LAST["states"])
        raise InputError(f"`states` is empty (shape {states.shape}): each axis of {axes} needs at least one entry")
    check_finite("states", states)
    seen = observed_points(states)
    real = np.asarray(seen.any(axis=2))
    times = np.where(real[:, :, None], times, np.nan)
    # A value without a time counts as used, so that `check` reports it. Otherwise it would be removed silently.
    used = (~np.isnan(times)).any(axis=(0, 1)) | seen.any(axis=(0, 1))
    if inputs is not None:
        check_finite("inputs", inputs)
        inputs = np.where(real.reshape(*real.shape, *(1,) * (inputs.ndim - 2)), inputs, np.nan)
        used = used | observed_points(inputs).any(axis=(0, 1))
    order = np.argsort(~real, axis=1, kind="stable")
    in_order = np.array_equal(order, np.broadcast_to(np.arange(order.shape[1]), order.shape))
    width = max(int(real.sum(axis=1).max()), 1)
    length = max(int((used * np.arange(1, times.shape[2] + 1)).max()), 1)

    def packed(array: np.ndarray) -> np.ndarray:
        if not in_order:
            array = np.take_along_axis(array, order.reshape(order.shape + (1,) * (array.ndim - 2)), axis=1)
        return _read_only(array[:, :width, :length])

    return packed(times), packed(states), None if inputs is None else packed(inputs)


def check(
    times: np.ndarray,
    states: np.ndarray,
    inputs: np.ndarray | None,
    environments: Sequence[str],
    names: Sequence[Sequence[str]] | None,
) -> None:
    """Raise `InputError` unless the packed arrays are valid trajectories; `names` are those of the trajectories."""
    where = lambda e, i: f"trajectory {i if names is None else f'`{names[e][i]}`'} of environment `{environments[e]}`"
    if np.isnan(states).all():
        raise InputError("`states` has no observed value: all values are NaN")
    present = ~np.isnan(times)
    for e in np.flatnonzero(~present.any(axis=(1, 2))):
        raise InputError(f"environment `{environments[int(e)]}` has no trajectory with an observed value: remove it")
    _check_times(times, present, where)
    seen = observed_points(states)
    for what, given in (("a state", seen), *([] if inputs is None else [("an input", observed_points(inputs))])):
        for e, i, k in np.argwhere(given & ~present)[:1]:
            raise InputError(f"{where(e, i)}: point {k} has {what} but no time")
    # One state is enough: times without any say what is to be forecast from it. Training asks for more.
    for e, i in np.argwhere(present.sum(axis=2) == 1)[:1]:
        do = "remove it, or add a row with a later time and empty cells to forecast from it"
        raise InputError(f"{where(e, i)} has 1 point: at least 2 are needed; {do}")


def unique_names(what: str, given: Sequence[str], count: int) -> tuple[str, ...]:
    """The given names as strings; there must be `count` of them, all different."""
    found = tuple(str(name) for name in given)
    if len(found) != count:
        raise InputError(f"`{what}` must have {count} names, got {len(found)}")
    if len(set(found)) != count:
        repeated = next(name for name in found if found.count(name) > 1)
        raise InputError(f"`{what}` must be unique, but `{repeated}` occurs more than once")
    return found


def environment_parameters(given: Mapping[str, Any], count: int) -> Mapping[str, np.ndarray]:
    """The parameters, sorted by name and read-only; each must have one number for each of `count` environments."""
    found = {}
    for name in sorted(given):
        values = _float_array(f"parameters[{name!r}]", given[name])
        if values.shape != (count,):
            raise InputError(
                f"parameter `{name}` must have one number per environment ({count}), got shape {values.shape}"
            )
        found[str(name)] = _read_only(values)
    return MappingProxyType(found)


def trajectory_positions(
    index: int | np.integer | slice | Sequence[int] | np.ndarray, count: SupportsIndex, environment: str
) -> Sequence[int]:
    """The positions of the trajectories that an index selects, in an environment that has `count` of them."""
    count = int(count)
    if isinstance(index, slice):
        return range(count)[index]
    chosen = [index] if isinstance(index, int | np.integer) else list(index)
    if any(isinstance(i, bool | np.bool_) for i in chosen):
        raise InputError("trajectories are selected by position, not by a mask: use `np.flatnonzero(mask)`")
    for i in chosen:
        if not -count <= i < count:
            raise InputError(f"no trajectory number {i} in environment `{environment}`: it has {count}, counted from 0")
    return [int(i) % count for i in chosen]


def check_fractions(fractions: Sequence[float]) -> None:
    """Raise `InputError` unless the fractions are positive and add up to 1."""
    if len(fractions) == 0 or min(fractions) <= 0 or abs(sum(fractions) - 1) > 1e-9:
        raise InputError(f"`fractions` must be positive and add up to 1, got {tuple(fractions)}")


def divide(order: np.ndarray, fractions: Sequence[float], environment: str) -> list[list[int]]:
    """Divide shuffled positions into parts of about these fractions, each with at least one."""
    check_fractions(fractions)
    if len(order) < len(fractions):
        raise InputError(
            f"environment `{environment}` has {len(order)} trajectories, too few for {len(fractions)} parts: "
            "split into fewer parts, or along time with `split_times`"
        )
    sizes = np.maximum(1, np.floor(np.asarray(fractions) * len(order) + 1e-9).astype(int))
    while sizes.sum() != len(order):
        # Move one trajectory to or from the part that is furthest from its fraction. The first part, usually the
        # training data, wins ties.
        gap = np.asarray(fractions) * len(order) - sizes
        movable = np.where((sizes > 1) | (sizes.sum() < len(order)), gap, np.inf)
        sizes[np.argmax(gap) if sizes.sum() < len(order) else np.argmin(movable)] += np.sign(len(order) - sizes.sum())
    return [np.sort(part).tolist() for part in np.split(order, np.cumsum(sizes)[:-1])]


def check_finite(what: str, values: np.ndarray, place: tuple[int, ...] = ()) -> None:
    """Raise `InputError` if a value is infinite; `place`: the leading positions, where `values` are only a part."""
    infinite = np.isinf(values)
    if infinite.any():
        e, i, k = (*place, *np.argwhere(infinite)[0])[:3]
        raise InputError(
            f"`{what}` has an infinite value in environment number {e}, trajectory {i}, point {k}: "
            "use NaN for missing values"
        )


def _check_times(times: np.ndarray, present: np.ndarray, where: Callable[[Any, Any], str]) -> None:
    if np.isinf(times).any():
        e, i, _ = np.argwhere(np.isinf(times))[0]
        raise InputError(f"{where(e, i)} has an infinite time")
    for e, i, k in np.argwhere(present[..., 1:] & ~present[..., :-1])[:1]:
        raise InputError(f"{where(e, i)} has no time before point {k + 1}: every point needs one")
    for e, i, k in np.argwhere(present[..., 1:] & ~(times[..., 1:] > times[..., :-1]))[:1]:
        a, b = times[e, i, k : k + 2]
        raise InputError(f"times must increase: {where(e, i)} has {b:g} after {a:g} (point {k + 1})")


def observed_points(values: np.ndarray) -> np.ndarray:
    """Which points `(env, traj, time)` have at least one value that is not NaN."""
    missing = np.isnan(values)
    if not missing.any():  # ten times faster than the reduction below, which runs over short axes
        return np.ones(values.shape[:3], bool)
    return np.asarray(~missing.all(axis=tuple(range(3, values.ndim))))


def observed_positions(states: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Where the observed points of these ranks, counted from 0, stand in each trajectory; `ranks`: `(env, traj, n)`."""
    counts = np.cumsum(observed_points(states), axis=2)
    return np.argmax(counts[:, :, None, :] > ranks[..., None], axis=-1)


def is_nested(value: Any) -> bool:
    """Whether a value is a list of lists: one for each environment, with its trajectories."""
    return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(item, list | tuple) for item in value)


def flat(times: Any, values: Any, what: str) -> list[tuple[int, int, np.ndarray, np.ndarray]]:
    """Environment, trajectory, times and values of each trajectory in nested lists; their shapes must agree."""
    if not (is_nested(times) and [len(t) for t in times] == [len(x) for x in values]):
        raise InputError(
            f"`times` must be nested in the same way as `{what}`: `times[environment][trajectory]` holds the times "
            "of one trajectory"
        )
    flat = [(e, i, _float_array("times", t), _float_array(what, x)) for e, i, t, x in _pairs(times, values)]
    if not flat:
        raise InputError(f"`{what}` has no trajectories")
    shape = flat[0][3].shape[1:]
    for e, i, t, x in flat:
        if t.ndim != 1 or x.ndim < 2 or x.shape[1:] != shape or len(t) != len(x):
            raise InputError(
                f"trajectory {i} of environment number {e}: `times` has shape {t.shape} and `{what}` {x.shape}, "
                f"expected (time,) and (time, {', '.join(map(str, shape))}) with the same number of times"
            )
    return flat


def _pad_nested(times: Any, values: Any, what: str) -> tuple[np.ndarray, np.ndarray]:
    found = flat(times, values, what)
    shape = found[0][3].shape[1:]
    size = (len(values), max(len(row) for row in values), max(len(t) for _, _, t, _ in found))
    check_padding(size, sum(len(t) for _, _, t, _ in found), math.prod(shape))
    dense_times, dense_values = np.full(size, np.nan), np.full(size + shape, np.nan)
    for e, i, t, x in found:
        dense_times[e, i, : len(t)], dense_values[e, i, : len(t)] = t, x
    return dense_times, dense_values


def check_padding(size: tuple[int, int, int], points: int, values: int) -> None:
    """An `InputError` before so many `(environments, trajectories, points)` are padded to, if they do not fit.

    - `points`: how many there are without padding; `values`: of each point.
    """
    environments, trajectories, longest = size
    check_fits(
        f"an array of {environments} environments × {trajectories} trajectories × {longest} points, to which {points} "
        "points are padded,",
        8 * math.prod(size) * (1 + values),
        "leave out the longest trajectories, or the environment with the most, or divide the data",
    )


def _pairs(times: Any, values: Any) -> Iterator[tuple[int, int, Any, Any]]:
    for e, (t_row, x_row) in enumerate(zip(times, values, strict=True)):
        for i, (t, x) in enumerate(zip(t_row, x_row, strict=True)):
            yield e, i, t, x


def _float_array(what: str, value: Any) -> np.ndarray:
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"`{what}` must be a regular array of numbers: {error}") from error


def _read_only(array: np.ndarray) -> np.ndarray:
    array = np.array(array, np.float64, order="C")
    # NaN has many bit patterns; use one of them, so that fingerprints agree.
    array[np.isnan(array)] = np.nan
    array.setflags(write=False)
    return array
