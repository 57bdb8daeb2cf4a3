"""How well polynomial fields forecast what they were not fitted to."""

import numpy as np
from jaxtyping import Bool, Float

from .fitting import fitted_for
from .flow import Law, flow
from .intervals import Points
from .pace import steps_through

FOLDS = 4
SHARE = 0.6  # of a trajectory that the rest of it is forecast from, where there is one per environment
LEAST_ERROR = 1e-6  # of the variance: below it, errors do not differ
WORST = 10.0  # of the variance: beyond it, errors do not differ
FAR = 1.0  # ranges of the data beyond which a forecast is not followed


def held_out_error(points: Points, law: Law, noise: tuple[float, ...] | None) -> float:
    """The geometric mean of the errors of forecasts of what was left out, as a part of the variance.

    Each trajectory of an environment is left out in turn, in four folds at most, or in two where data are noisy and
    fits take longer; where there is only one, its end is. In a geometric mean no single forecast decides.
    """
    errors = []
    for use in _folds(points.complete, FOLDS if noise is None else 2):
        found = fitted_for(points, law, use, noise, quick=True)
        left_out = points.complete & ~use
        # A forecast begins at the last point that was used, or at the first point.
        there = left_out | _last(use & left_out.any(axis=2, keepdims=True))
        errors.append(forecast_errors(points, law, found.coefficients.whole, there))
    every = np.concatenate(errors)
    return float(np.exp(np.mean(np.log(every + LEAST_ERROR)))) if every.size else np.inf


def forecast_errors(
    points: Points,
    law: Law,
    coefficients: Float[np.ndarray, "env term channel"],
    there: Bool[np.ndarray, "env traj time"],
) -> Float[np.ndarray, " forecast"]:
    """The mean squared error of each trajectory's forecast from the first point that is there, in standard units."""
    several = there.sum(axis=2) > 1
    there, own = there[several], coefficients[np.nonzero(several)[0]]
    states, impulses = points.states[several], np.nan_to_num(points.impulses[several])
    inputs = [np.nan_to_num(side[several]) for side in (points.first, points.last)]
    times = np.nan_to_num(points.times[several])
    gaps, known = np.nan_to_num(np.diff(points.times[several], axis=1)), points.known(points.place[several])
    low, high = _wide(law, states.shape[-1])
    of = lambda x, u: law.terms(np.clip(x, low, high), u)
    rows, begin = np.arange(len(states)), np.argmax(there, axis=1)
    x, total = states[rows, begin], np.zeros(len(states))
    gaps = np.where(np.arange(gaps.shape[1]) < begin[:, None], 0.0, gaps)
    for step in steps_through(gaps, law.longest):
        x = x + np.where(step.enters[:, None], step.at(impulses), 0.0)
        at = step.at(times) + step.begin[:, 0] * step.at(gaps)
        x, _ = flow(of, own, x, step.between(*inputs), step.gap, 1, at, known)
        x, point = np.clip(x, low, high), step.interval + 1
        off = np.mean((x - np.nan_to_num(states[rows, point])) ** 2, axis=1)
        total += np.where(step.leaves & there[rows, point], off, 0.0)
    return np.minimum(total / np.maximum(there.sum(axis=1) - 1, 1), WORST)


def _wide(law: Law, channels: int) -> tuple[np.ndarray, np.ndarray]:
    """The region in which forecasts are followed."""
    low, high = (np.asarray(side[:channels]) for side in law.region)
    return low - FAR * (high - low), high + FAR * (high - low)


def _last(use: Bool[np.ndarray, "env traj time"]) -> Bool[np.ndarray, "env traj time"]:
    """The last point of each trajectory at which something is true."""
    return use & (np.cumsum(use, axis=2) == use.sum(axis=2, keepdims=True))


def _folds(complete: Bool[np.ndarray, "env traj time"], most: int) -> list[Bool[np.ndarray, "env traj time"]]:
    """For each fold, at which points data may be used."""
    own = complete.any(axis=2)
    several = own.sum(axis=1) > 1
    if not several.any():
        late = np.cumsum(complete, axis=2) > SHARE * complete.sum(axis=2, keepdims=True)
        return [complete & ~late]
    count = min(most, int(own.sum(axis=1).max()))
    place = np.cumsum(own, axis=1) - 1
    return [complete & ~(own & several[:, None] & (place % count == k))[..., None] for k in range(count)]
