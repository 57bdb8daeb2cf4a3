"""The pictures of fitted models, each with a caption that says what is in it and what is not."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..data import Trajectories
from ..errors import InputError
from .curves import error_over_time
from .fields import field_comparison
from .forecasts import Forecasts, forecast_first
from .learning import learning_caption, learning_curves
from .learnt import decomposed, decomposition_figures
from .portraits import portraits
from .style import field_scale, short, which_of
from .trajectories import cut_off, over_time

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..evaluate import Evaluation
    from ..model import Model

MAX_ENVIRONMENTS = 12
MAX_CHANNELS = 8
# Over time, with one panel per environment and channel.
MAX_ROWS = 6
MAX_COLUMNS = 4


def model_figures(
    models: "Mapping[str, Model]",
    test: Trajectories,
    evaluations: "Mapping[str, Evaluation]",
    baselines: "Mapping[str, Evaluation] | None" = None,
) -> "dict[str, Figure]":
    """The pictures of models by caption: how they learnt, how they forecast, and which f and g_e they found.

    **Arguments**

    - `models`: by the name to show; `evaluations`: of each model on `test`, by the same names;
    - `baselines`: evaluations of simple forecasts to compare with.
    """
    check_names(models, evaluations)
    figures: dict[str, Figure] = {}
    if (curves := learning_curves(models)) is not None:
        figures[learning_caption(models)] = curves
    caption = (
        "Squared error over the time of a forecast, the mean over all test trajectories; each channel divided by its "
        "variance, so that 1 is as far off as the mean of the data" + "; grey: baselines" * bool(baselines)
    )
    if (errors := error_over_time({name: evaluations[name] for name in models}, test, baselines)) is not None:
        figures[caption] = errors
    figures |= _comparisons(models, test)
    name = decomposed(models, test, evaluations)
    return figures if name is None else figures | decomposition_figures(name, models[name], test)


def not_drawn(models: "Mapping[str, Model]", test: Trajectories) -> str:
    """What pictures of single environments, trajectories, channels and fields leave out; empty if nothing."""
    counts = test.counts
    trajectories, shown = int(counts.sum()), min(len(counts), MAX_ENVIRONMENTS)
    lost = []
    if len(counts) > shown:
        lost.append(f"{len(counts) - shown:,} of {len(counts):,} environments")
    if trajectories > shown:
        lost.append(f"{trajectories - shown:,} of {trajectories:,} test trajectories (all but the first of each)")
    if len(test.channels) > MAX_CHANNELS:
        lost.append(f"{len(test.channels) - MAX_CHANNELS:,} of {len(test.channels):,} channels")
    texts = [f"Not drawn, but counted in all errors: {'; '.join(lost)}."] if lost else []
    if any(model.layout.seen or model.layout.hidden for model in models.values()):
        texts.append("f and g of models that see more than observed states (inputs, covariates, …) are not drawn.")
    return " ".join(texts)


def _comparisons(models: "Mapping[str, Model]", test: Trajectories) -> "dict[str, Figure]":
    """True and predicted states of the first test trajectory of each environment."""
    if len(test.space) > 2:
        return {}
    forecasts = forecast_first(models, test, MAX_ENVIRONMENTS)
    note = ". Each forecast is the mean over seeds" if any(model.members > 1 for model in models.values()) else ""
    if test.space:
        return _field_figures(forecasts, test, note)
    return _line_figures(forecasts, test, note)


def _line_figures(forecasts: Sequence[Forecasts], test: Trajectories, note: str) -> "dict[str, Figure]":
    names = [short(name) for name in test.channels]
    chosen = forecasts if len(names) == 1 else forecasts[:MAX_ROWS]
    figures: dict[str, Figure] = {}
    for begin in range(0, min(len(names), MAX_CHANNELS), MAX_COLUMNS):
        shown = range(begin, min(begin + MAX_COLUMNS, len(names), MAX_CHANNELS))
        what = f"{', '.join(names[c] for c in shown)} over time: data and forecasts of {_which(chosen, test)}{note}."
        figures[what + cut_off(chosen, shown)] = over_time(chosen, test.channels, shown)
    if len(names) > 1:
        what = f"{names[0]} and {names[1]} in their plane: data and forecasts of {_which(forecasts, test)}{note}."
        figures[what + cut_off(forecasts, (0, 1))] = portraits(forecasts, test.channels)
    return figures


def _field_figures(forecasts: Sequence[Forecasts], test: Trajectories, note: str) -> "dict[str, Figure]":
    at = "at its last time" if len(test.space) == 2 else "over space (upwards) and time"
    figures: dict[str, Figure] = {}
    for c, name in enumerate(test.channels[:MAX_CHANNELS]):
        what = f"{short(name)}: truth, forecasts and their errors, {_which(forecasts, test)} {at}{note}."
        scale = field_scale(np.concatenate([f.truth[..., c].ravel() for f in forecasts]))
        beyond = cut_off(forecasts, (c,), lambda _, __, s=scale: (float(s["vmin"]), float(s["vmax"])))
        figures[what + beyond.replace("Cut off", "Cut off by the scale of the colours")] = field_comparison(
            forecasts, c, short(name)
        )
    return figures


def _which(forecasts: Sequence[Forecasts], test: Trajectories) -> str:
    """The trajectories in a picture."""
    return f"the first test trajectory of {which_of(len(test.environments), len(forecasts))}"


def check_names(models: "Mapping[str, Model]", evaluations: "Mapping[str, Evaluation]") -> None:
    """An `InputError` unless there is a model, and an evaluation for each."""
    if not models or set(models) != set(evaluations):
        names = lambda given: ", ".join(map(short, given)) or "none"
        raise InputError(
            f"`models` and `evaluations` must have the same names, at least one; got {names(models)} and "
            f"{names(evaluations)}"
        )
