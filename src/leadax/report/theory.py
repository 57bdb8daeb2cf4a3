"""Pictures of the theory: errors and bounds over the number of environments."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .axes import plain_numbers
from .style import COLOURS, LARGEST, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WITHOUT, WITH = "leads-no-min", "leads"
ARROW = {"arrowstyle": "-|>", "alpha": 0.6, "lw": 1, "shrinkA": 2, "shrinkB": 2, "mutation_scale": 8}


def error_and_bound(lines: Sequence[Mapping[str, Any]]) -> "Figure":
    """Fig. 1 of the paper: test error on the left, bound on the right; arrows show what the penalty changes.

    **Arguments**

    - `lines`: with `method`, `m`, `n`, `mse_test`, `mse_std_over_seeds` and `bound`; m = 1 belongs to both methods.
    """
    samples = sorted({line["n"] for line in lines})
    with styled():
        figure = new_figure(7.2, 3.2)
        left, right = figure.subplots(1, 2)
        for colour, n in zip(COLOURS, samples, strict=False):
            for axis, value in ((left, "mse_test"), (right, "bound")):
                _pair(axis, [line for line in lines if line["n"] == n], value, colour, n)
        left.set(title="test error, measured", ylabel="mean squared error")
        right.set(title="bound on test error − training error (Prop. 5)", ylabel="ε")
        for axis in (left, right):
            environments_axis(axis, sorted({line["m"] for line in lines}))
            axis.set_yscale("log")
            plain_numbers(axis)
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=4, handlelength=2.5)
    return figure


def samples_and_bound(m: Sequence[int], n: Sequence[int], bound: Sequence[float | None]) -> "Figure":
    """Sufficient numbers of samples, and bounds from a fixed number of them, over the number of environments.

    **Arguments**

    - `m`: numbers of environments; `n`: sufficient samples for each; `bound`: ε for each, None if there is none.
    """
    with styled():
        figure = new_figure(7.2, 2.8)
        left, right = figure.subplots(1, 2)
        for axis, values, colour in ((left, n, COLOURS[0]), (right, bound, COLOURS[1])):
            # Sample sizes may be integers too large for an array.
            shown = [(x, float(min(y, LARGEST))) for x, y in zip(m, values, strict=True) if y is not None]
            axis.plot(*zip(*shown, strict=True), color=colour, marker="o", ms=3.5)
            axis.set_yscale("log")
            environments_axis(axis, m)
        left.set(title="sufficient samples", ylabel="samples per environment, n")
        right.set(title="bound on test error − training error", ylabel="ε")
        plain_numbers(left)
        plain_numbers(right)
    return figure


def _pair(axis: "Axes", lines: list[Mapping[str, Any]], value: str, colour: str, n: int) -> None:
    """Both methods for one n, and arrows between them."""
    ends: dict[str, dict[int, float]] = {}
    for method, style, name in ((WITHOUT, (0, (4, 2)), "without"), (WITH, "-", "with")):
        chosen = sorted((line for line in lines if line["method"] == method or line["m"] == 1), key=lambda x: x["m"])
        ends[method] = {line["m"]: line[value] for line in chosen}
        m, values = list(ends[method]), list(ends[method].values())
        axis.plot(m, values, color=colour, ls=style, marker="o", ms=3.5, lw=1.4, label=f"n = {n}, {name} penalty")
        spread = [line["mse_std_over_seeds"] for line in chosen]
        if value == "mse_test" and None not in spread:
            axis.errorbar([line["m"] for line in chosen], [line[value] for line in chosen], spread, color=colour, ls="")
    for m, start in ends[WITHOUT].items():
        if m > 1 and m in ends[WITH]:
            axis.annotate("", (m, ends[WITH][m]), (m, start), arrowprops=ARROW | {"color": colour})


def environments_axis(axis: "Axes", m: Sequence[int]) -> None:
    """The number of environments along x, in powers of two."""
    from matplotlib.ticker import NullLocator

    axis.set_xscale("log", base=2)
    axis.set_xticks(list(m), [f"{x:g}" for x in m])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.set_xlabel("environments m")
