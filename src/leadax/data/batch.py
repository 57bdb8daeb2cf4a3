"""From the container to what a program computes with: padded arrays in standard units without NaN, and masks."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float

from ..arrays import on_device
from ..errors import InputError
from .forcing import Driving, Forcing, driving
from .layout import Layout
from .trajectories import Trajectories
from .units import Units

# In standard units. Observations that are believed may be off by this much, so that inferred states can be learnt.
LEAST_NOISE = 0.01


class Growth(NamedTuple):
    """How noise grows with a value, in standard units: its standard deviation is `rate` times |x - `zero`|."""

    rate: Float[Array, "*batch channel"]
    zero: Float[Array, "*batch channel"]


class Batch(NamedTuple):
    """Trajectories of all environments, ready to learn from.

    Each starts at its first complete point; at its first point where starts are inferred.

    - `times`: standard time since each trajectory's start; a padded tail repeats the last time;
    - `states`: in standard units, 0 where nothing was observed;
    - `observed`: which values count in an error;
    - `complete`: at which points the whole state is known: there a forecast can restart and Ω can be evaluated. Where
      starts are inferred, these are all points;
    - `steps`: the solver's steps along each trajectory, `leadax.rollout.Steps`;
    - `begin`: the standard time at which each trajectory starts, for fields that depend on time;
    - `slopes`: dx/dt estimated from the data, for matching derivatives instead of states (`with_slopes`);
    - `inputs`: what a field sees beside time and state, at the points; individual constants are not among them;
    - `noise`: the standard deviation of the noise where starts are inferred, in standard units; of hidden channels
      that of their starts around 0;
    - `growth`: of the noise with the value; None where it does not grow.
    """

    times: Float[Array, "env traj time"]
    states: Float[Array, "env traj time *space channel"]
    observed: Bool[Array, "env traj time *space channel"]
    complete: Bool[Array, "env traj time"]
    steps: Any = None
    slopes: Float[Array, "env traj time *space channel"] | None = None
    begin: Float[Array, "env traj"] | None = None
    inputs: Float[Array, "env traj time *input"] | None = None
    noise: Float[Array, "env traj state"] | None = None
    growth: Growth | None = None

    @property
    def clock(self) -> Float[Array, "*batch time"]:
        """Standard time at all points."""
        return self.times if self.begin is None else self.times + self.begin[..., None]


def to_batch(
    data: Trajectories,
    units: Units,
    dtype: DTypeLike = jnp.float32,
    steps: Callable[[np.ndarray, np.ndarray, Forcing | None], Any] = lambda times, begin, forcing: None,
    layout: Layout | None = None,
) -> Batch:
    """The arrays of a data set in standard units. Points before a trajectory's first complete one are left out.

    **Arguments**

    - `steps`: from the standard times since each start `(env, traj, time)`, the starts `(env, traj)`, both in float64,
      and what acts from outside, to the solver's steps;
    - `layout`: what states and inputs are made of; by default states are what is observed, and nothing acts on them.

    >>> import numpy as np
    >>> data = Trajectories.from_arrays(range(3), np.array([[[[np.nan], [1.0], [2.0]]]]))
    >>> to_batch(data, Units.ones(1)).states[0, 0, :, 0].tolist()
    [1.0, 2.0, 0.0]
    """
    observed = data.observed
    complete = np.asarray(observed.all(axis=tuple(range(3, observed.ndim))))
    inferred = layout is not None and layout.inferred
    start = np.zeros(data.lengths.shape, int) if inferred else _start(data, complete)
    # Each trajectory is shifted to its first complete point; what wraps around is cut off by `present`.
    index = (np.arange(data.times.shape[2]) + start[..., None]) % data.times.shape[2]
    shift = lambda array: np.take_along_axis(array, index.reshape(index.shape + (1,) * (array.ndim - 3)), axis=2)
    present = np.arange(data.times.shape[2]) < (data.lengths - start)[..., None]
    times = shift(data.times)
    begin = np.where(present[..., 0], units.clock(times[..., 0]), 0.0)
    # Counting from each start in float64 keeps the digits of dates and clock times in float32.
    times = np.maximum.accumulate(np.where(present, times - times[..., :1], 0.0), axis=2) / units.time
    seen = shift(observed) & present.reshape(present.shape + (1,) * (observed.ndim - 3))
    acting = None if layout is None else _acting(driving(data, units, layout), shift)
    return Batch(
        times=on_device(times, dtype),
        states=on_device(np.where(seen, shift(units.standard(data.states)), 0.0), dtype),
        observed=on_device(seen),
        complete=on_device(present if inferred else shift(complete) & present),
        steps=steps(times, begin, None if acting is None else acting.forcing()),
        begin=on_device(begin, dtype),
        inputs=None if acting is None or acting.values is None else on_device(acting.values, dtype),
        noise=_noise(layout, data, dtype) if layout is not None and layout.inferred else None,
        growth=_growth(layout, units, data, dtype) if layout is not None and layout.relative_noise else None,
    )


def _noise(layout: Layout, data: Trajectories, dtype: DTypeLike) -> Float[Array, "env traj state"]:
    level = np.maximum(LEAST_NOISE, np.zeros(len(layout.channels)) if layout.noise is None else layout.noise)
    hidden = np.full(layout.hidden, LEAST_NOISE if layout.from_zero else 1.0)
    return on_device(np.broadcast_to([*level, *hidden], (*data.lengths.shape, len(layout.state))), dtype)


def _growth(layout: Layout, units: Units, data: Trajectories, dtype: DTypeLike) -> Growth:
    zero = units.standard(np.zeros(len(layout.channels)))
    each = lambda values: on_device(np.broadcast_to(values, (*data.lengths.shape, len(zero))), dtype)
    return Growth(each(layout.relative_noise), each(zero))


def _acting(found: Driving | None, shift: Callable[[np.ndarray], np.ndarray]) -> Driving | None:
    """What acts from outside, counted from each trajectory's start."""
    shifted = lambda array: None if array is None else shift(array)
    return found and found._replace(values=shifted(found.values), impulses=shifted(found.impulses))


def with_slopes(batch: Batch, estimate: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Batch:
    """The same data for matching derivatives: slopes at the points that are complete, and nothing else observed.

    - `estimate`: `finite_differences` or `spline` of `leadax.data.derivatives`.
    """
    times, states, observed, complete = (np.asarray(a) for a in batch[:4])
    slopes, known = np.zeros_like(states), np.zeros_like(observed)
    for place in np.ndindex(times.shape[:2]):
        slopes[place], known[place] = estimate(times[place].astype(float), states[place], observed[place])
    # The field is asked at a state: all of it must be there.
    known &= complete.reshape(complete.shape + (1,) * (known.ndim - 3))
    return batch._replace(slopes=on_device(slopes), observed=on_device(known))


def _start(data: Trajectories, complete: np.ndarray) -> np.ndarray:
    start = np.argmax(complete, axis=2)
    usable = complete.any(axis=2) & (data.lengths - start >= 2)
    for e, i in np.argwhere(~usable & (data.lengths > 0))[:1]:
        raise InputError(
            f"{data.place(e, i)} has no point with all channels observed that is "
            "followed by another point: a forecast needs one to start from; remove the trajectory"
        )
    return start
