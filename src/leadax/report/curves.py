"""Errors as curves: during training, and over the time of a forecast."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import Trajectories
from .forecasts import first_complete
from .style import drawable, label, method_colours, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..evaluate import Evaluation
    from ..model import Model
    from ..records import Look

SIZE = (7.2, 3.4)
MAX_INTERVALS = 40
# How the lines of a method look, by what they show.
KINDS: dict[str, dict[str, Any]] = {
    "test error": {"lw": 1.6},
    "validation error": {"lw": 1.2, "ls": (0, (1, 1.5))},
    "training loss": {"lw": 0.7, "ls": (0, (4, 2)), "alpha": 0.8},
}


def learning_curves(models: "Mapping[str, Model]") -> "Figure | None":
    """Errors and training loss of each method over its steps; None if no model has a record of its training."""
    from matplotlib.lines import Line2D

    recorded = {name: model.training.looks for name, model in models.items() if model.training and model.training.looks}
    if not recorded:
        return None
    colours = method_colours(models)
    with styled():
        figure = new_figure(*SIZE)
        axis = figure.subplots()
        kinds = set().union(*(_curves(axis, looks, colours[name]) for name, looks in recorded.items()))
        _steps_axis(axis)
        axis.set(yscale="log", ylabel="error")
        entries = [(Line2D([], [], color=colours[name], lw=1.6), label(name, 40)) for name in recorded]
        entries += [(Line2D([], [], color="#444444", **style), kind) for kind, style in KINDS.items() if kind in kinds]
        figure.legend(*zip(*entries, strict=True), loc="outside right upper")
    return figure


def _curves(axis: "Axes", looks: "Sequence[Look]", colour: str) -> set[str]:
    """Draw what one method recorded; returns the kinds of lines that there are."""
    steps = np.array([look.step for look in looks])
    recorded = {
        "test error": [look.test for look in looks],
        "validation error": [look.validation for look in looks],
        "training loss": [look.loss for look in looks],
    }
    found = {kind: np.array(values, float) for kind, values in recorded.items() if None not in values}
    for kind, values in found.items():
        _seeds(axis, steps, values, color=colour, **KINDS[kind])
    return set(found)


def _seeds(axis: "Axes", steps: np.ndarray, values: np.ndarray, **style: Any) -> None:
    """The mean over seeds as a line, and the range from the best seed to the worst as a band."""
    per_seed = drawable(values)
    axis.plot(steps, per_seed.mean(axis=1), marker="." if len(steps) <= 5 else "", **style)
    if per_seed.shape[1] > 1:
        axis.fill_between(steps, per_seed.min(axis=1), per_seed.max(axis=1), color=style["color"], alpha=0.15, lw=0)


def _steps_axis(axis: "Axes") -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set(xscale="log", xlabel="step")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter(lambda step, _: f"{step:,.0f}")
    axis.xaxis.set_minor_formatter(NullFormatter())


def error_over_time(evaluations: "Mapping[str, Evaluation]", test: Trajectories) -> "Figure":
    """The mean squared error of each method's forecasts at each time since their start."""
    since_start, colours = elapsed(test), method_colours(evaluations)
    with styled():
        figure = new_figure(*SIZE)
        axis = figure.subplots()
        for name, evaluation in evaluations.items():
            times, errors = error_at_times(evaluation, since_start)
            marker = "." if len(times) <= 50 else ""
            axis.plot(times, errors, color=colours[name], marker=marker, ms=4, lw=1.4, label=label(name, 40))
        axis.set(yscale="log", xlabel="time since the start of the forecast", ylabel="mean squared error")
        figure.legend(*axis.get_legend_handles_labels(), loc="outside right upper")
    return figure


def elapsed(data: Trajectories) -> np.ndarray:
    """Times since the start of each forecast, `(env, traj, time)`, from there on; NaN after the end.

    >>> states = np.array([[[[np.nan], [1.0], [2.0]]]])
    >>> elapsed(Trajectories.from_arrays([0.0, 1.0, 3.0], states)).tolist()
    [[[0.0, 2.0, nan]]]
    """
    times, start = drawable(data.times), first_complete(data)[..., None]
    index = np.arange(times.shape[2]) + start
    since = np.take_along_axis(times, np.minimum(index, times.shape[2] - 1), axis=2)
    return np.where(index < times.shape[2], since - np.take_along_axis(times, start, axis=2), np.nan)


def error_at_times(evaluation: "Evaluation", elapsed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times since the start, and the mean squared error there over all seeds, environments and trajectories.

    If trajectories have different times, these are the centres of time intervals.

    **Arguments**

    - `elapsed`: `(env, traj, time)`, the times that the evaluation's errors belong to, since each start.
    """
    counted = (evaluation.counts > 0) & (elapsed > 0)
    if not counted.any():
        return np.zeros(0), np.zeros(0)
    times, group = _grouped(elapsed[counted], elapsed.shape[-1] - 1)
    total = lambda values: np.bincount(group, values[counted], minlength=len(times))
    counts = total(evaluation.counts)
    filled = counts > 0
    with np.errstate(all="ignore"):  # errors of forecasts that blew up
        return times[filled], drawable(total(evaluation.sums.mean(axis=0))[filled] / counts[filled])


def _grouped(elapsed: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """The times at which errors are averaged, and the one that each point belongs to."""
    distinct, place = np.unique(elapsed, return_inverse=True)
    # Rounding gives the same time of two trajectories different last digits.
    close = np.concatenate([[0], np.cumsum(np.diff(distinct) > 1e-6 * distinct[-1])])
    if close[-1] < 2 * length:
        return np.bincount(close, distinct) / np.bincount(close), close[place]
    intervals, end = min(length, MAX_INTERVALS), distinct[-1]
    group = np.minimum((elapsed / end * intervals).astype(int), intervals - 1)
    return (np.arange(intervals) + 0.5) * end / intervals, group
