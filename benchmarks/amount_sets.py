"""Amounts with noise that grow in proportion to themselves, or that do not.

The rule for amounts (`leadax.trend.fitting`) was made after fish that are harvested had been forecast to die out. The
sets here were made after it, before any result on them was known; the first is of the same kind as those fish.
"""

from collections.abc import Callable

import numpy as np
from own_data_sets import Pair, box, simulated


def harvest(noise: float = 0.03) -> Pair:
    """Fish that grow logistically and are caught, in seven lakes; 3 % noise."""
    field = lambda x, r, h: (r * x[0] * (1 - x[0] / 10) - h * x[0] ** 2 / (1 + x[0] ** 2),)
    environments = [(0.8 + 0.1 * e, 0.6 + 0.15 * e) for e in range(7)]
    return simulated(field, environments, box([0.3], [9.0]), np.linspace(0, 12, 12), train=2, noise=noise, seed=41)


def gut(noise: float = 0.05) -> Pair:
    """Three kinds of bacteria that compete and help each other, in six people; 5 % noise."""

    def field(x: np.ndarray, a: float, b: float) -> tuple[float, ...]:
        return (
            x[0] * (1 - x[0] - a * x[1] + 0.2 * x[2]),
            x[1] * (0.8 - x[1] - b * x[0]),
            x[2] * (0.6 - x[2] + 0.3 * x[1]),
        )

    environments = [(a, b) for a in (0.3, 0.6, 0.9) for b in (0.2, 0.5)]
    return simulated(
        field, environments, box([0.02] * 3, [1.0] * 3), np.linspace(0, 10, 21), train=2, noise=noise, seed=42
    )


def tank(noise: float = 0.05) -> Pair:
    """Salt that flows in and decays in two tanks: nothing grows by itself; 5 % noise."""
    field = lambda x, q, k: (q - (k + 0.3) * x[0], 0.3 * x[0] - k * x[1])
    environments = [(q, k) for q in (0.3, 0.6, 1.0) for k in (0.2, 0.5)]
    return simulated(
        field, environments, box([0.0, 0.0], [3.0, 3.0]), np.linspace(0, 8, 17), train=2, noise=noise, seed=43
    )


def virus(noise: float = 0.05) -> Pair:
    """Cells that are made at a constant rate, infected cells and virus, in six patients; 5 % noise."""

    def field(x: np.ndarray, beta: float, delta: float) -> tuple[float, ...]:
        infected = beta * x[0] * x[2]
        return 0.2 - 0.2 * x[0] - infected, infected - delta * x[1], 2.0 * x[1] - 1.5 * x[2]

    environments = [(b, d) for b in (0.8, 1.4, 2.0) for d in (0.4, 0.7)]
    starts = box([0.6, 0.0, 0.02], [1.2, 0.1, 0.5])
    return simulated(field, environments, starts, np.linspace(0, 16, 25), train=2, noise=noise, seed=44)


AMOUNTS: dict[str, Callable[[], Pair]] = {"harvest": harvest, "gut": gut, "tank": tank, "virus": virus}
