"""One look for all pictures: colours that colour-blind readers can tell apart, and figures the same on every run."""

import re
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette, without its yellow, which is too pale for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C8C8C")
# Behind the colours of the methods.
TRUTH = "#B5B5B5"

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


def method_colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each method, by its place.

    >>> method_colours(["One-For-All", "LEADS"])
    {'One-For-All': '#0072B2', 'LEADS': '#D55E00'}
    """
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}


def label(name: str, width: int) -> str:
    """A name from the data as it is written on a picture: on two lines at most, each about so many letters wide.

    >>> label("alpha=0.25,gamma=0.75", 12)
    'alpha=0.25,\\ngamma=0.75'
    >>> label("sin(1,1)+cos(2,1)", 12)
    'sin(1,1)+\\ncos(2,1)'
    """
    text = name if len(name) <= width else re.sub(r"(,(?=[^,()]*=)|\+)(?=\S)", r"\1 ", name)
    # Matplotlib would read what stands between dollars as an equation.
    return textwrap.fill(text, width, max_lines=2, placeholder=" …").replace("$", r"\$")


def panel_grid(count: int, most: int = 5) -> tuple[int, int]:
    """Rows and columns for so many panels: as full as possible, then as wide as possible.

    >>> panel_grid(10), panel_grid(9), panel_grid(12), panel_grid(2), panel_grid(4, most=3)
    ((2, 5), (3, 3), (3, 4), (1, 2), (2, 2))
    """
    columns = count if count <= most else min(range(most, 1, -1), key=lambda c: -count % c)
    return -(-count // columns), columns
