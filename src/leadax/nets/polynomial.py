"""Terms of a polynomial, for nets that add one to what their layers compute."""

import itertools
import math
from collections import Counter
from collections.abc import Sequence
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
# How far beyond the region a polynomial goes on as a straight line, in parts of the region's size.
REACH = 0.25
SIGNED = FALL / math.sqrt(3)  # of signed squares: so that they have the size of other terms of degree 2

Region = tuple[tuple[float, ...], tuple[float, ...]]
Zero = tuple[float, ...]


def terms(variables: int, degree: int) -> tuple[tuple[int, ...], ...]:
    """The variables in each term, from degree 1 on; the variables themselves come first.

    >>> terms(2, 2)
    ((0,), (1,), (0, 0), (0, 1), (1, 1))
    """
    every = (itertools.combinations_with_replacement(range(variables), k) for k in range(1, degree + 1))
    return tuple(itertools.chain.from_iterable(every))


def degrees_of(variables: int, degree: int, zero: Zero | None = None) -> tuple[int, ...]:
    """The degree of each term that `features` has."""
    return (*map(len, terms(variables, degree)), *((2,) * variables if zero is not None else ()))


def count_of(variables: int, degree: int, zero: Zero | None = None) -> int:
    """How many terms `features` has."""
    return len(degrees_of(variables, degree, zero))


def features(x: Any, degree: int, region: Region | None = None, zero: Zero | None = None) -> Any:
    """The terms of a polynomial at points `(…, variable)`, for NumPy and JAX alike: `(…, term)`.

    A term of degree k is a product of Hermite polynomials times `FALL`^(k − 1). Beyond a region, given by the lowest
    and the highest value of each variable, these go on as straight lines, up to `REACH` times its size beyond it. From
    there on they keep their values: only the variables themselves go on growing.

    - `zero`: adds signed squares $(x - zero) |x - zero|$ of all variables, such as the drag of a fast body.

    >>> import numpy as np
    >>> features(np.array([1.0, 2.0]), 2).round(3).tolist()
    [1.0, 2.0, 0.0, 0.5, 0.53]
    """
    if degree == 1 and zero is None:
        return x
    xp = x.__array_namespace__()
    inside, beyond = x, None
    if region is not None:
        low, high = (xp.broadcast_to(xp.asarray(side, dtype=x.dtype), x.shape) for side in region)
        inside, reach = xp.clip(x, low, high), REACH * (high - low)
        beyond = xp.clip(x - inside, -reach, reach)
    hermite = [of(inside) for of in _HERMITE[:degree]]
    if beyond is not None:
        hermite = [value + slope * beyond for value, slope in zip(hermite, _slopes(hermite), strict=True)]
    higher = [_term(hermite, term) for term in terms(x.shape[-1], degree)[x.shape[-1] :]]
    parts = [x, xp.stack(higher, axis=-1)] if higher else [x]
    if zero is not None:
        from_zero = inside - xp.broadcast_to(xp.asarray(zero, dtype=x.dtype), x.shape)
        further = from_zero if beyond is None else from_zero + 2 * beyond
        parts.append(SIGNED * xp.abs(from_zero) * further)
    return xp.concatenate(parts, axis=-1)


def _slopes(hermite: Sequence[Any]) -> list[Any]:
    """The derivatives of Hermite polynomials of degree 1, 2, … from their values."""
    return [hermite[0] * 0 + 1, *(math.sqrt(k + 1) * hermite[k - 1] for k in range(1, len(hermite)))]


def feature_slopes(
    x: np.ndarray, degree: int, region: Region | None = None, zero: Zero | None = None
) -> tuple[Float[np.ndarray, "*shape term"], Float[np.ndarray, "*shape term variable"]]:
    """`features` and their derivatives with respect to each variable, for NumPy.

    >>> import numpy as np
    >>> values, slopes = feature_slopes(np.array([1.0, 2.0]), 2)
    >>> values.round(3).tolist()
    [1.0, 2.0, 0.0, 0.5, 0.53]
    >>> slopes.round(3).tolist()
    [[1.0, 0.0], [0.0, 1.0], [0.354, 0.0], [0.5, 0.25], [0.0, 0.707]]
    """
    rows = x.reshape(-1, x.shape[-1]).T
    low, high = (-np.inf, np.inf) if region is None else (np.asarray(side)[:, None] for side in region)
    inside, reach = np.clip(rows, low, high), (0.0 if region is None else REACH * (np.asarray(high) - low))
    from_inside = rows - inside
    beyond, moving = np.clip(from_inside, -reach, reach), np.abs(from_inside) <= reach
    within = [of(inside) for of in _HERMITE[:degree]]
    slopes = _slopes(within)
    hermite = [np.ones_like(rows), *(value + slope * beyond for value, slope in zip(within, slopes, strict=True))]
    steep = [np.zeros_like(rows), *(slope * moving for slope in slopes)]
    values, turned = _products(np.concatenate(hermite), np.concatenate(steep), len(rows), degree)
    # What is linear goes on growing beyond the region.
    values[: len(rows)], turned[:, : len(rows)] = rows, np.eye(len(rows))[..., None]
    if zero is not None:
        from_zero = inside - np.asarray(zero)[:, None]
        signed = SIGNED * np.abs(from_zero) * (from_zero + 2 * beyond)
        bends = (2 * SIGNED * np.abs(from_zero) * moving)[:, None] * np.eye(len(rows))[..., None]
        values, turned = np.concatenate([values, signed]), np.concatenate([turned, bends], axis=1)
    return values.T.reshape(*x.shape[:-1], -1), turned.transpose(2, 1, 0).reshape(*x.shape[:-1], -1, len(rows))


def _products(
    factors: Float[np.ndarray, "power_and_variable row"],
    slopes: Float[np.ndarray, "power_and_variable row"],
    variables: int,
    degree: int,
) -> tuple[Float[np.ndarray, "term row"], Float[np.ndarray, "variable term row"]]:
    """All terms at once, and their derivatives, from the powers of the variables."""
    where, weights = _places(variables, degree)
    each = [factors[own] for own in where]
    values = math.prod(each[1:], start=each[0]) * weights
    turned = np.empty((variables, *values.shape))
    for i, own in enumerate(where):
        others = [each[j] for j in range(variables) if j != i]
        turned[i] = math.prod(others, start=slopes[own] * weights)
    return values, turned


@lru_cache
def _places(variables: int, degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Where the power of each variable stands that is in each term, and what each term is multiplied by."""
    every = terms(variables, degree)
    powers = np.array([[term.count(i) for i in range(variables)] for term in every])
    return (powers * variables + np.arange(variables)).T, FALL ** (powers.sum(axis=1, keepdims=True) - 1.0)


def steepest(variables: int, degree: int, region: Region | None, zero: Zero | None = None) -> float:
    """A bound of the Lipschitz constant of `features`: infinite for a curved polynomial without a region."""
    if degree == 1 and zero is None:
        return 1.0
    if region is None:
        return math.inf
    edge = [max(abs(a), abs(b)) for a, b in zip(*region, strict=True)]
    beyond = [REACH * (b - a) for a, b in zip(*region, strict=True)]
    farthest = lambda i, k: _largest(edge[i], k) + beyond[i] * _largest_slope(edge[i], k)
    squares = float(variables)
    for term in terms(variables, degree)[variables:]:
        count = Counter(term)
        for one in count:
            others = [farthest(i, k) for i, k in count.items() if i != one]
            squares += (FALL ** (len(term) - 1) * _largest_slope(edge[one], count[one]) * math.prod(others)) ** 2
    if zero is not None:
        squares += sum((2 * SIGNED * max(b - z, z - a)) ** 2 for a, b, z in zip(*region, zero, strict=True))
    return math.sqrt(squares)


def _term(hermite: Sequence[Any], term: tuple[int, ...]) -> Any:
    factors = [hermite[k - 1][..., i] for i, k in Counter(term).items()]
    return FALL ** (len(term) - 1) * math.prod(factors[1:], start=factors[0])


def _largest(reach: float, degree: int) -> float:
    """The largest size of a Hermite polynomial up to so far from 0: at the end, or at a turning point."""
    inner = (0.0, 0.7072, 0.8165, 1.2248, 2.0825)[degree - 1]
    return max(abs(_HERMITE[degree - 1](reach)), inner)


def _largest_slope(reach: float, degree: int) -> float:
    return 1.0 if degree == 1 else math.sqrt(degree) * _largest(reach, degree - 1)
