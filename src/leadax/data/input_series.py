"""Inputs u(t) at every point of every trajectory, from the values that were given."""

import numpy as np
from jaxtyping import Float

from ..errors import InputError
from . import _inputs
from ._inputs import HELD as HELD
from ._inputs import LINEAR as LINEAR
from ._inputs import impulse_channel as impulse_channel
from .trajectories import Trajectories


def filled(data: Trajectories) -> Float[np.ndarray, "env traj time *grid input"]:
    """The inputs of data at all of their points, without NaN.

    - `linear`: interpolated between given values, constant before the first and after the last, which a model accepts
      only for as long as the largest gap between them (`check_ends`);
    - `held`: the last given value, from its own point on; before the first given value, that one;
    - `impulse:CHANNEL`: the amount that is added to the channel at this point; 0 where none is given.

    The padding of a trajectory repeats its last value, or is 0 for impulses. An input without any value in a trajectory
    is an `InputError`.

    >>> nan = np.nan
    >>> data = Trajectories.from_arrays(
    ...     [0, 1, 4],
    ...     np.ones((1, 1, 3, 1)),
    ...     inputs=np.array([[[[2, 1, nan], [nan, nan, 5], [8, 3, nan]]]]),
    ...     input_names=["force", "rate", "dose"],
    ...     input_kinds=["linear", "held", "impulse:x0"],
    ... )
    >>> filled(data)[0, 0].tolist()
    [[2.0, 1.0, 0.0], [3.5, 1.0, 5.0], [8.0, 3.0, 0.0]]
    """
    if data.inputs is None:
        return np.zeros((*data.times.shape, 0))
    found = _inputs.filled(data.times, data.inputs, data.input_kinds)
    never = np.isnan(found).reshape(*found.shape[:2], -1, found.shape[-1]).any(axis=2)
    for e, i, c in np.argwhere(never & (data.lengths > 0)[..., None])[:1]:
        which = i if data.trajectory_names is None else f"`{data.trajectory_names[e][i]}`"
        raise InputError(
            f"trajectory {which} of environment `{data.environments[e]}` has no value of the input "
            f"`{data.input_names[c]}`: give at least one"
        )
    return np.nan_to_num(found, nan=0.0)


def check_ends(data: Trajectories) -> None:
    """An `InputError` if a linear input ends before its trajectory does, by more than any gap between its values.

    What is held goes on by its nature, and an input with a single value is a constant.
    """
    if data.inputs is None:
        return
    given = np.asarray(np.isfinite(data.inputs).reshape(*data.times.shape, -1, len(data.input_names)).any(axis=3))
    linear = [c for c, kind in enumerate(data.input_kinds) if kind == LINEAR]
    for e, i in np.argwhere(data.lengths > 0):
        times = data.times[e, i, : data.lengths[e, i]]
        for c in linear:
            at = times[given[e, i, : len(times), c]]
            if len(at) > 1 and times[-1] - at[-1] > 1.001 * np.diff(at).max():
                raise InputError(
                    f"the input `{data.input_names[c]}` of {data.place(e, i)} ends at {at[-1]:g}, before the "
                    f"trajectory does at {times[-1]:g}: give its values to the end, or declare it `held`"
                )
