"""Errors over the time of a forecast."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from ..data import Trajectories
from .axes import plain_numbers
from .forecasts import first_complete
from .style import drawable, label, method_colours, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..evaluate import Evaluation

SIZE = (7.2, 3.2)
MAX_INTERVALS = 40
# For baselines: thin and grey, told apart by their dashes.
DASHES = ((0, (4, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)), (0, (2, 1)))


def error_over_time(
    evaluations: "Mapping[str, Evaluation]",
    test: Trajectories,
    baselines: "Mapping[str, Evaluation] | None" = None,
) -> "Figure | None":
    """The normalised squared error of each method's forecasts at each time since their start.

    None where the times of the errors are not known: errors of a cross-validation are not in the order of the data.
    """
    given = [*evaluations.values(), *(baselines or {}).values()]
    if any(evaluation.counts.shape != test.times.shape for evaluation in given):
        return None
    since_start, colours = elapsed(test), method_colours(evaluations)
    with styled():
        figure = new_figure(*SIZE)
        axis = figure.subplots()
        for k, (name, evaluation) in enumerate((baselines or {}).items()):
            style = {"color": "#888888", "ls": DASHES[k % len(DASHES)], "lw": 1.0}
            axis.plot(*error_at_times(evaluation, since_start), label=label(name, 30), **style)
        for name, evaluation in evaluations.items():
            times, errors = error_at_times(evaluation, since_start)
            marker = "." if len(times) <= 50 else ""
            axis.plot(times, errors, color=colours[name], marker=marker, ms=4, lw=1.4, label=label(name, 30))
        axis.set(yscale="log", xlabel="time since the start of the forecast", ylabel="squared error / variance")
        plain_numbers(axis)
        handles, labels = axis.get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda k: k < len(baselines or {}))
        figure.legend([handles[k] for k in order], [labels[k] for k in order], loc="outside right upper")
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
    """Times since the start, and the normalised error there over all seeds, environments and trajectories.

    Normalised by the variance of each channel: channels may have different units.

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
        errors = np.sum(evaluation.channel_sums.mean(axis=0) / evaluation.variances, axis=-1)
        return times[filled], drawable(total(errors)[filled] / counts[filled])


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
