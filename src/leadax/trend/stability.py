"""Whether forecasts of polynomial fields stay with the data, from starts that lie near them."""

import numpy as np
from jaxtyping import Float

from .flow import Law, flow
from .intervals import Points
from .pace import steps_through

STARTS = 24  # of forecasts for a trajectory
MOST = 48  # trajectories
NEAR = 0.25  # ranges of the data beyond which no forecast starts
SIGN = 0.1  # ranges: data that cross 0 by less have a sign
FAR = 1.0  # ranges of the data beyond which a forecast has run away
FINER = 4  # steps in place of one: it is the field that is judged, not a solver with long steps


def share_that_runs_away(
    points: Points, law: Law, coefficients: Float[np.ndarray, "env term channel"], far: float = FAR
) -> float:
    """Of forecasts from starts in and around the range of the data, how many leave it far behind: by `far` ranges.

    They are as long as the trajectories, under the same inputs, from starts elsewhere: a field that is right along
    a few curves may lead nowhere between and beside them.
    """
    which = np.argwhere(points.complete.sum(axis=2) > 1)
    which = which[np.linspace(0, len(which) - 1, min(MOST, len(which))).round().astype(int)].repeat(STARTS, axis=0)
    e, i = which.T
    channels = points.states.shape[-1]
    low, high = (np.asarray(side[:channels]) for side in points.region)
    reach = np.maximum(high - low, 1e-9)
    starts = _starts(*_range_of_starts(points), reach, points.zero[:channels])
    x = np.random.default_rng(0).uniform(*starts, (len(e), channels))
    times, known = np.nan_to_num(points.times[e, i]), points.known(points.place[e, i])
    gaps, impulses = np.nan_to_num(np.diff(points.times[e, i], axis=1)), np.nan_to_num(points.impulses[e, i])
    inputs = [np.nan_to_num(side[e, i]) for side in (points.first, points.last)]
    gone = np.zeros(len(e), bool)
    for step in steps_through(gaps, law.longest / FINER):
        x = x + np.where(step.enters[:, None], step.at(impulses), 0.0)
        begin = step.at(times) + step.begin[:, 0] * step.at(gaps)
        x, _ = flow(law.terms, coefficients[e], x, step.between(*inputs), step.gap, 1, begin, known)
        gone |= np.any((x < low - far * reach) | (x > high + far * reach), axis=1)
    return float(np.mean(gone)) if len(gone) else 0.0


def _range_of_starts(points: Points) -> tuple[np.ndarray, np.ndarray]:
    """The lowest and the highest value of each channel where trajectories begin."""
    begins = points.complete.any(axis=2)
    first = np.argmax(points.complete, axis=2)[..., None, None]
    states = np.take_along_axis(points.states, first, axis=2)[:, :, 0][begins]
    return states.min(axis=0), states.max(axis=0)


def _starts(low: np.ndarray, high: np.ndarray, reach: np.ndarray, zero: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Between which values forecasts start: a little beyond the starts of the data, but amounts not below 0."""
    below, above = low - NEAR * reach, high + NEAR * reach
    below = np.where(low > zero - SIGN * reach, np.maximum(below, np.minimum(low, zero)), below)
    above = np.where(high < zero + SIGN * reach, np.minimum(above, np.maximum(high, zero)), above)
    return below, above
