"""How high the degree of a polynomial should be: as high as forecasts gain from it, or as the data are likely with."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..data import Trajectories
from ..data.layout import Layout
from ..data.units import Units
from ..nets.polynomial import HIGHEST, Region, terms
from .fitting import Fit, fitted_for
from .flow import Law, fitted
from .held_out import LEAST_ERROR, held_out_error
from .intervals import Points

MOST_TERMS = 60
EXACT = 5e-3  # what leaves less of the rates unexplained is taken for the law, beyond the data, too
MARGIN = 0.5  # ranges of the data beyond which such a law is not curved any more
USELESS = 1.0  # of the variance
NEARLY = 0.05  # of the rates may stay unexplained by what is taken for the law
UNSURE = 1.5  # how much larger the variance of noise may be than estimated
WORTH = 0.8  # a higher degree must bring the error of held-out forecasts down to this part of it
PATIENCE = 2  # degrees that may bring nothing, before higher ones are not tried any more
FINER = 2  # steps in an interval, to compare degrees with
FINEST = 2
WORTH_FINER = 0.6  # steps twice as fine must leave no more than this part of the rest


class Polynomial(NamedTuple):
    """What is known of the law of a data set before training.

    - `degree`: of the polynomial that a net begins at; `region`: where it is curved, None for a line;
    - `rest`: how large the field is that it leaves unexplained, where rates of the data have size one;
    - `finer`: how many steps a solver should take in a median interval.
    """

    degree: int = 1
    region: Region | None = None
    rest: float = 1.0
    finer: int = 1


def best_polynomial(data: Trajectories, units: Units, layout: Layout) -> Polynomial:
    """The polynomials that describe data best, of those that explain nearly all that can be explained.

    Polynomials of each degree are fitted in closed form. Without noise they are compared by their forecasts of what was
    left out (`leadax.trend.held_out`). With noise such forecasts tell little, and how likely the data are decides. A
    curved polynomial that leaves more unexplained than noise does, and more than a twentieth of the rates, is not the
    law: far from the data it would be worse than a line. One that leaves nearly nothing is, and is curved beyond the
    data, too; any other only where the data are.

    Where something is hidden or individual, the degree is 1. Where no polynomial forecasts better than the mean does,
    it is 0: a net then begins at none.
    """
    if data.space or layout.hidden or layout.individual:
        return Polynomial()
    points = Points.of(data, units, layout)
    if points.complete.sum() < 4:
        return Polynomial()
    return _of_exact(points) if layout.noise is None else _of_noisy(points, layout.noise)


def _degrees(points: Points) -> Iterator[int]:
    """Degrees that the data could determine."""
    yield 1
    for degree in range(2, HIGHEST + 1):
        if len(terms(len(points.zero), degree)) > min(MOST_TERMS, points.complete.sum() / 3):
            return
        yield degree


def _of_exact(points: Points) -> Polynomial:
    """The degree whose forecasts of what was left out are best."""
    lowest, best, idle = np.inf, Polynomial(), 0
    for degree in _degrees(points):
        if idle == PATIENCE or lowest < 2 * LEAST_ERROR:
            break
        law = Law(degree, points.region, points.median_gap / FINER)
        wide = law._replace(region=_widened(points.region))
        found, wider = (fitted_for(points, each, points.complete, None) for each in (law, wide))
        law, found = (wide, wider) if wider.rest < EXACT else (law, found)
        error = held_out_error(points, law, None)
        idle += 1
        if error < WORTH * lowest and (degree == 1 or _is_law(found)):
            best, lowest, idle = Polynomial(degree, law.region, found.rest), error, 0
    if _useless(points, best, None):
        return Polynomial(0)
    return best._replace(region=None) if best.degree == 1 else _with_steps(points, best)


def _of_noisy(points: Points, noise: tuple[float, ...]) -> Polynomial:
    """The degree with which the data are most likely.

    If higher degrees explain nothing more, it is taken for that of the law, which then holds beyond the data, too.
    """
    fit = lambda degree, region: fitted_for(points, Law(degree, region, points.median_gap), points.complete, noise)
    best, region, idle = 1, points.region, 0
    found = fit(best, region)
    for degree in list(_degrees(points))[1:]:
        if idle == PATIENCE:
            break
        tried = fit(degree, region)
        idle += 1
        if _is_law(tried) and tried.is_clearly_better_than(found, degree - best):
            best, found, idle = degree, tried, 0
    if best > 1 and idle:
        wide = fit(best, _widened(region))
        if not found.is_clearly_better_than(wide):
            region, found = _widened(region), wide
    polynomial = Polynomial(best, region, found.rest)
    if not _explains(found) and _useless(points, polynomial, noise):
        return Polynomial(0)
    return polynomial._replace(region=None) if best == 1 else polynomial


def _useless(points: Points, found: Polynomial, noise: tuple[float, ...] | None) -> bool:
    law = Law(found.degree, found.region or points.region, points.median_gap)
    return held_out_error(points, law, noise) > USELESS


def _explains(found: Fit) -> bool:
    """Whether forecasts of noisy stretches miss by hardly more than the noise."""
    return found.misfit is not None and found.misfit < UNSURE


def _is_law(found: Fit) -> bool:
    """Whether a curved polynomial explains nearly all that can be explained."""
    return found.rest < NEARLY or _explains(found)


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
