"""CoDA's prey and predators (Kirchmeyer et al., 2022) with defaults: nine known environments, then four new ones.

    python benchmarks/coda.py                  # LEADS and CoDA, 2 seeds; writes benchmarks/coda.json, prints a table
    python benchmarks/coda.py --table          # what was measured

Each new environment has one trajectory. Errors are mean squares in the units of the data, as published ones are.
"""

import argparse
import json
import time
from pathlib import Path

import jax.random as jr

import leadax as lx
from leadax.methods import METHODS
from leadax.systems.lotka_volterra import lotka_volterra_coda

RESULTS = Path(__file__).with_name("coda.json")
SPLITS = ("train", "test", "novel", "novel-test")


def main() -> None:
    """Measure, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--methods", default="leads,coda")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="measure nothing")
    options = parser.parse_args()
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    for method in () if options.table else options.methods.split(","):
        rows = [row for row in rows if row["method"] != method] + [measured(method, options.seeds)]
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))


def measured(method: str, seeds: int) -> dict:
    """Errors in known and in new environments, and how many minutes of processor time learning them took."""
    train, test, new, new_test = (lx.simulate(lotka_volterra_coda(), split=split, key=jr.key(0)) for split in SPLITS)
    begin = time.process_time()
    known = lx.fit(METHODS[method](), train, seeds=seeds, key=jr.key(0))
    between = time.process_time()
    adapted = lx.adapt(known, new, key=jr.key(1))
    end = time.process_time()
    steps = known.training.steps if known.training else None
    return {
        "method": method,
        "seeds": seeds,
        "steps": steps,
        "mse_known": lx.evaluate(known, test).mse,
        "mse_new": lx.evaluate(adapted, new_test).mse,
        "minutes_known": (between - begin) / 60,
        "minutes_new": (end - between) / 60,
    }


def table(rows: list[dict]) -> str:
    """One line per method, as in docs/own-data.md."""
    lines = [
        "| method | known environments | new environments | seeds | steps | processor minutes |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        errors = f"{row['mse_known']:.1e} | {row['mse_new']:.1e}"
        spent = [row["minutes_known"], row["minutes_new"]]
        minutes = " + ".join("–" if each is None else f"{each:.1f}" for each in spent)
        lines.append(f"| {row['method']} | {errors} | {row['seeds']} | {row['steps']} | {minutes} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
