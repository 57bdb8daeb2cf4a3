"""Terms of a polynomial, for nets that add one to what their layers compute."""

import itertools
import math
from collections import Counter
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

# Hermite polynomials, of mean 0 and variance 1 where a variable in standard units is normally distributed.
_HERMITE = (
    lambda x: x,
    lambda x: (x * x - 1) / math.sqrt(2),
    lambda x: (x * x * x - 3 * x) / math.sqrt(6),
    lambda x: (x * x * (x * x - 6) + 3) / math.sqrt(24),
    lambda x: x * (x * x * (x * x - 10) + 15) / math.sqrt(120),
)
HIGHEST = len(_HERMITE)
# How much less a term of the next degree counts beforehand: most laws of nature are of low degree.
FALL = 0.25

Region = tuple[tuple[float, ...], tuple[float, ...]]


def terms(variables: int, degree: int) -> tuple[tuple[int, ...], ...]:
    """The variables in each term, from degree 1 on; the variables themselves come first.

    >>> terms(2, 2)
    ((0,), (1,), (0, 0), (0, 1), (1, 1))
    """
    every = (itertools.combinations_with_replacement(range(variables), k) for k in range(1, degree + 1))
    return tuple(itertools.chain.from_iterable(every))


def features(x: Any, degree: int, region: Region | None = None) -> Any:
    """The terms of a polynomial at points `(…, variable)`, for NumPy and JAX alike: `(…, term)`.

    A term of degree k is a product of Hermite polynomials times `FALL`^(k − 1). Beyond a region, given by the lowest
    and the highest value of each variable, terms of higher degree keep their value at its edge: only what is linear
    goes on growing.

    >>> import numpy as np
    >>> features(np.array([1.0, 2.0]), 2).round(3).tolist()
    [1.0, 2.0, 0.0, 0.5, 0.53]
    """
    if degree == 1:
        return x
    xp = x.__array_namespace__()
    inside = x
    if region is not None:
        low, high = (xp.broadcast_to(xp.asarray(side, dtype=x.dtype), x.shape) for side in region)
        inside = xp.clip(x, low, high)
    higher = [_term(inside, term) for term in terms(x.shape[-1], degree)[x.shape[-1] :]]
    return xp.concatenate([x, xp.stack(higher, axis=-1)], axis=-1)


def feature_slopes(
    x: np.ndarray, degree: int, region: Region | None = None
) -> tuple[Float[np.ndarray, "*shape term"], Float[np.ndarray, "*shape term variable"]]:
    """`features` and their derivatives with respect to each variable, for NumPy.

    >>> import numpy as np
    >>> values, slopes = feature_slopes(np.array([1.0, 2.0]), 2)
    >>> values.round(3).tolist()
    [1.0, 2.0, 0.0, 0.5, 0.53]
    >>> slopes.round(3).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.354, 0.0], [0.5, 0.25], [0.0, 0.707]]
    """
    variables = x.shape[-1]
    powers, weights = _powers(variables, degree)
    low, high = (-np.inf, np.inf) if region is None else (np.asarray(side) for side in region)
    inside = np.clip(x, low, high)
    moving = (x >= low) & (x <= high)
    hermite = np.stack([np.ones_like(x), *(of(inside) for of in _HERMITE[:degree])])
    steep = np.stack([np.zeros_like(x), *(math.sqrt(k) * hermite[k - 1] for k in range(1, degree + 1))])
    # All terms at once: the factors of each variable, then their products.
    factors = [hermite[powers[:, i], ..., i] for i in range(variables)]
    values = math.prod(factors[1:], start=factors[0]) * weights.reshape(-1, *(1,) * (x.ndim - 1))
    slopes = []
    for i in range(variables):
        others = [factors[j] for j in range(variables) if j != i]
        slopes.append(math.prod(others, start=steep[powers[:, i], ..., i] * moving[..., i]))
    values, turned = np.moveaxis(values, 0, -1), np.moveaxis(np.stack(slopes, axis=-1), 0, -2) * weights[:, None]
    # What is linear goes on growing beyond the region.
    values[..., :variables], turned[..., :variables, :] = x, np.eye(variables)
    return values, turned


@lru_cache
def _powers(variables: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """How often each variable is in each term, and what each term is multiplied by."""
    every = terms(variables, degree)
    powers = np.array([[term.count(i) for i in range(variables)] for term in every])
    return powers, FALL ** (powers.sum(axis=1) - 1.0)


def steepest(variables: int, degree: int, region: Region | None) -> float:
    """A bound of the Lipschitz constant of `features` in a region: infinite for a curved polynomial without one."""
    if degree == 1:
        return 1.0
    if region is None:
        return math.inf
    reach = [max(abs(a), abs(b)) for a, b in zip(*region, strict=True)]
    squares = float(variables)
    for term in terms(variables, degree)[variables:]:
        count = Counter(term)
        for one in count:
            others = [_largest(reach[i], k) for i, k in count.items() if i != one]
            squares += (FALL ** (len(term) - 1) * _largest_slope(reach[one], count[one]) * math.prod(others)) ** 2
    return math.sqrt(squares)


def _term(x: Any, term: tuple[int, ...]) -> Any:
    factors = [_HERMITE[k - 1](x[..., i]) for i, k in Counter(term).items()]
    return FALL ** (len(term) - 1) * math.prod(factors[1:], start=factors[0])


def _largest(reach: float, degree: int) -> float:
    """The largest size of a Hermite polynomial up to so far from 0: at the end, or at a turning point."""
    inner = (0.0, 0.7072, 0.8165, 1.2248, 2.0825)[degree - 1]
    return max(abs(_HERMITE[degree - 1](reach)), inner)


def _largest_slope(reach: float, degree: int) -> float:
    return 1.0 if degree == 1 else math.sqrt(degree) * _largest(reach, degree - 1)
