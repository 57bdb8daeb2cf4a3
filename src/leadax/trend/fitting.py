"""Coefficients of polynomial fields, by the way that suits the data."""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from .flow import Law, fitted
from .intervals import Points
from .regression import Coefficients
from .shooting import LENGTHS, refined
from .stability import share_that_runs_away

CERTAIN = 1e-4  # what leaves less of the rates is the law: if forecasts of it run away, so does the system
UNSURE = 1.2  # so many times larger than estimated noise may be
QUICK = (8,)  # stretches that degrees are compared with
OWN = (1, 2)  # degrees of terms in which environments may differ, beside that of the law
HOPELESS = 60.0  # how much smaller it may be at first: what is farther behind did not catch up
CLEARLY = 3.0  # how much larger the logarithm of how likely data are must be, to say that they are


class Fit(NamedTuple):
    """Coefficients, the law that they are of, and what they leave.

    - `rest`: the root mean square of the rates that are left unexplained, beyond the noise, where those that are to be
      explained have size one;
    - `misfit`: the mean square of what is left, in units of the noise; None for data without noise;
    - `length`: of the stretches that were forecast, in intervals;
    - `widths`: how many priors have a width that was found from the data;
    - `strays`: the share of forecasts from around the data that run away, where it was looked at.
    """

    coefficients: Coefficients
    law: Law
    rest: float
    misfit: float | None = None
    length: int = 1
    widths: int = 0
    strays: float = 0.0

    @property
    def evidence(self) -> float:
        """How likely the data are, see `leadax.trend.effects.evidence`; of fits with equal `length` only."""
        return self.coefficients.evidence

    @property
    def score(self) -> float:
        """The evidence, less one for each number that was found to make it large, as Akaike would have it."""
        return self.evidence - self.widths

    def is_better_than(self, other: "Fit", margin: float = 0.0) -> bool:
        """Whether its score is higher by more than a margin; longer forecasts are better in any case."""
        if self.length != other.length:
            return self.length > other.length
        return self.score > other.score + margin


def fitted_for(
    points: Points,
    law: Law,
    use: Bool[np.ndarray, "env traj time"],
    noise: tuple[float, ...] | None,
    *,
    quick: bool = False,
    rival: Fit | None = None,
) -> Fit:
    """The fit from each point to the next; for noisy data, that of whole stretches.

    A law is short in standard units, or in those of the data if that makes the data clearly more likely. Amounts grow
    in proportion to themselves, unless the data are clearly less likely then. Environments differ in terms of a low
    degree where that is better: what each of them has seen of noise, or of a law that is no polynomial, would otherwise
    become a difference, which leads astray wherever its few trajectories have not been.
    With noise, how likely the data are decides; without, what is left unexplained and how many forecasts run away.

    **Arguments**

    - `use`: at which points data may be used;
    - `noise`: of each channel, in standard units; None for none;
    - `quick`: whether a rough fit will do;
    - `rival`: of noisy data, a fit that is to be beaten: what falls far behind it at first is tried no further.
    """
    # The same law is asked for more than once, and a fit may take seconds.
    fit = cache(partial(_fitted, points, use=use, noise=noise, lengths=QUICK if quick else LENGTHS))
    law = law._replace(raw=False, vanishing=())
    best = _in_units(law, fit)
    # What was settled before, or cannot be, stays as it is.
    settled = law.own is not None or len(points.times) == 1
    if noise is None:
        return best if settled or quick else _steadiest(points, best, fit, _lower(best.law))
    if rival is not None and rival.length == best.length and rival.is_better_than(best, HOPELESS):
        return best
    simplest = (lambda found: found) if settled else partial(_simplest, fit=fit)
    free = likeliest = simplest(best)
    if any(vanishing := _vanishing(points, law, use)):
        bound = simplest(_in_units(law._replace(vanishing=vanishing), fit))
        likeliest = free if free.is_better_than(bound, CLEARLY) else bound
    if quick or law.degree == 1:
        return likeliest
    every = [each for base in (likeliest.law, free.law) for each in (base, *([] if settled else _lower(base)))]
    return _steadiest(points, likeliest, fit, every)


def _in_units(law: Law, fit: Callable[[Law], Fit]) -> Fit:
    """The fit of a law that is short in standard units, or in those of the data."""
    standard, raw = fit(law), fit(law._replace(raw=True))
    return raw if raw.is_better_than(standard, CLEARLY) else standard


def _lower(law: Law) -> list[Law]:
    """The same law with differences between environments in terms of a lower degree only."""
    return [law._replace(own=own) for own in OWN if own < law.degree]


def _simplest(best: Fit, fit: Callable[[Law], Fit]) -> Fit:
    """The fit, or one in which environments differ in lower terms, if that makes the data more likely."""
    for each in _lower(best.law):
        if (tried := fit(each)).is_better_than(best):
            best = tried
    return best


def _vanishing(points: Points, law: Law, use: Bool[np.ndarray, "env traj time"]) -> tuple[bool, ...]:
    """Of each channel, whether it is an amount that nothing makes where there is none of it, as far as data tell."""
    if not points.amounts.any():
        return ()
    bound = law._replace(vanishing=tuple(points.amounts.tolist()))
    of = lambda law: np.array(fitted(points, law, use).coefficients.of_channels)
    return tuple((points.amounts & (of(bound) > of(law) - CLEARLY)).tolist())


def _steadiest(points: Points, found: Fit, fit: Callable[[Law], Fit], others: list[Law]) -> Fit:
    """The fit, or one of other laws if its forecasts run away: whichever leaves and loses least."""
    if found.misfit is None and found.rest < CERTAIN:
        return found
    watched = lambda fit: fit._replace(strays=share_that_runs_away(points, fit.law, fit.coefficients.whole))
    best = watched(found)
    for each in dict.fromkeys(others) if best.strays > 0 else ():
        tried = watched(fit(each))
        if tried.rest + tried.strays < best.rest + best.strays:
            best = tried
    return best


def _fitted(
    points: Points,
    law: Law,
    use: Bool[np.ndarray, "env traj time"],
    noise: tuple[float, ...] | None,
    lengths: tuple[int, ...],
) -> Fit:
    found = fitted(points, law, use)
    plain = Fit(found.coefficients, law, found.rest / points.size)
    if noise is None:
        return plain
    better = refined(points, law, use, found.coefficients, noise, lengths)
    if not np.isfinite(better.misfit):
        return plain
    excess = max(better.misfit - UNSURE**2, 0.0) * float(np.mean(np.square(noise)))
    rest = float(np.sqrt(excess)) / points.median_gap / points.size
    present, differ = law.present(points), law.differ(points)
    widths = int(present.sum() + (present & differ[:, None]).sum())
    return Fit(better.coefficients, law, rest, better.misfit, better.length, widths)
