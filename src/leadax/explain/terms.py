"""A library of terms that formulas are made of: powers, products, drag, and sines."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..errors import InputError, lookup, whole

# More cannot be told apart by any data, and take for ever.
MOST_TERMS = 10_000
Values = Float[np.ndarray, " point"]

# What may stand in a library beside products of powers: of one variable each.
FUNCTIONS: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "drag": ("{0} |{0}|", lambda x: x * np.abs(x)),
    "sine": ("sin({0})", np.sin),
    "cosine": ("cos({0})", np.cos),
}


class Term(NamedTuple):
    """A term by name, and its values at some points."""

    name: str
    values: Values


def library(
    names: Sequence[str],
    points: Float[np.ndarray, "point variable"],
    *,
    degree: int = 3,
    functions: Iterable[str] = tuple(FUNCTIONS),
) -> list[Term]:
    """All terms of some variables at some points: products up to a degree, and functions of one variable.

    >>> [term.name for term in library(["x", "y"], np.ones((1, 2)), degree=2, functions=["sine"])]
    ['1', 'x', 'y', 'x^2', 'x y', 'y^2', 'sin(x)', 'sin(y)']
    """
    if math.comb(len(names) + whole("degree", degree, 0), len(names)) > MOST_TERMS:
        raise InputError(f"a `degree` of {degree} makes more than {MOST_TERMS} terms: lower it")
    terms = [Term("1", np.ones(len(points)))]
    for order in range(1, degree + 1):
        for chosen in combinations_with_replacement(range(len(names)), order):
            terms.append(Term(_product([names[i] for i in chosen]), np.prod(points[:, chosen], axis=1)))
    for function in functions:
        form, values = lookup("terms", function, FUNCTIONS)
        terms += [Term(form.format(name), values(points[:, i])) for i, name in enumerate(names)]
    return terms


def _product(names: Sequence[str]) -> str:
    powers = {name: names.count(name) for name in names}
    return " ".join(name if power == 1 else f"{name}^{power}" for name, power in powers.items())
