"""Coefficients of polynomial fields, by the way that suits the data."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from .flow import Law, fitted
from .intervals import Points
from .regression import Coefficients
from .shooting import LENGTHS, refined

UNSURE = 1.2  # so many times larger than estimated noise may be
QUICK = (8,)  # stretches that degrees are compared with
CLEARLY = 3.0  # how much larger the logarithm of how likely data are must be, to say that they are


class Fit(NamedTuple):
    """Coefficients, and what they leave.

    - `rest`: the root mean square of the rates that are left unexplained, beyond the noise, where those that are to be
      explained have size one;
    - `misfit`: the mean square of what is left, in units of the noise; None for data without noise;
    - `length`: of the stretches that were forecast, in intervals.
    """

    coefficients: Coefficients
    rest: float
    misfit: float | None = None
    length: int = 1

    @property
    def evidence(self) -> float:
        """How likely the data are, see `leadax.trend.effects.evidence`; of fits with equal `length` only."""
        return self.coefficients.evidence

    def is_clearly_better_than(self, other: "Fit", times: int = 1) -> bool:
        """Whether data are clearly more likely with it, so many times; longer forecasts are better in any case."""
        if self.length != other.length:
            return self.length > other.length
        return self.evidence > other.evidence + CLEARLY * times


def fitted_for(
    points: Points,
    law: Law,
    use: Bool[np.ndarray, "env traj time"],
    noise: tuple[float, ...] | None,
    *,
    quick: bool = False,
) -> Fit:
    """The fit from each point to the next; for noisy data, that of whole stretches.

    A law is short in standard units, or in those of the data if that makes the data clearly more likely.

    **Arguments**

    - `use`: at which points data may be used;
    - `noise`: of each channel, in standard units; None for none;
    - `quick`: whether a rough fit will do.
    """
    standard, raw = (_fitted(points, law._replace(raw=raw), use, noise, quick) for raw in (False, True))
    return raw if raw.is_clearly_better_than(standard) else standard


def _fitted(points: Points, law: Law, use: np.ndarray, noise: tuple[float, ...] | None, quick: bool) -> Fit:
    found = fitted(points, law, use)
    if noise is None:
        return Fit(found.coefficients, found.rest / points.size)
    better = refined(points, law, use, found.coefficients, noise, QUICK if quick else LENGTHS)
    if not np.isfinite(better.misfit):
        return Fit(found.coefficients, found.rest / points.size)
    excess = max(better.misfit - UNSURE**2, 0.0) * float(np.mean(np.square(noise)))
    rest = float(np.sqrt(excess)) / points.median_gap / points.size
    return Fit(better.coefficients, rest, better.misfit, better.length)
