"""Holes and short trajectories: Lotka–Volterra with a third of the points missing, LEADS next to One-Per-Env.

    python examples/ragged.py --steps 8000 --seeds 2

Drops 30 % of the points at random, cuts half of the trajectories to half their length, learns from the rest with the
paper's settings, and tests on whole trajectories.
"""

import argparse

import jax.random as jr
import numpy as np

import leadax as lx
from leadax.systems import get_system


def with_holes(data: lx.Trajectories, rng: np.random.Generator) -> lx.Trajectories:
    """A part of the data. The first point of each trajectory stays: forecasts start there."""
    lost = rng.uniform(size=data.times.shape) < 0.3
    short = rng.permuted(np.arange(lost.shape[1]) % 2 == 0, axis=0)
    lost |= short[:, None] & (np.arange(lost.shape[2]) >= lost.shape[2] // 2)
    lost[..., 0] = False
    states = np.where(lost[..., None], np.nan, data.states)
    return lx.Trajectories.from_arrays(
        data.times[0, 0],
        states,
        environments=data.environments,
        channels=data.channels,
    )


def main() -> None:
    """Simulate, punch holes, learn, compare."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--steps", type=int, default=8000)
    options.add_argument("--seeds", type=int, default=2)
    options.add_argument("--trajectories", type=int, default=4)
    chosen = options.parse_args()
    system = get_system("lotka-volterra")
    whole = lx.simulate(system, split="train", trajectories=chosen.trajectories, key=jr.key(0))
    train = with_holes(whole, np.random.default_rng(0))
    test = lx.simulate(system, split="test", key=jr.key(0))
    print(f"{train.observed.mean():.0%} of the values are left")
    for method in (lx.Leads(), lx.OnePerEnv()):
        settings = lx.preset("lotka-volterra", train)
        model = lx.fit(method, train, steps=chosen.steps, seeds=chosen.seeds, key=jr.key(0), defaults=settings)
        print(f"{type(method).__name__:12} {lx.evaluate(model, test).mse:.3e}")


if __name__ == "__main__":
    main()
