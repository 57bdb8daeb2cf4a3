"""Sparse regression: few terms of a library that together explain most of a quantity."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .terms import Term

LEAST_GAIN = 2e-3  # of the variance: a term that explains less is left out
ENOUGH = 1e-4  # of the variance, left unexplained: no further term is sought


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


def law(values: Float[np.ndarray, " point"], terms: Sequence[Term], *, most: int = 8) -> Law:
    """A sparse sum of terms that explains a quantity: terms are added one by one, then those that gain little go.

    Each time the term is added that explains most of what is left (orthogonal least squares). Unlike thresholds on the
    coefficients of all terms at once, this copes with a library whose terms are nearly the same in the region of the
    data, as x³ and sin x are.

    - `most`: how many terms there may be.

    >>> x = np.linspace(-1, 2, 50)
    >>> found = law(3 * x - 2 * x**2, [Term("1", np.ones(50)), Term("x", x), Term("x^2", x**2)])
    >>> found.formula
    '3 x - 2 x^2'
    """
    size = float(np.mean(values**2))
    if size == 0:
        return Law((), (), 1.0)
    chosen: list[int] = []
    while len(chosen) < min(most, len(terms), len(values)):
        gains = {i: _left(values, terms, [*chosen, i]) for i in range(len(terms)) if i not in chosen}
        best = min(gains, key=gains.__getitem__)
        before = _left(values, terms, chosen)
        if before - gains[best] < LEAST_GAIN * size:
            break
        chosen.append(best)
        if gains[best] < ENOUGH * size:
            break
    chosen = sorted(_pruned(values, terms, chosen, size))
    found = _coefficients(values, terms, chosen)
    names = tuple(terms[i].name for i in chosen)
    return Law(names, tuple(found.tolist()), 1 - _left(values, terms, chosen) / size)


def _pruned(values: np.ndarray, terms: Sequence[Term], chosen: list[int], size: float) -> list[int]:
    """Without those that later ones made superfluous."""
    while len(chosen) > 1:
        without = {i: _left(values, terms, [j for j in chosen if j != i]) for i in chosen}
        least = min(without, key=without.__getitem__)
        if without[least] - _left(values, terms, chosen) > LEAST_GAIN * size:
            break
        chosen = [j for j in chosen if j != least]
    return chosen


def _coefficients(values: np.ndarray, terms: Sequence[Term], chosen: Sequence[int]) -> np.ndarray:
    if not chosen:
        return np.zeros(0)
    matrix = np.stack([terms[i].values for i in chosen], axis=1)
    scale = np.sqrt(np.mean(matrix**2, axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    return np.linalg.lstsq(matrix / scale, values, rcond=None)[0] / scale


def _left(values: np.ndarray, terms: Sequence[Term], chosen: Sequence[int]) -> float:
    """The mean square of what a sum of these terms leaves unexplained."""
    if not chosen:
        return float(np.mean(values**2))
    matrix = np.stack([terms[i].values for i in chosen], axis=1)
    return float(np.mean((values - matrix @ _coefficients(values, terms, chosen)) ** 2))
