"""The one form that all trajectories take: padded at the end with NaN, float64, read-only, checked.

Data that mean the same get the same arrays here, whatever file they came from, so their fingerprints agree.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, SupportsIndex

import numpy as np

from ..errors import InputError

AXES = "(environment, trajectory, time, …, channel)"


def dense(times: Any, states: Any) -> tuple[np.ndarray, np.ndarray]:
    """Arrays as they are, or nested lists `[environment][trajectory]` padded with NaN; one time axis is spread."""
    if not isinstance(states, np.ndarray) and _is_nested(states):
        if not (_is_nested(times) and [len(t) for t in times] == [len(x) for x in states]):
            raise InputError("`times` must be nested like `states`: one list of times per environment and trajectory")
        return _pad_nested(times, states)
    states, times = _numbers("states", states), _numbers("times", times)
    if states.ndim < 4:
        raise InputError(
            f"`states` must have the axes {AXES}, got shape {states.shape}: "
            "add the missing axes, for instance `states[..., None]` for a single channel"
        )
    if times.ndim == 1 and len(times) == states.shape[2]:
        times = np.broadcast_to(times, states.shape[:3])
    if times.shape != states.shape[:3]:
        raise InputError(
            f"`times` and `states` differ in length: `times` has shape {times.shape}, expected "
            f"{states.shape[2:3]} or {states.shape[:3]} to match `states` {states.shape}"
        )
    return times, states


def pack(times: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Move real trajectories first in each environment, cut padding that nobody needs, make NaN the only padding."""
    times, states = dense(times, states)
    if states.size == 0:
        raise InputError(f"`states` is empty: shape {states.shape}; every axis of {AXES} needs at least one entry")
    _check_finite(states)
    seen = _seen(states)
    real = np.asarray(seen.any(axis=2))
    times = np.where(real[:, :, None], times, np.nan)
    order = np.argsort(~real, axis=1, kind="stable")
    if not np.array_equal(order, np.broadcast_to(np.arange(order.shape[1]), order.shape)):
        times = np.take_along_axis(times, order[:, :, None], axis=1)
        states = np.take_along_axis(states, order.reshape(order.shape + (1,) * (states.ndim - 2)), axis=1)
    width = max(int(real.sum(axis=1).max()), 1)
    # A state without a time counts as a point too, so that `check` sees it instead of it being cut off unnoticed.
    used = (~np.isnan(times)).any(axis=(0, 1)) | seen.any(axis=(0, 1))
    length = max(int((used * np.arange(1, times.shape[2] + 1)).max()), 1)
    return _frozen(times[:, :width, :length]), _frozen(states[:, :width, :length])


def check(times: np.ndarray, states: np.ndarray, environments: Sequence[str]) -> None:
    """Raise `InputError` unless the packed arrays are trajectories that one can learn from."""
    if np.isnan(states).all():
        raise InputError("`states` holds no observed value: all of it is NaN")
    present = ~np.isnan(times)
    for e in np.flatnonzero(~present.any(axis=(1, 2))):
        raise InputError(f"environment `{environments[int(e)]}` has no trajectory with an observed value: leave it out")
    _check_times(times, present, environments)
    seen = _seen(states)
    stray = seen & ~present
    for e, i, k in np.argwhere(stray)[:1]:
        raise InputError(f"{_where(environments, e, i)}: point {k} has a state but no time")
    too_short = present.any(axis=2) & (seen.sum(axis=2) < 2)
    for e, i in np.argwhere(too_short)[:1]:
        raise InputError(
            f"{_where(environments, e, i)} has {seen[e, i].sum()} observed point: at least 2 are needed, leave it out"
        )


def names(what: str, given: Sequence[str], count: int) -> tuple[str, ...]:
    """Names as text, one for each and no two alike."""
    found = tuple(str(name) for name in given)
    if len(found) != count:
        raise InputError(f"`{what}` must name all {count}, got {len(found)} names")
    if len(set(found)) != count:
        twice = next(name for name in found if found.count(name) > 1)
        raise InputError(f"`{what}` must differ from each other, `{twice}` is there twice")
    return found


def parameters(given: Mapping[str, Any], count: int) -> Mapping[str, np.ndarray]:
    """One number per environment and name, sorted by name, read-only."""
    found = {}
    for name in sorted(given):
        values = _numbers(f"parameters[{name!r}]", given[name])
        if values.shape != (count,):
            raise InputError(f"parameter `{name}` must have one number per environment ({count}), got {values.shape}")
        found[str(name)] = _frozen(values)
    return MappingProxyType(found)


def positions(
    index: int | np.integer | slice | Sequence[int] | np.ndarray, count: SupportsIndex, environment: str
) -> Sequence[int]:
    """The trajectories of one environment that an index means."""
    count = int(count)
    if isinstance(index, slice):
        return range(count)[index]
    chosen = [index] if isinstance(index, int | np.integer) else list(index)
    if any(isinstance(i, bool | np.bool_) for i in chosen):
        raise InputError("trajectories are chosen by position, not by a mask: use `np.flatnonzero(mask)`")
    for i in chosen:
        if not -count <= i < count:
            raise InputError(f"no trajectory number {i} in environment `{environment}`: it has {count}, from 0")
    return [int(i) % count for i in chosen]


def check_fractions(fractions: Sequence[float]) -> None:
    """Raise `InputError` unless the shares are positive and add up to 1."""
    if len(fractions) == 0 or min(fractions) <= 0 or abs(sum(fractions) - 1) > 1e-9:
        raise InputError(f"`fractions` must be positive and add up to 1, got {tuple(fractions)}")


def apportion(order: np.ndarray, fractions: Sequence[float], environment: str) -> list[list[int]]:
    """Cut a random order into parts; each gets its share to the nearest whole number, and at least one."""
    check_fractions(fractions)
    if len(order) < len(fractions):
        raise InputError(
            f"environment `{environment}` has {len(order)} trajectories: too few for {len(fractions)} parts; "
            "split fewer ways, or along time with `split_times`"
        )
    sizes = np.maximum(1, np.floor(np.asarray(fractions) * len(order) + 1e-9).astype(int))
    while sizes.sum() != len(order):
        # The part furthest from its share gives or takes one; ties go to the first part, the training data.
        gap = np.asarray(fractions) * len(order) - sizes
        movable = np.where((sizes > 1) | (sizes.sum() < len(order)), gap, np.inf)
        sizes[np.argmax(gap) if sizes.sum() < len(order) else np.argmin(movable)] += np.sign(len(order) - sizes.sum())
    return [np.sort(part).tolist() for part in np.split(order, np.cumsum(sizes)[:-1])]


def _check_finite(states: np.ndarray) -> None:
    infinite = np.isinf(states)
    if infinite.any():
        e, i, k = np.argwhere(infinite)[0][:3]
        raise InputError(
            f"`states` has an infinite value in environment number {e}, trajectory {i}, point {k}: "
            "mark missing values with NaN"
        )


def _check_times(times: np.ndarray, present: np.ndarray, environments: Sequence[str]) -> None:
    if np.isinf(times).any():
        e, i, _ = np.argwhere(np.isinf(times))[0]
        raise InputError(f"{_where(environments, e, i)} has an infinite time")
    for e, i, k in np.argwhere(present[..., 1:] & ~present[..., :-1])[:1]:
        raise InputError(f"{_where(environments, e, i)} has a missing time before point {k + 1}: every point needs one")
    for e, i, k in np.argwhere(present[..., 1:] & ~(times[..., 1:] > times[..., :-1]))[:1]:
        a, b = times[e, i, k : k + 2]
        raise InputError(f"times must increase: {_where(environments, e, i)} has {b:g} after {a:g} (point {k + 1})")


def _seen(states: np.ndarray) -> np.ndarray:
    missing = np.isnan(states)
    if not missing.any():  # a reduction over a few channels takes ten times as long
        return np.ones(states.shape[:3], bool)
    return np.asarray(~missing.all(axis=tuple(range(3, states.ndim))))


def _where(environments: Sequence[str], e: SupportsIndex, i: SupportsIndex) -> str:
    return f"trajectory {i} of environment `{environments[int(e)]}`"


def _is_nested(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(item, list | tuple) for item in value)


def _pad_nested(times: Any, states: Any) -> tuple[np.ndarray, np.ndarray]:
    flat = [(e, i, _numbers("times", t), _numbers("states", x)) for e, i, t, x in _pairs(times, states)]
    if not flat:
        raise InputError("`states` holds no trajectory")
    shape = flat[0][3].shape[1:]
    for e, i, t, x in flat:
        if t.ndim != 1 or x.ndim < 2 or x.shape[1:] != shape or len(t) != len(x):
            raise InputError(
                f"trajectory {i} of environment number {e}: `times` has shape {t.shape} and `states` {x.shape}, "
                f"expected (time,) and (time, {', '.join(map(str, shape))}) of one length"
            )
    size = (len(states), max(len(row) for row in states), max(len(t) for _, _, t, _ in flat))
    dense_times, dense_states = np.full(size, np.nan), np.full(size + shape, np.nan)
    for e, i, t, x in flat:
        dense_times[e, i, : len(t)], dense_states[e, i, : len(t)] = t, x
    return dense_times, dense_states


def _pairs(times: Any, states: Any):
    for e, (t_row, x_row) in enumerate(zip(times, states, strict=True)):
        for i, (t, x) in enumerate(zip(t_row, x_row, strict=True)):
            yield e, i, t, x


def _numbers(what: str, value: Any) -> np.ndarray:
    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"`{what}` must hold numbers in a regular array: {error}") from error


def _frozen(array: np.ndarray) -> np.ndarray:
    array = np.array(array, np.float64, order="C")
    # NaNs can differ in their bits; the fingerprint must not.
    array[np.isnan(array)] = np.nan
    array.setflags(write=False)
    return array
