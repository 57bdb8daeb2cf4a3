"""Pictures of data: trajectories over time, phase portraits, snapshots of fields; one row per environment."""

from typing import TYPE_CHECKING

import numpy as np

from ..data import Trajectories
from .page import Page
from .style import COLOURS, field_scale, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_ROWS = 12
MAX_LINES = 8
SNAPSHOTS = 6


def data_page(data: Trajectories, title: str) -> Page:
    """A page about a data set: what is in it, the environments' parameters, pictures."""
    shown = min(len(data.environments), MAX_ROWS)
    page = Page(title)
    page.table(["", ""], [[key, value] for key, value in _facts(data).items()])
    if data.parameters:
        page.heading("Environments")
        columns = [data.environments, *([f"{v:g}" for v in values] for values in data.parameters.values())]
        page.table(["environment", *data.parameters], [list(row) for row in zip(*columns, strict=True)])
    page.heading("Trajectories")
    if shown < len(data.environments):
        page.text(f"The first {shown} of {len(data.environments)} environments.")
    for caption, figure in data_figures(data).items():
        page.figure(figure, caption)
    return page


def data_figures(data: Trajectories) -> "dict[str, Figure]":
    """The pictures of a data set by caption: fields as snapshots, everything else as lines."""
    data = data.select(slice(MAX_ROWS))
    with styled():
        if len(data.space) == 2:
            return {
                f"Channel {name}: the first trajectory of each environment at {SNAPSHOTS} times at most": _snapshots(
                    data, c
                )
                for c, name in enumerate(data.channels)
            }
        if len(data.space) == 1:
            return {
                f"Channel {name}: the first trajectory of each environment over space and time": _space_time(data, c)
                for c, name in enumerate(data.channels)
            }
        return {"Each environment over time, and in the plane of its first two channels": _lines(data)}


def _lines(data: Trajectories) -> "Figure":
    rows, plane = len(data.environments), len(data.channels) > 1
    figure = new_figure(7.2, 1.0 + 1.35 * rows)
    axes = figure.subplots(
        rows, 2 if plane else 1, squeeze=False, sharex="col", width_ratios=[2.6, 1] if plane else None
    )
    for e, row in enumerate(axes):
        _over_time(row[0], data, e)
        if plane:
            _phase_portrait(row[1], data, e)
    axes[-1, 0].set_xlabel("time")
    if plane:
        axes[-1, 1].set_xlabel(data.channels[0])
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper right", ncols=min(8, len(data.channels)))
    return figure


def _over_time(axis: "Axes", data: Trajectories, e: int) -> None:
    for i in range(min(data.counts[e], MAX_LINES)):
        for c, channel in enumerate(data.channels):
            seen = data.observed[e, i, :, c]
            style = {"color": COLOURS[c % len(COLOURS)], "alpha": 1.0 if i == 0 else 0.35}
            axis.plot(data.times[e, i, seen], data.states[e, i, seen, c], marker=".", ms=3, **style)
            if i == 0:
                axis.lines[-1].set_label(channel)
    axis.set_title(data.environments[e], loc="left")


def _phase_portrait(axis: "Axes", data: Trajectories, e: int) -> None:
    for i in range(min(data.counts[e], MAX_LINES)):
        both = data.observed[e, i, :, :2].all(axis=-1)
        x, y = data.states[e, i, both, :2].T
        line = axis.plot(x, y, color="#444444", alpha=1.0 if i == 0 else 0.35)[0]
        axis.plot(x[:1], y[:1], "o", ms=4, color=line.get_color(), alpha=line.get_alpha())
    axis.set_ylabel(data.channels[1])


def _snapshots(data: Trajectories, channel: int) -> "Figure":
    rows = len(data.environments)
    columns = _snapshot_count(int(data.lengths[:, 0].min()))
    figure = new_figure(1.25 * columns + 0.9, 1.35 * rows + 0.4)
    axes = figure.subplots(rows, columns, squeeze=False)
    scale = field_scale(data.states[:, 0, ..., channel])
    for e, row in enumerate(axes):
        for axis, k in zip(row, np.linspace(0, data.lengths[e, 0] - 1, columns).round().astype(int), strict=True):
            axis.imshow(data.states[e, 0, k, ..., channel], origin="lower", **scale)
            axis.set(xticks=[], yticks=[])
            axis.set_title(f"t = {data.times[e, 0, k]:g}" if e == 0 or len(set(data.lengths[:, 0])) > 1 else "")
        row[0].set_ylabel(data.environments[e])
    figure.colorbar(axes[0, 0].images[0], ax=axes, label=data.channels[channel], shrink=min(1.0, 1.6 / rows))
    return figure


def _snapshot_count(length: int) -> int:
    """As many as fit, but evenly spaced if that costs no more than two."""
    most = min(SNAPSHOTS, length)
    return next((n for n in range(most, max(1, most - 3), -1) if (length - 1) % (n - 1) == 0), most)


def _space_time(data: Trajectories, channel: int) -> "Figure":
    rows = len(data.environments)
    figure = new_figure(7.2, 1.2 * rows + 0.6)
    axes = figure.subplots(rows, 1, squeeze=False, sharex=True)[:, 0]
    scale = field_scale(data.states[:, 0, ..., channel])
    for e, axis in enumerate(axes):
        length = data.lengths[e, 0]
        axis.pcolormesh(
            data.times[e, 0, :length], np.arange(data.space[0]), data.states[e, 0, :length, :, channel].T, **scale
        )
        axis.set_ylabel("x")
        axis.set_title(data.environments[e], loc="left")
    axes[-1].set_xlabel("time")
    figure.colorbar(axes[0].collections[0], ax=axes, label=data.channels[channel])
    return figure


def _facts(data: Trajectories) -> dict[str, str]:
    span = lambda a: f"{a.min()}" if a.min() == a.max() else f"{a.min()} to {a.max()}"
    lengths = data.lengths[data.lengths > 0]
    missing = 1 - data.observed.sum() / (lengths.sum() * np.prod(data.state_shape))
    return {
        "environments": str(len(data.environments)),
        "trajectories per environment": span(data.counts),
        "points per trajectory": span(lengths),
        "time": f"{np.nanmin(data.times):g} to {np.nanmax(data.times):g}",
        "channels": ", ".join(data.channels),
        "grid": " × ".join(map(str, data.space)) or "none",
        "values": f"{np.nanmin(data.states):.4g} to {np.nanmax(data.states):.4g}",
        "missing": f"{missing:.1%}",
        **dict(data.attributes),
        "fingerprint": data.fingerprint,
    }
