"""`leadax compare`."""

import math
from pathlib import Path
from typing import Any

import tyro

from ..errors import InputError, lookup
from .console import Json, message, result
from .options import DataFile, Training, open_model
from .train import train_run


def compare(
    data: DataFile,
    /,
    *,
    test: Path,
    out: Path,
    methods: str | None = None,
    training: tyro.conf.OmitArgPrefixes[Training] = Training(),
    json: Json = False,
) -> None:
    """Train several methods on the same data and set their errors side by side. Finished ones are not trained again.

    Args:
        test: A data file with the same environments to measure errors on.
        out: The folder for the runs, one in each, and a page with tables and pictures.
        methods: Names with commas between them; all by default.
    """
    from ..data import load

    names, testing = _names(methods, training), load(test)
    rows = compare_methods(names, load(data), testing, out, training)
    from ..comparison import verdict
    from ..evaluation import evaluate
    from .report import write_comparison

    page = out / "report.html"
    models = {row["method"]: open_model(out / row["method"]) for row in rows}
    write_comparison(models, testing, "Comparison", page)
    sentence = verdict({name: evaluate(model, testing) for name, model in models.items()})
    result(rows, table(rows), as_json=json)
    message(f"\n{sentence}")
    message(f"pictures: {page}")


def compare_methods(
    names: list[str], training: Any, testing: Any, out: Path, options: Training
) -> list[dict[str, Any]]:
    """One row for each method, in the order of their errors."""
    rows = []
    for name in names:
        own = options.for_method(name) if len(names) > 1 else options
        done = train_run(name, training, testing, out / name, own)
        rows.append(
            {
                "method": name,
                "mse": done["test"]["last"],
                "mse_minimum": done["test"]["minimum"],
                "mse_std_over_seeds": done["test"]["mse_std_over_seeds"],
                "mse_std_over_trajectories": done["test"]["mse_std_over_trajectories"],
                "mse_train": done["mse"],
                **{key: done[key] for key in ("steps", "seconds", "seeds", "parameters")},
            }
        )
    return sorted(rows, key=lambda row: math.inf if row["mse"] is None else row["mse"])


def table(rows: list[dict[str, Any]]) -> str:
    """The rows for people."""
    number = lambda value: "       –" if value is None else f"{value:.2e}"
    lines = [
        f"{'method':14} {'test error':>10} {'± seeds':>9} {'± traj.':>9} {'train':>9} {'parameters':>11} {'seconds':>8}"
    ]
    for row in rows:
        lines.append(
            f"{row['method']:14} {number(row['mse']):>10} {number(row['mse_std_over_seeds']):>9} "
            f"{number(row['mse_std_over_trajectories']):>9} {number(row['mse_train']):>9} {row['parameters']:11d} "
            f"{row['seconds']:8.0f}"
        )
    return "\n".join(lines)


def _names(text: str | None, training: Training) -> list[str]:
    from ..methods import METHODS

    all_names = [name for name in METHODS if training.match == "trajectories" or METHODS[name]().has_field]
    names = all_names if text is None else [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise InputError(f"`--methods` must name methods with commas between them, got `{text}`")
    for name in names:
        lookup("method", name, METHODS)
    return names
