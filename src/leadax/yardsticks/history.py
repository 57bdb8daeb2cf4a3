"""The training data of one environment as plain arrays."""

import numpy as np
from jaxtyping import Bool, Float

from ..data.batch import Batch


class History:
    """The training data of one environment, one row per trajectory; a state is one row of values.

    - `times`: since the start of each trajectory; `states`; `observed`: which of them are known.
    """

    times: Float[np.ndarray, "traj time"]
    states: Float[np.ndarray, "traj time value"]
    observed: Bool[np.ndarray, "traj time value"]

    def __init__(self, batch: Batch, environment: int):
        self.times = np.asarray(batch.times)[environment].astype(float)
        rows = lambda array: np.asarray(array)[environment].reshape(*self.times.shape, -1)
        self.states, self.observed = rows(batch.states).astype(float), rows(batch.observed)

    @property
    def mean(self) -> Float[np.ndarray, " value"]:
        """The mean of each value."""
        total = np.maximum(self.observed.sum(axis=(0, 1)), 1)
        return np.where(self.observed, self.states, 0.0).sum(axis=(0, 1)) / total

    @property
    def whole(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Times and states of each trajectory, at the points where every value is known."""
        complete = np.asarray(self.observed.all(axis=-1))
        return [(t[c], x[c]) for t, x, c in zip(self.times, self.states, complete, strict=True) if np.any(c)]
