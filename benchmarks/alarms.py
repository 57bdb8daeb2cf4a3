"""How often `leadax train` says that something is hidden: what docs/noise.md says of it.

    python benchmarks/alarms.py

For nine systems, three environments each: `unexplained` of whole states and of one channel of them, with more and more
noise. Then its largest value over twelve small sets of whole states: three environments with 8 to 20 points, half of
them at random times. The warning comes from `leadax.train.advice.TOO_MUCH` on.
"""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

import leadax as lx
from leadax.data.variogram import unexplained

NOISE = (0.0, 0.05, 0.1, 0.2)


class Case(NamedTuple):
    """A system, its three environments, starts, duration and points; and the channel that is observed alone."""

    field: Callable[[float], Callable]
    environments: tuple[float, float, float]
    start: Callable[[np.random.Generator], np.ndarray]
    duration: float
    points: int
    alone: int | None = 0


CASES = {
    "Lorenz": Case(lambda p: lambda t, x: [10 * (x[1] - x[0]), x[0] * (p - x[2]) - x[1], x[0] * x[1] - 8 / 3 * x[2]],
                   (24, 28, 32), lambda r: r.normal(size=3) * [6, 6, 5] + [0, 0, 22], 2, 60),
    "Duffing": Case(lambda p: lambda t, x: [x[1], -0.2 * x[1] + x[0] - p * x[0] ** 3],
                    (0.8, 1.0, 1.2), lambda r: r.normal(size=2), 12, 40),
    "Rössler": Case(lambda p: lambda t, x: [-x[1] - x[2], x[0] + 0.2 * x[1], 0.2 + x[2] * (x[0] - p)],
                    (4.0, 5.0, 5.7), lambda r: r.normal(size=3) * [3, 3, 0] + [0, 0, 0.3], 15, 60),
    "epidemic": Case(lambda p: lambda t, x: [-p * x[0] * x[1], p * x[0] * x[1] - 0.3 * x[1]],
                     (0.8, 1.2, 1.6), lambda r: np.array([0.9, 0.02]) + np.array([0.1, 0.05]) * r.random(2), 15, 30, 1),
    "logistic": Case(lambda p: lambda t, x: [p * x[0] * (1 - x[0])],
                     (0.5, 0.8, 1.1), lambda r: 0.05 + 0.1 * r.random(1), 10, 20, None),
    "drug, by mouth": Case(lambda p: lambda t, x: [p * x[1] - 0.3 * x[0], -p * x[1]],
                           (0.7, 1.0, 1.5), lambda r: np.array([0.0, 1 + r.random()]), 12, 14),
    "Selkov": Case(lambda p: lambda t, x: [-x[0] + 0.08 * x[1] + x[0] ** 2 * x[1], p - 0.08 * x[1] - x[0] ** 2 * x[1]],
                   (0.5, 0.6, 0.7), lambda r: 0.3 + 1.5 * r.random(2), 15, 40),
    "decay": Case(lambda p: lambda t, x: [0.3 - p * x[0]], (0.3, 0.6, 1.0), lambda r: 1 + 2 * r.random(1), 6, 12, None),
    "drug, injected": Case(lambda p: lambda t, x: [-(p + 0.5) * x[0] + 0.3 * x[1], 0.5 * x[0] - 0.3 * x[1]],
                           (0.4, 0.6, 0.8), lambda r: np.array([1 + r.random(), 0.0]), 10, 15),
}  # fmt: skip


def main() -> None:
    """Print the table."""
    print("| system | whole states | one channel alone | small sets of whole states, the largest |\n|---|---|---|---|")
    rng = np.random.default_rng(7)
    for name, case in CASES.items():
        times = np.linspace(0, case.duration, case.points)
        clean = simulated(case, times, 4, rng)
        noisy = [lx.Trajectories.from_arrays(times, with_noise(clean, level, rng)) for level in NOISE]
        whole = shown(unexplained(data) for data in noisy)
        one = lambda data, c: lx.Trajectories.from_arrays(data.times, data.states[..., [c]])
        alone = "–" if case.alone is None else shown(unexplained(one(data, case.alone)) for data in noisy)
        print(f"| {name} | {whole} | {alone} | {shown(largest_of_small(case, level, rng) for level in NOISE)} |")


def simulated(case: Case, times: np.ndarray, trajectories: int, rng: np.random.Generator) -> np.ndarray:
    """States of all environments at these times."""
    solve = lambda p: solve_ivp(case.field(p), (0, case.duration), case.start(rng), t_eval=times, rtol=1e-7, atol=1e-9)
    return np.array([[solve(p).y.T for _ in range(trajectories)] for p in case.environments])


def with_noise(states: np.ndarray, level: float, rng: np.random.Generator) -> np.ndarray:
    """With noise of this part of each channel's spread."""
    return states + level * states.std(axis=(0, 1, 2)) * rng.normal(size=states.shape)


def largest_of_small(case: Case, level: float, rng: np.random.Generator) -> float:
    """The largest over twelve sets of few points."""
    found = []
    for k in range(12):
        points = (8, 12, 20)[k % 3]
        times = np.sort(rng.uniform(0, case.duration, points)) if k % 2 else np.linspace(0, case.duration, points)
        states = simulated(case, times, (1, 2, 4)[k % 3] if k % 2 else 3, rng)
        found.append(unexplained(lx.Trajectories.from_arrays(times, with_noise(states, level, rng))))
    return float(np.nanmax(found))


def shown(shares: object) -> str:
    """Shares for each level of noise."""
    return ", ".join(f"{share:.2f}" for share in shares)  # pyright: ignore[reportGeneralTypeIssues]


if __name__ == "__main__":
    warnings.simplefilter("ignore", RuntimeWarning)  # a set that is too small says NaN
    main()
