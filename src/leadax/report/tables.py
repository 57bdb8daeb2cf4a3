"""Tables of errors, with one row per method or per environment. The smallest error is bold."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .numbers import UNKNOWN, readable
from .page import Bold
from .style import short

if TYPE_CHECKING:
    from ..evaluate import Evaluation
    from ..model import Model

COST = ["parameters", "steps"]
# With more channels than this, their errors are in a table of their own.
MAX_COLUMNS = 4


class Table(NamedTuple):
    """The arguments of `Page.table`; `muted`: the positions of rows that are there for comparison only."""

    header: list[str]
    rows: list[list[str]]
    muted: tuple[int, ...] = ()


def error_table(evaluations: "Mapping[str, Evaluation]", baselines: "Mapping[str, Evaluation] | None" = None) -> Table:
    """The errors of each method and, muted, of simple baselines; the smallest normalised error first."""
    rows = [(evaluation, name, False) for name, evaluation in evaluations.items()]
    rows += [(evaluation, name, True) for name, evaluation in (baselines or {}).items()]
    rows.sort(key=lambda row: finite_or_inf(row[0].nmse))
    best = readable(rows[0][0].nmse) if math.isfinite(rows[0][0].nmse) else None
    channels = rows[0][0].channels if 1 < len(rows[0][0].channels) <= MAX_COLUMNS else ()
    titles = [f"of {short(name, 30)}" for name in channels]
    rest = ["R²", "median", "mean squared error", "± seeds", "± trajectories", "diverged"]
    with np.errstate(all="ignore"):  # errors of forecasts that blew up
        lines = [_errors(name, evaluation, channels, best) for evaluation, name, _ in rows]
    muted = tuple(k for k, (_, _, baseline) in enumerate(rows) if baseline)
    return Table(["method", "normalised error", *titles, *rest], lines, muted)


def _errors(name: str, evaluation: "Evaluation", channels: Sequence[str], best: str | None) -> list[str]:
    error, per_channel = readable(evaluation.nmse), evaluation.nmse_per_channel
    # Errors that look the same are equal for the reader, too.
    shown = Bold if error == best else str
    return [
        shown(short(name)),
        shown(error),
        *(readable(per_channel[channel]) for channel in channels),
        _share(evaluation.r2),
        readable(evaluation.median_nmse),
        readable(evaluation.mse),
        readable(evaluation.std_over_seeds),
        readable(evaluation.std_over_trajectories),
        f"{evaluation.diverged:,} of {evaluation.mse_per_trajectory.shape[1]:,}",
    ]


def _share(r2: float) -> str:
    """R² with three decimals; never 1.000 where something is missing."""
    if abs(r2) >= 100 or not math.isfinite(r2):
        return readable(r2)
    return "> 0.999" if 0.9995 <= r2 < 1 else f"{r2:.3f}".replace("-", "−")


def channel_table(evaluations: "Mapping[str, Evaluation]") -> Table:
    """The normalised error of each method in each channel."""
    return _compared("channel", {name: evaluation.nmse_per_channel for name, evaluation in evaluations.items()})


def environment_table(evaluations: "Mapping[str, Evaluation]") -> Table:
    """The normalised error of each method in each environment."""
    return _compared("environment", {name: _per_environment(evaluation) for name, evaluation in evaluations.items()})


def _per_environment(evaluation: "Evaluation") -> dict[str, float]:
    """Over the channels that were observed there; each divided by its variance in all of the data."""
    counts = evaluation.channel_counts.sum(axis=(1, 2))
    with np.errstate(all="ignore"):  # errors of forecasts that blew up
        sums = np.where(evaluation.channel_counts > 0, evaluation.channel_sums, 0.0).sum(axis=(2, 3)).mean(axis=0)
        per = np.where(counts > 0, sums / counts / evaluation.variances, 0.0).sum(axis=-1) / (counts > 0).sum(axis=-1)
    return dict(zip(evaluation.environments, per.tolist(), strict=True))


def _compared(what: str, errors: Mapping[str, Mapping[str, float]]) -> Table:
    rows = []
    for item in next(iter(errors.values())):
        of = [per[item] for per in errors.values()]
        best = readable(min(filter(math.isfinite, of), default=math.nan)) if len(of) > 1 else None
        cells = [readable(value) for value in of]
        rows.append([short(item), *(Bold(cell) if cell == best != UNKNOWN else cell for cell in cells)])
    return Table([what, *map(short, errors)], rows)


def cost_table(models: "Mapping[str, Model]") -> Table:
    """What each method cost, and the step that its model is of."""
    seconds = lambda model: f"{model.training.seconds:,.0f}" if model.training else UNKNOWN
    rows = [[short(name), *_cost(model), seconds(model)] for name, model in models.items()]
    return Table(["method", *COST, "kept from step", "seconds"], rows)


def learning_table(models: "Mapping[str, Model]") -> Table:
    """Where training ended, as the runs recorded it; means over seeds."""
    rows = []
    for name, model in models.items():
        last = model.training.history[-1] if model.training and model.training.history else None
        errors = [last.loss, last.error, last.validation, last.test] if last else [None] * 4
        rows.append([short(name), *map(_mean, errors), str(model.members), *_cost(model)])
    names = ["loss", "training error", "validation error", "test error"]
    return Table(["run", *names, "seeds", *COST, "kept from step"], rows)


def finite_or_inf(error: float) -> float:
    """For sorting: what is not a number comes last."""
    return error if math.isfinite(error) else math.inf


def _cost(model: "Model") -> list[str]:
    """Parameters, steps, and the steps that the members were kept from."""
    if model.training is None:
        return [f"{model.parameter_count:,}", UNKNOWN, UNKNOWN]
    kept = model.training.kept or (model.training.steps,)
    span = f"{min(kept):,}" if min(kept) == max(kept) else f"{min(kept):,} to {max(kept):,}"
    return [f"{model.parameter_count:,}", f"{model.training.steps:,}", span]


def _mean(values: Sequence[float] | None) -> str:
    return readable(sum(values) / len(values)) if values else UNKNOWN
