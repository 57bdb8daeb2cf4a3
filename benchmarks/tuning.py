"""`tune` beside the defaults: ten minutes of search on data sets that no preset knows.

    python benchmarks/tuning.py --only van-der-pol-noisy,epidemic-noisy    # some of them, ten minutes each
    python benchmarks/tuning.py --measured FOLDER                          # all, and real ones: hours
    python benchmarks/tuning.py --table                                    # what was measured so far

The search sees the training data only. What it ends with is measured on the test data once, beside a fit with defaults
and as many seeds. Searches go on where they were stopped, in `runs/tuning`. Each result is written to
`benchmarks/tuning.json` as soon as it is there; what is in that file is not measured again. A forecast is told no more
than the first point of a test trajectory.
"""

import argparse
import json
import os
import time
from pathlib import Path

import jax.random as jr
from every_set import EVERY
from own_data_sets import SIMULATED, measured

import leadax as lx

RESULTS = Path(__file__).with_name("tuning.json")
RUNS = Path("runs/tuning")


def main() -> None:
    """Measure what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measured", type=Path, help="a folder with real measurements")
    parser.add_argument("--only", help="data sets, separated by commas")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--table", action="store_true", help="measure nothing")
    options = parser.parse_args()
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    usual = SIMULATED | (measured(options.measured) if options.measured else {})
    names = options.only.split(",") if options.only else list(usual)
    for name in [] if options.table else names:
        if name in [row["data"] for row in rows]:
            continue
        rows.append(_measured(name, *(usual | EVERY)[name](), options))
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))


def _measured(name: str, train: lx.Trajectories, test: lx.Trajectories, options: argparse.Namespace) -> dict:
    common = {"key": jr.key(0), "seeds": options.seeds}
    begin = time.perf_counter()
    found = lx.tune(train, minutes=options.minutes, run=RUNS / name, **common)
    seconds = round(time.perf_counter() - begin)
    winner, errors = found.tried[0], lx.evaluate(found.model, test, warmup=1)
    usual = lx.evaluate(lx.fit(lx.Leads(), train, **common), test, warmup=1)
    print(f"{name}: tuned {errors.nmse:.3g}, defaults {usual.nmse:.3g}", flush=True)
    return {
        "data": name,
        "seeds": options.seeds,
        "minutes": options.minutes,
        "seconds": seconds,
        "cores": len(os.sched_getaffinity(0)),
        "candidates": len(found.tried),
        "winner": winner.to_json(),
        "tuned": errors.nmse,
        "tuned_median": errors.median_nmse,
        "tuned_diverged": errors.diverged,
        "defaults": usual.nmse,
        "defaults_median": usual.median_nmse,
        "defaults_diverged": usual.diverged,
    }


def table(rows: list[dict]) -> str:
    """One line per data set, as in docs/own-data.md."""
    lines = ["| data | defaults | tuned | winner | candidates | minutes |", "|---|---|---|---|---|---|"]
    for row in rows:
        error = lambda which, row=row: f"{row[which]:.2g} ({row[f'{which}_median']:.1g})"
        winner = f"{row['winner']['method']}{', defaults' if row['winner']['default'] else ''}"
        cells = row["data"], error("defaults"), error("tuned"), winner, row["candidates"], round(row["seconds"] / 60)
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
