"""Data sets that settings are chosen on, by `benchmarks/choices.py`: none of them is in `own_data_sets.py`."""

from collections.abc import Callable

import numpy as np
from own_data_sets import Pair, box, simulated


def duffing() -> Pair:
    """Springs that stiffen: four environments, three trajectories."""
    field = lambda x, a, b: (x[1], -0.2 * x[1] - a * x[0] - b * x[0] ** 3)
    environments = [(a, b) for a in (0.5, 1.0) for b in (0.3, 0.9)]
    return simulated(field, environments, box([-1.5, -1.5], [1.5, 1.5]), np.linspace(0, 8, 25), train=3)


def grazing() -> Pair:
    """Rosenzweig and MacArthur's prey and predators, which eat no more than they can: six environments."""

    def field(x: np.ndarray, capacity: float, death: float) -> tuple[float, float]:
        eaten = x[0] * x[1] / (0.6 + x[0])
        return x[0] * (1 - x[0] / capacity) - eaten, eaten - death * x[1]

    environments = [(k, d) for k in (1.2, 1.8, 2.4) for d in (0.4, 0.55)]
    return simulated(field, environments, box([0.2, 0.2], [1.8, 1.2]), np.linspace(0, 15, 21), train=2)


def selkov() -> Pair:
    """Glycolysis at five feeds."""
    field = lambda x, b: (-x[0] + 0.08 * x[1] + x[0] ** 2 * x[1], b - 0.08 * x[1] - x[0] ** 2 * x[1])
    environments = [(b,) for b in (0.3, 0.45, 0.6, 0.75, 0.9)]
    return simulated(field, environments, box([0.2, 0.4], [1.6, 2.2]), np.linspace(0, 14, 22), train=3)


def waning_immunity() -> Pair:
    """An epidemic after which immunity wanes, in six regions; 5 % noise."""

    def field(x: np.ndarray, b: float, c: float) -> tuple[float, float]:
        recovered = 1 - x[0] - x[1]
        return -b * x[0] * x[1] + c * recovered, b * x[0] * x[1] - 0.5 * x[1]

    environments = [(b, c) for b in (1.2, 1.8, 2.4) for c in (0.05, 0.15)]
    return simulated(field, environments, box([0.5, 0.01], [0.95, 0.2]), np.linspace(0, 15, 21), train=3, noise=0.05)


def competition() -> Pair:
    """Two species that compete, in nine environments with a single trajectory each."""
    field = lambda x, a, b: (x[0] * (1 - x[0] - a * x[1]), 0.7 * x[1] * (1 - x[1] - b * x[0]))
    environments = [(a, b) for a in (0.4, 0.8, 1.2) for b in (0.4, 0.8, 1.2)]
    return simulated(field, environments, box([0.1, 0.1], [1.2, 1.2]), np.linspace(0, 10, 16), train=1)


def switch() -> Pair:
    """Two genes that switch each other off, in six cells; 10 % noise."""
    field = lambda x, a, b: (a / (1 + x[1] ** 2) - x[0], b / (1 + x[0] ** 2) - x[1])
    environments = [(a, b) for a in (1.5, 2.5, 3.5) for b in (2.0, 3.0)]
    return simulated(field, environments, box([0, 0], [3, 3]), np.linspace(0, 6, 21), train=4, noise=0.1)


def rigid_body() -> Pair:
    """Spinning bodies of five shapes with friction: three channels, two trajectories."""
    field = lambda x, a, b: (
        a * x[1] * x[2] - 0.1 * x[0],
        b * x[0] * x[2] - 0.1 * x[1],
        -0.5 * x[0] * x[1] - 0.1 * x[2],
    )
    environments = [(0.4, 0.9), (0.6, 0.9), (0.8, 0.9), (0.6, 0.6), (0.6, 1.2)]
    return simulated(field, environments, box([-1.5] * 3, [1.5] * 3), np.linspace(0, 8, 21), train=2)


DEVELOPMENT: dict[str, Callable[[], Pair]] = {
    "duffing": duffing,
    "grazing": grazing,
    "selkov": selkov,
    "waning-immunity": waning_immunity,
    "competition": competition,
    "switch": switch,
    "rigid-body": rigid_body,
}
