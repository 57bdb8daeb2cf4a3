"""Data and forecasts over time: one panel per environment and channel, each with an axis of its own."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .axes import dates_along
from .forecasts import Forecasts
from .numbers import listed
from .style import TRUTH, label, method_colours, new_figure, panel_grid, short, span_of, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 9.0
# Up to so many points are drawn as such.
MAX_DOTS = 60

# The limits of a channel in the picture of a forecast.
Limits: TypeAlias = Callable[[Forecasts, int], tuple[float, float]]


def over_time(forecasts: Sequence[Forecasts], channels: Sequence[str], shown: Sequence[int]) -> "Figure":
    """Rows of environments and columns of channels; if there is only one channel, a grid of environments.

    **Arguments**

    - `channels`: the names of all; `shown`: the positions of those to draw.
    """
    one = len(shown) == 1
    rows, columns = panel_grid(len(forecasts), most=4) if one else (len(forecasts), len(shown))
    width = min(WIDTH, 3.6 * columns)
    with styled():
        figure = new_figure(width, 0.7 + 1.55 * rows)
        axes = figure.subplots(rows, columns, squeeze=False)
        colours = method_colours(forecasts[0].predicted)
        panels = [(forecast, c) for forecast in forecasts for c in shown]
        for axis, (forecast, c) in zip(axes.flat, panels, strict=False):
            _draw(axis, forecast, c, colours)
            if one or c == shown[0]:
                axis.set_title(label(forecast.environment, int(11 * width / columns)), loc="left")
            if not one:
                axis.set_ylabel(label(channels[c], 22))
        for axis in axes.flat[len(panels) :]:
            axis.set_axis_off()
        figure.supxlabel("time", fontsize=8)
        if one:
            figure.supylabel(label(channels[shown[0]], 60), fontsize=8)
        legend_above(figure, axes[0, 0], width)
    return figure


def legend_above(figure: "Figure", axis: "Axes", width: float) -> None:
    """One legend for all panels, in as many columns as there is room for."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=max(1, min(len(labels), int(width / 1.2))))


def _draw(axis: "Axes", forecast: Forecasts, c: int, colours: dict[str, str]) -> None:
    seen = ~np.isnan(forecast.truth[:, c])
    times, truth = forecast.times[seen], forecast.truth[seen, c]
    dots: dict[str, Any] = {"marker": "o", "ms": 4, "mew": 0} if len(times) <= MAX_DOTS else {}
    axis.plot(times, truth, color=TRUTH, lw=2.5, solid_capstyle="round", label="data", **dots)
    for name, states in forecast.predicted.items():
        axis.plot(forecast.times, states[:, c], color=colours[name], lw=1.2, label=label(name, 40))
    axis.plot(times[:1], truth[:1], "o", ms=5, mfc="white", mec="#222222", zorder=5, ls="", label="start")
    axis.set_ylim(*limits_of(forecast, c))
    if forecast.dated:
        dates_along(axis)


def limits_of(forecast: Forecasts, c: int) -> tuple[float, float]:
    """The limits of one channel's axis."""
    return limits(forecast.truth[:, c], np.concatenate([states[:, c] for states in forecast.predicted.values()]))


def limits(truth: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
    """The limits of an axis: all of the truth, and of the forecasts what is at most its range away.

    >>> limits(np.array([0.0, 10.0]), np.array([-1.0, 1e9]))
    (-2.05, 21.05)
    """
    low, high = span_of(truth)
    reach = (high - low) or 0.5 * abs(high) or 0.5
    seen = predicted[np.isfinite(predicted)]
    if len(seen):
        low, high = max(min(low, seen.min()), low - reach), min(max(high, seen.max()), high + reach)
    pad = 0.05 * (high - low) or reach
    return float(low - pad), float(high + pad)


def cut_off(forecasts: Sequence[Forecasts], shown: Sequence[int], within: Limits = limits_of) -> str:
    """A sentence about the forecasts that leave the picture, or that end because they are not finite; empty if none."""
    found = []
    for name in forecasts[0].predicted:
        lost = sum(any(_leaves(f.predicted[name][..., c], within(f, c)) for c in shown) for f in forecasts)
        if lost:
            found.append(f"{short(name)} in {lost} of {len(forecasts)} environments")
    return f" Cut off, because forecasts go beyond it: {listed(found)}." if found else ""


def _leaves(values: np.ndarray, limits: tuple[float, float]) -> bool:
    slack = 1e-6 * (limits[1] - limits[0])
    return not bool(np.all((values >= limits[0] - slack) & (values <= limits[1] + slack)))
