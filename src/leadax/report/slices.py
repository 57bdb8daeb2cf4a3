"""The learnt f and f + g_e as curves: the rate of change of each channel over its values."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..data import Trajectories
from .style import COLOURS, drawable, label, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..model import Model

MAX_CHANNELS = 4
MAX_ENVIRONMENTS = 12
POINTS = 121
PADDING = 0.1
SHARED = "#222222"


class Slice(NamedTuple):
    """One channel along its values: `x`; f and g_e there, `(env, point)`; where each environment's data are."""

    x: np.ndarray
    shared: np.ndarray
    specific: np.ndarray
    observed: list[np.ndarray]


def slices(model: "Model", data: Trajectories) -> "Figure":
    """Above (or left) f and f + g_e, below (or right) g_e alone; the other channels are at the mean of the data."""
    data = data.select(slice(MAX_ENVIRONMENTS))
    channels, colours = data.channels[:MAX_CHANNELS], environment_colours(len(data.environments))
    found = [_slice(model, data, c) for c in range(len(channels))]
    one = len(channels) == 1
    with styled():
        rows, columns = (1, 2) if one else (2, len(channels))
        figure = new_figure(min(10.5, 1.8 + 3.2 * columns), 3.2 if one else 4.8)
        axes = figure.subplots(rows, columns, squeeze=False, sharex="col").reshape(2, len(channels))
        for c, (name, of_channel) in enumerate(zip(channels, found, strict=True)):
            _draw(axes[0, c], axes[1, c], of_channel, colours)
            axes[0, c].set_ylabel(f"rate of change of {label(name, 16)}")
            axes[1, c].set(xlabel=label(name, 30), ylabel="g")
            axes[0, c].set_xlabel(label(name, 30) if one else "")
        axes[0, 0].set_title("f (black) and f + g", loc="left")
        axes[1, 0].set_title("g alone", loc="left")
        lines = [axes[0, 0].lines[0], *axes[1, 0].lines[: len(colours)]]
        names = ["f, shared", *(label(name, 22) for name in data.environments)]
        figure.legend(lines, names, loc="outside right upper")
    return figure


def environment_colours(count: int) -> list[tuple[float, ...] | str]:
    """Colours that can be told apart if there are few environments, otherwise an even range."""
    from matplotlib import colormaps

    few = [colour for colour in COLOURS if colour != "#000000"]
    return list(few[:count]) if count <= len(few) else [tuple(c) for c in colormaps["turbo"](np.linspace(0, 1, count))]


def _slice(model: "Model", data: Trajectories, c: int) -> Slice:
    from .parts import parts_at

    states = drawable(data.states)
    values = states[..., c]
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    pad = PADDING * (high - low) or 0.5
    x = np.linspace(low - pad, high + pad, POINTS)
    # The others where the data are on average; in an environment's own mean f would not be one curve.
    middle = np.nanmean(states, axis=(0, 1, 2))
    at = np.tile(middle, (len(data.environments), POINTS, 1))
    at[:, :, c] = x
    shared, specific = (part[..., c] for part in parts_at(model, data, at))
    return Slice(x, shared, specific, [row[np.isfinite(row)] for row in values.reshape(len(values), -1)])


def _draw(whole: "Axes", alone: "Axes", of: Slice, colours: Sequence[tuple[float, ...] | str]) -> None:
    whole.plot(of.x, of.shared[0], color=SHARED, lw=2.2, zorder=3)
    for colour, g, f, observed in zip(colours, of.specific, of.shared, of.observed, strict=True):
        for axis, curve in ((whole, f + g), (alone, g)):
            # Strong where the environment has data: elsewhere the net was never told anything.
            inside = (of.x >= observed.min(initial=np.inf)) & (of.x <= observed.max(initial=-np.inf))
            axis.plot(of.x, np.where(inside, curve, np.nan), color=colour, lw=1.3)
    for colour, g, f in zip(colours, of.specific, of.shared, strict=True):
        for axis, curve in ((whole, f + g), (alone, g)):
            axis.plot(of.x, curve, color=colour, lw=0.7, alpha=0.35)
    every = np.concatenate(of.observed)
    for axis in (whole, alone):
        axis.axhline(0, color="#999999", lw=0.6, ls=(0, (4, 3)), zorder=0)
        some = every[:: max(1, len(every) // 200)]
        axis.plot(
            some, np.full(len(some), 0.01), "|", ms=5, color="#666666", alpha=0.5, transform=axis.get_xaxis_transform()
        )
