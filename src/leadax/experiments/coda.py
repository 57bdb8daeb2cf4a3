"""CoDA's own benchmark (Kirchmeyer et al., 2022) beside LEADS: nine environments, then four novel ones.

Each novel environment gives one trajectory. CoDA learns two numbers from it, LEADS a whole net.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import jax.random as jr
import numpy as np

from ..adapting import adapt
from ..evaluation import Evaluation, evaluate
from ..model import Model
from .study import Options, Row, Run, Target
from .table1 import data, run_name, setting_of, trained

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SYSTEM = "lotka-volterra-coda"
METHODS_SHOWN = ("leads", "coda")


def runs(options: Options) -> list[Run]:
    """One for each method: trained, then adapted."""
    return [Run(run_name(options, SYSTEM, method), partial(_work, options, method)) for method in METHODS_SHOWN]


def _work(options: Options, method: str, folder: Path) -> Sequence[Row]:
    get = lambda split: data(SYSTEM, split, options.protocol, options.seed)
    known = trained(options, SYSTEM, method, folder / "known")
    found = adapt(known, get("novel"), key=jr.key(options.seed), steps=options.steps, run=folder / "novel")
    return [
        *_rows("known", method, known, evaluate(known, get("test")), options, get("train")),
        *_rows("novel", method, found, evaluate(found, get("novel-test")), options, get("novel")),
    ]


def _rows(stage: str, method: str, model: Model, on_test: Evaluation, options: Options, training: Any) -> list[Row]:
    setting = setting_of(SYSTEM, method, training, options.protocol) | {"steps": options.steps, "stage": stage}
    # What one environment has for itself.
    specific = sum(a.size for a in jax.tree.leaves(model.parts.specific)) // (model.seeds * len(model.environments))
    return [
        {**setting, "parameters_specific": specific, "seed": seed, "mse_test": error}
        for seed, error in enumerate(on_test.mse_per_seed.tolist())
    ]


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each protocol, method and number of steps: errors in known and in novel environments."""
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["protocol"], row["method"], row["steps"]), []).append(row)
    return [_line(*setting, of) for setting, of in groups.items()]


def _line(protocol: str, method: str, steps: int, rows: list[Row]) -> dict[str, Any]:
    errors = {stage: [row["mse_test"] for row in rows if row["stage"] == stage] for stage in ("known", "novel")}
    line: dict[str, Any] = {"protocol": protocol, "method": method, "steps": steps, "seeds": len(errors["known"])}
    for stage, each in errors.items():
        line[f"mse_{stage}"] = float(np.mean(each))
        line[f"std_{stage}"] = float(np.std(each, ddof=1)) if len(each) > 1 else None
    return {**line, "parameters_specific": rows[0]["parameters_specific"]}


def text(rows: Sequence[Row]) -> str:
    """The table for people."""
    number = lambda value: "–" if value is None else f"{value:.2e}"
    lines = [
        f"{'protocol':8} {'method':8} {'known':>9} {'± seeds':>9} {'novel':>9} {'± seeds':>9} "
        f"{'learnt per novel environment':>29} {'seeds':>5} {'steps':>6}"
    ]
    for line in table(rows):
        cells = " ".join(f"{number(line[name]):>9}" for name in ("mse_known", "std_known", "mse_novel", "std_novel"))
        lines.append(
            f"{line['protocol']:8} {line['method']:8} {cells} {line['parameters_specific']:29} "
            f"{line['seeds']:5} {line['steps']:6}"
        )
    return "\n".join(lines)


def figures(rows: Sequence[Row]) -> "dict[str, Figure]":
    """None: it is a table."""
    del rows
    return {}


CODA = Target(
    name="coda",
    budgets={"smoke": (2, 40), "hour": (4, 12_000), "paper": (4, 120_000)},
    runs=runs,
    table=table,
    text=text,
    figures=figures,
)
