"""A picture of what depends on the draw of initial states."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .style import COLOURS, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Lines = Sequence[Mapping[str, Any]]

PANELS = {"mse_minimum": "minimum during training, as the paper reports", "mse_test": "last step"}
SPREADS = {"mse_minimum": "mse_minimum_std_over_seeds", "mse_test": "mse_std_over_seeds"}
# Between the draws and those that are marked.
GAP = 0.6


def errors_of_draws(draws: Lines, marked: Lines, names: Mapping[str, str], papers: Mapping[str, float]) -> "Figure":
    """Test errors of several methods from several initial states, on a logarithmic axis.

    **Arguments**

    - `draws`, `marked`: with `draw`, `method`, `mse_minimum`, `mse_test` and their spreads over seeds. Draws stand in
      the order of the minimum of the first method; those to be marked follow, hollow;
    - `names`: the names of the methods, in the order of their colours; `papers`: their published errors, as lines.
    """
    with styled():
        figure = new_figure(8.6, 3.2)
        axes = figure.subplots(1, len(PANELS), sharey=True)
        for axis, (error, title) in zip(axes, PANELS.items(), strict=True):
            _panel(axis, draws, marked, names, papers, error)
            axis.set(title=title, yscale="log", xlabel="draw of the initial state")
        axes[0].set_ylabel("mean squared test error")
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right upper")
    return figure


def _panel(
    axis: "Axes", draws: Lines, marked: Lines, names: Mapping[str, str], papers: Mapping[str, float], error: str
) -> None:
    order = _order(draws, next(iter(names)))
    places = {draw: float(i) for i, draw in enumerate(order)}
    others = {draw: len(order) + GAP + i for i, draw in enumerate(dict.fromkeys(line["draw"] for line in marked))}
    for (method, name), colour in zip(names.items(), COLOURS, strict=False):
        style: dict[str, Any] = {"color": colour, "ms": 4.5, "lw": 0, "elinewidth": 1.0, "capsize": 2}
        of = lambda lines, method=method: [line for line in lines if line["method"] == method]
        _points(axis, of(draws), places, error, marker="o", label=name, **style)
        _points(axis, of(marked), others, error, marker="D", mfc="white", label=f"{name}, Table 1", **style)
        axis.axhline(papers[method], color=colour, lw=0.9, ls=(0, (4, 2)), label=f"{name}, published", zorder=0)
    axis.set_xticks([*places.values(), *others.values()], [*places, *others])
    for label in axis.get_xticklabels():
        label.set(rotation=0 if label.get_text().isdigit() else 90)


def _order(draws: Lines, method: str) -> list[str]:
    """The draws by the minimum of one method; those that it does not have come last."""
    found = {line["draw"]: line["mse_minimum"] for line in draws if line["method"] == method}
    every = dict.fromkeys(line["draw"] for line in draws)
    return sorted(every, key=lambda draw: found.get(draw, float("inf")))


def _points(axis: "Axes", lines: Lines, places: Mapping[str, float], error: str, **style: Any) -> None:
    """Errors with their spread over seeds, which must not reach below zero on a logarithmic axis."""
    if lines:
        middle = [line[error] for line in lines]
        spread = [line.get(SPREADS[error]) or 0.0 for line in lines]
        down = [min(s, 0.7 * m) for s, m in zip(spread, middle, strict=True)]
        axis.errorbar([places[line["draw"]] for line in lines], middle, [down, spread], **style)
