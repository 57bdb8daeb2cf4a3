"""How long LEADS takes from nothing to the errors of the paper: simulation, compilation and training, one seed.

    python benchmarks/time_to_error.py                              # short schedules, half an hour on two quiet cores
    python benchmarks/time_to_error.py --only navier-stokes-paper   # the paper's own schedule on a field: hours
    python benchmarks/time_to_error.py --table                      # what was measured

The test error is looked at every 50 steps, as in the paper. The time that counts is that of the first look at or below
the paper's error. Runs are carried to their ends and go on where they were stopped, in `runs/time-to-error`. Each
result is written to `benchmarks/time_to_error.json`. *In torch-loop* are the same steps in PyTorch as a user would
write it: the time of training times the ratio of step times in `benchmarks/results.json`, which are those of the
paper's schedule.
"""

import argparse
import json
import os
import time
from pathlib import Path
from typing import NamedTuple

from leadax.experiments.results.finished import history_of
from leadax.experiments.study import Options
from leadax.experiments.study.contenders import CONTENDERS
from leadax.experiments.study.learning import learn
from leadax.experiments.study.models import data_of
from leadax.experiments.targets.table1 import PAPER

RESULTS = Path(__file__).with_name("time_to_error.json")
STEP_TIMES = Path(__file__).with_name("results.json")
RUNS = Path("runs/time-to-error")


class Case(NamedTuple):
    """A schedule on a system."""

    system: str
    protocol: str
    steps: int
    method: str = "leads"


SHORT = {
    "lotka-volterra-paper": Case("lotka-volterra", "paper", 12_000),
    "navier-stokes-fast": Case("navier-stokes", "fast", 1_600),
    "gray-scott-fast": Case("gray-scott", "fast", 600, "leads (mirrored)"),
}
LONG = {"navier-stokes-paper": Case("navier-stokes", "paper", 12_000)}


def main() -> None:
    """Measure, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(SHORT), help="cases, separated by commas")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    options = parser.parse_args()
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in () if options.table else options.only.split(","):
        rows[name] = measured(name, (SHORT | LONG)[name])
        RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    print(table(rows))


def measured(name: str, case: Case) -> dict:
    """The first look at or below the paper's error, and the seconds until then."""
    options = Options("hour", seeds=1, steps=case.steps, protocol=case.protocol, exact=True)
    begin = time.perf_counter()
    data = data_of(options, case.system)
    simulating = time.perf_counter() - begin
    learn(CONTENDERS[case.method], data, options, RUNS / name)
    paper = PAPER[case.system, "leads"][1]
    history = history_of(RUNS / name)
    errors = [snapshot.test[0] for snapshot in history]
    reached = next((look for look, error in zip(history, errors, strict=True) if error <= paper), None)
    return {
        **case._asdict(),
        "paper": paper,
        "smallest": min(errors),
        "simulating": round(simulating, 1),
        "reached": None if reached is None else {"step": reached.step, "seconds": round(reached.seconds, 1)},
        "whole": round(history[-1].seconds, 1),
        "cores": len(os.sched_getaffinity(0)),
    }


def table(rows: dict[str, dict]) -> str:
    """One line per case, as in docs/measurements.md."""
    header = "system, protocol|method|paper's error|reached at step|minutes|in torch-loop|all steps|smallest|cores"
    lines = ["| " + header.replace("|", " | ") + " |", "|---" * 9 + "|"]
    for row in rows.values():
        reached = row["reached"]
        step, minutes = "never", "–"
        if reached is not None:
            step, minutes = f"{reached['step']:,}", f"{(row['simulating'] + reached['seconds']) / 60:.1f}"
        cells = (
            f"{row['system']}, `{row['protocol']}`", row["method"], f"{row['paper']:.2e}", step, minutes,
            _in_torch(row), f"{row['steps']:,} in {row['whole'] / 60:.1f} min", f"{row['smallest']:.2e}", row["cores"],
        )  # fmt: skip
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def _in_torch(row: dict) -> str:
    """Hours that the steps to the paper's error would take there."""
    if row["protocol"] != "paper" or row["reached"] is None:
        return "–"
    times = json.loads(STEP_TIMES.read_text())[row["system"]]
    hours = row["reached"]["seconds"] / 3600 * times["torch_loop_ms"] / times["leadax_ms"]
    return f"{hours:.1f} h"


if __name__ == "__main__":
    main()
