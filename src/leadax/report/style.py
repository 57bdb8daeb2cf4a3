"""One look for all pictures: colours that colour-blind readers can tell apart, and figures the same on every run."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette, without its yellow, which is too pale for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C8C8C")

SETTINGS: dict[Any, Any] = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9,
    "axes.labelsize": 8,
    "figure.constrained_layout.use": True,
    "font.size": 8,
    "legend.frameon": False,
    "lines.linewidth": 1.0,
    "svg.fonttype": "none",
    "svg.hashsalt": "leadax",
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
}


@contextmanager
def styled() -> Iterator[None]:
    """Draw within this, and leave the user's own Matplotlib settings alone."""
    try:
        import matplotlib
    except ImportError as error:
        raise InputError("pictures need Matplotlib: pip install 'leadax[plot]'") from error
    with matplotlib.rc_context(SETTINGS):
        yield


def new_figure(width: float, height: float) -> "Figure":
    """A figure of this size in inches, without a window or global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def save_figure(figure: "Figure", path: Path, kind: str, dpi: int = 130) -> None:
    """Write a picture as `png`, `svg` or `pdf`; the same figure gives the same bytes."""
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    with styled():
        figure.savefig(path, format=kind, dpi=dpi, metadata=metadata)


def field_scale(values: np.ndarray) -> dict[str, object]:
    """Colours for a field: from blue to red around zero if it has both signs, else dark to bright."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if low < 0 < high:
        bound = max(-low, high)
        return {"cmap": "RdBu_r", "vmin": -bound, "vmax": bound}
    return {"cmap": "viridis", "vmin": low, "vmax": high}
