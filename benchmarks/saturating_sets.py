"""Data sets that no polynomial describes, most of them with growth that saturates.

The rule that environments differ in terms of low degree (`leadax.trend.fitting`) was made on `SATURATING`. Those of
`SATURATING_LATER` were made after it, before any result on them was known.
"""

from collections.abc import Callable

import numpy as np
from own_data_sets import Pair, box, simulated

TEN = np.linspace(0, 10, 21)


def monod(half: float, seed: int, noise: float = 0.05) -> Pair:
    """Cells in a chemostat that grow by Monod's law, at six dilutions and feeds; 5 % noise."""

    def field(x: np.ndarray, d: float, feed: float) -> tuple[float, float]:
        growth = x[0] * x[1] / (half + x[0])
        return d * (feed - x[0]) - growth, growth - d * x[1]

    environments = [(d, feed) for d in (0.15, 0.3, 0.5) for feed in (1.5, 2.5)]
    return simulated(field, environments, box([0.2, 0.1], [2.0, 1.5]), TEN, train=2, noise=noise, seed=seed)


def haldane(noise: float = 0.05) -> Pair:
    """Cells that too much substrate slows down, at six dilutions and feeds; 5 % noise."""

    def field(x: np.ndarray, d: float, feed: float) -> tuple[float, float]:
        growth = x[0] * x[1] / (0.4 + x[0] + x[0] ** 2 / 1.5)
        return d * (feed - x[0]) - growth, growth - d * x[1]

    environments = [(d, feed) for d in (0.15, 0.25, 0.35) for feed in (1.5, 2.5)]
    return simulated(field, environments, box([0.2, 0.1], [2.0, 1.5]), TEN, train=2, noise=noise, seed=201)


def holling(noise: float = 0.05) -> Pair:
    """Prey and predators that eat no more than they can, in six environments; 5 % noise."""

    def field(x: np.ndarray, capacity: float, death: float) -> tuple[float, float]:
        eaten = x[0] * x[1] / (0.4 + x[0])
        return x[0] * (1 - x[0] / capacity) - eaten, eaten - death * x[1]

    environments = [(k, d) for k in (1.2, 1.8, 2.4) for d in (0.4, 0.55)]
    starts, times = box([0.2, 0.2], [1.8, 1.2]), np.linspace(0, 15, 21)
    return simulated(field, environments, starts, times, train=2, noise=noise, seed=300)


def pathway(noise: float = 0.05) -> Pair:
    """Two enzymes in a row, by Michaelis and Menten's law, in six cells; 5 % noise."""

    def field(x: np.ndarray, fast: float, slow: float) -> tuple[float, float]:
        first, second = fast * x[0] / (0.3 + x[0]), slow * x[1] / (0.5 + x[1])
        return 0.3 - first, first - second

    environments = [(a, b) for a in (0.5, 0.7, 0.9) for b in (0.5, 0.8)]
    return simulated(field, environments, box([0.2, 0.1], [2.0, 1.5]), TEN, train=2, noise=noise, seed=21)


def learners(noise: float = 0.05) -> Pair:
    """Predators that learn to find prey (Holling's third law), in six places; 5 % noise."""

    def field(x: np.ndarray, capacity: float, death: float) -> tuple[float, float]:
        eaten = x[0] ** 2 * x[1] / (0.25 + x[0] ** 2)
        return x[0] * (1 - x[0] / capacity) - eaten, 0.8 * eaten - death * x[1]

    environments = [(k, d) for k in (1.5, 2.0, 2.5) for d in (0.3, 0.45)]
    starts, times = box([0.2, 0.2], [2.0, 1.2]), np.linspace(0, 15, 26)
    return simulated(field, environments, starts, times, train=2, noise=noise, seed=22)


def repressor(noise: float = 0.1) -> Pair:
    """A gene whose protein represses it, by Hill's law, in five cells; 10 % noise."""
    field = lambda x, a: (a / (1 + x[1] ** 3) - 0.5 * x[0], x[0] - 0.4 * x[1])
    environments = [(a,) for a in (1.0, 1.5, 2.0, 2.5, 3.0)]
    return simulated(field, environments, box([0.1, 0.1], [2.0, 2.5]), TEN, train=3, noise=noise, seed=23)


def glucose(noise: float = 0.05) -> Pair:
    """Glucose and the action of insulin in six patients (Bergman's minimal model); 5 % noise."""
    field = lambda x, s, p: (-(0.3 + x[1]) * x[0] + 0.3, -p * x[1] + s * (x[0] - 0.8))
    environments = [(s, p) for s in (0.2, 0.4, 0.6) for p in (0.5, 0.9)]
    return simulated(field, environments, box([0.5, 0.0], [3.0, 0.6]), TEN, train=2, noise=noise, seed=24)


def rarity(noise: float = 0.05) -> Pair:
    """Thirty populations that die out if they are small, one trajectory of ten points each; 5 % noise."""
    rng = np.random.default_rng(25)
    field = lambda x, r, k: (r * x[0] * (x[0] / 0.8 - 1) * (1 - x[0] / k),)
    environments = list(zip(rng.uniform(0.3, 0.8, 30), rng.uniform(2.5, 4, 30), strict=True))
    return simulated(
        field, environments, box([0.2], [3.5]), np.linspace(0, 6, 10), train=1, test=2, noise=noise, seed=25
    )


def reactor(noise: float = 0.05) -> Pair:
    """A reaction that heats itself (Arrhenius' law), at six coolings; 5 % noise."""

    def field(x: np.ndarray, cooling: float, feed: float) -> tuple[float, float]:
        rate = 0.4 * x[0] * np.exp(x[1] / (1 + 0.05 * x[1]))
        return feed * (1 - x[0]) - rate, feed * -x[1] + 2.5 * rate - cooling * x[1]

    environments = [(c, q) for c in (1.0, 1.5, 2.0) for q in (0.6, 1.0)]
    return simulated(
        field, environments, box([0.2, 0.0], [1.0, 2.0]), np.linspace(0, 6, 25), train=3, noise=noise, seed=26
    )


def crowded(noise: float = 0.05) -> Pair:
    """An epidemic in which people grow careful, in six towns; 5 % noise."""

    def field(x: np.ndarray, b: float, c: float) -> tuple[float, float]:
        infected = b * x[0] * x[1] / (1 + 4 * x[1])
        return -infected, infected - c * x[1]

    environments = [(b, c) for b in (0.8, 1.2, 1.6) for c in (0.25, 0.4)]
    return simulated(
        field, environments, box([0.5, 0.02], [1.0, 0.2]), np.linspace(0, 16, 25), train=2, noise=noise, seed=27
    )


SATURATING: dict[str, Callable[[], Pair]] = {
    "monod": lambda: monod(0.35, 103),
    "monod-slow": lambda: monod(0.8, 103),
    "haldane": haldane,
    "holling": holling,
}
SATURATING_LATER: dict[str, Callable[[], Pair]] = {
    "pathway": pathway,
    "learners": learners,
    "repressor": repressor,
    "glucose": glucose,
    "rarity": rarity,
    "reactor": reactor,
    "crowded": crowded,
}
