"""Sparse regression: few terms of a library that together explain most of a quantity."""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from .terms import Term

LEAST_GAIN = 2e-3  # of the variance: a term that explains less is left out
OWN_GAIN = 0.02  # of the variance: what terms of one environment alone must explain more than common ones
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


class Quantity(NamedTuple):
    """What a law is sought for: values at some points, and the terms of a library there.

    - `negligible`: values no larger than this are taken as 0.
    """

    values: Float[np.ndarray, " point"]
    terms: Sequence[Term]
    negligible: float = 0.0

    @property
    def size(self) -> float:
        """The mean square."""
        return float(np.mean(self.values**2))

    @property
    def columns(self) -> tuple[Float[np.ndarray, "point term"], Float[np.ndarray, " term"]]:
        """The terms, of size 1, and their sizes."""
        matrix = np.stack([term.values for term in self.terms], axis=1)
        scale = np.sqrt(np.mean(matrix**2, axis=0))
        scale = np.where(scale > 0, scale, 1.0)
        return matrix / scale, scale

    def law(self, chosen: Sequence[int]) -> Law:
        """The best sum of these terms."""
        matrix, scale = (array[..., list(chosen)] for array in self.columns)
        found = np.linalg.lstsq(matrix, self.values, rcond=None)[0]
        r2 = 1 - float(np.mean((self.values - matrix @ found) ** 2)) / self.size
        return Law(tuple(self.terms[i].name for i in chosen), tuple((found / scale).tolist()), r2)


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
    return laws([Quantity(values, terms, negligible)], most)[0]


def laws(quantities: Sequence[Quantity], most: int = 6) -> list[Law]:
    """Laws for the same quantity in several environments, with coefficients of their own.

    The terms are those that explain most on average over environments: a law is usually the same, and what looks like
    another one with a little more explained is not. An environment has terms of its own where they explain 2 % more,
    and not those that explain nothing there.
    """
    real = [q for q in quantities if q.size > q.negligible**2]
    common = _search(real, most)
    return [_own(q, common, most) if q.size > q.negligible**2 else Law((), (), 1.0) for q in quantities]


def _own(quantity: Quantity, common: tuple[int, ...], most: int) -> Law:
    """The law of one environment."""
    found = quantity.law(common)
    without = {i: quantity.law([k for k in common if k != i]).r2 for i in common}
    used = [i for i in common if found.r2 - without[i] >= LEAST_GAIN]
    found, own = quantity.law(used), quantity.law(_search([quantity], most))
    return own if own.r2 - found.r2 > OWN_GAIN else found


def _search(quantities: Sequence[Quantity], most: int) -> tuple[int, ...]:
    """The terms of a library that together explain most of all quantities, each in units of its own size."""
    if not quantities:
        return ()
    count = len(quantities[0].terms)
    matrices = [(q.columns[0], q.values / np.sqrt(q.size)) for q in quantities]
    products = [(m.T @ m / len(v), m.T @ v / len(v)) for m, v in matrices]
    chosen, left = (), 1.0
    while len(chosen) < min(most, count) and left > ENOUGH:
        better, now = _best(_subsets(chosen, count), products)
        if left - now < LEAST_GAIN:
            break
        chosen, left = better, now
    return chosen


def _subsets(chosen: tuple[int, ...], count: int) -> Int[np.ndarray, "subset term"]:
    """All subsets with one term more than was chosen, or, if they are too many, those that contain what was chosen."""
    size = len(chosen) + 1
    if math.comb(count, size) <= MOST_SUBSETS:
        return np.array(list(itertools.combinations(range(count), size)))
    return np.array([sorted((*chosen, i)) for i in range(count) if i not in chosen])


def _best(
    subsets: Int[np.ndarray, "subset term"], products: Sequence[tuple[np.ndarray, np.ndarray]]
) -> tuple[tuple[int, ...], float]:
    """The subset that explains most, and the share of the mean square that it leaves; the mean over quantities."""
    explained = np.zeros(len(subsets))
    for gram, moments in products:
        blocks = gram[subsets[:, :, None], subsets[:, None, :]] + RIDGE * np.eye(subsets.shape[1])
        sides = moments[subsets]
        explained += np.sum(sides * np.linalg.solve(blocks, sides[..., None])[..., 0], axis=1) / len(products)
    best = int(np.argmax(explained))
    return tuple(subsets[best].tolist()), 1 - float(explained[best])
