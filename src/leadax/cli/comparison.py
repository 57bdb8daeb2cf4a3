"""Several methods, trained and tested on the same data, or on the same folds of them."""

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .options import Training, open_model
from .parts import Parts
from .settings import check_used
from .train import train_run

if TYPE_CHECKING:
    from ..data import Trajectories
    from ..evaluate import Evaluation
    from ..model import Model


class Trial(NamedTuple):
    """A folder for the runs of all methods, and the data that they learn from and are tested on."""

    folder: Path
    parts: Parts


class Comparison(NamedTuple):
    """What came out, the smallest error first; yardsticks have rows too.

    - `models`: of the first trial; `evaluations`: over the test data of all trials.
    """

    rows: list[dict[str, Any]]
    models: "dict[str, Model]"
    evaluations: "dict[str, Evaluation]"
    yardsticks: "dict[str, Evaluation]"


def compare_methods(names: list[str], trials: list[Trial], options: Training) -> Comparison:
    """Train every method in every trial and put their errors side by side."""
    from ..evaluate import evaluate, pooled
    from ..evaluate.errors import chosen_warmup
    from ..yardsticks import yardsticks

    if len(names) > 1:
        check_used(names, options.settings())
    rows, models, evaluations = [], {}, {}
    for name in names:
        folders = [trial.folder / folder_of(name) for trial in trials]
        skip = len(names) > 1
        done = [train_run(name, t.parts, f, options, skip=skip) for t, f in zip(trials, folders, strict=True)]
        trained = [open_model(folder, options.using(name)) for folder in folders]
        models[name] = trained[0]
        evaluations[name] = pooled([evaluate(m, _test(t)) for m, t in zip(trained, trials, strict=True)])
        rows.append(_row(name, evaluations[name], done))
    protocol = options.protocol
    told = [chosen_warmup(None, models[names[0]].warmup, _test(t)) for t in trials]
    simple = [
        yardsticks(t.parts.train, _test(t), protocol=protocol, warmup=w) for t, w in zip(trials, told, strict=True)
    ]
    baselines = {name: pooled([found[name] for found in simple]) for name in simple[0]}
    rows += [_baseline_row(name, found) for name, found in baselines.items()]
    rows.sort(key=lambda row: math.inf if row["nmse"] is None else row["nmse"])
    return Comparison(rows, models, evaluations, baselines)


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
        f"{'method':{width}} {'test error':>10} {'of variance':>11} {'median':>9} {'diverged':>8} {'± seeds':>9} "
        f"{'± traj.':>9} {'train':>9} {'parameters':>11} {'seconds':>8}"
    ]
    for row in rows:
        size = "" if row["baseline"] else f"{row['parameters']:11d} {row['seconds']:8.0f}"
        lines.append(
            f"{row['method']:{width}} {number(row['mse']):>10} {number(row['nmse']):>11} "
            f"{number(row['median_nmse']):>9} {row['diverged']:8d} {number(row['mse_std_over_seeds']):>9} "
            f"{number(row['mse_std_over_trajectories']):>9} {number(row['mse_train']):>9} {size}".rstrip()
        )
    return "\n".join(lines)


def _test(trial: Trial) -> "Trajectories":
    assert trial.parts.test is not None, "every trial has test data"
    return trial.parts.test


def _row(name: str, evaluation: "Evaluation", done: list[dict[str, Any]]) -> dict[str, Any]:
    mean = lambda values: None if None in values else sum(values) / len(values)
    return {
        **_errors(name, evaluation),
        "mse_minimum": mean([document["test"]["minimum"] for document in done]),
        "mse_train": mean([document["mse"] for document in done]),
        "steps": done[0]["steps"],
        "seconds": sum(document["seconds"] for document in done),
        "seeds": done[0]["seeds"],
        "parameters": done[0]["parameters"],
        "baseline": False,
    }


def _baseline_row(name: str, evaluation: "Evaluation") -> dict[str, Any]:
    nothing = {"mse_minimum": None, "mse_train": None, "steps": 0, "seconds": 0.0, "seeds": 1, "parameters": 0}
    return {**_errors(name, evaluation), **nothing, "baseline": True}


def _errors(name: str, evaluation: "Evaluation") -> dict[str, Any]:
    finite = lambda value: value if math.isfinite(value) else None
    return {
        "method": name,
        "mse": finite(evaluation.mse),
        "nmse": finite(evaluation.nmse),
        "nmse_per_channel": {channel: finite(value) for channel, value in evaluation.nmse_per_channel.items()},
        "r2": finite(evaluation.r2),
        "median_nmse": finite(evaluation.median_nmse),
        "diverged": evaluation.diverged,
        "mse_std_over_seeds": finite(evaluation.std_over_seeds),
        "mse_std_over_trajectories": finite(evaluation.std_over_trajectories),
    }
