"""How high the degree of a polynomial should be: as high as forecasts gain from it, or as the data are likely with."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..data import Trajectories
from ..data.layout import Layout
from ..data.units import Units
from ..nets.polynomial import HIGHEST, Region, Zero, count_of
from .fitting import CLEARLY, Fit, fitted_for
from .flow import Law, fitted
from .held_out import LEAST_ERROR, held_out_error
from .hidden import hidden_law
from .intervals import Formula, Points
from .stability import share_that_runs_away
from .threads import on_one_thread

MOST_TERMS = 60
MOST_SIGNED = 3  # the highest degree that signed squares are tried with
EXACT = 5e-3  # what leaves less of the rates unexplained is taken for the law, beyond the data, too
MARGIN = 0.5  # ranges of the data beyond which such a law is not curved any more
USELESS = 1.0  # of the variance
NEARLY = 0.05  # of the rates may stay unexplained by what is taken for the law
EXPLAINED = 1.5  # the variance of noise: forecasts that miss by no more leave nothing to explain
WORTH = 0.8  # a higher degree must bring the error of held-out forecasts down to this part of it
PATIENCE = 2  # degrees that may bring nothing, before higher ones are not tried any more on noisy data
FINER = 2  # steps in an interval, to compare degrees with
FINEST = 2
WORTH_FINER = 0.6  # steps twice as fine must leave no more than this part of the rest


class Polynomial(NamedTuple):
    """What is known of the law of a data set before training.

    - `degree`: of the polynomial that a net begins at; `region`: where it is curved, None for a line;
    - `rest`: how large the field is that it leaves unexplained, where rates of the data have size one;
    - `finer`: how many steps a solver should take in a median interval;
    - `zero`: of signed squares beside it (`leadax.nets.polynomial.features`), None for none;
    - `left`: the most that noise can be, since the law leaves no more; None where that is not known.
    """

    degree: int = 1
    region: Region | None = None
    rest: float = 1.0
    finer: int = 1
    zero: Zero | None = None
    left: float | None = None

    @property
    def options(self) -> dict[str, Any]:
        """Of a net that has such a polynomial (`leadax.nets.MLP`)."""
        every = {"degree": self.degree, "region": self.region, "zero": self.zero}
        return {name: value for name, value in every.items() if value is not None}


@on_one_thread
def best_polynomial(data: Trajectories, units: Units, layout: Layout, formula: Formula | None = None) -> Polynomial:
    """The polynomials that describe data best, of those that explain nearly all that can be explained.

    Polynomials of each degree are fitted in closed form. Without noise they are compared by their forecasts of what was
    left out (`leadax.trend.held_out`) and from starts around the data (`leadax.trend.stability`): one that runs away
    is as bad as the mean. With noise such forecasts tell little, and how likely the data are decides. A
    curved polynomial that leaves more unexplained than noise does, and more than a twentieth of the rates, is not the
    law: far from the data it would be worse than a line. One that leaves nearly nothing is, and is curved beyond the
    data, too; any other only where the data are.

    Where something is hidden or individual, the degree is 1. Where no polynomial forecasts better than the mean does,
    it is 0: a net then begins at none.

    **Arguments**

    - `formula`: a known part of the field, of which the polynomials are the rest; None for none.
    """
    if formula is None and (law := hidden_law(data, units, layout)) is not None:
        return Polynomial(rest=law.rest, finer=law.finer, left=law.left)
    if data.space or layout.hidden or layout.individual:
        return Polynomial()
    points = Points.of(data, units, layout, formula)
    if points.complete.sum() < 4:
        return Polynomial()
    return _of_exact(points) if layout.noise is None else _of_noisy(points, layout.noise)


def highest_degree(points: Points, most: int) -> int:
    """The highest degree that the data could determine, up to this one."""
    return max(degree for degree, _ in _kinds(points) if degree <= most)


def _kinds(points: Points) -> Iterator[tuple[int, Zero | None]]:
    """Degrees that the data could determine; then some with signed squares, where states change their sign."""
    yield 1, None
    zero, most = tuple(points.zero.tolist()), min(MOST_TERMS, points.complete.sum() / 3)
    signed = any(low < z < high for z, low, high in zip(zero, *points.region, strict=True))
    for kind, degrees in ((None, range(2, HIGHEST + 1)), (zero, range(2, MOST_SIGNED + 1) if signed else ())):
        for degree in degrees:
            if count_of(len(zero), degree, kind) <= most:
                yield degree, kind


def _of_exact(points: Points) -> Polynomial:
    """The degree whose forecasts are best, of what was left out and from starts around the data."""
    best = Law(1, points.region, points.median_gap / FINER)
    lowest, left_out, found = np.inf, np.inf, None
    for degree, zero in _kinds(points):
        if left_out < 2 * LEAST_ERROR:
            break
        law, tried = _curved_as_far_as_it_holds(points, best._replace(degree=degree, zero=zero, region=points.region))
        error = held_out_error(points, law, None)
        if error + tried.strays < WORTH * lowest and (degree == 1 or _is_law(tried)):
            best, found, left_out, lowest = law, tried, error, error + tried.strays
    if found is None or held_out_error(points, best._replace(longest=points.median_gap), None) > USELESS:
        return Polynomial(0)
    return Polynomial(1, rest=found.rest) if best.degree == 1 else _with_steps(points, best)


def _curved_as_far_as_it_holds(points: Points, law: Law) -> tuple[Law, Fit]:
    """The law with its fit, curved beyond the data, too, if it leaves nearly nothing and no more forecasts run away."""
    wide = law._replace(region=_widened(points.region))
    found, wider = (fitted_for(points, each, points.complete, None) for each in (law, wide))
    if wider.rest < EXACT and wider.strays <= found.strays:
        law, found = wide, wider
    return found.law, found


def _of_noisy(points: Points, noise: tuple[float, ...]) -> Polynomial:
    """The degree with which the data are most likely.

    If higher degrees explain nothing more, it is taken for that of the law, which then holds beyond the data, too,
    unless more forecasts run away for it.
    """
    fit = lambda law, rival=None: fitted_for(points, law, points.complete, noise, rival=rival)
    best = Law(1, points.region, points.median_gap)
    found, last = fit(best), 1
    for degree, zero in list(_kinds(points))[1:]:
        if degree > best.degree + PATIENCE:
            continue
        law, last = best._replace(degree=degree, zero=zero), max(degree, last)
        tried = fit(law, found)
        # Signed squares are rare in nature: that they are few does not count for them.
        likelier = zero is None or tried.evidence > found.evidence + CLEARLY
        if _is_law(tried) and likelier and tried.is_better_than(found, CLEARLY):
            best, found = law, tried
    if 1 < best.degree < last:
        law = best._replace(region=_widened(best.region))
        wide = fit(law)
        if not found.is_better_than(wide, CLEARLY) and _stays(points, law, wide, best, found):
            best, found = law, wide
    if not _explains(found) and held_out_error(points, best, noise) > USELESS:
        return Polynomial(0)
    region = None if best.degree == 1 else _down_to_none(points, found.law)
    return Polynomial(best.degree, region, found.rest, zero=best.zero)


def _stays(points: Points, wide: Law, wider: Fit, law: Law, found: Fit) -> bool:
    """Whether forecasts from near the data leave the wider region no more often if a polynomial is curved in it."""
    share = lambda law, fit: share_that_runs_away(points, law, fit.coefficients.whole, MARGIN)
    return share(wide, wider) <= share(law, found)


def _explains(found: Fit) -> bool:
    """Whether forecasts of noisy stretches miss by hardly more than the noise."""
    return found.misfit is not None and found.misfit < EXPLAINED


def _is_law(found: Fit) -> bool:
    """Whether a curved polynomial explains nearly all that can be explained."""
    return found.rest < NEARLY or _explains(found)


def _widened(region: Region) -> Region:
    """The region with a margin on both sides."""
    low, high = (np.asarray(side) for side in region)
    margin = MARGIN * (high - low)
    return tuple((low - margin).tolist()), tuple((high + margin).tolist())


def _down_to_none(points: Points, law: Law) -> Region:
    """The region of a law, with 0 for what vanishes there: the law holds between it and the data, too."""
    low, high = law.region
    vanishing = [*law.vanishing, *(False for _ in low[len(law.vanishing) :])]
    return tuple(min(a, b) if c else a for a, b, c in zip(low, points.zero.tolist(), vanishing, strict=True)), high


def _with_steps(points: Points, law: Law) -> Polynomial:
    """The polynomial with steps that are as fine as it gains from: twice as fine if half of the rest goes."""
    # By fits in standard units. Those in the units of the data are shorter and leave more, whatever the steps.
    at = lambda finer: law._replace(longest=points.median_gap / finer, raw=False)
    rest = lambda finer: fitted(points, at(finer), points.complete).rest / points.size
    finer, now = 1, rest(1)
    while finer < FINEST and (less := rest(2 * finer)) < WORTH_FINER * now:
        finer, now = 2 * finer, less
    return Polynomial(law.degree, _down_to_none(points, law), now, finer, law.zero)
