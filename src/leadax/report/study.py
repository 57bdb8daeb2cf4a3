"""Pictures of the paper's experiments, from the rows of a study."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .style import COLOURS, new_figure, panel_grid, styled
from .theory import environments_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DASHES = (0, (4, 2))


class Line(NamedTuple):
    """How the line of a method is drawn: dashed where the colours are used up."""

    method: str
    name: str
    colour: str
    style: str


def learning_curves(
    curves: Mapping[tuple[str, str, str], Mapping[int, list[float]]], names: Mapping[str, str]
) -> "Figure":
    """Test error over training steps, as in Fig. 5 of the paper: one panel per system and protocol.

    **Arguments**

    - `curves`: for each (system, protocol, method), the errors of all seeds at each step. Lines are medians, bands are
      ranges. A method with the one step 0 needs no training and is a horizontal line;
    - `names`: the names of the methods to show, in the order of their colours.
    """
    panels = list(dict.fromkeys(key[:2] for key in curves))
    with styled():
        rows, columns = panel_grid(len(panels), most=3)
        figure = new_figure(3.4 * columns + 1.2, 2.9 * rows)
        grid = figure.subplots(rows, columns, squeeze=False)
        axes = grid.ravel()[: len(panels)]
        for axis in grid.ravel()[len(panels) :]:
            axis.set_axis_off()
        for axis, panel in zip(axes, panels, strict=True):
            lines = [line for line in _lines(names) if curves.get((*panel, line.method))]
            limits = [_learning_curve(axis, curves[(*panel, line.method)], line) for line in lines]
            axis.set(title=f"{panel[0]}, {panel[1]}", xlabel="training steps", yscale="log")
            # Forecasts of a half-trained model may blow up: a few looks must not make the rest unreadable.
            if any(limits):
                low, high = zip(*filter(None, limits), strict=True)
                axis.set_ylim(0.5 * min(low), 5 * max(high))
        for row in grid:
            row[0].set_ylabel("mean squared test error")
        _legend(figure, axes)
    return figure


def _learning_curve(axis: "Axes", curve: Mapping[int, list[float]], line: Line) -> tuple[float, float] | None:
    """Draw one method; returns the smallest and the largest error to show, None if none is finite."""
    # A seed that went wrong must not hide the others.
    finite = {step: [e for e in curve[step] if np.isfinite(e)] for step in sorted(curve)}
    of_seeds = {step: errors for step, errors in finite.items() if errors}
    if not of_seeds:
        return None
    if list(curve) == [0]:
        error = float(np.mean(of_seeds[0]))
        axis.axhline(error, color=line.colour, ls=DASHES, label=line.name)
        return error, error
    steps, middle = list(of_seeds), [float(np.median(errors)) for errors in of_seeds.values()]
    axis.plot(steps, middle, color=line.colour, ls=line.style, label=line.name)
    lowest, highest = (list(map(end, of_seeds.values())) for end in (min, max))
    axis.fill_between(steps, lowest, highest, color=line.colour, alpha=0.12, lw=0)
    return min(middle), max(middle[0], float(np.quantile(middle, 0.75)))


def errors_of_sizes(lines: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> "Figure":
    """Fig. 4 of the paper: test error over the number of environments m, one panel per number of samples n.

    **Arguments**

    - `lines`: with `method`, `m`, `n`, `steps`, `error`, and `spread` over seeds or None. A method without m = 1 starts
      at the first of `names`, since there the two are the same. Errors after fewer steps than others are hollow;
    - `names`: the names of the methods to show. A method that does not depend on m has one line with m = 1.
    """
    samples, sizes = sorted({line["n"] for line in lines}), sorted({line["m"] for line in lines})
    most = max(line["steps"] for line in lines)
    with styled():
        figure = new_figure(2.3 * len(samples) + 1.4, 2.9)
        axes = figure.subplots(1, len(samples), squeeze=False, sharey=True)[0]
        for axis, n in zip(axes, samples, strict=True):
            of = {(line["method"], line["m"]): line for line in lines if line["n"] == n}
            alone = of.get((next(iter(names)), 1))
            for line in _lines(names):
                points = [of[line.method, m] for m in sizes if (line.method, m) in of]
                if alone and points and (line.method, 1) not in of:
                    points.insert(0, alone)
                _errors_of_method(axis, points, line, most)
            axis.set(title=f"n = {n}", yscale="log")
            environments_axis(axis, sizes)
        axes[0].set_ylabel("mean squared test error")
        _legend(figure, axes)
    return figure


def _errors_of_method(axis: "Axes", points: Sequence[Mapping[str, Any]], line: Line, most: int) -> None:
    """Draw one method; `most` is the largest number of steps that any has."""
    if len(points) == 1:
        style = DASHES if points[0]["steps"] == most else ":"
        axis.axhline(points[0]["error"], color=line.colour, lw=1.0, ls=style, label=line.name)
    elif points:
        m, errors = ([point[key] for point in points] for key in ("m", "error"))
        spread = [point["spread"] or 0.0 for point in points]
        marks: dict[str, Any] = {"marker": "o", "ms": 3.5, "capsize": 2}
        axis.errorbar(m, errors, spread, color=line.colour, lw=1.4, elinewidth=1.0, label=line.name, **marks)
        fewer = [(point["m"], point["error"]) for point in points if point["steps"] < most]
        if fewer:
            axis.plot(*zip(*fewer, strict=True), "o", ms=3.5, mfc="white", mec=line.colour, zorder=3)


def _lines(names: Mapping[str, str]) -> list[Line]:
    style = lambda i: "--" if i >= len(COLOURS) else "-"
    return [Line(method, names[method], COLOURS[i % len(COLOURS)], style(i)) for i, method in enumerate(names)]


def _legend(figure: "Figure", axes: Iterable["Axes"]) -> None:
    """One legend for all panels; lines that look the same have the same name."""
    found = {name: handle for axis in axes for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(list(found.values()), list(found), loc="outside right upper")
