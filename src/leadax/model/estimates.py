"""Numbers that a model has learnt and that mean something by themselves: those of a known formula."""

from typing import NamedTuple

import jax
import numpy as np

from ..methods import Levels, Method


class Estimate(NamedTuple):
    """A number in the units of the data: the mean over members, and their standard deviation (0 for a single one).

    The spread is that of training from other random weights. It is not the whole uncertainty: noise in the data moves
    all members alike.

    >>> print(Estimate(0.5, 0.012), Estimate(0.5, 0.0))
    0.5 ± 0.012 0.5
    """

    value: float
    spread: float

    def __str__(self) -> str:
        return f"{self.value:.5g}" + (f" ± {self.spread:.2g}" if self.spread else "")

    def __float__(self) -> float:
        return self.value


def estimates(method: Method, levels: Levels, environment: int) -> dict[str, Estimate]:
    """The numbers of one environment by name; empty for a method without such numbers."""

    def member(levels: Levels) -> dict[str, jax.Array]:
        own = jax.tree.map(lambda a: a[environment], levels.specific)
        return dict(method.estimates(levels.shared, own))

    found = jax.vmap(member)(levels._replace(local=()))
    return {name: _summary(np.asarray(values, float)) for name, values in found.items()}


def _summary(values: np.ndarray) -> Estimate:
    return Estimate(float(values.mean()), float(values.std(ddof=min(1, len(values) - 1))))
