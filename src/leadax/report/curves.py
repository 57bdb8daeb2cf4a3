"""Errors as curves: while a model learns, and over the time of a forecast."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..data import Trajectories
from .forecasts import finite
from .style import label, method_colours, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..evaluation import Evaluation
    from ..model import Model

SIZE = (7.2, 3.4)
MAX_INTERVALS = 40


def learning_curves(models: "Mapping[str, Model]") -> "Figure | None":
    """The test error of each method over its steps, and its training loss; None if no model remembers its training."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator, NullFormatter

    remembered = {name: model.about["looks"] for name, model in models.items() if model.about.get("looks")}
    if not remembered:
        return None
    colours = method_colours(models)
    with styled():
        figure = new_figure(*SIZE)
        axis = figure.subplots()
        for name, looks in remembered.items():
            steps = np.array([look["step"] for look in looks])
            _seeds(axis, steps, [look["loss"] for look in looks], colours[name], lw=0.7, ls=(0, (4, 2)), alpha=0.8)
            if all(look.get("test") is not None for look in looks):
                _seeds(axis, steps, [look["test"] for look in looks], colours[name], lw=1.6, label=label(name, 40))
            else:
                axis.lines[-1].set_label(label(name, 40))
        axis.set(xscale="log", yscale="log", xlabel="step", ylabel="error")
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.xaxis.set_major_formatter(lambda step, _: f"{step:,.0f}")
        axis.xaxis.set_minor_formatter(NullFormatter())
        kinds = [Line2D([], [], color="#444444", lw=1.6), Line2D([], [], color="#444444", lw=0.7, ls=(0, (4, 2)))]
        handles, labels = axis.get_legend_handles_labels()
        figure.legend([*handles, *kinds], [*labels, "test error", "training loss"], loc="outside right upper")
    return figure


def _seeds(axis: "Axes", steps: np.ndarray, values: list[list[float]], colour: str, **style: object) -> None:
    """The mean over seeds as a line, and what lies between the best and the worst seed as a band."""
    per_seed = finite(np.array(values, float))
    marker = "." if len(steps) <= 5 else ""
    axis.plot(steps, per_seed.mean(axis=1), color=colour, marker=marker, **style)  # pyright: ignore[reportArgumentType]
    if per_seed.shape[1] > 1:
        axis.fill_between(steps, per_seed.min(axis=1), per_seed.max(axis=1), color=colour, alpha=0.15, lw=0)


def error_over_time(evaluations: "Mapping[str, Evaluation]", test: Trajectories) -> "Figure":
    """The mean squared error of each method's forecasts at each time since their start."""
    from ..data.batch import to_batch

    elapsed = np.asarray(to_batch(test).times, float)
    colours = method_colours(evaluations)
    with styled():
        figure = new_figure(*SIZE)
        axis = figure.subplots()
        for name, evaluation in evaluations.items():
            times, errors = error_at_times(evaluation, elapsed)
            marker = "." if len(times) <= 50 else ""
            axis.plot(times, errors, color=colours[name], marker=marker, ms=4, lw=1.4, label=label(name, 40))
        axis.set(yscale="log", xlabel="time since the start of the forecast", ylabel="mean squared error")
        figure.legend(*axis.get_legend_handles_labels(), loc="outside right upper")
    return figure


def error_at_times(evaluation: "Evaluation", elapsed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Times after the start, and the mean squared error there over all seeds, environments and trajectories.

    Where trajectories have times of their own, these are the middles of intervals of time.

    **Arguments**

    - `elapsed`: `(env, traj, time)`, the times that the evaluation's errors belong to, counted from each start.
    """
    counted = (evaluation.counts > 0) & (elapsed > 0)
    times, group = _grouped(elapsed[counted], elapsed.shape[-1] - 1)
    total = lambda values: np.bincount(group, values[counted], minlength=len(times))
    counts = total(evaluation.counts)
    filled = counts > 0
    return times[filled], finite(total(evaluation.sums.mean(axis=0))[filled] / counts[filled])


def _grouped(elapsed: np.ndarray, length: int) -> tuple[np.ndarray, np.ndarray]:
    """The times at which there is something to average, and to which of them each point belongs."""
    distinct, place = np.unique(elapsed, return_inverse=True)
    # float32 gives the same time of two trajectories different last digits.
    close = np.concatenate([[0], np.cumsum(np.diff(distinct) > 1e-6 * distinct[-1])])
    if close[-1] < 2 * length:
        return np.bincount(close, distinct) / np.bincount(close), close[place]
    intervals, end = min(length, MAX_INTERVALS), distinct[-1]
    group = np.minimum((elapsed / end * intervals).astype(int), intervals - 1)
    return (np.arange(intervals) + 0.5) * end / intervals, group
