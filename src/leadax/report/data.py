"""Pictures of data, with one row per environment: trajectories over time, phase portraits, snapshots of fields."""

from typing import TYPE_CHECKING

import numpy as np

from ..data import Trajectories
from ..data.dates import ATTRIBUTE, are_dates
from ..data.dates import shown as when
from ..errors import InputError
from .axes import dates_along
from .fields import space_time
from .lines import MAX_COLUMNS, input_lines, lines
from .page import Page
from .style import LARGEST, drawable, field_scale, framed, label, new_figure, short, styled, which_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MAX_ROWS = 12
MAX_CHANNELS = 8
SNAPSHOTS = 6


def data_page(data: Trajectories, title: str) -> Page:
    """A page about a data set: what is in it, the parameters of the environments, and pictures."""
    page = Page(title)
    page.table(["", ""], [[short(key), value] for key, value in _facts(data).items()])
    if data.parameters:
        page.heading("Environments")
        columns = [map(short, data.environments), *([f"{v:g}" for v in values] for values in data.parameters.values())]
        page.table(["environment", *map(short, data.parameters)], [list(row) for row in zip(*columns, strict=True)])
    page.heading("Trajectories")
    if len(data.channels) > MAX_CHANNELS:
        page.text(f"The first {MAX_CHANNELS} of {len(data.channels):,} channels.")
    if max(np.nanmax(np.abs(data.states)), np.nanmax(np.abs(data.times))) > LARGEST:
        page.text(f"Numbers beyond ±{LARGEST:g} are drawn at that limit.")
    try:
        for caption, figure in data_figures(data).items():
            page.figure(figure, caption)
    except InputError as error:
        page.text(f"No pictures: {error}.")
    return page


def data_figures(data: Trajectories) -> "dict[str, Figure]":
    """The pictures of a data set by caption: snapshots of fields, lines for everything else, and for inputs."""
    if len(data.space) > 2:
        raise InputError(f"fields on a grid of {len(data.space)} dimensions cannot be drawn: select a plane of them")
    first = f"the first trajectory of {which_of(len(data.environments), MAX_ROWS)}"
    each = enumerate(data.channels[:MAX_CHANNELS])
    with styled():
        driven = data.inputs is not None and data.inputs.ndim == 4
        inputs = dict([input_lines(data, MAX_ROWS)]) if driven else {}
        if len(data.space) == 2:
            data, at = data.select(slice(MAX_ROWS), 0), f"at up to {SNAPSHOTS} times"
            return {f"Channel {short(name)}: {first} {at}": _snapshots(data, c) for c, name in each} | inputs
        if len(data.space) == 1:
            data = data.select(slice(MAX_ROWS), 0)
            over = "over space and time"
            return {f"Channel {short(name)}: {first} {over}": _space_time(data, c) for c, name in each} | inputs
        groups = range(0, min(len(data.channels), MAX_CHANNELS), MAX_COLUMNS)
        shown = [range(len(data.channels))[begin:MAX_CHANNELS][:MAX_COLUMNS] for begin in groups]
        return dict(lines(data, channels, MAX_ROWS) for channels in shown) | inputs


def _snapshots(data: Trajectories, channel: int) -> "Figure":
    rows = len(data.environments)
    columns = _snapshot_count(int(data.lengths.min()))
    figure = new_figure(1.25 * columns + 0.9, 1.35 * rows + 0.4)
    axes = figure.subplots(rows, columns, squeeze=False)
    states, times = drawable(data.states[:, 0, ..., channel]), drawable(data.times[:, 0])
    scale, same = field_scale(states), np.all(times == times[0])
    for e, row in enumerate(axes):
        for axis, k in zip(row, np.linspace(0, data.lengths[e, 0] - 1, columns).round().astype(int), strict=True):
            axis.imshow(states[e, k], origin="lower", **scale)
            axis.set(xticks=[], yticks=[])
            framed(axis)
            axis.set_title(f"t = {times[e, k]:.4g}" if e == 0 or not same else "")
        row[0].set_ylabel(label(data.environments[e], 18))
    bar = label(data.channels[channel], 30)
    figure.colorbar(axes[0, 0].images[0], ax=axes, label=bar, shrink=min(1.0, 1.6 / rows))
    return figure


def _snapshot_count(length: int) -> int:
    """As many as fit, but evenly spaced if that costs no more than two."""
    most = min(SNAPSHOTS, length)
    return next((n for n in range(most, max(1, most - 3), -1) if (length - 1) % (n - 1) == 0), most)


def _space_time(data: Trajectories, channel: int) -> "Figure":
    rows = len(data.environments)
    figure = new_figure(7.2, 1.2 * rows + 0.6)
    axes = figure.subplots(rows, 1, squeeze=False, sharex=True)[:, 0]
    states, times = drawable(data.states[:, 0, ..., channel]), drawable(data.times[:, 0])
    scale = field_scale(states)
    for e, axis in enumerate(axes):
        length = data.lengths[e, 0]
        space_time(axis, times[e, :length], states[e, :length].T, scale)
        framed(axis)
        axis.set_ylabel("x")
        axis.set_title(label(data.environments[e], 80), loc="left")
    axes[-1].set_xlabel("time")
    if are_dates(data.attributes):
        dates_along(axes[-1])
    figure.colorbar(axes[0].collections[0], ax=axes, label=label(data.channels[channel], 30))
    return figure


def _facts(data: Trajectories) -> dict[str, str]:
    span = lambda a: f"{a.min()}" if a.min() == a.max() else f"{a.min()} to {a.max()}"
    lengths = data.lengths[data.lengths > 0]
    inputs = list(zip(data.input_names, data.input_kinds, strict=True))
    missing = 1 - data.observed.sum() / (lengths.sum() * np.prod(data.state_shape))
    dated = are_dates(data.attributes)
    return {
        "environments": str(len(data.environments)),
        "trajectories per environment": span(data.counts),
        "points per trajectory": span(lengths),
        "time": " to ".join(when(float(t), as_date=dated) for t in (np.nanmin(data.times), np.nanmax(data.times))),
        "channels": ", ".join(map(short, data.channels)),
        **({"inputs": ", ".join(f"{short(name)} ({kind})" for name, kind in inputs)} if inputs else {}),
        "grid": " × ".join(map(str, data.space)) or "none",
        "values": f"{np.nanmin(data.states):.4g} to {np.nanmax(data.states):.4g}",
        "missing": f"{missing:.1%}",
        **{key: text for key, text in data.attributes.items() if key != ATTRIBUTE},
        "fingerprint": data.fingerprint,
    }
