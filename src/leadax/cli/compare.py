"""`leadax compare`."""

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from ..errors import InputError
from .checks import check_run
from .console import Json, message, optional, result
from .names import METHODS, check_name
from .options import OWN, DataFile, Training, open_model, read_data
from .settings import Plan, check_used
from .train import train_run

if TYPE_CHECKING:
    from ..data import Trajectories

MethodNames = Annotated[
    str | None,
    optional("NAME[,…]", f"Names separated by commas: {', '.join(METHODS)}, {OWN}; by default all of Leadax's."),
]


def compare(
    data: DataFile,
    /,
    *,
    test: Path,
    out: Path,
    methods: MethodNames = None,
    training: tyro.conf.OmitArgPrefixes[Training] = Training(),
    json: Json = False,
) -> None:
    """Train several methods on the same data and compare their errors. Finished runs are not trained again.

    Settings that a method does not have are left out for that method.

    Args:
        test: A data file with the same environments, to measure errors on.
        out: The folder to write to: a run for each method, and a page with tables and pictures.
    """
    names = _names(methods, training)
    training.check()
    for name in names:
        check_run(out / folder_of(name))
    testing = read_data(test)
    rows = compare_methods(names, read_data(data), testing, out, training)
    from ..choose import verdict
    from ..evaluate import evaluate
    from .report import write_comparison

    page, using = out / "report.html", training.using(*names)
    models = {row["method"]: open_model(out / folder_of(row["method"]), using) for row in rows}
    evaluations = {name: evaluate(model, testing) for name, model in models.items()}
    write_comparison(models, testing, "Comparison", page, evaluations)
    result(rows, table(rows), as_json=json)
    message(f"\n{verdict(evaluations)}")
    message(f"pictures: {page}")


def compare_methods(
    names: list[str], training: "Trajectories", testing: "Trajectories", out: Path, options: Training
) -> list[dict[str, Any]]:
    """A row for each method, the smallest error first."""
    if len(names) > 1:
        check_used(names, options.settings())
    rows = []
    for name in names:
        done = train_run(name, training, testing, out / folder_of(name), options, skip=len(names) > 1)
        rows.append(
            {
                "method": name,
                "mse": done["test"]["last"],
                "mse_minimum": done["test"]["minimum"],
                "nmse": done["test"]["nmse"],
                "mse_std_over_seeds": done["test"]["mse_std_over_seeds"],
                "mse_std_over_trajectories": done["test"]["mse_std_over_trajectories"],
                "mse_train": done["mse"],
                **{key: done[key] for key in ("steps", "seconds", "seeds", "parameters")},
            }
        )
    return sorted(rows, key=lambda row: math.inf if row["mse"] is None else row["mse"])


def folder_of(method: str) -> str:
    """The name of a method's run folder, which any file system allows.

    >>> folder_of("leads"), folder_of("package.module:Mine")
    ('leads', 'package.module-Mine')
    """
    return re.sub(r"[^\w.-]+", "-", method)


def table(rows: list[dict[str, Any]]) -> str:
    """The rows for people."""
    number = lambda value: "–" if value is None else f"{value:.2e}"
    width = max(14, *(len(row["method"]) for row in rows))
    lines = [
        f"{'method':{width}} {'test error':>10} {'± seeds':>9} {'± traj.':>9} {'train':>9} {'parameters':>11} "
        f"{'seconds':>8}"
    ]
    for row in rows:
        lines.append(
            f"{row['method']:{width}} {number(row['mse']):>10} {number(row['mse_std_over_seeds']):>9} "
            f"{number(row['mse_std_over_trajectories']):>9} {number(row['mse_train']):>9} {row['parameters']:11d} "
            f"{row['seconds']:8.0f}"
        )
    return "\n".join(lines)


def _names(text: str | None, training: Training) -> list[str]:
    """The methods to compare, each once."""
    if text is None:
        return [name for name in METHODS if training.match == "trajectories" or _has_a_field(name)]
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise InputError(f"`--methods` must be names separated by commas, got `{text}`")
    for name in names:
        check_name("method", name, METHODS)
    if len({folder_of(name) for name in names}) < len(names):
        raise InputError(f"two of the methods would share a folder: {', '.join(names)}")
    return names


def _has_a_field(name: str) -> bool:
    """Whether a method has a vector field, whose values can be compared with derivatives: it is solved then."""
    return "solver" in Plan.of(name).fields
