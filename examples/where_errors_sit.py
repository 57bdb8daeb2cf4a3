"""Where the error of a model of Table 1 sits: in which environment, at which time, on which trajectories.

    leadax reproduce table1 --system gray-scott --protocol fast --methods leads --seeds 2 --steps 1200
    python examples/where_errors_sit.py runs/table1/gray-scott-leads-fast-2x1200-0 --system gray-scott

Errors are those of trajectories that are neither trained on nor in the test set: the test data of another seed.
"""

import argparse
from pathlib import Path

import numpy as np

import leadax as lx
from leadax.experiments.study.models import SYSTEMS, simulated


def main() -> None:
    """Print the errors of a run by environment, time and trajectory."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the folder of the run")
    parser.add_argument("--system", choices=SYSTEMS, default="gray-scott")
    parser.add_argument("--protocol", choices=["paper", "clean", "fast"], default="fast")
    parser.add_argument("--trajectories", type=int, default=32, help="of each environment")
    given = parser.parse_args()
    model = lx.Model.load(given.run / "model.safetensors")
    data = simulated(given.system, "test", given.protocol, 1, given.trajectories)
    found = lx.evaluate(model, data)
    print(f"mean squared errors of {given.trajectories} trajectories per environment, {found.protocol}")
    print(f"  all: {found.mse:.2e}; seeds: {shown(found.mse_per_seed)}")
    for name, error in found.mse_per_environment.items():
        print(f"  {name}: {error:.2e}")
    print(f"  from point to point: {shown(found.mse_per_time)}")
    of_each = found.mse_per_trajectory.mean(axis=0)
    of_each = np.sort(of_each)[::-1]
    tenth = max(1, len(of_each) // 10)
    share = of_each[:tenth].sum() / of_each.sum()
    print(f"  trajectories: median {np.median(of_each):.2e}, worst {of_each[0]:.2e}; {share:.0%} in a tenth of them")


def shown(errors: np.ndarray) -> str:
    """Numbers in a line."""
    return " ".join(f"{error:.1e}" for error in errors)


if __name__ == "__main__":
    main()
