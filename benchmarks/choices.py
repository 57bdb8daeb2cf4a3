"""The trial behind the defaults: how strong Ω should be, and how large a net, on data sets of their own.

    python benchmarks/choices.py [--only duffing,selkov] [--seeds 2]
    python benchmarks/choices.py --table

Each data set is learnt by nets that begin at a polynomial, as the defaults do, and by nets alone (`--net mlp`). κ is
varied around 0.1, and nets of two layers of 16 stand beside the usual ones, four of 64; `1/λ` is the paper's form,
with the weight 1e-3. Candidates that differ in κ only are trained in one program. Results are kept in
`benchmarks/choices.json`; what is there is not measured again. None of these sets is in a table of docs/own-data.md
but those of polynomials.
"""

import argparse
import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.random as jr
from development_sets import DEVELOPMENT

import leadax as lx

RESULTS = Path(__file__).with_name("choices.json")
KAPPAS = (0.001, 0.01, 0.1, 1.0)
SMALL = {"width": 16, "depth": 2}
STEPS = {"polynomial": None, "net": 2_000}  # None: as many as `fit` chooses
Settings = dict[str, lx.Leads]


def candidates(net: Any, small: Any) -> list[Settings]:
    """What is trained in one program each: the κ, the paper's form, a small net."""
    kappas = {f"κ = {kappa:g}": lx.Leads(net=net, kappa=kappa) for kappa in KAPPAS}
    return [kappas, {"1/λ = 1e-3": lx.Leads(net=net, penalty_weight=1e-3)}, {"small": lx.Leads(net=small)}]


def settings(begin: str, train: lx.Trajectories) -> list[Settings]:
    """All candidates that begin at a polynomial or at none."""
    if begin == "net":
        return candidates(lx.MLP, partial(lx.MLP, **SMALL))
    usual = lx.fit(lx.Leads(), train, steps=1, key=jr.key(0)).method.net
    return candidates(usual, partial(lx.MLP, **(dict(usual.options) | SMALL)))


def main() -> None:
    """Measure what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--only", default=",".join(DEVELOPMENT), help="data sets, separated by commas")
    parser.add_argument("--table", action="store_true", help="measure nothing")
    options = parser.parse_args()
    rows = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    for data in [] if options.table else options.only.split(","):
        for begin in STEPS:
            if not any(row["data"] == data and row["begin"] == begin for row in rows):
                rows += measured(data, begin, options.seeds)
                RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
                print(f"{data}, {begin}: measured", flush=True)
    print(table(rows))


def measured(data: str, begin: str, seeds: int) -> list[dict]:
    """The errors of all settings on one data set."""
    train, test = DEVELOPMENT[data]()
    rows = []
    jax.clear_caches()  # compiled programs of many data sets do not fit into memory
    for group in settings(begin, train):
        start = time.perf_counter()
        methods = list(group.values())
        models = lx.fit_side_by_side(methods, train, steps=STEPS[begin], seeds=seeds, key=jr.key(0))
        seconds = round(time.perf_counter() - start)
        for name, model in zip(group, models, strict=True):
            errors = lx.evaluate(model, test)
            numbers = {"nmse": errors.nmse, "median_nmse": errors.median_nmse, "diverged": errors.diverged}
            rows.append({"data": data, "begin": begin, "setting": name, "seeds": seeds, **numbers, "seconds": seconds})
    return rows


def table(rows: list[dict]) -> str:
    """A line per data set and beginning, a column per setting: mean error (median), as in docs/training.md."""
    names = list(dict.fromkeys(row["setting"] for row in rows))
    lines = ["| data | begins at | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for data in DEVELOPMENT:
        for begin in STEPS:
            found = {row["setting"]: row for row in rows if (row["data"], row["begin"]) == (data, begin)}
            if found:
                cells = [f"{found[name]['nmse']:.2g} ({found[name]['median_nmse']:.1g})" for name in names]
                lines.append(f"| {data} | {begin} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
