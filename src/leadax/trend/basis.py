"""In which terms a law is likely to be short."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from ..nets.polynomial import Region, count_of, features, terms


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
    every = terms(len(zero), degree)

    def ours(z: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.stack([np.ones(len(z)), *(np.prod(x[:, list(term)], axis=1) for term in every)], axis=1)

    return _in_terms_of_a_net(ours, region, zero, degree)


def multiples(
    region: Region, zero: Float[np.ndarray, " variable"], degree: int, channel: int
) -> Float[np.ndarray, "term coefficient"]:
    """From a polynomial of one degree less to the coefficients of a channel times that polynomial.

    What grows by itself grows in proportion to how much of it there is: the rate at which it does, per amount, is what
    is likely to be simple.

    >>> multiples(((0.0,), (2.0,)), np.array([0.0]), 1, 0).round(9).tolist()
    [[0.0], [0.5]]
    """
    lower = lambda z: features(z, degree - 1) if degree > 1 else z[:, :0]

    def ours(z: np.ndarray, x: np.ndarray) -> np.ndarray:
        return x[:, [channel]] * np.concatenate([np.ones((len(z), 1)), lower(z)], axis=1)

    return _in_terms_of_a_net(ours, region, zero, degree)


def _in_terms_of_a_net(
    ours: Callable[[np.ndarray, np.ndarray], np.ndarray], region: Region, zero: np.ndarray, degree: int
) -> Float[np.ndarray, "term coefficient"]:
    """The coefficients of functions of standard units, and of variables divided by their largest size."""
    low, high = (np.asarray(side) for side in region)
    # A linear map between two bases is known from enough points at which both are evaluated.
    z = np.random.default_rng(0).uniform(low, high, (8 * (1 + count_of(len(low), degree)), len(low)))
    size = np.maximum(np.abs(low - zero), np.abs(high - zero))
    x = (z - zero) / np.where(size > 0, size, 1.0)  # what is always 0 has no size
    theirs = np.concatenate([np.ones((len(z), 1)), features(z, degree)], axis=1)
    return np.linalg.lstsq(theirs, ours(z, x), rcond=None)[0]
