"""Whole forecasts of fields in the plane: one block per method, one row per environment, time to the right."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .fields import colour_bar, error_scale
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
    """Figs. S1 and S3 of the paper: the states that each method predicts, and the true ones."""
    truth: Block = lambda f: f.truth[..., channel]
    of = lambda method: lambda f: f.predicted[method][..., channel]
    blocks = {**{method: of(method) for method in forecasts[0].predicted}, "truth": truth}
    return _sequences(forecasts, blocks, field_scale(np.stack([truth(f) for f in forecasts])), name)


def error_sequences(forecasts: Sequence[Forecasts], channel: int, name: str, largest: float | None = None) -> "Figure":
    """Figs. S2 and S4 of the paper: the absolute errors of each method.

    **Arguments**

    - `channel`: its position; `name`: its name; `largest`: the error that is brightest, by default from the data.
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
        figure = new_figure(PANEL * len(times) + 0.9, height)
        axes = figure.subplots(len(blocks), 1, squeeze=False)[:, 0]
        drawn: Any = None
        height, width = (size + GAP for size in forecasts[0].truth.shape[1:3])
        middles = [(k + 0.5) * height - GAP for k in range(len(forecasts))]
        pictures = {title: montage([block(f) for f in forecasts]) for title, block in blocks.items()}
        for axis, (title, picture) in zip(axes, pictures.items(), strict=True):
            drawn = axis.imshow(picture, interpolation="none", **scale)
            axis.set(title=label(title, 40), xticks=[])
            axis.set_yticks(middles, [label(f.environment, 12) for f in forecasts], size="x-small")
            axis.tick_params(length=0)
            axis.spines[:].set_visible(False)
        axes[-1].set_xticks([(k + 0.5) * width - GAP for k in range(len(times))], [f"t = {time:.4g}" for time in times])
        every = np.concatenate([picture.ravel() for picture in pictures.values()])
        colour_bar(figure, drawn, list(axes), every, scale, label(unit, 60))
    return figure


def montage(sequences: Sequence[np.ndarray]) -> np.ndarray:
    """One picture of many, `(time, y, x)` each: time to the right, one sequence below the other, y upwards.

    >>> montage([np.ones((2, 3, 4)), np.zeros((2, 3, 4))]).shape
    (8, 10)
    """
    rows = []
    for sequence in sequences:
        padded = np.pad(sequence[:, ::-1], ((0, 0), (0, GAP), (0, GAP)), constant_values=np.nan)
        rows.append(np.concatenate(list(padded), axis=1)[:, :-GAP])
    return np.concatenate(rows)[:-GAP]
