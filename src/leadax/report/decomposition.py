"""The learnt f and g_e of a system with two channels, as vector fields."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..data import Trajectories
from .style import drawable, label, new_figure, panel_grid, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..model import LearntField, Model

WIDTH = 9.0
MAX_ENVIRONMENTS = 5
MAX_DOTS = 500
ARROWS = 15
PADDING = 0.1


class Panel(NamedTuple):
    """A vector field on the grid, `(y, x, 2)`, and at observed states, `(point, 2)`."""

    title: str
    field: np.ndarray
    points: np.ndarray
    at_points: np.ndarray


def vector_fields(model: "Model", data: Trajectories) -> "Figure":
    """f and the g_e of the first environments, over the region of the data; colour is size, on one scale for all.

    The size of a vector is measured in the standard unit of each channel: channels may have different units.
    """
    x, y = grid(complete_states(data.states, None))
    scale = np.asarray(model.units.scale)
    panels = _panels(model, data, x, y)
    rows, columns = panel_grid(len(panels), most=3)
    width = min(WIDTH, 3.8 * columns)
    # Of the data: far from them a net may have any size.
    largest = max(float(np.nanmax(_size(panel.at_points / scale), initial=0.0)) for panel in panels) or 1.0
    with styled():
        figure = new_figure(width, 0.4 + rows * 0.85 * width / columns)
        axes = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
        for axis, panel in zip(axes.flat, panels, strict=False):
            _draw(axis, x, y, panel, scale, largest)
        for axis in axes.flat[len(panels) :]:
            axis.set_axis_off()
        figure.supxlabel(label(data.channels[0], 60), fontsize=8)
        figure.supylabel(label(data.channels[1], 60), fontsize=8)
        arrows = axes[0, 0].collections[0]
        figure.colorbar(
            arrows, ax=axes, label="size, in standard units of the channels", aspect=40, pad=0.02, extend="max"
        )
    return figure


def grid(points: np.ndarray, count: int = ARROWS) -> tuple[np.ndarray, np.ndarray]:
    """The coordinates of a grid over the region of these points, a tenth wider on each side.

    >>> x, y = grid(np.array([[0.0, 1.0], [10.0, 1.0]]), count=3)
    >>> x.tolist(), y.tolist()
    ([-1.0, 5.0, 11.0], [0.5, 1.0, 1.5])
    """
    low, high = points.min(axis=0), points.max(axis=0)
    pad = np.where(high > low, PADDING * (high - low), 0.5)
    x, y = np.linspace(low - pad, high + pad, count).T
    return x, y


def complete_states(states: np.ndarray, most: int | None) -> np.ndarray:
    """The states with both channels observed, `(point, 2)`: all, or about so many of them, evenly chosen."""
    rows = drawable(states.reshape(-1, 2))
    rows = rows[~np.isnan(rows).any(axis=1)]
    return rows if most is None else rows[:: max(1, -(-len(rows) // most))]


def _panels(model: "Model", data: Trajectories, x: np.ndarray, y: np.ndarray) -> list[Panel]:
    shown = range(min(len(data.environments), MAX_ENVIRONMENTS))
    dots = [complete_states(data.states[e], MAX_DOTS) for e in shown]
    mesh, edges = np.stack(np.meshgrid(x, y), axis=-1), np.cumsum([0, *map(len, dots)])
    # Every field at all points: calls of one shape are compiled once.
    points = np.concatenate([mesh.reshape(-1, 2), *dots])

    def panel(letter: str, name: str, field: "LearntField", of: slice) -> Panel:
        on_grid, at_points = np.split(_values(field, points), [ARROWS**2])
        # Where no state was observed as a whole, its size on the grid.
        own = at_points[of] if len(at_points[of]) else on_grid
        size = np.mean(_size(own / np.asarray(model.units.scale)))
        title = f"{letter}, {name}\nmean |{letter}| = {size:.2g}"
        return Panel(title, on_grid.reshape(mesh.shape), points[ARROWS**2 :][of], at_points[of])

    panels = [panel("f", "shared", model.shared, slice(None))]
    for e in shown:
        name = data.environments[e]
        panels.append(panel("g", label(name, 30), model.specific(name), slice(edges[e], edges[e + 1])))
    # A method without one of the two parts has zero there.
    return [panel for panel in panels if np.any(panel.field != 0)] or panels


def _values(field: "LearntField", points: np.ndarray) -> np.ndarray:
    import jax

    with np.errstate(all="ignore"):
        return drawable(np.asarray(jax.vmap(field)(points), float))


def _size(vectors: np.ndarray) -> np.ndarray:
    return np.hypot(vectors[..., 0], vectors[..., 1])


def _draw(axis: "Axes", x: np.ndarray, y: np.ndarray, panel: Panel, scale: np.ndarray, largest: float) -> None:
    from matplotlib import colormaps
    from matplotlib.colors import ListedColormap

    # Without the palest yellows, which are lost on white.
    colours = ListedColormap(colormaps["viridis_r"](np.linspace(0.12, 1.0, 256)))
    # The angle is that of the tangent on the page; only the length is the same everywhere.
    length = _size(panel.field)
    direction = panel.field / np.where(length > 0, length, 1.0)[..., None]
    size = _size(panel.field / scale)
    axis.plot(*panel.points.T, ".", ms=2.5, color="#333333", alpha=0.6, zorder=3)
    # Arrows of equal length: their directions can be read where they are small, too.
    shape: dict[str, Any] = {"pivot": "mid", "angles": "xy", "scale": 1.15 * ARROWS, "scale_units": "width"}
    weight: dict[str, Any] = {"width": 0.006, "headwidth": 4.5}
    axis.quiver(x, y, *np.moveaxis(direction, -1, 0), size, cmap=colours, clim=(0, largest), **shape, **weight)
    axis.set_title(panel.title)
