"""Data sets that nothing was chosen on: made after all rules were, to see what they are worth elsewhere."""

from collections.abc import Callable

import numpy as np
from own_data_sets import Pair, box, simulated


def lorenz() -> Pair:
    """Convection at four heatings; 5 % noise."""
    field = lambda x, r: (10 * (x[1] - x[0]), x[0] * (r - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2])
    environments = [(r,) for r in (12.0, 18.0, 24.0, 28.0)]
    return simulated(field, environments, box([-8, -8, 8], [8, 8, 28]), np.linspace(0, 2, 51), train=3, noise=0.05)


def exposed() -> Pair:
    """Susceptible, exposed and infected people in six regions; 10 % noise."""
    field = lambda x, b, c: (-b * x[0] * x[2], b * x[0] * x[2] - 0.6 * x[1], 0.6 * x[1] - c * x[2])
    environments = [(b, c) for b in (0.8, 1.3, 1.8) for c in (0.25, 0.4)]
    starts = box([0.6, 0.0, 0.01], [0.95, 0.1, 0.1])
    return simulated(field, environments, starts, np.linspace(0, 24, 25), train=2, noise=0.1)


def limited_prey() -> Pair:
    """Prey that compete, and predators, in six lakes; 5 % noise."""
    field = lambda x, k, m: (x[0] * (1 - x[0] / k) - 0.8 * x[0] * x[1], 0.5 * x[0] * x[1] - m * x[1])
    environments = [(k, m) for k in (2.0, 3.0, 4.0) for m in (0.3, 0.5)]
    return simulated(field, environments, box([0.3, 0.3], [2.5, 1.5]), np.linspace(0, 14, 22), train=2, noise=0.05)


def autocatalysis() -> Pair:
    """A reaction that speeds itself up, at five feeds; 10 % noise."""
    field = lambda x, m: (m - 0.1 * x[0] - x[0] * x[1] ** 2, 0.1 * x[0] + x[0] * x[1] ** 2 - x[1])
    environments = [(m,) for m in (0.4, 0.6, 0.8, 1.0, 1.2)]
    return simulated(field, environments, box([0.4, 0.4], [2.5, 2.0]), np.linspace(0, 12, 31), train=3, noise=0.1)


def chemostat() -> Pair:
    """Substrate and cells that grow by Monod's law, at six dilutions; no polynomial; 5 % noise."""

    def field(x: np.ndarray, d: float, feed: float) -> tuple[float, float]:
        growth = x[0] * x[1] / (0.5 + x[0])
        return d * (feed - x[0]) - growth, growth - d * x[1]

    environments = [(d, feed) for d in (0.2, 0.35, 0.5) for feed in (2.0, 3.0)]
    return simulated(field, environments, box([0.2, 0.1], [2.5, 1.5]), np.linspace(0, 10, 21), train=2, noise=0.05)


def drag() -> Pair:
    """Masses on springs in four fluids, whose drag goes with the square of the speed; no polynomial; 5 % noise."""
    field = lambda x, c: (x[1], -x[0] - c * x[1] * np.abs(x[1]))
    environments = [(c,) for c in (0.1, 0.2, 0.3, 0.4)]
    return simulated(field, environments, box([-2, -2], [2, 2]), np.linspace(0, 10, 31), train=3, noise=0.05)


def growth() -> Pair:
    """Forty tumours that grow by Gompertz's law, one trajectory of eight points each; no polynomial; 5 % noise."""
    rng = np.random.default_rng(11)
    field = lambda x, a, k: (a * x[0] * np.log(k / max(x[0], 1e-9)),)
    environments = list(zip(rng.uniform(0.3, 0.9, 40), rng.uniform(3, 9, 40), strict=True))
    return simulated(field, environments, box([0.2], [4]), np.linspace(0, 6, 8), train=1, test=2, noise=0.05)


def chain() -> Pair:
    """A chain of three reactions in four cells, at irregular times; no polynomial; 7 % noise.

    Not quite unseen: other data of this law were looked at when fits were made faster.
    """

    def field(x: np.ndarray, k: float) -> tuple[float, float, float]:
        made = k * x[0] / (0.3 + x[0])
        return 1 - made * (1 + x[2]), made - 0.7 * x[1], 0.7 * x[1] - 0.4 * x[2] / (0.2 + x[2])

    times = np.append(0.0, np.cumsum(0.02 + np.random.default_rng(3).gamma(0.4, 2.5, 27)))
    environments = [(k,) for k in (0.5, 0.8, 1.1, 1.5)]
    return simulated(field, environments, box([0.2, 0.2, 0.2], [3, 3, 3]), times, train=3, noise=0.07)


UNSEEN: dict[str, Callable[[], Pair]] = {
    "lorenz": lorenz,
    "exposed": exposed,
    "limited-prey": limited_prey,
    "autocatalysis": autocatalysis,
    "chemostat": chemostat,
    "drag-squared": drag,
    "growth": growth,
    "chain": chain,
}
