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

    - `linear`: interpolated between given values, constant before the first and after the last;
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
