"""Data and forecasts of an ODE in the plane of its first two channels."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .forecasts import Forecasts
from .style import TRUTH, label, method_colours, new_figure, panel_grid, styled
from .trajectories import legend_above, limits_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 9.0


def portraits(forecasts: Sequence[Forecasts], channels: Sequence[str]) -> "Figure":
    """One panel per environment, in the plane of the first two channels."""
    rows, columns = panel_grid(len(forecasts))
    width = min(WIDTH, 3.4 * columns)
    with styled():
        figure = new_figure(width, 0.5 + rows * min(2.6, 0.35 + width / columns))
        axes = figure.subplots(rows, columns, squeeze=False)
        colours = method_colours(forecasts[0].predicted)
        for axis, forecast in zip(axes.flat, forecasts, strict=False):
            _draw(axis, forecast, colours)
            axis.set_title(label(forecast.environment, int(9 * width / columns)))
        for axis in axes.flat[len(forecasts) :]:
            axis.set_axis_off()
        figure.supxlabel(label(channels[0], 60), fontsize=8)
        figure.supylabel(label(channels[1], 60), fontsize=8)
        legend_above(figure, axes[0, 0], width)
    return figure


def _draw(axis: "Axes", forecast: Forecasts, colours: dict[str, str]) -> None:
    seen = forecast.truth[:, :2]
    seen = seen[~np.isnan(seen).any(axis=1)]
    axis.plot(*seen.T, color=TRUTH, lw=4, solid_capstyle="round", solid_joinstyle="round", label="data")
    for name, states in forecast.predicted.items():
        axis.plot(*states[:, :2].T, color=colours[name], lw=1.2, label=label(name, 40))
    if len(seen):  # else the two were never observed together
        axis.plot(*seen[0], "o", ms=5, mfc="white", mec="#222222", zorder=5, ls="", label="start")
    axis.set(xlim=limits_of(forecast, 0), ylim=limits_of(forecast, 1))
