"""Sparse regression: few terms of a library that together explain most of a quantity."""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from .terms import Term

LEAST_GAIN = 2e-3  # of the variance: a term that explains less is left out
ENOUGH = 1e-4  # of the variance, left unexplained: no further term is sought
MOST_SUBSETS = 30_000
RIDGE = 1e-9  # terms have the size 1; two that are the same must not make a matrix singular


class Law(NamedTuple):
    """A sum of terms with their coefficients, and the share of the quantity's size that it explains (R², at most 1).

    The size is the mean square, not the variance: a constant is something to explain, too.

    >>> print(Law(("x", "1"), (-0.5, 2.0), 0.99))
    -0.5 x + 2   (R² = 0.99)
    """

    terms: tuple[str, ...]
    coefficients: tuple[float, ...]
    r2: float

    @property
    def formula(self) -> str:
        """The sum in one line."""
        parts = [_part(c, name) for c, name in zip(self.coefficients, self.terms, strict=True)]
        return " + ".join(parts).replace("+ -", "- ") or "0"

    def __str__(self) -> str:
        return f"{self.formula}   (R² = {self.r2:.4g})"


def _part(coefficient: float, name: str) -> str:
    return f"{coefficient:.4g}" if name == "1" else f"{coefficient:.4g} {name}"


def law(values: Float[np.ndarray, " point"], terms: Sequence[Term], *, most: int = 6, negligible: float = 0.0) -> Law:
    """A sparse sum of terms that explains a quantity: the best sum of one term, of two, … until more gain little.

    All sums of few terms are compared; where there are too many of them, the best one so far gets one term more.
    Unlike thresholds on the coefficients of all terms at once, this copes with a library whose terms are nearly the
    same in the region of the data, as x³ and sin x are.

    - `most`: how many terms there may be; `negligible`: values no larger than this are taken as 0.

    >>> x = np.linspace(-1, 2, 50)
    >>> found = law(3 * x - 2 * x**2, [Term("1", np.ones(50)), Term("x", x), Term("x^2", x**2)])
    >>> found.formula
    '3 x - 2 x^2'
    """
    size = float(np.mean(values**2))
    if size <= negligible**2:
        return Law((), (), 1.0)
    matrix = np.stack([term.values for term in terms], axis=1)
    scale = np.sqrt(np.mean(matrix**2, axis=0))
    matrix = matrix / np.where(scale > 0, scale, 1.0)
    products = matrix.T @ matrix / len(values), matrix.T @ values / len(values)
    chosen, left = (), size
    while len(chosen) < min(most, len(terms)) and left > ENOUGH * size:
        better, now = _best(_subsets(chosen, len(terms)), *products, size)
        if left - now < LEAST_GAIN * size:
            break
        chosen, left = better, now
    found = np.linalg.lstsq(matrix[:, chosen], values, rcond=None)[0]
    r2 = 1 - float(np.mean((values - matrix[:, chosen] @ found) ** 2)) / size
    return Law(tuple(terms[i].name for i in chosen), tuple((found / scale[list(chosen)]).tolist()), r2)


def _subsets(chosen: tuple[int, ...], count: int) -> Int[np.ndarray, "subset term"]:
    """All subsets with one term more than was chosen, or, if they are too many, those that contain what was chosen."""
    size = len(chosen) + 1
    if math.comb(count, size) <= MOST_SUBSETS:
        return np.array(list(itertools.combinations(range(count), size)))
    return np.array([sorted((*chosen, i)) for i in range(count) if i not in chosen])


def _best(
    subsets: Int[np.ndarray, "subset term"],
    gram: Float[np.ndarray, "all all"],
    moments: Float[np.ndarray, " all"],
    size: float,
) -> tuple[tuple[int, ...], float]:
    """The subset that explains most, and the mean square that it leaves."""
    blocks = gram[subsets[:, :, None], subsets[:, None, :]] + RIDGE * np.eye(subsets.shape[1])
    sides = moments[subsets]
    explained = np.sum(sides * np.linalg.solve(blocks, sides[..., None])[..., 0], axis=1)
    best = int(np.argmax(explained))
    return tuple(subsets[best].tolist()), size - float(explained[best])
