"""How noisy data are: from the data alone, before any model."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from .layout import IMPULSE
from .smooth_curves import Windows, likeliest_noise
from .trajectories import Trajectories

MOST_SERIES = 512  # of a field: more pixels tell nothing new
FEWEST = 20  # numbers beyond lines that an estimate needs
LENGTH = 8  # points of a window: a curve is equally rough along it
STRIDE = 4  # points from window to window, at most
MOST_WINDOWS = 1000  # more tell nothing new


def noise_level(data: Trajectories) -> Float[np.ndarray, " channel"]:
    """The standard deviation of the noise in each channel, in the units of the data.

    A smooth curve is like itself at near times, independent noise is not. Trajectories are cut into windows of eight
    points, in each of which the curve is a line and a stationary random curve, smooth and of some size; how smooth and
    how large may differ from window to window, so that a few sharp turns do not count as noise. The level of noise is
    the one with which the windows are most likely, see `leadax.data.smooth_curves`.

    0 where there are too few points. It sees noise that differs from point to point, not a drift.

    >>> t = np.linspace(0, 10, 200)
    >>> noisy = np.sin(t) + 0.1 * np.random.default_rng(0).normal(size=200)
    >>> bool(abs(noise_level(Trajectories.from_arrays(t, noisy[None, None, :, None]))[0] - 0.1) < 0.02)
    True
    """
    return np.array([_level(list(_series(data, channel))) for channel in range(len(data.channels))])


def _level(series: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """The noise of one channel, from times and values of its trajectories."""
    windows = [window for t, x in series for window in _windows(t, x)]
    windows = windows[:: -(-len(windows) // MOST_WINDOWS) or 1]
    if sum(len(t) - 2 for t, _ in windows) < FEWEST:
        return 0.0
    gap = np.median(np.concatenate([np.diff(t) for t, _ in windows]))
    by_length: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
    for t, x in windows:
        by_length.setdefault(len(t), []).append((t / gap, x))
    return likeliest_noise([Windows.of(*map(np.stack, zip(*group, strict=True))) for group in by_length.values()])


def _windows(times: np.ndarray, values: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Windows that overlap, so that no point counts for less because it is at an end."""
    length = min(LENGTH, len(times))
    if length > 2:
        rest = len(times) - length
        for begin in np.linspace(0, rest, 1 - -rest // STRIDE).round().astype(int):
            yield times[begin : begin + length], values[begin : begin + length]


def _series(data: Trajectories, channel: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Times and values of a channel in each trajectory, from impulse to impulse; of a field, at some of its pixels."""
    pixels = int(np.prod(data.space)) if data.space else 1
    total = int((data.lengths > 0).sum()) * pixels
    stride = max(1, total // MOST_SERIES)
    values = data.states[..., channel].reshape(*data.times.shape, pixels)
    number = 0
    for e, i in np.argwhere(data.lengths > 0):
        for pixel in range(pixels):
            number += 1
            if number % stride == 0:
                x = values[e, i, :, pixel]
                seen = np.flatnonzero(~np.isnan(x))
                for piece in np.split(seen, _breaks(data, int(e), int(i), seen)):
                    yield data.times[e, i, piece], x[piece]


def _breaks(data: Trajectories, e: int, i: int, seen: np.ndarray) -> np.ndarray:
    """Before which of the points that were seen an impulse acts: a curve ends there, and another begins."""
    impulses = [k for k, kind in enumerate(data.input_kinds) if kind.startswith(IMPULSE)]
    if not impulses or data.inputs is None:
        return np.zeros(0, int)
    acting = np.flatnonzero(np.any(np.nan_to_num(data.inputs[e, i][..., impulses]) != 0, axis=-1))
    return np.unique(np.searchsorted(seen, acting, side="right"))
