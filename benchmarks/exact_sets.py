"""Laws that no polynomial describes, without noise: they saturate, switch, swing or have roots.

A first version of the rules for exact data ran away on some of `EXACT`. Which differences between environments are
allowed, and that degrees are compared by what runs away, too (`leadax.trend.fitting`, `leadax.trend.degree`), was then
decided on all of these. So they show what the rules can do, and are no test of them. Those of `EXACT_LATER` were made
after that, before any result on them was known.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from own_data_sets import Pair, box, simulated
from saturating_sets import learners, monod


def toggle() -> Pair:
    """Two genes that switch each other off, in six environments."""
    field = lambda x, a, b: (a / (1 + x[1] ** 2) - x[0], b / (1 + x[0] ** 2) - x[1])
    environments = [(a, b) for a in (1.5, 2.5, 3.5) for b in (1.5, 3.0)]
    return simulated(field, environments, box([0.1, 0.1], [3, 3]), np.linspace(0, 6, 19), train=3, noise=0.0, seed=41)


def repressilator() -> Pair:
    """Three genes that switch each other off in a ring, in six environments."""
    made = lambda by, a: a / (1 + by**3)
    field = lambda x, a, d: (made(x[2], a) - d * x[0], made(x[0], a) - d * x[1], made(x[1], a) - d * x[2])
    environments = [(a, d) for a in (2.0, 4.0) for d in (0.8, 1.0, 1.2)]
    starts, times = box([0.2] * 3, [2.5] * 3), np.linspace(0, 12, 37)
    return simulated(field, environments, starts, times, train=3, noise=0.0, seed=42)


def rosenzweig() -> Pair:
    """Prey with a capacity, and predators that eat no more than they can (Rosenzweig and MacArthur)."""

    def field(x: np.ndarray, capacity: float, gain: float) -> tuple[float, float]:
        eaten = x[0] * x[1] / (0.5 + x[0])
        return x[0] * (1 - x[0] / capacity) - eaten, gain * eaten - 0.3 * x[1]

    environments = [(k, c) for k in (1.5, 2.0, 2.5) for c in (0.6, 0.8)]
    starts, times = box([0.3, 0.2], [2.0, 1.2]), np.linspace(0, 15, 31)
    return simulated(field, environments, starts, times, train=3, noise=0.0, seed=43)


def goodwin() -> Pair:
    """A gene whose product switches it off two steps later, with four strengths."""
    field = lambda x, k: (k / (1 + x[2] ** 4) - 0.4 * x[0], x[0] - 0.5 * x[1], x[1] - 0.6 * x[2])
    environments = [(k,) for k in (1.0, 1.5, 2.0, 2.5)]
    starts, times = box([0.1] * 3, [1.5] * 3), np.linspace(0, 20, 41)
    return simulated(field, environments, starts, times, train=3, noise=0.0, seed=46)


def chlorine_dioxide() -> Pair:
    """Chlorine dioxide, iodine and malonic acid, a chemical oscillator, in six environments."""

    def field(x: np.ndarray, a: float, b: float) -> tuple[float, float]:
        rate = x[0] * x[1] / (1 + x[0] ** 2)
        return a - x[0] - 4 * rate, b * (x[0] - rate)

    environments = [(a, b) for a in (6.0, 8.0, 10.0) for b in (2.0, 4.0)]
    return simulated(field, environments, box([0.5, 1], [3, 8]), np.linspace(0, 8, 41), train=3, noise=0.0, seed=47)


def tanks() -> Pair:
    """Two tanks that run out, one into the other, by Torricelli's law, with six inflows and outlets."""

    def field(x: np.ndarray, inflow: float, outlet: float) -> tuple[float, float]:
        first, second = np.sqrt(np.maximum(x, 0))
        return inflow - outlet * first, outlet * first - 0.6 * second

    environments = [(q, a) for q in (0.4, 0.6, 0.8) for a in (0.4, 0.6)]
    starts, times = box([0.3, 0.3], [3, 3]), np.linspace(0, 12, 25)
    return simulated(field, environments, starts, times, train=2, noise=0.0, seed=50)


def interference() -> Pair:
    """Predators that get in each other's way (Beddington and DeAngelis), in six environments."""

    def field(x: np.ndarray, capacity: float, crowding: float) -> tuple[float, float]:
        eaten = 1.5 * x[0] * x[1] / (0.6 + x[0] + crowding * x[1])
        return x[0] * (1 - x[0] / capacity) - eaten, 0.7 * eaten - 0.35 * x[1]

    environments = [(k, c) for k in (1.5, 2.5, 3.5) for c in (0.2, 0.6)]
    starts, times = box([0.4, 0.2], [2.0, 1.5]), np.linspace(0, 16, 33)
    return simulated(field, environments, starts, times, train=3, noise=0.0, seed=61)


def activator() -> Pair:
    """A substance that makes itself and its own inhibitor, and saturates, in six environments."""

    def field(x: np.ndarray, decay: float, basal: float) -> tuple[float, float]:
        square = x[0] ** 2
        return basal + square / (x[1] * (1 + 0.2 * square)) - x[0], decay * (square - x[1])

    environments = [(d, b) for d in (0.6, 1.0, 1.4) for b in (0.1, 0.3)]
    starts, times = box([0.4, 0.4], [1.8, 1.8]), np.linspace(0, 12, 37)
    return simulated(field, environments, starts, times, train=3, noise=0.0, seed=62)


def tumours() -> Pair:
    """Gompertz growth of a tumour, and immune cells that it attracts, in eight patients with two trajectories."""

    def field(x: np.ndarray, growth: float, kill: float) -> tuple[float, float]:
        return growth * x[0] * np.log(3 / x[0]) - kill * x[0] * x[1], 0.2 + 0.8 * x[0] / (1 + x[0]) - 0.6 * x[1]

    environments = [(g, k) for g in (0.3, 0.5, 0.7, 0.9) for k in (0.2, 0.5)]
    starts, times = box([0.2, 0.1], [2.5, 1.2]), np.linspace(0, 10, 21)
    return simulated(field, environments, starts, times, train=2, noise=0.0, seed=63)


def friction() -> Pair:
    """A weight on a spring with dry friction, which its speed saturates, on five surfaces."""
    field = lambda x, k, rub: (x[1], -k * x[0] - rub * np.tanh(3 * x[1]))
    environments = [(1.0, 0.1), (1.0, 0.3), (1.5, 0.2), (2.0, 0.1), (2.0, 0.3)]
    return simulated(field, environments, box([-2, -2], [2, 2]), np.linspace(0, 8, 41), train=3, noise=0.0, seed=64)


EXACT: dict[str, Callable[[], Pair]] = {
    "toggle": toggle,
    "repressilator": repressilator,
    "rosenzweig": rosenzweig,
    "goodwin": goodwin,
    "chlorine-dioxide": chlorine_dioxide,
    "tanks": tanks,
    "learners-exact": partial(learners, noise=0.0),
    "monod-exact": partial(monod, 0.35, 103, noise=0.0),
}
EXACT_LATER: dict[str, Callable[[], Pair]] = {
    "interference": interference,
    "activator": activator,
    "tumours": tumours,
    "friction": friction,
}
