"""Tables of errors: one row per method, or one per environment; the best is bold."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .page import Bold

if TYPE_CHECKING:
    from ..evaluation import Evaluation
    from ..model import Model

UNKNOWN = "–"
HEADER = ["method", "mean squared error", "± over seeds", "± over trajectories", "parameters", "steps", "seconds"]


def method_table(
    models: "Mapping[str, Model]", evaluations: "Mapping[str, Evaluation]"
) -> tuple[list[str], list[list[str]]]:
    """Header and rows: the errors of each method, and what they cost."""
    best = smallest({name: evaluations[name].mse for name in models})
    return HEADER, [_method(name, models[name], evaluations[name], best=name == best) for name in models]


def _method(name: str, model: "Model", evaluation: "Evaluation", *, best: bool) -> list[str]:
    steps, looks = model.about.get("steps"), model.about.get("looks") or [{}]
    return [
        Bold(name) if best else name,
        Bold(_error(evaluation.mse)) if best else _error(evaluation.mse),
        _error(evaluation.std_over_seeds),
        _error(evaluation.std_over_trajectories),
        f"{model.parameters:,}",
        UNKNOWN if steps is None else f"{steps:,}",
        f"{looks[-1]['seconds']:,.0f}" if "seconds" in looks[-1] else UNKNOWN,
    ]


def learning_table(models: "Mapping[str, Model]") -> tuple[list[str], list[list[str]]]:
    """Header and rows: where training ended, as the runs remember it; means over seeds."""
    rows = []
    for name, model in models.items():
        last = (model.about.get("looks") or [{}])[-1]
        mean = lambda key, last=last: _error(sum(last[key]) / len(last[key])) if last.get(key) else UNKNOWN
        steps = model.about.get("steps")
        cost = [f"{model.parameters:,}", UNKNOWN if steps is None else f"{steps:,}"]
        rows.append([name, mean("loss"), mean("error"), mean("test"), str(model.seeds), *cost])
    return ["run", "loss", "training error", "test error", "seeds", "parameters", "steps"], rows


def environment_table(evaluations: "Mapping[str, Evaluation]") -> tuple[list[str], list[list[str]]]:
    """Header and rows: the mean squared error of each method in each environment."""
    errors = {name: evaluation.mse_per_environment for name, evaluation in evaluations.items()}
    rows = []
    for environment in next(iter(errors.values())):
        of = {name: per[environment] for name, per in errors.items()}
        best = smallest(of) if len(of) > 1 else None
        rows.append([environment, *(Bold(_error(v)) if k == best else _error(v) for k, v in of.items())])
    return ["environment", *errors], rows


def smallest(errors: Mapping[str, float]) -> str | None:
    """The name of the smallest error, of those that are numbers.

    >>> smallest({"LEADS": 1e-3, "One-For-All": 0.5, "diverged": float("nan")})
    'LEADS'
    """
    return min((name for name, error in errors.items() if math.isfinite(error)), key=lambda n: errors[n], default=None)


def _error(value: float) -> str:
    return f"{value:.2e}" if math.isfinite(value) else UNKNOWN if math.isnan(value) else "∞"
