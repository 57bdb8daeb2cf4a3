"""How often a single channel is given a hidden one (`leadax.trend.needs_hidden`), where it should be and where not.

    python benchmarks/turns.py    # eight sets of each kind, shape and level of noise; four minutes

Noise is a part of the spread. Times of drugs are uneven.
"""

from collections.abc import Callable

import numpy as np

from leadax import Latent, Trajectories
from leadax.data.latent import layout_for
from leadax.data.units import Units
from leadax.trend import needs_hidden

SETS = 8
Shape = tuple[int, int, int]  # environments, trajectories, points
Curves = Callable[[Shape, np.random.Generator], tuple[np.ndarray, np.ndarray]]


def relaxing(shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """To a level of each environment."""
    times, e = np.linspace(0, 6, shape[2]), np.arange(shape[0])[:, None, None]
    return times, 1 + e + rng.uniform(0.5, 2, (*shape[:2], 1)) * np.exp(-(0.4 + 0.2 * e) * times)


def logistic(shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Growth."""
    times, own = np.linspace(0, 8, shape[2]), (shape[0], 1, 1)
    most, rate, first = rng.uniform(4, 12, own), rng.uniform(0.4, 1.6, own), rng.uniform(0.2, 3, (*shape[:2], 1))
    return times, most / (1 + (most / first - 1) * np.exp(-rate * times))


def constant(shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Levels of all trajectories."""
    return np.linspace(0, 5, shape[2]), np.repeat(rng.uniform(1, 5, (*shape[:2], 1)), shape[2], axis=2)


def outlier(shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Decay, with a single point five standard deviations too high."""
    times = np.linspace(0, 6, shape[2])
    states = rng.uniform(1, 3, (*shape[:2], 1)) * np.exp(-rng.uniform(0.3, 1, (shape[0], 1, 1)) * times)
    states[1, 0, shape[2] // 2] += 5 * states.std()
    return times, states


def drug(shape: Shape, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Absorbed and eliminated."""
    times, own = np.geomspace(0.2, 12, shape[2]) - 0.2, (shape[0], 1, 1)
    fast, slow = rng.uniform(1, 2.5, own), rng.uniform(0.1, 0.4, own)
    return times, rng.uniform(1, 3, (*shape[:2], 1)) * (np.exp(-slow * times) - np.exp(-fast * times))


KINDS: dict[Curves, tuple[list[Shape], list[float]]] = {
    relaxing: ([(3, 1, 8), (4, 1, 6), (2, 2, 6), (1, 1, 12), (3, 3, 20)], [0, 0.1, 0.2, 0.3, 0.5]),
    logistic: ([(2, 1, 8), (3, 3, 20)], [0, 0.02, 0.2, 0.4]),
    constant: ([(1, 4, 20), (3, 3, 20)], [0]),
    outlier: ([(3, 3, 20)], [0, 0.05]),
    drug: ([(3, 1, 8), (1, 1, 8), (8, 1, 6), (3, 3, 8), (3, 3, 4)], [0, 0.05, 0.1, 0.2, 0.4]),
}


def found(curves: Curves, shape: Shape, noise: float, seed: int) -> bool:
    """Whether a set of this kind gets a hidden channel."""
    rng = np.random.default_rng(seed)
    times, states = curves(shape, rng)
    data = Trajectories.from_arrays(times, (states + noise * states.std() * rng.normal(size=states.shape))[..., None])
    units = Units.measured(data)
    return needs_hidden(data, units, layout_for(data, units, Latent()))


if __name__ == "__main__":
    print(f"| kind | environments × trajectories × points | noise: hidden channels in {SETS} sets |\n|---|---|---|")
    for curves, (shapes, levels) in KINDS.items():
        for shape in shapes:
            counts = [f"{level:.0%}: {sum(found(curves, shape, level, s) for s in range(SETS))}" for level in levels]
            print(f"| {curves.__name__} | {' × '.join(map(str, shape))} | {', '.join(counts)} |", flush=True)
