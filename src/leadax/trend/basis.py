"""In which terms a law is likely to be short."""

import numpy as np
from jaxtyping import Float

from ..nets.polynomial import Region, features, terms


def monomials(region: Region, zero: Float[np.ndarray, " variable"], degree: int) -> Float[np.ndarray, "term term"]:
    """From coefficients of monomials in the units of the data to those of the terms of a polynomial net.

    Infections are proportional to the product of two numbers of people, not to that of their deviations from a mean:
    most laws are short in the units of the data. Every variable is divided by its largest size, so that a coefficient
    is as large as what its term can amount to.

    **Arguments**

    - `region`: the lowest and the highest value of each variable, in standard units; `zero`: what is 0 in the data.

    >>> monomials(((-1.0,), (1.0,)), np.array([-1.0]), 1).round(9).tolist()
    [[1.0, 0.5], [0.0, 0.5]]
    """
    low, high = (np.asarray(side) for side in region)
    every = terms(len(low), degree)
    # A linear map between two bases is known from enough points at which both are evaluated.
    z = np.random.default_rng(0).uniform(low, high, (8 * (1 + len(every)), len(low)))
    size = np.maximum(np.abs(low - zero), np.abs(high - zero))
    x = (z - zero) / np.where(size > 0, size, 1.0)  # what is always 0 has no size
    ones = np.ones((len(z), 1))
    theirs = np.concatenate([ones, features(z, degree)], axis=1)
    ours = np.stack([np.prod(x[:, list(term)], axis=1) for term in every], axis=1)
    return np.linalg.lstsq(theirs, np.concatenate([ones, ours], axis=1), rcond=None)[0]
