"""How high the degree of a polynomial should be: as high as forecasts of held-out data gain from it."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ..data import Trajectories
from ..data.layout import Layout
from ..data.units import Units
from ..nets.polynomial import HIGHEST, Region, features, terms
from .flow import Law, fitted
from .intervals import Points, with_constant

FOLDS = 4
MOST_TERMS = 120
LEAST_ERROR = 1e-4  # of the variance: below it, degrees do not differ
EXACT = 0.01  # what leaves less of the rates unexplained is taken for the law, beyond the data, too
MARGIN = 0.5  # ranges of the data beyond which such a law is not curved any more
USELESS = 1.0  # of the variance
NEARLY = 0.05  # of the rates may stay unexplained by what is taken for the law
UNSURE = 1.5  # how much larger the variance of noise may be than estimated
WORTH = 0.8  # a higher degree must bring the error down to this part of it
FINER = 2  # steps in an interval, to compare degrees with
FINEST = 2
WORTH_FINER = 0.45  # steps twice as fine must leave no more than this part of the rest
SHARE = 0.6  # of a trajectory that the rest of it is forecast from, where there is one per environment
RUNAWAY = 1e3  # standard units
WORST = 10.0  # of the variance: beyond it, errors do not differ
FAR = 1.0  # ranges of the data beyond which a forecast is not followed


class Polynomial(NamedTuple):
    """What is known of the law of a data set before training.

    - `degree`: of the polynomial that a net begins at; `region`: where it is curved, None for a linear law;
    - `rest`: how large the field is that it leaves unexplained, where rates of the data have size one;
    - `finer`: how many steps a solver should take in a median interval.
    """

    degree: int = 1
    region: Region | None = None
    rest: float = 1.0
    finer: int = 1


def best_polynomial(data: Trajectories, units: Units, layout: Layout) -> Polynomial:
    """The polynomials that forecast held-out trajectories best, of those that explain nearly all that can be explained.

    Each trajectory of an environment is left out in turn (in four folds at most); where there is only one, its end is.
    The rest gives polynomials of each degree in closed form, and these give forecasts. Their errors are compared by the
    geometric mean, in which no single forecast decides. A curved polynomial that leaves more unexplained than noise
    does, and more than a twentieth of the rates, is not the law: far from the data it would be worse than a line. One
    that leaves less than a hundredth is, and is curved beyond the data, too; any other only where the data are.

    Where something acts from outside or is hidden, the degree is 1. Where no polynomial forecasts better than the mean
    does, it is 0: a net then begins at none.
    """
    if data.space or layout.hidden or layout.individual or layout.seen or layout.inputs:
        return Polynomial()
    points = Points.of(data, units, layout)
    if points.complete.sum() < 4:
        return Polynomial()
    gap, allowed = points.median_gap, NEARLY**2 + UNSURE * _rates_of_noise(points, layout.noise)
    lowest, best = np.inf, Polynomial()
    for degree in range(1, HIGHEST + 1):
        if degree > 1 and len(terms(len(data.channels), degree)) > min(MOST_TERMS, points.complete.sum() / 3):
            break
        law = Law(degree, points.region, gap / FINER)
        rest = fitted(points, law, points.complete).rest
        law = law._replace(region=points.region if rest > EXACT else _widened(points.region))
        error = _held_out_error(points, law)
        if error < WORTH * lowest and (degree == 1 or rest**2 < allowed):
            best, lowest = Polynomial(degree, law.region), error
    if lowest > USELESS:
        return Polynomial(0)
    return Polynomial() if best.degree == 1 else _with_steps(points, best)


def _widened(region: Region) -> Region:
    """The region with a margin on both sides."""
    low, high = (np.asarray(side) for side in region)
    margin = MARGIN * (high - low)
    return tuple((low - margin).tolist()), tuple((high + margin).tolist())


def _with_steps(points: Points, found: Polynomial) -> Polynomial:
    """The polynomial with steps that are as fine as it gains from: twice as fine if half of the rest goes."""
    assert found.region is not None
    law = Law(found.degree, found.region, points.median_gap)
    rest = lambda finer: fitted(points, law._replace(longest=law.longest / finer), points.complete).rest
    finer, now = 1, rest(1)
    while finer < FINEST and (less := rest(2 * finer)) < WORTH_FINER * now:
        finer, now = 2 * finer, less
    return found._replace(rest=now, finer=finer)


def _rates_of_noise(points: Points, noise: tuple[float, ...] | None) -> float:
    """The mean square of the rates that noise alone leaves unexplained."""
    gaps = np.diff(points.times, axis=2)
    gaps = gaps[np.isfinite(gaps) & (gaps > 0)]
    return 0.0 if noise is None else float(np.mean(np.square(noise)) * np.mean(2 / gaps**2))


def _held_out_error(points: Points, law: Law) -> float:
    """The geometric mean of the errors of forecasts of what was left out, as a part of the variance."""
    errors = []
    for use in _folds(points.complete):
        common, own = fitted(points, law, use).coefficients
        left_out = points.complete & ~use
        # A forecast begins at the last point that was used, or at the first point.
        there = left_out | _last(use & left_out.any(axis=2, keepdims=True))
        several = there.sum(axis=2) > 1
        field = bounded_field((common + own)[np.nonzero(several)[0]], law.degree, law.region)
        errors.append(_errors(points.times[several], points.states[several], there[several], field))
    every = np.concatenate(errors)
    return float(np.exp(np.mean(np.log(every + LEAST_ERROR)))) if every.size else np.inf


def _last(use: Bool[np.ndarray, "env traj time"]) -> Bool[np.ndarray, "env traj time"]:
    """The last point of each trajectory at which something is true."""
    return use & (np.cumsum(use, axis=2) == use.sum(axis=2, keepdims=True))


def _folds(complete: Bool[np.ndarray, "env traj time"]) -> list[Bool[np.ndarray, "env traj time"]]:
    """For each fold, at which points data may be used."""
    own = complete.any(axis=2)
    several = own.sum(axis=1) > 1
    if not several.any():
        late = np.cumsum(complete, axis=2) > SHARE * complete.sum(axis=2, keepdims=True)
        return [complete & ~late]
    count = min(FOLDS, int(own.sum(axis=1).max()))
    place = np.cumsum(own, axis=1) - 1
    return [complete & ~(own & several[:, None] & (place % count == k))[..., None] for k in range(count)]


def bounded_field(
    coefficients: Float[np.ndarray, "traj term channel"], degree: int, region: Region
) -> Callable[[Float[np.ndarray, "traj channel"]], Float[np.ndarray, "traj channel"]]:
    """A polynomial field for each trajectory, which far outside the data leads back there."""
    low, high = (np.asarray(side) for side in region)
    low, high = low - FAR * (high - low), high + FAR * (high - low)

    def field(x: np.ndarray) -> np.ndarray:
        near = np.clip(x, low, high)
        there = with_constant(features(near, degree, region))
        return np.einsum("bp,bpc->bc", there, coefficients) - (x - near)

    return field


def _errors(times: np.ndarray, states: np.ndarray, there: np.ndarray, field: Callable) -> Float[np.ndarray, " traj"]:
    """The mean squared error of each trajectory's forecast from the first point that is there, in standard units."""
    order = np.argsort(~there, axis=1, kind="stable")  # what is there comes first
    times = np.take_along_axis(times, order, axis=1)
    states = np.take_along_axis(states, order[..., None], axis=1)
    counts = there.sum(axis=1)
    x, total = states[:, 0], np.zeros(len(states))
    for k in range(1, int(counts.max(initial=1))):
        here = k < counts
        x = _ahead(field, x, np.where(here, times[:, k] - times[:, k - 1], 0.0)[:, None])
        total += np.where(here, np.mean(np.where(here[:, None], x - states[:, k], 0.0) ** 2, axis=1), 0.0)
    return np.minimum(total / np.maximum(counts - 1, 1), WORST)


def _ahead(field: Callable, x: np.ndarray, gap: np.ndarray) -> np.ndarray:
    """The states after a time, by steps of the classical Runge–Kutta method."""
    h = gap / FINER
    for _ in range(FINER):
        a = field(x)
        b = field(x + h / 2 * a)
        c = field(x + h / 2 * b)
        x = np.clip(x + h / 6 * (a + 2 * b + 2 * c + field(x + h * c)), -RUNAWAY, RUNAWAY)
    return x
