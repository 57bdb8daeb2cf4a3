"""Pictures of the paper's experiments, from the rows of a study."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .style import COLOURS, new_figure, panel_grid, styled
from .theory import environments_axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def learning_curves(
    curves: Mapping[tuple[str, str, str], Mapping[int, list[float]]], names: Mapping[str, str]
) -> "Figure":
    """Test error over training steps, as in Fig. 5 of the paper: a panel per system and protocol.

    **Arguments**

    - `curves`: for each (system, protocol, method) the errors of all seeds at each step; lines are their medians, bands
      their range;
    - `names`: of the methods as a reader sees them, in the order of their colours.
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
            shown: list[float] = []
            lowest_shown: list[float] = []
            for colour, dashes, scheme, name in _looks(names):
                curve = curves.get((*panel, scheme))
                if not curve:
                    continue
                if list(curve) == [0]:
                    shown.append(float(np.mean(curve[0])))
                    lowest_shown.append(shown[-1])
                    axis.axhline(shown[-1], color=colour, ls=(0, (4, 2)), label=name)
                    continue
                # A seed that went wrong must not hide the others.
                finite = {step: [e for e in curve[step] if np.isfinite(e)] for step in sorted(curve)}
                of_seeds = {step: errors for step, errors in finite.items() if errors}
                if not of_seeds:
                    continue
                steps, middle = list(of_seeds), [float(np.median(errors)) for errors in of_seeds.values()]
                axis.plot(steps, middle, color=colour, ls=dashes, label=name)
                shown += [middle[0], float(np.quantile(middle, 0.75))]
                lowest_shown.append(min(middle))
                lowest, highest = (list(map(end, of_seeds.values())) for end in (min, max))
                axis.fill_between(steps, lowest, highest, color=colour, alpha=0.12, lw=0)
            axis.set(title=f"{panel[0]}, {panel[1]}", xlabel="training steps", yscale="log")
            # Forecasts of a half-trained model may blow up: a few looks must not make the rest unreadable.
            if shown:
                axis.set_ylim(0.5 * min(lowest_shown), 5 * max(shown))
        for row in grid:
            row[0].set_ylabel("mean squared test error")
        _legend(figure, axes)
    return figure


def errors_of_sizes(lines: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> "Figure":
    """Fig. 4 of the paper: test error over the number of environments m, a panel for each number of samples n.

    **Arguments**

    - `lines`: with `method`, `m`, `n`, `error` and `spread` over seeds (or None); a method without m = 1 starts where
      the first of `names` does, for there it is the same method;
    - `names`: of the methods as a reader sees them; a method that does not depend on m has one line with m = 1.
    """
    samples, sizes = sorted({line["n"] for line in lines}), sorted({line["m"] for line in lines})
    with styled():
        figure = new_figure(2.3 * len(samples) + 1.4, 2.9)
        axes = figure.subplots(1, len(samples), squeeze=False, sharey=True)[0]
        for axis, n in zip(axes, samples, strict=True):
            of = {(line["method"], line["m"]): line for line in lines if line["n"] == n}
            alone = of.get((next(iter(names)), 1))
            for colour, _, method, name in _looks(names):
                points = [of[method, m] for m in sizes if (method, m) in of]
                if alone and points and (method, 1) not in of:
                    points.insert(0, alone)
                if len(points) == 1:
                    axis.axhline(points[0]["error"], color=colour, lw=1.0, ls=(0, (4, 2)), label=name)
                elif points:
                    spread = [point["spread"] or 0.0 for point in points]
                    axis.errorbar([p["m"] for p in points], [p["error"] for p in points], spread, color=colour,
                                  marker="o", ms=3.5, lw=1.4, elinewidth=1.0, capsize=2, label=name)  # fmt: skip
            axis.set(title=f"n = {n}", yscale="log")
            environments_axis(axis, sizes)
        axes[0].set_ylabel("mean squared test error")
        _legend(figure, axes)
    return figure


def _looks(names: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """Colour, style of line, method and name of each; where colours are used up, lines are dashed."""
    for i, (method, name) in enumerate(names.items()):
        yield COLOURS[i % len(COLOURS)], "--" if i >= len(COLOURS) else "-", method, name


def _legend(figure: "Figure", axes: Iterable["Axes"]) -> None:
    """One for all panels; lines that look the same have the same name."""
    found = {name: handle for axis in axes for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(list(found.values()), list(found), loc="outside right upper")
