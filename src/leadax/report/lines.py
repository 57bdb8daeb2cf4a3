"""Trajectories and inputs of data over time, and states in the plane, with one row per environment."""

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from ..data import Trajectories
from ..data.dates import ATTRIBUTE, are_dates
from ..data.input_series import HELD, impulse_channel
from .axes import dates_along
from .style import COLOURS, drawable, label, new_figure, short, span_of, which_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_COLUMNS = 4
MAX_PANELS = 36
MAX_LINES = 8
MAX_MARKERS = 200
# Longer lines become images within an SVG: a page of 19 MB then has 0.2 MB.
MAX_VECTOR = 2000
# All data may span so many times the longest trajectory, before each is drawn from its own start.
APART = 6.0


def lines(data: Trajectories, shown: range, most_rows: int) -> "tuple[str, Figure]":
    """A caption, and one row per environment with an axis for each of these channels: their units may differ."""
    plane, names = shown.start == 0 and len(data.channels) > 1, [label(name, 30) for name in data.channels]
    columns = len(shown) + plane
    rows = min(len(data.environments), most_rows, max(1, MAX_PANELS // columns))
    drawn, time = _aligned(data.select(slice(rows), slice(MAX_LINES)))
    figure = new_figure(min(10.0, 2.6 * columns + 2), 0.6 + 1.35 * rows)
    axes = figure.subplots(rows, columns, squeeze=False, sharex="col")
    for e, row in enumerate(axes):
        row[0].set_title(label(data.environments[e], 80), loc="left")
        for axis, c in zip(row, shown, strict=False):
            _over_time(axis, drawn, e, c)
        if plane:
            _phase_portrait(row[-1], drawn, e)
    for axis in axes[-1, : len(shown)]:
        _label_time(axis, drawn, time)
    if plane:
        axes[-1, -1].set_xlabel(names[0])
    return _caption(data, shown, rows, plane=plane), figure


def input_lines(data: Trajectories, most_rows: int) -> "tuple[str, Figure]":
    """A caption, and one row per environment with an axis for each of the first inputs, drawn as they act."""
    columns = min(len(data.input_names), MAX_COLUMNS)
    rows = min(len(data.environments), most_rows, max(1, MAX_PANELS // columns))
    drawn, time = _aligned(data.select(slice(rows), slice(MAX_LINES)).with_inputs_filled())
    figure = new_figure(min(10.0, 2.6 * columns + 2), 0.6 + 1.0 * rows)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True)
    for e, row in enumerate(axes):
        row[0].set_title(label(data.environments[e], 80), loc="left")
        for c, axis in enumerate(row):
            _input_over_time(axis, drawn, e, c)
    for axis in axes[-1]:
        _label_time(axis, drawn, time)
    names = ", ".join(short(name) for name in data.input_names[:columns])
    first = f" (the first {columns} of {len(data.input_names)} inputs)" if columns < len(data.input_names) else ""
    return f"Inputs: {names}{first} over time: {which_of(len(data.environments), rows)}", figure


def _aligned(data: Trajectories) -> tuple[Trajectories, str]:
    """The data as they are drawn, and what their times are.

    Those since each start, where trajectories are so far apart that each would be a mere tick.
    """
    spans = [span_of(data.one("times", e, i)) for e, count in enumerate(data.counts) for i in range(count)]
    begin, end = np.transpose(spans)
    with np.errstate(over="ignore"):
        if end.max() - begin.min() <= APART * np.max(end - begin):
            return data, "time"
    others = {name: text for name, text in data.attributes.items() if name != ATTRIBUTE}
    moved = dataclasses.replace(data, times=data.times - data.times[:, :, :1], attributes=others)
    return moved, f"{'days' if are_dates(data.attributes) else 'time'} since the start"


def _label_time(axis: "Axes", data: Trajectories, what: str) -> None:
    axis.set_xlabel(what)
    if are_dates(data.attributes):
        dates_along(axis)


def _input_over_time(axis: "Axes", data: Trajectories, e: int, c: int) -> None:
    assert data.inputs is not None
    times, values = drawable(data.times[e]), drawable(data.inputs[e, ..., c])
    kind = data.input_kinds[c]
    style = {"color": COLOURS[c], "alpha": 1.0}
    for i in range(data.counts[e]):
        seen = np.isfinite(values[i])
        t, u = times[i, seen], values[i, seen]
        if impulse_channel(kind) is None:
            steps = "steps-post" if kind == HELD else "default"
            axis.plot(t, u, drawstyle=steps, rasterized=len(t) > MAX_VECTOR, **style)
        else:
            axis.plot(t, 0 * u, lw=0.5, **style)
            axis.vlines(t[u != 0], 0, u[u != 0], **style)
        style["alpha"] = 0.35
    axis.set_ylabel(label(data.input_names[c], 18))


def _caption(data: Trajectories, shown: range, rows: int, *, plane: bool) -> str:
    names = ", ".join(short(data.channels[c]) for c in shown)
    cut = f"; at most {MAX_LINES} trajectories of each" if int(data.counts[:rows].max()) > MAX_LINES else ""
    both = "; the first two channels in their plane" if plane else ""
    return f"{names} over time{both}: {which_of(len(data.environments), rows)}{cut}"


def _over_time(axis: "Axes", data: Trajectories, e: int, c: int) -> None:
    times, states = drawable(data.times[e]), drawable(data.states[e, ..., c])
    for i in range(data.counts[e]):
        seen = np.isfinite(states[i])
        marker = "." if seen.sum() <= MAX_MARKERS else ""
        style = {"color": COLOURS[c], "alpha": 1.0 if i == 0 else 0.35, "marker": marker, "ms": 3}
        axis.plot(times[i, seen], states[i, seen], rasterized=seen.sum() > MAX_VECTOR, **style)
    axis.set_ylabel(label(data.channels[c], 18))


def _phase_portrait(axis: "Axes", data: Trajectories, e: int) -> None:
    for states in drawable(data.states[e, : data.counts[e], :, :2]):
        alpha = 0.35 if axis.lines else 1.0
        x, y = states[np.isfinite(states).all(axis=-1)].T
        axis.plot(x, y, color="#444444", alpha=alpha, rasterized=len(x) > MAX_VECTOR)
        axis.plot(x[:1], y[:1], "o", ms=4, color="#444444", alpha=alpha)
    axis.set_ylabel(label(data.channels[1], 16))
