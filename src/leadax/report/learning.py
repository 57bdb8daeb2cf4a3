"""How training went: errors on held-out data, and the training loss, on axes of their own."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .axes import plain_numbers
from .numbers import readable
from .style import drawable, label, method_colours, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..model import Model
    from ..records import Training

# How the lines of a method look, by what they show.
KINDS: dict[str, dict[str, Any]] = {
    "test error": {"lw": 1.5},
    "validation error": {"lw": 1.2, "ls": (0, (1, 1.5))},
    "training loss": {"lw": 1.5},
}
KEPT: dict[str, Any] = {"marker": "D", "ms": 5, "mfc": "white", "mew": 1.2, "ls": ""}
# Of a model that blew up on the way no more is drawn than so many times where the curves begin and end.
MOST = 1e4

# Of each method the curves by kind, each (look, member).
Curves = Mapping[str, Mapping[str, np.ndarray]]


def learning_curves(models: "Mapping[str, Model]") -> "Figure | None":
    """Errors and, beside them, the loss of each method over its steps; None if no model has a record of its training.

    They have axes of their own: the loss has the penalty in it, and is in standard units.
    """
    runs = {name: model.training for name, model in models.items() if model.training and model.training.history}
    if not runs:
        return None
    colours, curves = method_colours(models), {name: _recorded(training) for name, training in runs.items()}
    panels = [kinds for kinds in (("test error", "validation error"), ("training loss",)) if _have(curves, kinds)]
    with styled():
        figure = new_figure(2.4 + 3.1 * len(panels), 2.9)
        axes = figure.subplots(1, len(panels), squeeze=False)[0]
        for axis, kinds in zip(axes, panels, strict=True):
            _panel(axis, kinds, curves, runs, colours)
        _legend(figure, [label(name, 30) for name in runs], [colours[name] for name in runs], curves, runs)
    return figure


def learning_caption(models: "Mapping[str, Model]") -> str:
    """What `learning_curves` shows, and what it leaves out."""
    runs = {name: model.training for name, model in models.items() if model.training and model.training.history}
    curves = {name: _recorded(training) for name, training in runs.items()}
    held_out = [kind.split()[0] for kind in ("test error", "validation error") if _have(curves, (kind,))]
    sides = [
        f"mean squared error of forecasts of the {' and '.join(held_out)} data, in their units" if held_out else "",
        "training loss, in standard units: it has the penalty Ω in it, and its forecasts may restart from the data, so "
        "that it cannot be compared with errors",
    ]
    parts = [". Right: ".join(filter(None, sides)) if held_out else sides[1]]
    if any(model.members > 1 for model in models.values()):
        parts.append("Lines are means over seeds, bands go from the best seed to the worst")
    if held_out and any(training.kept for training in runs.values()):
        parts.append("Diamonds: the step that the model of each seed was kept from, the best on the validation data")
    limits = [_top(curves, kinds) for kinds in (("test error", "validation error"), ("training loss",))]
    if cut := [readable(top) for top in limits if top is not None]:
        parts.append(f"Curves are cut off above {' (left) or '.join(cut)}")
    return "Left: " * bool(held_out) + ". ".join(parts)


def _recorded(training: "Training") -> dict[str, np.ndarray]:
    history = training.history
    recorded = {
        "test error": [snapshot.test for snapshot in history],
        "validation error": [snapshot.validation for snapshot in history],
        "training loss": [snapshot.loss for snapshot in history],
    }
    return {kind: drawable(np.array(values, float)) for kind, values in recorded.items() if None not in values}


def _have(curves: Curves, kinds: Sequence[str]) -> bool:
    return any(kind in of for of in curves.values() for kind in kinds)


def _panel(
    axis: "Axes", kinds: Sequence[str], curves: Curves, runs: "Mapping[str, Training]", colours: Mapping[str, str]
) -> None:
    for name, training in runs.items():
        steps = np.array([snapshot.step for snapshot in training.history])
        for kind in kinds:
            if kind in curves[name]:
                _seeds(axis, steps, curves[name][kind], color=colours[name], **KINDS[kind])
        chosen_by = next((curves[name][kind] for kind in kinds[::-1] if kind in curves[name]), None)
        if training.kept and chosen_by is not None and "training loss" not in kinds:
            at = [np.interp(step, steps, of_member) for step, of_member in zip(training.kept, chosen_by.T, strict=True)]
            axis.plot(training.kept, at, color=colours[name], zorder=4, **KEPT)
    _steps_axis(axis)
    loss = "training loss" in kinds
    axis.set(yscale="log", title="training loss" if loss else " and ".join(kinds_shown(curves, kinds)))
    axis.set_ylabel("loss, in standard units" if loss else "mean squared error")
    if (top := _top(curves, kinds)) is not None:
        axis.set_ylim(top=top)
    plain_numbers(axis)


def kinds_shown(curves: Curves, kinds: Sequence[str]) -> list[str]:
    """Those of these kinds that some method has."""
    return [kind for kind in kinds if _have(curves, (kind,))]


def _top(curves: Curves, kinds: Sequence[str]) -> float | None:
    """Where curves are cut off, if they are."""
    found = [of[kind] for of in curves.values() for kind in kinds if kind in of]
    ends = np.concatenate([values[[0, -1]].ravel() for values in found]) if found else np.zeros(0)
    every = np.concatenate([values.ravel() for values in found]) if found else np.zeros(0)
    top = MOST * np.nanmax(ends, initial=0.0)
    return float(top) if 0 < top < np.nanmax(every, initial=0.0) else None


def _seeds(axis: "Axes", steps: np.ndarray, per_seed: np.ndarray, **style: Any) -> None:
    """The mean over seeds as a line, and the range from the best seed to the worst as a band."""
    axis.plot(steps, per_seed.mean(axis=1), marker="." if len(steps) <= 5 else "", **style)
    if per_seed.shape[1] > 1:
        axis.fill_between(steps, per_seed.min(axis=1), per_seed.max(axis=1), color=style["color"], alpha=0.15, lw=0)


def _steps_axis(axis: "Axes") -> None:
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set(xscale="log", xlabel="step")
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=8))
    axis.xaxis.set_major_formatter(lambda step, _: f"{step:,.0f}")
    axis.xaxis.set_minor_formatter(NullFormatter())


def _legend(
    figure: "Figure", names: Sequence[str], colours: Sequence[str], curves: Curves, runs: "Mapping[str, Training]"
) -> None:
    from matplotlib.lines import Line2D

    entries = [(Line2D([], [], color=colour, lw=1.6), name) for name, colour in zip(names, colours, strict=True)]
    errors = kinds_shown(curves, ("test error", "validation error"))
    if len(errors) > 1:  # otherwise the title says it
        entries += [(Line2D([], [], color="#444444", **KINDS[kind]), kind) for kind in errors]
    if errors and any(training.kept for training in runs.values()):
        entries.append((Line2D([], [], color="#444444", **KEPT), "kept model"))
    figure.legend(*zip(*entries, strict=True), loc="outside right upper")
