"""Single channels that rise and fall, of which no law of the channel alone is possible; for `benchmarks/own_data.py`.

    python benchmarks/own_data.py --only drug,infected,only-prey,voltage,intermediate --told 5
    python benchmarks/own_data.py --only drug,infected,only-prey,voltage,intermediate --told 5 --hidden 0

The second command is for comparison: what nets learn if a hidden channel is forbidden.
"""

from collections.abc import Callable, Sequence

import numpy as np
from own_data_sets import Field, Pair, box, simulated

from leadax import Trajectories


def seen(
    field: Field,
    environments: Sequence[tuple[float, ...]],
    starts: Callable[[np.random.Generator], np.ndarray],
    times: np.ndarray,
    noise: float,
    channel: int = 0,
) -> Pair:
    """One channel of a system; three trajectories of each environment to learn from."""
    alone = lambda data: Trajectories.from_arrays(
        data.times, data.states[..., [channel]], environments=data.environments
    )
    train, test = simulated(field, environments, starts, times, train=3, noise=noise)
    return alone(train), alone(test)


def drug() -> Pair:
    """A drug in the blood of eight patients who swallow three different doses, 5 % noise."""
    field = lambda x, ka, ke: (ka * x[1] - ke * x[0], -ka * x[1])
    rng = np.random.default_rng(3)
    patients = [(ka, ke) for ka, ke in zip(rng.uniform(0.8, 2.5, 8), rng.uniform(0.08, 0.25, 8), strict=True)]
    times = np.array([0, 0.25, 0.5, 1, 2, 3, 4, 6, 8, 10, 12, 16, 24.0])
    return seen(field, patients, box([0, 5], [0, 15]), times, 0.05)


def infected() -> Pair:
    """Infected people in eight regions, when nobody counts the susceptible ones, 5 % noise."""
    field = lambda x, b, c: (b * x[0] * x[1] / 100 - c * x[0], -b * x[0] * x[1] / 100)
    regions = [(b, c) for b in (0.6, 0.8, 1.1, 1.4) for c in (0.2, 0.4)]
    return seen(field, regions, box([1, 60], [10, 99]), np.linspace(0, 20, 21), 0.05)


def only_prey() -> Pair:
    """Prey in six lakes, when nobody counts the predators."""
    field = lambda x, a, g: (a * x[0] - 0.5 * x[0] * x[1], 0.5 * x[0] * x[1] - g * x[1])
    lakes = [(a, g) for a in (0.5, 0.75, 1.0) for g in (0.5, 0.9)]
    return seen(field, lakes, box([1, 1], [2, 2]), np.arange(0, 12, 0.5), 0.0)


def voltage() -> Pair:
    """The voltage of six neurons."""
    field = lambda x, i: (x[0] - x[0] ** 3 / 3 - x[1] + i, 0.08 * (x[0] + 0.7 - 0.8 * x[1]))
    return seen(field, [(i,) for i in np.linspace(0.2, 1.2, 6)], box([-2, -1], [2, 1.5]), np.linspace(0, 40, 41), 0.0)


def intermediate() -> Pair:
    """B in A → B → C, at seven temperatures, 3 % noise: exactly linear with what is hidden."""
    field = lambda x, j, k: (j * x[1] - k * x[0], -j * x[1])
    rates = [(0.4 * r, 0.25 * r**1.4) for r in np.linspace(0.6, 2.0, 7)]
    return seen(field, rates, box([0, 0.5], [0.2, 1.5]), np.linspace(0, 10, 16), 0.03)


TURNING: dict[str, Callable[[], Pair]] = {
    "drug": drug,
    "infected": infected,
    "only-prey": only_prey,
    "voltage": voltage,
    "intermediate": intermediate,
}
