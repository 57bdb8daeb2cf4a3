"""With which noise smooth curves are most likely: maximum likelihood, where curves may be rough in some places."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

REACHES = (1.5, 2.5, 4.0, 7.0, 12.0)  # median gaps over which a curve is like itself
SIZES = 14  # of curves that are tried, for each reach
LEAST = 1e-4  # of what lines leave: less is no noise
LEVELS = 25  # of noise that are tried, before the best is found more exactly
ROUNDS = 30  # of the EM algorithm, for how frequent each kind of curve is
SECTIONS = 5
GOLDEN = (np.sqrt(5) - 1) / 2


class Windows(NamedTuple):
    """What lines leave of windows of equal length, along the axes on which a smooth curve has independent parts.

    - `parts`: for each reach of a curve, along its own axes;
    - `variances`: of those parts, for a curve of size one.
    """

    parts: Float[np.ndarray, "window reach axis"]
    variances: Float[np.ndarray, "window reach axis"]

    @classmethod
    def of(cls, times: Float[np.ndarray, "window point"], values: Float[np.ndarray, "window point"]) -> "Windows":
        """From times, in units in which reaches are given, and values."""
        times = times - times.mean(axis=1, keepdims=True)
        lines = np.stack([np.ones_like(times), times], axis=2)
        beyond = np.linalg.qr(lines, mode="complete").Q[:, :, 2:]
        left = np.swapaxes(beyond, 1, 2) @ values[:, :, None]
        parts, variances = [], []
        for reach in REACHES:
            apart = (times[:, :, None] - times[:, None, :]) / reach
            # The rational quadratic covariance: smooth curves of many time scales.
            alike = 1 / (1 + apart**2 / 4) ** 2
            found, axes = np.linalg.eigh(np.swapaxes(beyond, 1, 2) @ alike @ beyond)
            parts.append((np.swapaxes(axes, 1, 2) @ left)[..., 0])
            variances.append(np.maximum(found, 0.0))
        return cls(np.stack(parts, axis=1), np.stack(variances, axis=1))


def likeliest_noise(groups: Sequence[Windows]) -> float:
    """The standard deviation of independent noise with which windows of smooth curves are most likely.

    Curves of each reach and size are as frequent as makes the data most likely (EM algorithm). 0 where the least
    noise is the likeliest.
    """
    scale = np.sqrt(np.mean(np.concatenate([np.ravel(group.parts[:, 0] ** 2) for group in groups])))
    if scale == 0:
        return 0.0
    groups = [group._replace(parts=group.parts / scale) for group in groups]
    sizes = _sizes(groups)
    likely = lambda level: _log_likelihood(groups, sizes, np.exp(level))
    levels = np.linspace(np.log(LEAST), np.log(1.5), LEVELS)
    best = int(np.argmax([likely(level) for level in levels]))
    if best == 0:
        return 0.0
    low, high = levels[best - 1], levels[min(best + 1, LEVELS - 1)]
    for _ in range(SECTIONS):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        low, high = (low, right) if likely(left) > likely(right) else (left, high)
    return float(scale * np.exp((low + high) / 2))


def _sizes(groups: Sequence[Windows]) -> Float[np.ndarray, "reach size"]:
    """Variances of curves to try: none, and from less than nearly all windows call for to more than any does."""
    called = np.concatenate([np.mean(g.parts**2, axis=2) / np.mean(g.variances, axis=2) for g in groups])
    most = called.max(axis=0)
    least = np.maximum(np.quantile(called, 0.02, axis=0), 1e-8 * most)
    return np.concatenate([np.zeros((len(most), 1)), np.geomspace(least / 10, most * 10, SIZES, axis=1)], axis=1)


def _log_likelihood(groups: Sequence[Windows], sizes: np.ndarray, noise: float) -> float:
    of_kinds = []
    for parts, variances in groups:
        total = noise**2 + sizes[None, :, :, None] * variances[:, :, None, :]
        likely = -0.5 * np.sum(np.log(total) + parts[:, :, None, :] ** 2 / total, axis=3)
        of_kinds.append(likely.reshape(len(parts), -1))
    likely = np.concatenate(of_kinds)
    highest = likely.max(axis=1, keepdims=True)
    likely = np.exp(likely - highest)
    frequent = np.full(likely.shape[1], 1 / likely.shape[1])
    for _ in range(ROUNDS):
        each = likely * frequent
        frequent = np.mean(each / each.sum(axis=1, keepdims=True), axis=0)
    return float(np.sum(np.log(likely @ frequent) + highest[:, 0]))
