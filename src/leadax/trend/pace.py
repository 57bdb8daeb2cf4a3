"""Steps of a solver through trajectories with intervals of their own: each goes at its own pace."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int


class Step(NamedTuple):
    """One step of every trajectory at once. One that has come to its end takes steps of length 0.

    - `interval`: in which each of them is; `gap`: how long its step is;
    - `begin`, `end`: the part of the interval that is over before and after it;
    - `enters`, `leaves`: whether it is the first and the last step of an interval.
    """

    interval: Int[np.ndarray, " row"]
    gap: Float[np.ndarray, "row 1"]
    begin: Float[np.ndarray, "row 1"]
    end: Float[np.ndarray, "row 1"]
    enters: Bool[np.ndarray, " row"]
    leaves: Bool[np.ndarray, " row"]

    def at(self, values: Float[np.ndarray, "row interval *rest"]) -> Float[np.ndarray, "row *rest"]:
        """The values of the intervals that trajectories are in."""
        return values[np.arange(len(values)), self.interval]

    def between(
        self, first: Float[np.ndarray, "row interval input"], last: Float[np.ndarray, "row interval input"]
    ) -> tuple[Float[np.ndarray, "row input"], Float[np.ndarray, "row input"]]:
        """What changes linearly along intervals, at both ends of the step."""
        first, last = self.at(first), self.at(last)
        return first + (last - first) * self.begin, first + (last - first) * self.end


def steps_through(gaps: Float[np.ndarray, "row interval"], longest: float) -> Iterator[Step]:
    """The steps through intervals, none of them longer than `longest`. Intervals of length 0 are left out.

    >>> [step.gap[:, 0].tolist() for step in steps_through(np.array([[1.0, 2.0], [0.0, 1.0]]), 1.0)]
    [[1.0, 1.0], [1.0, 0.0], [1.0, 0.0]]
    """
    rows, intervals = np.arange(len(gaps)), gaps.shape[1]
    counts = np.where(gaps > 0, np.maximum(1, np.ceil(gaps / longest - 1e-6)), 0).astype(int)
    # From each interval on, the next that takes steps; one more, of no steps, is the end.
    counts = np.concatenate([counts, np.zeros((len(gaps), 1), int)], axis=1)
    own = np.where(counts > 0, np.arange(intervals + 1), intervals)
    following = np.minimum.accumulate(own[:, ::-1], axis=1)[:, ::-1]
    interval, place = following[:, 0], np.zeros(len(gaps), int)
    for _ in range(int(counts.sum(axis=1).max(initial=0))):
        count, inside = counts[rows, interval], np.minimum(interval, intervals - 1)
        moving, whole = count > 0, np.maximum(count, 1)[:, None]
        leaves = moving & (place == count - 1)
        gap = np.where(moving, gaps[rows, inside], 0.0)[:, None] / whole
        begin, end = place[:, None] / whole, (place[:, None] + 1) / whole
        yield Step(inside, gap, begin, end, moving & (place == 0), leaves)
        interval = np.where(leaves, following[rows, np.minimum(interval + 1, intervals)], interval)
        place = np.where(leaves | ~moving, 0, place + 1)
