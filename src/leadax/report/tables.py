"""Tables of errors, with one row per method or per environment. The smallest error is bold."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from .page import Bold
from .style import short

if TYPE_CHECKING:
    from ..evaluate import Evaluation
    from ..model import Model

UNKNOWN = "–"
HEADER = ["method", "mean squared error", "± seeds", "± trajectories", "R²", "diverged"]
COST = ["parameters", "steps"]


def method_table(
    models: "Mapping[str, Model]", evaluations: "Mapping[str, Evaluation]"
) -> tuple[list[str], list[list[str]]]:
    """Header and rows: the errors of each method, and what they cost."""
    best = smallest({name: evaluations[name].mse for name in models})
    rows = [_method(name, models[name], evaluations[name], best=name == best) for name in models]
    return [*HEADER, *COST, "seconds"], rows


def _method(name: str, model: "Model", evaluation: "Evaluation", *, best: bool) -> list[str]:
    trajectories = evaluation.mse_per_trajectory.shape[1]
    return [
        Bold(short(name)) if best else short(name),
        Bold(_error(evaluation.mse)) if best else _error(evaluation.mse),
        _error(evaluation.std_over_seeds),
        _error(evaluation.std_over_trajectories),
        f"{evaluation.r2:.3f}" if abs(evaluation.r2) < 1e3 else _error(evaluation.r2),
        f"{evaluation.diverged} of {trajectories}",
        *_cost(model),
        f"{model.training.seconds:,.0f}" if model.training else UNKNOWN,
    ]


def learning_table(models: "Mapping[str, Model]") -> tuple[list[str], list[list[str]]]:
    """Header and rows: where training ended, as the runs recorded it; means over seeds."""
    rows = []
    for name, model in models.items():
        last = model.training.looks[-1] if model.training and model.training.looks else None
        errors = [last.loss, last.error, last.validation, last.test] if last else [None] * 4
        rows.append([short(name), *map(_mean, errors), str(model.members), *_cost(model)])
    return ["run", "loss", "training error", "validation error", "test error", "seeds", *COST], rows


def environment_table(evaluations: "Mapping[str, Evaluation]") -> tuple[list[str], list[list[str]]]:
    """Header and rows: the mean squared error of each method in each environment."""
    errors = {name: evaluation.mse_per_environment for name, evaluation in evaluations.items()}
    rows = []
    for environment in next(iter(errors.values())):
        of = {name: per[environment] for name, per in errors.items()}
        best = smallest(of) if len(of) > 1 else None
        rows.append([short(environment), *(Bold(_error(v)) if k == best else _error(v) for k, v in of.items())])
    return ["environment", *map(short, errors)], rows


def smallest(errors: Mapping[str, float]) -> str | None:
    """The name of the smallest finite error.

    >>> smallest({"LEADS": 1e-3, "One-For-All": 0.5, "diverged": float("nan")})
    'LEADS'
    """
    return min((name for name, error in errors.items() if math.isfinite(error)), key=lambda n: errors[n], default=None)


def _cost(model: "Model") -> list[str]:
    """Parameters and steps."""
    return [f"{model.parameter_count:,}", f"{model.training.steps:,}" if model.training else UNKNOWN]


def _mean(values: Sequence[float] | None) -> str:
    return _error(sum(values) / len(values)) if values else UNKNOWN


def _error(value: float) -> str:
    return f"{value:.2e}" if math.isfinite(value) else UNKNOWN if math.isnan(value) else "∞"
