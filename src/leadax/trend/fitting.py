"""Coefficients of polynomial fields, by the way that suits the data."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from .flow import Law, fitted
from .intervals import Points
from .regression import Coefficients
from .shooting import LENGTHS, refined

QUICK = (8,)  # stretches that degrees are compared with


class Fit(NamedTuple):
    """Coefficients, and what they leave.

    - `rest`: the root mean square of the rates that are left unexplained, where rates have size one; beyond the noise;
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


def fitted_for(
    points: Points,
    law: Law,
    use: Bool[np.ndarray, "env traj time"],
    noise: tuple[float, ...] | None,
    *,
    quick: bool = False,
) -> Fit:
    """The fit from each point to the next; for noisy data, that of whole stretches.

    A law is short in the units of the data, or in standard ones: whichever makes the data more likely.

    **Arguments**

    - `use`: at which points data may be used;
    - `noise`: of each channel, in standard units; None for none;
    - `quick`: whether a rough fit will do.
    """
    tried = [_fitted(points, law._replace(raw=raw), use, noise, quick) for raw in (False, True)]
    return max(tried, key=lambda fit: (fit.length, fit.evidence))


def _fitted(points: Points, law: Law, use: np.ndarray, noise: tuple[float, ...] | None, quick: bool) -> Fit:
    found = fitted(points, law, use)
    if noise is None:
        return Fit(*found)
    better = refined(points, law, use, found.coefficients, noise, QUICK if quick else LENGTHS)
    if not np.isfinite(better.misfit):
        return Fit(found.coefficients, found.rest)
    excess = max(better.misfit - 1, 0.0) * float(np.mean(np.square(noise)))
    return Fit(better.coefficients, float(np.sqrt(excess)) / points.median_gap, better.misfit, better.length)
