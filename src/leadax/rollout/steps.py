"""Where a fixed-step solver steps along a trajectory, and where it restarts from the data."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float, Int

from leadax.arrays import on_device
from leadax.data.forcing import Forcing
from leadax.errors import InputError


class Steps(NamedTuple):
    """The solver's steps along one trajectory; `vmap` over leading axes.

    - `times`: when each step starts, for fields that depend on time;
    - `sizes`: h, the length of each step; 0 in padding, where the state is held and adds nothing to a gradient;
    - `inputs`: the inputs at both ends of each step, linear in between; None if there are none. Across an input's jump,
      one step ends on its left limit and the next starts on its right limit;
    - `landing`: after how many steps each observation is reached; None for one step per interval;
    - `departure`: which observation a step departs from, -1 if it starts between two; None for one step per interval;
    - `bounds`: the lowest and the highest value of each channel that the field is evaluated at (`kept_within`); None
      for no bounds;
    - `impulses`: what is added to each channel of the state where a step starts; None for nothing.
    """

    times: Float[Array, " step"]
    sizes: Float[Array, " step"]
    inputs: Float[Array, "step 2 *input"] | None = None
    landing: Int[Array, " time"] | None = None
    departure: Int[Array, " step"] | None = None
    bounds: Float[Array, "2 channel"] | None = None
    impulses: Float[Array, "step channel"] | None = None

    @property
    def edges(self) -> Float[Array, "2 channel"] | None:
        """The bounds that forecasts end at: none where a dose may well lead out of them."""
        return self.bounds if self.impulses is None else None


class Restart(NamedTuple):
    """Scheduled sampling: where a forecast restarts from the data.

    - `where`: True only where the state was observed; the last entry has no effect;
    - `states`: the observed states, any finite number where nothing was observed.
    """

    where: Bool[Array, " time"]
    states: Float[Array, "time *space channel"]


def steps_between(
    times: Float[np.ndarray, "*batch time"],
    *,
    longest: float | None = None,
    substeps: int = 1,
    dtype: DTypeLike,
    begin: Float[np.ndarray, "*batch"] | float = 0.0,
    forcing: Forcing | None = None,
) -> Steps:
    """Divide the intervals between observations into equal steps: max(`substeps`, ⌈gap / `longest`⌉) in each.

    - `times`: since each trajectory's start, in float64; a short trajectory is padded by repeating its last time;
    - `longest`: upper limit for the size of a step; None for no limit;
    - `dtype`: of the times and sizes returned;
    - `begin`: when each trajectory starts. It is added to `Steps.times` and does not affect the sizes;
    - `forcing`: inputs and impulses along the trajectories.

    All trajectories get the same number of steps: the spare ones have size 0. Runs on the host, not under `jit`.

    >>> import numpy as np
    >>> steps = steps_between(np.array([0.0, 1.0, 4.0]), longest=2.0, dtype=np.float32)
    >>> steps.times.tolist(), steps.sizes.tolist()
    ([0.0, 1.0, 2.5], [1.0, 1.5, 1.5])
    >>> steps.landing.tolist(), steps.departure.tolist()
    ([0, 1, 3], [0, 1, -1])
    """
    times, begin = np.asarray(times, np.float64), np.asarray(begin, np.float64)[..., None]
    _check(times, longest, substeps)
    counts = _counts(np.diff(times), longest, substeps)
    if counts.max(initial=0) <= 1:
        steps = Steps(on_device(times[..., :-1] + begin, dtype), on_device(np.diff(times), dtype))
        interval = np.broadcast_to(np.arange(times.shape[-1] - 1), (*times.shape[:-1], times.shape[-1] - 1))
        return _forced(steps, forcing, interval, np.zeros(interval.shape), np.ones(interval.shape), dtype)
    landing = np.cumsum(np.insert(counts, 0, 0, axis=-1), axis=-1)
    starts, sizes, departure, interval = _divide(times, landing)
    steps = Steps(
        on_device(starts + begin, dtype),
        on_device(sizes, dtype),
        landing=on_device(landing, np.int32),
        departure=on_device(departure, np.int32),
    )
    origin = np.take_along_axis(times, interval, axis=-1)
    gaps = np.take_along_axis(np.diff(times), interval, axis=-1)
    share = lambda moments: (moments - origin) / np.where(gaps > 0, gaps, 1.0)
    return _forced(steps, forcing, interval, share(starts), share(starts + sizes), dtype)


def _forced(
    steps: Steps, forcing: Forcing | None, interval: np.ndarray, begin: np.ndarray, end: np.ndarray, dtype: DTypeLike
) -> Steps:
    """The steps with their shares of inputs and impulses.

    - `interval`: that each step is in; `begin`, `end`: where in its interval it starts and ends, from 0 to 1.
    """
    if forcing is None:
        return steps
    inputs = impulses = None
    if forcing.first is not None and forcing.last is not None:
        spare = (1,) * (forcing.first.ndim - interval.ndim)
        along = lambda array: array.reshape(*array.shape, *spare)
        pick = lambda array: np.take_along_axis(array, along(interval), axis=interval.ndim - 1)
        first, last = pick(forcing.first), pick(forcing.last)
        ends = [first + along(share) * (last - first) for share in (begin, end)]
        inputs = on_device(np.stack(ends, axis=interval.ndim), dtype)
    if forcing.impulses is not None:
        added = np.take_along_axis(forcing.impulses, interval[..., None], axis=interval.ndim - 1)
        impulses = on_device(np.where((begin == 0)[..., None], added, 0.0), dtype)
    return steps._replace(inputs=inputs, impulses=impulses)


def departures(steps: Steps, restart: Restart) -> Restart:
    """The same restarts with one row per step: whether it restarts, and from which state.

    >>> import jax.numpy as jnp
    >>> steps = steps_between(np.array([0.0, 1.0, 2.0]), substeps=2, dtype=np.float32)
    >>> departures(steps, Restart(jnp.array([False, True, True]), jnp.ones((3, 1)))).where.tolist()
    [False, False, True, False]
    """
    where, states = jnp.asarray(restart.where), jnp.asarray(restart.states)
    _check_restart(steps, where, states)
    if steps.departure is None:
        return Restart(where[:-1], states[:-1])
    observation = jnp.maximum(steps.departure, 0)
    return Restart(where[observation] & (steps.departure >= 0), states[observation])


def _check_restart(steps: Steps, where: Array, states: Array) -> None:
    expected = len(steps.sizes) + 1 if steps.landing is None else len(steps.landing)
    if len(where) != expected or len(states) != expected:
        raise InputError(
            f"`restart` must have one row per observation, {expected} for these steps; "
            f"got {len(where)} in `where` and {len(states)} in `states`"
        )
    if steps.departure is None and steps.landing is not None:
        raise InputError("`steps` with a `landing` also need their `departure` to restart: use `steps_between`")


def _counts(gaps: np.ndarray, longest: float | None, substeps: int) -> np.ndarray:
    """Steps per interval. Padding has none, so that a short trajectory does not lengthen the others."""
    # 1e-6: rounding in the times must not turn a gap of 1 with `longest=0.1` into 11 steps.
    wanted = 1 if longest is None else np.ceil(gaps / longest - 1e-6)
    return np.where(gaps > 0, np.maximum(wanted, substeps), 0).astype(int)


def _divide(times: np.ndarray, landing: np.ndarray) -> tuple[np.ndarray, ...]:
    """Starts, sizes, departures and intervals of the steps of all trajectories, padded to the largest number."""
    length = int(landing.max())
    flat = zip(times.reshape(-1, times.shape[-1]), landing.reshape(-1, times.shape[-1]), strict=True)
    rows = [_divide_one(*row, length) for row in flat]
    return tuple(np.stack(part).reshape(*times.shape[:-1], length) for part in zip(*rows, strict=True))


def _divide_one(times: np.ndarray, landing: np.ndarray, length: int) -> tuple[np.ndarray, ...]:
    """The steps of one trajectory, and empty steps at its last time up to `length` of them."""
    counts, steps = np.diff(landing), np.arange(landing[-1])
    interval = np.repeat(np.arange(len(counts)), counts)
    sizes = np.diff(times)[interval] / counts[interval]
    starts = times[interval] + (steps - landing[interval]) * sizes
    departure = np.where(steps == landing[interval], interval, -1)
    pad = lambda row, value: np.pad(row, (0, length - len(row)), constant_values=value)
    return pad(starts, times[-1]), pad(sizes, 0.0), pad(departure, -1), pad(interval, len(counts) - 1)


def _check(times: np.ndarray, longest: float | None, substeps: int) -> None:
    if times.ndim == 0 or times.shape[-1] == 0:
        raise InputError("`times` must hold at least the time of the start; got none")
    if not np.isfinite(times).all() or (np.diff(times) < 0).any():
        raise InputError("`times` must be finite and not decrease: sort them, and pad by repeating the last one")
    if longest is not None and not longest > 0:
        raise InputError(f"`longest` must be positive; got {longest}")
    if substeps < 1:
        raise InputError(f"`substeps` must be at least 1; got {substeps}")
