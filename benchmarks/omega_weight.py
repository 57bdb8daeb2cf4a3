"""Why LEADS is behind FT-NODE where Fig. 4 has many points: the same groups of environments with weaker Ω.

    python benchmarks/omega_weight.py --weights 2e-5,2e-6 --samples 40    # ten minutes for each weight, one core
    python benchmarks/omega_weight.py --table                             # what was measured

Eight environments of Lotka–Volterra, as for m = 8 in `leadax reproduce environments`, 12 000 steps, 3 seeds. The paper
has 1/λ = 2e-4. Runs go on where they were stopped, in `runs/omega-weight`. Each result is written to
`benchmarks/omega_weight.json`. Errors are means over seeds: at the last step in training, the smallest in the test.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from leadax.evaluate import evaluate
from leadax.experiments.results.finished import history_of
from leadax.experiments.study import Options
from leadax.experiments.study.groups import TOTAL, Group
from leadax.experiments.study.learning import Contender, learn
from leadax.methods import Leads

RESULTS = Path(__file__).with_name("omega_weight.json")
RUNS = Path("runs/omega-weight")
STEPS, SEEDS, POINTS = 12_000, 3, 20


def main() -> None:
    """Measure what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", default="2e-5,2e-6", help="values of 1/λ, separated by commas")
    parser.add_argument("--samples", default="40", help="points of each environment, separated by commas")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    options = parser.parse_args()
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    wanted = [(int(n), float(weight)) for n in options.samples.split(",") for weight in options.weights.split(",")]
    for n, weight in [] if options.table else wanted:
        if (n, weight) not in [(row["n"], row["weight"]) for row in rows]:
            rows.append(measured(n, weight))
            RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))


def measured(n: int, weight: float) -> dict:
    """The errors of LEADS with one weight of Ω."""
    options = Options("hour", seeds=SEEDS, steps=STEPS, protocol="paper", exact=True)
    data = Group(m=TOTAL, n=n // POINTS, number=0, size=TOTAL).data(options)
    folder = RUNS / f"n{n}-{weight:g}"
    model = learn(Contender(Leads(penalty_weight=weight)), data, options, folder)
    history = history_of(folder)
    errors = np.array([look.test for look in history], float)  # one row for each look, one column for each seed
    smallest = errors.min(axis=0)
    return {
        "n": n,
        "weight": weight,
        "train": float(np.mean(evaluate(model, data.train).mse)),
        "last": float(errors[-1].mean()),
        "smallest": float(np.mean(smallest)),
        "smallest_per_seed": smallest.tolist(),
        "seconds": round(history[-1].seconds),
    }


def table(rows: list[dict]) -> str:
    """One line per weight."""
    lines = ["| n | 1/λ | train | test, last | test, smallest |", "|---" * 5 + "|"]
    shown = lambda row: [f"{row[name]:.2e}" for name in ("train", "last", "smallest")]
    lines += [
        f"| {row['n']} | {row['weight']:g} | {' | '.join(shown(row))} |"
        for row in sorted(rows, key=lambda row: (row["n"], -row["weight"]))
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
