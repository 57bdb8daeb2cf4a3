"""`adapt` from one trajectory of a new environment: whether forecasts run away, and whether its flag is right.

    python benchmarks/new_environments.py                        # 20 new environments of each of four kinds
    python benchmarks/new_environments.py --only epidemic --count 5
    python benchmarks/new_environments.py --table                # what was measured so far

LEADS learns the environments of `own_data_sets.py` with its defaults. New ones have parameters drawn from a range that
is a fifth wider on both sides, so that some lie outside. Each is learnt from a single trajectory, every other one with
5 % noise, and forecasts eight others. The last kind is of another law, so that there is something to distrust. The flag
is right if it says `reliable` of errors below a tenth of the variance, and of no others. Results are kept in
`benchmarks/new_environments.json`; what is there is not measured again.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import jax.random as jr
import numpy as np
import own_data_sets as sets

import leadax as lx

RESULTS = Path(__file__).with_name("new_environments.json")
GOOD = 0.1  # of the variance
NOISE = 0.05


class Kind(NamedTuple):
    """A system: what is known of it, its field, where new parameters and starts lie, and at which times."""

    known: Callable[[], sets.Pair]
    field: sets.Field
    low: Sequence[float]
    high: Sequence[float]
    starts: Callable[[np.random.Generator], np.ndarray]
    times: np.ndarray

    def new(self, seed: int) -> sets.Pair:
        """One trajectory of a new environment, and eight others of it."""
        low, high = np.asarray(self.low), np.asarray(self.high)
        margin = 0.2 * (high - low)
        parameters = np.random.default_rng(seed).uniform(low - margin, high + margin)
        noise = NOISE * (seed % 2)
        return sets.simulated(self.field, [tuple(parameters)], self.starts, self.times, train=1, noise=noise, seed=seed)


KINDS = {
    "van-der-pol": Kind(
        sets.van_der_pol,
        lambda x, mu: (x[1], mu * (1 - x[0] ** 2) * x[1] - x[0]),
        [0.2], [2.0], sets.box([-2, -2], [2, 2]), np.linspace(0, 8, 33),
    ),
    "epidemic": Kind(
        sets.epidemic,
        lambda x, b, c: (-b * x[0] * x[1] / 100, b * x[0] * x[1] / 100 - c * x[1]),
        [0.5, 0.2], [1.4, 0.4], sets.box([60, 1], [99, 10]), np.linspace(0, 20, 21),
    ),
    "pendulum": Kind(
        sets.pendulum,
        lambda x, length: (x[1], -np.sin(x[0]) * 9.81 / length - 0.2 * x[1]),
        [4.0], [10.0], sets.box([-2, -1], [2, 1]), np.linspace(0, 10, 26),
    ),
    "stranger": Kind(  # a spring that stiffens, to a model that knows oscillators of van der Pol
        sets.van_der_pol,
        lambda x, a, b: (x[1], -0.2 * x[1] - a * x[0] - b * x[0] ** 3),
        [0.5, 0.3], [1.0, 0.9], sets.box([-2, -2], [2, 2]), np.linspace(0, 8, 33),
    ),
}  # fmt: skip


def main() -> None:
    """Measure what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(KINDS), help="systems, separated by commas")
    parser.add_argument("--count", type=int, default=20, help="new environments of each")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    options = parser.parse_args()
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    for name in () if options.table else options.only.split(","):
        done = {row["seed"] for row in rows if row["data"] == name}
        missing = [seed for seed in range(options.count) if seed not in done]
        if missing:
            model = lx.fit(lx.Leads(), KINDS[name].known()[0], key=jr.key(0))
        for seed in missing:
            rows.append({"data": name, "seed": seed} | adapted(model, *KINDS[name].new(seed), seed))
            RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
            print(rows[-1], flush=True)
    print(table(rows))


def adapted(model: lx.Model, train: lx.Trajectories, test: lx.Trajectories, seed: int) -> dict:
    """The errors of one new environment, and what its flag says."""
    begin = time.perf_counter()
    new = lx.adapt(model, train, key=jr.key(seed))
    errors, flag = lx.evaluate(new, test), new.training.reliability
    return {
        "nmse": errors.nmse,
        "diverged": errors.diverged,
        "reliable": flag.reliable,
        "reason": flag.reason,
        "mean": lx.yardsticks(train, test)["mean"].nmse,
        "seconds": round(time.perf_counter() - begin),
    }


def table(rows: list[dict]) -> str:
    """One line per system."""
    lines = [
        "| system | new environments | median error | largest | largest called reliable | forecasts that ran away "
        "| called reliable | flag right |",
        "|---" * 8 + "|",
    ]
    for name in dict.fromkeys(row["data"] for row in rows):
        own = [row for row in rows if row["data"] == name]
        errors = np.array([row["nmse"] for row in own])
        reliable = np.array([row["reliable"] for row in own])
        right = int(np.sum(reliable == (errors < GOOD)))
        trusted = f"{errors[reliable].max():.1e}" if reliable.any() else "–"
        lines.append(
            f"| {name} | {len(own)} | {np.median(errors):.1e} | {errors.max():.1e} | {trusted} | "
            f"{sum(row['diverged'] for row in own)} | {reliable.sum()} | {right} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    main()
