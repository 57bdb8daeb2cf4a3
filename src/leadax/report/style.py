"""One look for all pictures: colours that colour-blind readers can tell apart, and the same file on every run."""

import io
import re
import textwrap
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._atomic import one_line, replacing
from ..errors import InputError, RunError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette, without its yellow, which is too pale for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C8C8C")
# Drawn behind the colours of the methods.
TRUTH = "#B5B5B5"
# Matplotlib squares numbers, so that larger ones overflow.
LARGEST = 1e100
# A title of 100 000 letters takes Matplotlib most of a minute.
LONGEST_NAME = 80

SETTINGS: dict[Any, Any] = {
    "axes.formatter.limits": (-3, 4),
    # 300.1 to 300.4 as such, not as 0.1 to 0.4 above a small "+3e2".
    "axes.formatter.useoffset": False,
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
    """Draw within this. The user's own Matplotlib settings stay as they are."""
    try:
        import matplotlib
    except ImportError as error:
        raise InputError("pictures need Matplotlib: pip install 'leadax[plot]'") from error
    with matplotlib.rc_context(SETTINGS), warnings.catch_warnings():
        # A name in letters that the font lacks: an SVG shows them all the same, a PNG shows boxes.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def new_figure(width: float, height: float) -> "Figure":
    """A figure of this size in inches, without a window or global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def framed(axis: "Axes") -> None:
    """A thin frame around an image."""
    axis.spines[:].set(visible=True, linewidth=0.5, color="#999999")


def rendered(figure: "Figure", kind: str, dpi: int = 130) -> bytes:
    """A picture as `png`, `svg` or `pdf`. The same figure gives the same bytes."""
    metadata = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None}}[kind]
    content = io.BytesIO()
    try:
        with styled(), np.errstate(all="ignore"):
            figure.savefig(content, format=kind, dpi=dpi, metadata=metadata)
    except (ValueError, ArithmeticError) as error:
        raise RunError(f"this picture cannot be drawn: {one_line(error)}") from error
    return content.getvalue()


def save_figure(figure: "Figure", path: Path, kind: str, dpi: int = 130) -> None:
    """Write a picture to a file, whole or not at all; a full disk is a `RunError`."""
    content = rendered(figure, kind, dpi)
    with replacing(path, overwrite=True) as temporary:
        temporary.write_bytes(content)


def drawable(values: np.ndarray) -> np.ndarray:
    """Values as Matplotlib can draw them: at most ±1e100, NaN for infinity.

    >>> drawable(np.array([1.0, -1e308, np.inf])).tolist()
    [1.0, -1e+100, nan]
    """
    return np.where(np.isinf(values), np.nan, np.clip(values, -LARGEST, LARGEST))


def span_of(values: np.ndarray) -> tuple[float, float]:
    """The smallest and the largest value, without NaN; (0, 1) if there is none.

    >>> span_of(np.array([2.0, np.nan, 5.0]))
    (2.0, 5.0)
    """
    seen = values[np.isfinite(values)]
    return (float(seen.min()), float(seen.max())) if seen.size else (0.0, 1.0)


def field_scale(values: np.ndarray) -> dict[str, Any]:
    """Colours for a field: from blue to red around zero if it has both signs, otherwise from dark to bright."""
    low, high = span_of(values)
    if low < 0 < high:
        bound = max(-low, high)
        return {"cmap": "RdBu_r", "vmin": -bound, "vmax": bound}
    return {"cmap": "viridis", "vmin": low, "vmax": high}


def method_colours(names: Iterable[str]) -> dict[str, str]:
    """A colour for each method, by its position.

    >>> method_colours(["One-For-All", "LEADS"])
    {'One-For-All': '#0072B2', 'LEADS': '#D55E00'}
    """
    return {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}


def short(name: str, most: int = LONGEST_NAME) -> str:
    """A name of at most so many letters, on one line. Its ends stay: they tell it from others.

    >>> short("temperature at the northern shore", 15)
    'tempera … shore'
    """
    # Only as much as can be shown, before each letter is looked at.
    cut = name if len(name) <= most else f"{name[: most - 8]} … {name[-5:]}"
    return "".join(letter if letter.isprintable() else " " for letter in cut)


def label(name: str, width: int) -> str:
    """A name from the data as it is written on a picture: at most two lines, each about so many letters wide.

    >>> label("alpha=0.25,gamma=0.75", 12)
    'alpha=0.25,\\ngamma=0.75'
    >>> label("sin(1,1)+cos(2,1)", 12)
    'sin(1,1)+\\ncos(2,1)'
    """
    name = short(name, max(LONGEST_NAME, 2 * width))
    text = name if len(name) <= width else re.sub(r"(,(?=[^,()]*=)|\+)(?=\S)", r"\1 ", name)
    # Matplotlib reads what stands between dollar signs as an equation.
    return textwrap.fill(text, width, max_lines=2, placeholder=" …").replace("$", r"\$")


def panel_grid(count: int, most: int = 5) -> tuple[int, int]:
    """Rows and columns for so many panels: as full as possible, then as wide as possible.

    >>> panel_grid(10), panel_grid(9), panel_grid(12), panel_grid(2), panel_grid(4, most=3)
    ((2, 5), (3, 3), (3, 4), (1, 2), (2, 2))
    """
    columns = count if count <= most else min(range(most, 1, -1), key=lambda c: -count % c)
    return -(-count // columns), columns


def which_of(total: int, most: int) -> str:
    """The environments in a picture that shows so many at most.

    >>> which_of(3, 12), which_of(200, 12)
    ('each environment', 'the first 12 of 200 environments')
    """
    return "each environment" if total <= most else f"the first {most} of {total:,} environments"
