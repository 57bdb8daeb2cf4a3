"""Trajectories for other libraries, and for notebooks: what the methods of `Trajectories` return."""

import html
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ._dataset import to_dataset
from ._table import to_table
from .trajectories import Trajectories

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

COLOURS = ("#2166ac", "#d95f02", "#1b9e77", "#7570b3", "#b2182b", "#666666")
WIDTH, HEIGHT = 190, 90
# A picture is there to recognise data: more would make a notebook large.
MOST_PANELS, MOST_LINES, MOST_POINTS = 6, 6, 200


def to_xarray(data: Trajectories) -> "xr.Dataset":
    """See `Trajectories.to_xarray`."""
    try:
        return to_dataset(data)
    except ImportError as error:
        raise InputError("`to_xarray` needs xarray: pip install 'leadax[data]'") from error


def to_pandas(data: Trajectories) -> "pd.DataFrame":
    """See `Trajectories.to_pandas`."""
    try:
        import pandas as pd

        table = to_table(data)
    except ImportError as error:
        raise InputError("`to_pandas` needs pandas and pyarrow: pip install pandas 'leadax[data]'") from error
    return pd.DataFrame({name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names})


def to_html(data: Trajectories) -> str:
    """What a notebook shows: the usual text, and the first channel of the first environments over time."""
    text = f"<code>{html.escape(repr(data))}</code>"
    if data.space:
        return text
    shown = range(min(len(data.environments), MOST_PANELS))
    rest = len(data.environments) - len(shown)
    more = f'<div style="font-size:small">and {rest} more</div>' if rest else ""
    row = "".join(_panel(data, e) for e in shown)
    return f'{text}<div style="display:flex;flex-wrap:wrap;gap:12px;margin-top:6px">{row}{more}</div>'


def _panel(data: Trajectories, e: int) -> str:
    """All channels of one environment, each between its own smallest and largest value over all data."""
    lines = [_line(data, e, i, c) for c in range(len(data.channels)) for i in range(min(data.counts[e], MOST_LINES))]
    return (
        f'<div style="font-size:small">{html.escape(data.environments[e][:30])}<br>'
        f'<svg width="{WIDTH}" height="{HEIGHT}" style="background:#8881">{"".join(lines)}</svg></div>'
    )


def _line(data: Trajectories, e: int, i: int, c: int) -> str:
    end = data.lengths[e, i]
    kept = np.unique(np.linspace(0, end - 1, min(end, MOST_POINTS)).astype(int))
    x = _scaled(data.times[e, i, kept], data.times, WIDTH)
    y = HEIGHT - _scaled(data.states[e, i, kept, c], data.states[..., c], HEIGHT)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True) if np.isfinite(b))
    colour = COLOURS[c % len(COLOURS)]
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-opacity="0.7"/>'


def _scaled(values: np.ndarray, everything: np.ndarray, size: int) -> np.ndarray:
    """Values as places in a picture, with a margin of four points."""
    if not np.any(np.isfinite(everything)):
        return values
    low, high = np.nanmin(everything), np.nanmax(everything)
    return 4 + (size - 8) * (values - low) / ((high - low) or 1.0)
