"""How well the level of noise is estimated: known noise on the curves of all simulated data sets.

    python benchmarks/noise_levels.py            # about two minutes
    python benchmarks/noise_levels.py --seeds 1

Curves are the first three test trajectories of each environment, which are exact; settings of the estimate were chosen
on them. The last lines are other systems. Noise is a part of each channel's spread. An estimate is right within 20 %;
data without noise count as exact below 0.3 % of the spread.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from alarms import CASES, simulated
from development_sets import DEVELOPMENT
from own_data_sets import SIMULATED
from unseen_sets import UNSEEN

from leadax import Trajectories
from leadax.data.latent import NOTICEABLE
from leadax.data.noise import noise_level

SETS = {name: make for name, make in (SIMULATED | DEVELOPMENT | UNSEEN).items() if not name.endswith("-noisy")}
LEVELS = (0.01, 0.05, 0.2)
RIGHT = 0.2


def whole(times: np.ndarray, states: np.ndarray, _: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """All points of three trajectories."""
    return times, states


def single(times: np.ndarray, states: np.ndarray, _: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """One trajectory of each environment."""
    return times[:, :1], states[:, :1]


def short(times: np.ndarray, states: np.ndarray, _: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The first ten points."""
    return times[:, :, :10], states[:, :, :10]


def irregular(times: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Six in ten points, at random."""
    count = times.shape[2]
    many = int(0.6 * count) if count > 12 else count
    kept = np.sort(np.argsort(rng.random(times.shape), axis=2)[:, :, :many], axis=2)
    of_states = kept.reshape(*kept.shape, *[1] * (states.ndim - 3))
    return np.take_along_axis(times, kept, 2), np.take_along_axis(states, of_states, 2)


def holes(times: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A fifth of the values missing."""
    return times, np.where(rng.random(states.shape) < 0.2, np.nan, states)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2, help="of the noise")
    seeds = range(parser.parse_args().seeds)
    print("| curves | no noise, taken for exact | 1 % | 5 % | 20 % |\n|---|---|---|---|---|")
    chosen_on = [make()[1].select(trajectories=slice(3)) for make in SETS.values()]
    for kind in (whole, single, short, irregular, holes):
        print(row((kind.__doc__ or "").rstrip(".").lower(), chosen_on, kind, seeds), flush=True)
    others = list(other_systems())
    for kind in (whole, irregular):
        print(row(f"other systems: {(kind.__doc__ or '').rstrip('.').lower()}", others, kind, seeds), flush=True)


def other_systems() -> Iterator[Trajectories]:
    """Three trajectories of each of the systems of `benchmarks/alarms.py`: nothing was chosen on them."""
    rng = np.random.default_rng(3)
    for case in CASES.values():
        times = np.linspace(0, case.duration, case.points)
        yield Trajectories.from_arrays(times, simulated(case, times, 3, rng))


def row(name: str, curves: Sequence[Trajectories], kind: Callable, seeds: Sequence[int]) -> str:
    """One line of the table."""
    exact = np.concatenate([_estimates(data, kind, 0.0, 0) for data in curves])
    cells = [f"{(exact < NOTICEABLE).sum()} of {len(exact)}, at most {100 * exact.max():.2f} %"]
    for level in LEVELS:
        found = np.concatenate([_estimates(data, kind, level, s) / level for data in curves for s in seeds])
        cells.append(f"{np.mean(abs(found - 1) <= RIGHT):.2f} ({found.min():.2f} to {found.max():.2f})")
    return f"| {name} | {' | '.join(cells)} |"


def _estimates(data: Trajectories, kind: Callable, level: float, seed: int) -> np.ndarray:
    """The noise estimated in each channel, as a part of its spread."""
    rng = np.random.default_rng([seed, 7])
    spread = data.states.std(axis=tuple(range(data.states.ndim - 1)))
    noisy = data.states + level * spread * rng.standard_normal(data.states.shape)
    return noise_level(Trajectories.from_arrays(*kind(data.times, noisy, rng))) / spread


if __name__ == "__main__":
    main()
