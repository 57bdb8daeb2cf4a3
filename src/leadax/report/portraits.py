"""True and predicted states of an ODE, in the plane of two channels or over time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .forecasts import Forecasts
from .style import TRUTH, label, method_colours, new_figure, panel_grid, span_of, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 9.0


def portraits(forecasts: Sequence[Forecasts], channels: Sequence[str]) -> "Figure":
    """One panel per environment: in the plane of the first two channels, or over time if there is only one."""
    plane = len(channels) > 1
    rows, columns = panel_grid(len(forecasts))
    width = min(WIDTH, 3.4 * columns)
    with styled():
        figure = new_figure(width, 0.5 + rows * min(2.6, 0.35 + width / columns))
        axes = figure.subplots(rows, columns, squeeze=False)
        colours = method_colours(forecasts[0].predicted)
        for axis, forecast in zip(axes.flat, forecasts, strict=False):
            (_in_plane if plane else _over_time)(axis, forecast, colours)
            axis.set_title(label(forecast.environment, int(9 * width / columns)))
        for axis in axes.flat[len(forecasts) :]:
            axis.set_axis_off()
        figure.supxlabel(label(channels[0], 60) if plane else "time", fontsize=8)
        figure.supylabel(label(channels[1 if plane else 0], 60), fontsize=8)
        handles, labels = axes[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=max(1, min(len(labels), int(width / 1.2))))
    return figure


def _in_plane(axis: "Axes", forecast: Forecasts, colours: dict[str, str]) -> None:
    seen = forecast.truth[:, :2]
    seen = seen[~np.isnan(seen).any(axis=1)]
    axis.plot(*seen.T, color=TRUTH, lw=4, solid_capstyle="round", solid_joinstyle="round", label="truth")
    for name, states in forecast.predicted.items():
        axis.plot(*states[:, :2].T, color=colours[name], lw=1.2, label=label(name, 40))
    axis.plot(*seen[0], "o", ms=5, mfc="white", mec="#222222", zorder=5, ls="", label="start")
    every = np.concatenate([states[:, :2] for states in forecast.predicted.values()])
    axis.set(xlim=limits(seen[:, 0], every[:, 0]), ylim=limits(seen[:, 1], every[:, 1]))


def _over_time(axis: "Axes", forecast: Forecasts, colours: dict[str, str]) -> None:
    seen = ~np.isnan(forecast.truth[:, 0])
    truth = forecast.truth[seen, 0]
    axis.plot(forecast.times[seen], truth, color=TRUTH, lw=4, solid_capstyle="round", label="truth")
    for name, states in forecast.predicted.items():
        axis.plot(forecast.times, states[:, 0], color=colours[name], lw=1.2, label=label(name, 40))
    axis.plot(forecast.times[:1], truth[:1], "o", ms=5, mfc="white", mec="#222222", zorder=5, ls="", label="start")
    axis.set_ylim(*limits(truth, np.concatenate([states[:, 0] for states in forecast.predicted.values()])))


def limits(truth: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
    """The limits of an axis: all of the truth, and of the forecasts what is at most half its range away.

    >>> limits(np.array([0.0, 10.0]), np.array([-1.0, 1e9]))
    (-1.8, 15.8)
    """
    low, high = span_of(truth)
    reach = 0.5 * (high - low) or 0.5 * abs(high) or 0.5
    seen = predicted[np.isfinite(predicted)]
    if len(seen):
        low, high = max(min(low, seen.min()), low - reach), min(max(high, seen.max()), high + reach)
    pad = 0.05 * (high - low) or reach
    return float(low - pad), float(high + pad)
