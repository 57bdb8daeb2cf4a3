"""Trajectories cut into stretches, for forecasts from starts that are inferred."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from .intervals import Formula, Points


class Stretches(NamedTuple):
    """Pieces of trajectories, all with the same number of points; NaN where there is nothing.

    - `environment`: of each piece; `place`: the same, as a formula counts them (`Points.place`); `states`: as observed.
    """

    environment: np.ndarray
    place: np.ndarray
    times: Float[np.ndarray, "piece time"]
    states: Float[np.ndarray, "piece time channel"]
    first: Float[np.ndarray, "piece interval input"]
    last: Float[np.ndarray, "piece interval input"]
    impulses: Float[np.ndarray, "piece time channel"]
    formula: Formula | None = None


def stretches(points: Points, use: Bool[np.ndarray, "env traj time"], length: int, most: int) -> Stretches:
    """All trajectories cut into pieces of so many intervals, each of which begins where the one before it ends.

    Of more than `most` of them, evenly spread ones.
    """
    rows: list[tuple] = []
    seen = use & np.isfinite(points.times) & np.isfinite(points.states).any(axis=-1)
    for e, i in np.argwhere(seen.sum(axis=2) > 1):
        (where,) = np.nonzero(seen[e, i])
        for begin in range(where[0], where[-1], length):
            end = min(begin + length, where[-1])
            if np.isfinite(points.times[e, i, begin : end + 1]).all() and seen[e, i, begin : end + 1].sum() > 1:
                rows.append((e, i, begin, end))
    rows = rows[:: max(1, -(-len(rows) // most))]
    channels, inputs = points.states.shape[-1], points.first.shape[-1]
    blank = lambda *shape: np.full((len(rows), *shape), np.nan)
    environment = np.array([row[0] for row in rows], int)
    place = np.array([points.place[row[:2]] for row in rows], int)
    pieces = Stretches(environment, place, blank(length + 1), blank(length + 1, channels),
                       blank(length, inputs), blank(length, inputs), blank(length + 1, channels),
                       points.formula)  # fmt: skip
    for k, (e, i, begin, end) in enumerate(rows):
        here, own = slice(begin, end + 1), end - begin + 1
        pieces.times[k, :own] = points.times[e, i, here]
        pieces.states[k, :own] = np.where(seen[e, i, here, None], points.states[e, i, here], np.nan)
        pieces.first[k, : own - 1] = points.first[e, i, begin:end]
        pieces.last[k, : own - 1] = points.last[e, i, begin:end]
        pieces.impulses[k, :own] = points.impulses[e, i, here]
    return pieces


def first_states(states: Float[np.ndarray, "piece time channel"]) -> Float[np.ndarray, "piece channel"]:
    """The first observed value of each channel; 0, the mean, where there is none."""
    seen = np.isfinite(states)
    first = np.argmax(seen, axis=1)
    return np.nan_to_num(np.take_along_axis(states, first[:, None], axis=1)[:, 0])
