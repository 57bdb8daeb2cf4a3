"""CoDA's own benchmark (Kirchmeyer et al., 2022) beside LEADS: nine environments, then four novel ones.

Each novel environment gives one trajectory. CoDA learns two numbers from it, LEADS a whole net.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.random as jr
import numpy as np

from ..adapting import adapt
from ..evaluation import Evaluation, evaluate
from ..model import Model
from .configs import config_column
from .learning import checkpoint_every, setting_of
from .protocols import PROTOCOLS
from .rows import KEYS, Row, spread
from .sheets import Sheet, minutes, with_spread
from .study import Options, Run, Target
from .table1 import data, run_name, trained

SYSTEM = "lotka-volterra-coda"
METHODS_SHOWN = ("leads", "coda")


def runs(options: Options) -> list[Run]:
    """One for each method: trained, then adapted."""
    names = options.among(METHODS_SHOWN)
    return [Run(run_name(options, SYSTEM, method), partial(_work, options, method)) for method in names]


def _work(options: Options, method: str, folder: Path) -> Sequence[Row]:
    get = lambda split: data(SYSTEM, split, options.protocol, options.seed)
    known = trained(options, SYSTEM, method, folder / "known")
    how = {"steps": options.steps, "checkpoint_every": checkpoint_every(options.steps), "run": folder / "novel"}
    how |= PROTOCOLS[options.protocol].training(get("novel"), options.steps)
    found = adapt(known, get("novel"), key=jr.key(options.seed), **how)
    return [
        {**row, **config_column(folder / stage)}
        for stage, model, test, training in (("known", known, "test", "train"), ("novel", found, "novel-test", "novel"))
        for row in _rows(stage, method, model, evaluate(model, get(test)), options, get(training))
    ]


def _rows(stage: str, method: str, model: Model, on_test: Evaluation, options: Options, training: Any) -> list[Row]:
    setting = setting_of(SYSTEM, method, training, options.protocol) | {"steps": options.steps, "stage": stage}
    # What one environment has for itself.
    specific = sum(a.size for a in jax.tree.leaves(model.parts.specific)) // (model.seeds * len(model.environments))
    seconds = model.about["looks"][-1]["seconds"]
    return [
        {**setting, "parameters_specific": specific, "seconds": seconds, "seed": seed, "mse_test": error}
        for seed, error in enumerate(on_test.mse_per_seed.tolist())
    ]


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each protocol, method and number of steps: errors in known and in novel environments."""
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["protocol"], row["method"], row["steps"]), []).append(row)
    return [_line(of) for of in groups.values()]


def _line(rows: list[Row]) -> dict[str, Any]:
    errors = {stage: [row["mse_test"] for row in rows if row["stage"] == stage] for stage in ("known", "novel")}
    known = next(row for row in rows if row["stage"] == "known")
    line: dict[str, Any] = {key: known[key] for key in KEYS} | {"seeds": len(errors["known"])}
    line |= {"mse_test": float(np.mean(errors["known"])), "mse_std_over_seeds": spread(errors["known"])}
    for stage, each in errors.items():
        line[f"mse_{stage}"] = float(np.mean(each))
        line[f"std_{stage}"] = spread(each)
    seconds = {row["stage"]: row["seconds"] for row in rows if "seconds" in row}
    cost = sum(seconds.values()) if seconds else None
    return {**line, "parameters_specific": rows[0]["parameters_specific"], "seconds": cost}


def sheet(rows: Sequence[Row]) -> Sheet:
    """The table for people."""
    header = "protocol,method,known ± seeds,novel ± seeds,learnt per novel environment,seeds,steps,minutes"
    cells = [
        (
            line["protocol"],
            line["method"],
            with_spread(line["mse_known"], line["std_known"]),
            with_spread(line["mse_novel"], line["std_novel"]),
            str(line["parameters_specific"]),
            str(line["seeds"]),
            str(line["steps"]),
            minutes(line["seconds"]),
        )
        for line in table(rows)
    ]
    return Sheet(header.split(","), cells, ("Steps and minutes: of each of the two stages, and of both together.",))


CODA = Target(
    name="coda",
    title="CoDA's own benchmark (not in the paper)",
    budgets={"smoke": (2, 40), "hour": (4, 12_000), "paper": (4, 120_000)},
    needed=("stage", "parameters_specific"),
    runs=runs,
    table=table,
    sheet=sheet,
    methods=METHODS_SHOWN,
    protocols=("paper", "clean"),
)
