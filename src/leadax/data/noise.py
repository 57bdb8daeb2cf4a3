"""How noisy data are: from the data alone, before any model."""

from collections.abc import Iterator
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from jaxtyping import Float

from .layout import IMPULSE
from .trajectories import Trajectories

ORDERS = range(2, 9)  # of differences
FEWEST = 20  # differences that an estimate needs
SHARE = 0.35  # of differences that sharp turns are taken not to spoil
CUT = 2.5  # standard deviations beyond which a difference is taken to be spoilt
SAME = 1.08  # the ratio of two estimates that are as good as equal
PLATEAU = 1.5  # noise: from one order to the next the estimate falls by less than this
MOST_SERIES = 512  # of a field: more pixels tell nothing new
NORMAL = NormalDist()  # SciPy's takes a second to import


def noise_level(data: Trajectories) -> Float[np.ndarray, " channel"]:
    """The standard deviation of the noise in each channel, in the units of the data.

    A smooth curve vanishes under differences of high order, independent noise does not. For each order d, the
    difference of d + 1 neighbouring points is taken whose weights are orthogonal to all polynomials of lower degree and
    have the length 1, so that it has the standard deviation of the noise, whatever the times. What is left of the
    curve itself can only add to it, so the smallest over all orders counts; of those about as small, that of the lowest
    order, which has the most differences and so the least chance in it. Where estimates fall from order to order to the
    last, they tell of the curve alone, and the noise is taken to be 0.

    0 where there are too few points. It sees noise that differs from point to point, not a drift.

    >>> t = np.linspace(0, 10, 200)
    >>> noisy = np.sin(t) + 0.1 * np.random.default_rng(0).normal(size=200)
    >>> bool(abs(noise_level(Trajectories.from_arrays(t, noisy[None, None, :, None]))[0] - 0.1) < 0.02)
    True
    """
    return np.array([_level(list(_series(data, channel))) for channel in range(len(data.channels))])


def _level(series: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """The noise of one channel, from times and values of its trajectories."""
    found = []
    for order in ORDERS:
        sizes = np.abs(np.concatenate([np.zeros(0), *(_differences(t, x, order) for t, x in series)]))
        if len(sizes) >= FEWEST:
            found.append(_deviation(sizes))
    settled = any(after > before / PLATEAU for before, after in pairwise(found))
    return next(level for level in found if level <= SAME * min(found)) if settled else 0.0


def _deviation(sizes: np.ndarray) -> float:
    """The standard deviation of normal numbers from their sizes, some of which are too large."""
    rough = np.quantile(sizes, SHARE) / NORMAL.inv_cdf((1 + SHARE) / 2)
    inside = sizes[sizes <= CUT * rough]
    # The variance of a standard normal number that is known to lie within the cut.
    within = 1 - 2 * CUT * NORMAL.pdf(CUT) / (2 * NORMAL.cdf(CUT) - 1)
    return float(np.sqrt(np.mean(inside**2) / within))


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


def _differences(times: np.ndarray, values: np.ndarray, order: int) -> np.ndarray:
    """Differences of `order` + 1 neighbours, zero for polynomials of lower degree, with weights of length 1."""
    if len(times) <= order:
        return np.zeros(0)
    windows = np.lib.stride_tricks.sliding_window_view(times, order + 1)
    middle, reach = windows.mean(axis=1, keepdims=True), np.ptp(windows, axis=1)[:, None]
    scaled = (windows - middle) / reach
    gaps = scaled[:, :, None] - scaled[:, None, :] + np.eye(order + 1)
    weights = 1 / np.prod(gaps, axis=2)
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    return np.sum(weights * np.lib.stride_tricks.sliding_window_view(values, order + 1), axis=1)
