"""CoDA's own benchmark (Kirchmeyer et al., 2022) next to LEADS: nine environments, then four novel ones.

Each novel environment has one trajectory. CoDA learns two numbers from it, LEADS a whole net.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.random as jr
import numpy as np

from ...adapt import adapt
from ...data import Trajectories
from ...evaluate import evaluate
from ...model import Model
from ..results.configs import config_column
from ..results.rows import KEYS, Row
from ..results.sheets import Sheet, minutes, with_spread
from ..results.summary import spread
from ..study import Options, Run, Target
from ..study.learning import columns_of, settings_of, training
from ..study.models import BUDGETS, CONTENDERS, run_name, simulated, trained

SYSTEM = "lotka-volterra-coda"
METHODS_SHOWN = ("leads", "coda")


def runs(options: Options) -> list[Run]:
    """One for each method: trained, then adapted."""
    return [
        Run(
            run_name(options, SYSTEM, method),
            partial(_work, options, method),
            settings_of(CONTENDERS[method], SYSTEM, options),
        )
        for method in options.choose(METHODS_SHOWN)
    ]


def _work(options: Options, method: str, folder: Path) -> Sequence[Row]:
    splits = ("train", "test", "novel", "novel-test")
    train, test, new, new_test = (simulated(SYSTEM, split, options.protocol, options.seed) for split in splits)
    known = trained(options, SYSTEM, method, folder / "known")
    how = training(SYSTEM, options)
    novel = adapt(
        known, new, key=jr.key(options.seed), scheme="specific", steps=options.steps, run=folder / "novel", **how
    )
    stages = {"known": (known, train, test), "novel": (novel, new, new_test)}
    return [
        {**columns_of(SYSTEM, method, train, options.protocol), **row, **config_column(folder / stage)}
        for stage, (model, train, test) in stages.items()
        for row in _rows(stage, model, test)
    ]


def _rows(stage: str, model: Model, test: Trajectories) -> list[Row]:
    assert model.training is not None
    cost = {"steps": model.training.steps, "stage": stage, "parameters_specific": _specific_parameters(model)}
    return [
        {**cost, "seconds": model.training.seconds, "seed": seed, "mse_test": error}
        for seed, error in enumerate(evaluate(model, test).mse_per_seed.tolist())
    ]


def _specific_parameters(model: Model) -> int:
    """How many numbers one environment has to itself."""
    return sum(a.size for a in jax.tree.leaves(model.levels.specific)) // (model.members * len(model.environments))


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
    return Sheet(
        header.split(","),
        cells,
        (
            "Steps are those of each of the two stages, minutes those of both together. Rows of version 0.1 are of "
            "trajectories that started in [1, 3]²; now they start in [1, 2]².",
        ),
    )


CODA = Target(
    name="coda",
    title="CoDA's own benchmark (not in the paper)",
    budgets=BUDGETS,
    needed=("stage", "parameters_specific"),
    runs=runs,
    table=table,
    sheet=sheet,
    methods=METHODS_SHOWN,
    protocols=("paper", "clean"),
)
