"""True and predicted fields, and maps of the error: final states in the plane, space and time on a line."""

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from .forecasts import Forecasts
from .style import field_scale, framed, label, new_figure, span_of, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 9.0
MAX_PANEL = 2.0
# With more methods than this, the maps of the error are below the states instead of beside them.
MAX_BESIDE = 3

Pictures: TypeAlias = dict[str, np.ndarray]


class Row(NamedTuple):
    """The pictures of one environment: `(y, x)` of the last observed state, or `(x, time)` for a field on a line."""

    environment: str
    times: np.ndarray | None
    truth: np.ndarray
    predicted: Pictures

    @property
    def states(self) -> Pictures:
        """The truth and the forecasts by title."""
        return {"truth": self.truth} | {label(name, 16): values for name, values in self.predicted.items()}

    @property
    def errors(self) -> Pictures:
        """The absolute errors by title."""
        return {f"error of\n{label(k, 16)}": np.abs(values - self.truth) for k, values in self.predicted.items()}


def field_comparison(forecasts: Sequence[Forecasts], channel: int, name: str, largest: float | None = None) -> "Figure":
    """One row per environment: the truth, each method's forecast, and each method's absolute error.

    A field in the plane is shown at the last observed time, a field on a line over all times.

    **Arguments**

    - `channel`: its position; `name`: its name; `largest`: the error that is brightest, by default from the data.
    """
    rows = [_row(forecast, channel) for forecast in forecasts]
    truth = np.concatenate([row.truth.ravel() for row in rows])
    errors = np.concatenate([values.ravel() for row in rows for values in row.errors.values()])
    with styled():
        figure, left, right = _layout(rows)
        _draw(figure, left, rows, [row.states for row in rows], field_scale(truth), label(name, 60))
        error_name = f"absolute error of {label(name, 60)}"
        _draw(figure, right, rows, [row.errors for row in rows], error_scale(truth, errors, largest), error_name)
    return figure


def error_scale(truth: np.ndarray, errors: np.ndarray, largest: float | None = None) -> dict[str, Any]:
    """Colours from zero to the largest error, or to the range of the truth: a wild forecast does not hide the others.

    **Arguments**

    - `largest`: the upper end instead, to compare with other pictures.

    >>> error_scale(np.array([1.0, 3.0]), np.array([0.5, 1e9]))
    {'cmap': 'magma', 'vmin': 0.0, 'vmax': 2.0}
    """
    low, high = span_of(truth)
    span = high - low or 1.0
    most = span_of(errors)[1] or span
    return {"cmap": "magma", "vmin": 0.0, "vmax": largest or min(most, span)}


def _row(forecast: Forecasts, channel: int) -> Row:
    if forecast.truth.ndim == 3:
        times, shown = forecast.times, lambda states: states[..., channel].T
    else:
        # The start is complete, so that there is one.
        last = np.flatnonzero(~np.isnan(forecast.truth[..., channel]).all(axis=(1, 2)))[-1]
        times, shown = None, lambda states: states[last, ..., channel]
    predicted = {name: shown(states) for name, states in forecast.predicted.items()}
    return Row(forecast.environment, times, shown(forecast.truth), predicted)


def _layout(rows: Sequence[Row]) -> tuple["Figure", Any, Any]:
    """A figure, and its axes for states and for errors, each `(environment, column)`."""
    count, methods, line = len(rows), len(rows[0].predicted), rows[0].times is not None
    beside = methods <= MAX_BESIDE
    lines, columns = (count, 1 + 2 * methods) if beside else (2 * count, 1 + methods)
    panel = min(MAX_PANEL, WIDTH / columns)
    height = panel * (0.8 if line else np.clip(rows[0].truth.shape[0] / rows[0].truth.shape[1], 0.2, 3.0))
    figure = new_figure(panel * columns + 0.4, lines * height + (1.2 if beside else 2.1))
    axes = figure.subplots(lines, columns, squeeze=False, sharex=line)
    left, right = (axes[:, : 1 + methods], axes[:, 1 + methods :]) if beside else (axes[:count], axes[count:, 1:])
    for axis, row in zip(left[:, 0], rows, strict=True):
        axis.set_ylabel(label(row.environment, 18))
    for axis, row in () if beside else zip(axes[count:, 0], rows, strict=True):
        axis.set_axis_off()
        axis.text(1.0, 0.5, label(row.environment, 18), rotation=90, ha="right", va="center", transform=axis.transAxes)
    return figure, left, right


def _draw(
    figure: "Figure", axes: Any, rows: Sequence[Row], pictures: Sequence[Pictures], scale: Any, unit: str
) -> None:
    drawn: Any = None
    for line, row, panels in zip(axes, rows, pictures, strict=True):
        for axis, values in zip(line, panels.values(), strict=True):
            drawn = _paint(axis, row.times, values, scale)
    for axis, title in zip(axes[0], pictures[0], strict=True):
        axis.set_title(title)
    for axis in axes[-1] if rows[0].times is not None else ():
        axis.set_xlabel("time")
    every = np.concatenate([values.ravel() for panels in pictures for values in panels.values()])
    colour_bar(figure, drawn, axes, every, scale, unit)


def colour_bar(figure: "Figure", drawn: Any, axes: Any, values: np.ndarray, scale: Any, unit: str) -> None:
    """A colour bar below the axes, with an arrow at each end that some values are beyond."""
    low, high = scale["vmin"], scale["vmax"]
    slack = 1e-3 * (high - low)
    beyond = (bool(np.any(values < low - slack)), bool(np.any(values > high + slack)))
    extend = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}[beyond]
    figure.colorbar(drawn, ax=axes, location="bottom", label=unit, extend=extend, aspect=40, pad=0.02, shrink=0.6)


def _paint(axis: "Axes", times: np.ndarray | None, values: np.ndarray, scale: Any) -> Any:
    axis.set_yticks([])
    framed(axis)
    if times is None:
        axis.set_xticks([])
        return axis.imshow(values, origin="lower", interpolation="none", **scale)
    axis.locator_params(axis="x", nbins=3)
    return space_time(axis, times, values, scale)


def space_time(axis: "Axes", times: np.ndarray, values: np.ndarray, scale: Any) -> Any:
    """A field on a line, `(x, time)`: space upwards, time to the right."""
    with warnings.catch_warnings():
        # Times that are too large to draw have been clipped to one and the same.
        warnings.filterwarnings("ignore", message="The input coordinates to pcolormesh")
        # As an image within the SVG: thousands of squares would make the page slow.
        return axis.pcolormesh(times, np.arange(len(values)), values, shading="nearest", rasterized=True, **scale)
