"""Whole forecasts of fields in the plane: a block per method, a row per environment, time to the right."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .fields import error_scale
from .forecasts import Forecasts
from .style import field_scale, label, new_figure, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Inches of a picture and of a title, and pixels between pictures.
PANEL, TITLE = 0.62, 0.25
GAP = 2

# From the forecasts of an environment to the pictures of one block, (time, y, x).
Block = Callable[[Forecasts], np.ndarray]


def state_sequences(forecasts: Sequence[Forecasts], channel: int, name: str) -> "Figure":
    """Figs. S1 and S3 of the paper: the states that each method predicts, and the truth."""
    truth: Block = lambda f: f.truth[..., channel]
    of = lambda method: lambda f: f.predicted[method][..., channel]
    blocks = {**{method: of(method) for method in forecasts[0].predicted}, "truth": truth}
    return _sequences(forecasts, blocks, field_scale(np.stack([truth(f) for f in forecasts])), name)


def error_sequences(forecasts: Sequence[Forecasts], channel: int, name: str, largest: float | None = None) -> "Figure":
    """Figs. S2 and S4: the absolute errors of each method.

    **Arguments**

    - `largest`: the error that is brightest; from the data by default.
    """
    of = lambda method: lambda f: np.abs(f.predicted[method] - f.truth)[..., channel]
    blocks = {method: of(method) for method in forecasts[0].predicted}
    truth = np.stack([f.truth[..., channel] for f in forecasts])
    errors = np.stack([block(f) for block in blocks.values() for f in forecasts])
    return _sequences(forecasts, blocks, error_scale(truth, errors, largest), f"absolute error of {name}")


def _sequences(forecasts: Sequence[Forecasts], blocks: dict[str, Block], scale: dict[str, Any], unit: str) -> "Figure":
    times = forecasts[0].times
    with styled():
        height = len(blocks) * (len(forecasts) * PANEL + TITLE) + 0.8
        figure = new_figure(PANEL * len(times) + 0.2, height)
        axes = figure.subplots(len(blocks), 1, squeeze=False)[:, 0]
        drawn: Any = None
        for axis, (title, block) in zip(axes, blocks.items(), strict=True):
            drawn = axis.imshow(montage([block(f) for f in forecasts]), interpolation="none", **scale)
            axis.set(title=label(title, 40), xticks=[], yticks=[])
            axis.spines[:].set_visible(False)
        width = forecasts[0].truth.shape[2] + GAP
        axes[-1].set_xticks([(k + 0.5) * width - GAP for k in range(len(times))], [f"t = {time:g}" for time in times])
        axes[-1].tick_params(length=0)
        figure.colorbar(drawn, ax=list(axes), location="bottom", label=label(unit, 60), aspect=40, shrink=0.6, pad=0.02)
    return figure


def montage(sequences: Sequence[np.ndarray]) -> np.ndarray:
    """One picture of many, `(time, y, x)` each: time to the right, one sequence below the other, y upwards in each.

    >>> montage([np.ones((2, 3, 4)), np.zeros((2, 3, 4))]).shape
    (8, 10)
    """
    rows = []
    for sequence in sequences:
        padded = np.pad(sequence[:, ::-1], ((0, 0), (0, GAP), (0, GAP)), constant_values=np.nan)
        rows.append(np.concatenate(list(padded), axis=1)[:, :-GAP])
    return np.concatenate(rows)[:-GAP]
