"""The learnt f and g_e of a field: what each adds to a state of the data."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import Trajectories
from .forecasts import first_complete
from .style import COLOURS, drawable, field_scale, framed, label, new_figure, panel_grid, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..model import Model

MAX_ENVIRONMENTS = 6
WIDTH = 9.0


def tangents(model: "Model", data: Trajectories, channel: int) -> "Figure":
    """f and g_e at the start of the first trajectory of each environment: curves on a line, pictures in the plane."""
    from .parts import parts_at

    data = data.select(slice(MAX_ENVIRONMENTS), 0)
    starts = first_complete(data)[:, 0]
    states = np.stack([data.states[e, 0, start] for e, start in enumerate(starts)])
    f, g = (part[:, 0, ..., channel] for part in parts_at(model, data, states[:, None]))
    draw = _curves if len(data.space) == 1 else _pictures
    with styled():
        return draw(data, drawable(states[..., channel]), f, g, channel)


def _curves(data: Trajectories, states: np.ndarray, f: np.ndarray, g: np.ndarray, channel: int) -> "Figure":
    rows, columns = panel_grid(len(f), most=3)
    figure = new_figure(min(WIDTH, 3.4 * columns), 0.9 + 1.8 * rows)
    axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axis, name, shared, specific in zip(axes.flat, data.environments, f, g, strict=False):
        axis.axhline(0, color="#999999", lw=0.6, ls=(0, (4, 3)))
        axis.plot(shared + specific, color="#B5B5B5", lw=3, label="f + g")
        axis.plot(shared, color=COLOURS[0], lw=1.3, label="f")
        axis.plot(specific, color=COLOURS[1], lw=1.3, label="g")
        axis.set_title(label(name, 30))
    for axis in axes.flat[len(f) :]:
        axis.set_axis_off()
    figure.supxlabel("point of the grid", fontsize=8)
    figure.supylabel(f"rate of change of {label(data.channels[channel], 30)}", fontsize=8)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def _pictures(data: Trajectories, states: np.ndarray, f: np.ndarray, g: np.ndarray, channel: int) -> "Figure":
    columns, name = len(f), label(data.channels[channel], 30)
    aspect = np.clip(states.shape[1] / states.shape[2], 0.3, 3.0)
    panel = min(1.9, (WIDTH - 1.0) / columns)
    figure = new_figure(panel * columns + 1.4, 3 * (panel * aspect + 0.15) + 0.4)
    axes = figure.subplots(3, columns, squeeze=False)
    rates = field_scale(np.concatenate([f.ravel(), g.ravel()]))
    for row, values, title, scale in zip(
        axes, (states, f, g), ("state", "f", "g"), (field_scale(states), rates, rates), strict=True
    ):
        drawn: Any = None
        for axis, picture in zip(row, values, strict=True):
            drawn = _picture(axis, picture, scale)
        row[0].set_ylabel(title)
        figure.colorbar(drawn, ax=row, label=name if title == "state" else f"change of {name}")
    for axis, environment in zip(axes[0], data.environments, strict=True):
        axis.set_title(label(environment, 16))
    return figure


def _picture(axis: "Axes", picture: np.ndarray, scale: dict[str, Any]) -> Any:
    axis.set(xticks=[], yticks=[])
    framed(axis)
    return axis.imshow(picture, origin="lower", interpolation="none", **scale)
