"""Whether states say what comes next: from the data alone, before any model."""

import math

import numpy as np

from .noise import noise_level
from .trajectories import Trajectories

NEIGHBOURS = 3
FEWEST = 30  # states, about, that an estimate needs
MOST_STATES = 400  # of an environment: all pairs of them are looked at
MOST_ENVIRONMENTS = 50


def unexplained(data: Trajectories) -> float:
    """The share of the change of states that states themselves do not explain: 0 for a field of x, 1 for chance.

    Rates of change to the next point are compared between near states of an environment that are not neighbours in
    time. For a smooth field of x, their squared difference vanishes with the squared distance d² of the states. So a
    line a + b d² is fitted to it, as to a variogram; a, over twice the variance of the rates, is what the states leave
    open. What noise adds is subtracted, and a standard error of a. NaN where there are too few states, and for fields
    on a grid.

    >>> t = np.linspace(0, 20, 100)
    >>> whole = np.stack([np.sin(t), np.cos(t)], axis=-1)[None, None]
    >>> alone = Trajectories.from_arrays(t, whole[..., :1])
    >>> unexplained(Trajectories.from_arrays(t, whole)) < 0.05 < 0.5 < unexplained(alone)
    True
    """
    if data.space:
        return math.nan
    spread = np.nanstd(data.states, axis=(0, 1, 2))
    scale = np.where(spread > 0, spread, 1.0)
    noise = float(np.sum((noise_level(data) / scale) ** 2))
    stride = math.ceil(len(data.environments) / MOST_ENVIRONMENTS)
    found = [_pairs(_transitions(data, e, scale), noise) for e in range(0, len(data.environments), stride)]
    distances, differences, added, variances = (np.concatenate(part) for part in zip(*found, strict=True))
    if len(distances) < 2 * NEIGHBOURS * FEWEST or not np.mean(variances) > 0:
        return math.nan
    whole = 2 * float(np.mean(variances))
    return _at_no_distance(distances, differences / whole, 1 / (1 + added / whole))


def _pairs(transitions: tuple[np.ndarray, ...], noise: float) -> tuple[np.ndarray, ...]:
    """Squared distances of states to their nearest ones, squared differences of the rates there less what noise adds,
    what that is, and the variance of rates.

    The rate to the next point is that of half the way there: pairs must be alike in this too.
    """
    states, rates, gaps, place = transitions
    moved = np.sum((rates * gaps[:, None]) ** 2)
    pace = np.sum(gaps**2) / moved if moved > 0 else 1.0
    distance = np.sum((states[:, None] - states[None]) ** 2, axis=-1) + (gaps[:, None] - gaps[None]) ** 2 / (4 * pace)
    later = np.abs(place[:, None, 1] - place[None, :, 1]) > 2
    # Trajectories that start alike are near each other at the same times. Whether a state comes with the same rate at
    # other times is another question.
    found = [_nearest(distance, apart) for apart in (later | (place[:, None, 0] != place[None, :, 0]), later)]
    i, j = (np.concatenate(side) for side in zip(*found, strict=True))
    added = 2 * noise * (1 / gaps[i] ** 2 + 1 / gaps[j] ** 2)
    variance = np.sum(np.var(rates, axis=0)) if len(rates) else 0.0
    return distance[i, j], np.sum((rates[i] - rates[j]) ** 2, axis=-1) - added, added, np.full(len(i), variance)


def _nearest(distance: np.ndarray, apart: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of each state with the nearest of those that count."""
    nearest = np.argsort(np.where(apart, distance, np.inf), axis=1)[:, :NEIGHBOURS]
    i, j = np.broadcast_to(np.arange(len(distance))[:, None], nearest.shape).ravel(), nearest.ravel()
    return i[apart[i, j]], j[apart[i, j]]


def _at_no_distance(distances: np.ndarray, differences: np.ndarray, trust: np.ndarray) -> float:
    """The line through squared differences over squared distances, at zero, less its standard error.

    Near pairs count most. What many pairs say of the same states counts once.
    """
    from scipy.optimize import nnls  # takes a third of a second to import

    weights = trust * np.sqrt(1 / (distances + np.median(distances) + np.finfo(float).tiny))
    line = np.stack([np.ones_like(distances), distances], axis=1)
    found = nnls(line * weights[:, None], differences * weights)[0]
    off = (differences - line @ found) * weights**2
    error = math.sqrt(2 * NEIGHBOURS * np.sum(off**2)) / np.sum(weights**2)
    return float(max(found[0] - error, 0.0))


def _transitions(data: Trajectories, e: int, scale: np.ndarray) -> tuple[np.ndarray, ...]:
    """Whole states of an environment, the rate of change to the next, the time between, and where they are."""
    rows = []
    for i in range(int(data.counts[e])):
        whole = np.flatnonzero(data.observed[e, i].all(axis=-1))
        x, t = data.states[e, i, whole] / scale, data.times[e, i, whole]
        gaps = np.diff(t)
        rows += [(x[k], (x[k + 1] - x[k]) / gaps[k], gaps[k], (i, k)) for k in range(len(gaps))]
    rows = rows[:: max(1, math.ceil(len(rows) / MOST_STATES))]
    if not rows:
        return np.zeros((0, len(scale))), np.zeros((0, len(scale))), np.zeros(0), np.zeros((0, 2))
    return tuple(np.array(part) for part in zip(*rows, strict=True))
