"""Data held out of training, to choose by: whole trajectories where there are several, else their ends."""

import dataclasses
from typing import Any

import numpy as np

from ..errors import InputError, expect
from . import _canonical
from .trajectories import Trajectories

FRACTION = 0.2
# Fewer trajectories or points than these are worth more as training data.
LEAST_TRAJECTORIES, LEAST_POINTS = 4, 15


def hold_out(
    data: Trajectories, how: str | float = "auto", *, warmup: int = 1
) -> tuple[Trajectories, Trajectories | None]:
    """Divide data into a part to learn from and a part to validate on; None where nothing is held out.

    **Arguments**

    - `how`: a fraction between 0 and 1: that share of each environment's trajectories, at least one, where every
      environment has two or more; else that share of the points at the end of each trajectory. `auto`: a fifth, if
      every environment has four trajectories or every trajectory has fifteen points, and otherwise nothing. `none`;
    - `warmup`: how many points a forecast is told, 5 for a model with hidden states or individual constants.

    Held-out ends are forecast from the first points of their trajectory, and only they count in the error.

    >>> data = Trajectories.from_arrays(range(20), np.zeros((2, 5, 20, 1)))
    >>> hold_out(data)
    (Trajectories(2 environments, 4 trajectories each, 20 times, channels x0),
     Trajectories(2 environments, 1 trajectory each, 20 times, channels x0))
    """
    expect("data", data, Trajectories, "leadax.load(FILE)")
    fraction = _fraction(how)
    several = int(data.counts.min()) >= (LEAST_TRAJECTORIES if how == "auto" else 2)
    if fraction is None:
        return data, None
    if several:
        return _trajectories(data, fraction)
    points = _canonical.observed_points(data.states).sum(axis=2)
    if how == "auto" and points[points > 0].min() < LEAST_POINTS:
        return data, None
    return _ends(data, fraction, warmup)


def _fraction(how: Any) -> float | None:
    """The share to hold out; None for nothing."""
    if how in ("auto", "none"):
        return FRACTION if how == "auto" else None
    try:
        fraction = float(how)
    except (TypeError, ValueError):
        fraction = float("nan")
    if not 0 < fraction < 1:
        raise InputError(f"what to hold out must be `auto`, `none` or a fraction between 0 and 1, got `{how}`")
    return fraction


def _trajectories(data: Trajectories, fraction: float) -> tuple[Trajectories, Trajectories]:
    # The last ones: the same for all environments, whose i-th trajectories may share their initial state.
    counts = [max(1, round(fraction * int(count))) for count in data.counts]
    for name, total, held in zip(data.environments, data.counts, counts, strict=True):
        if held >= total:
            raise InputError(
                f"holding out {fraction:.0%} of the trajectories leaves none of the {total} of environment `{name}` to "
                "learn from: hold out a smaller part"
            )
    kept = [range(int(total) - held) for total, held in zip(data.counts, counts, strict=True)]
    held = [range(int(total) - held, int(total)) for total, held in zip(data.counts, counts, strict=True)]
    return data.choose(kept), data.choose(held)


def shortened(warmup: int, points: int) -> int:
    """A warm-up that leaves at least half of a trajectory to forecast."""
    return max(1, min(warmup, points // 2))


def fewest_points(data: Trajectories) -> int:
    """How many points of the shortest trajectory were observed."""
    points = _canonical.observed_points(data.states).sum(axis=2)
    return int(points[points > 0].min())


def _ends(data: Trajectories, fraction: float, warmup: int) -> tuple[Trajectories, Trajectories]:
    """Training data up to some point of each trajectory; validation data with the start and what comes after it."""
    seen = _canonical.observed_points(data.states)
    counts = seen.sum(axis=2)
    kept = np.where(counts > 0, np.minimum(counts - 1, np.ceil((1 - fraction) * counts)), 0)
    if np.any((counts > 0) & (kept < 2)):
        e, i = np.argwhere((counts > 0) & (kept < 2))[0]
        if counts[e, i] <= 2:
            count = "two points" if counts[e, i] == 2 else "one point"
            raise InputError(f"{data.place(e, i)} has {count}, which cannot be divided: hold out other data")
        raise InputError(
            f"holding out the last {fraction:.0%} of each trajectory leaves one of the {counts[e, i]} points of "
            f"{data.place(e, i)} to learn from, and at least two are needed: hold out a smaller part, or other data"
        )
    cut = _canonical.observed_positions(data.states, kept[..., None])[..., 0]
    place = np.arange(data.times.shape[2])
    early = (place < cut[..., None]).reshape(*data.times.shape, *(1,) * len(data.state_shape))
    complete = data.observed.reshape(*data.times.shape, -1).all(axis=-1)
    told = np.cumsum(seen, axis=2) <= shortened(warmup, int(kept[counts > 0].min()))
    told |= place == np.argmax(complete, axis=2)[..., None]
    future = dataclasses.replace(data, states=np.where(early & ~told.reshape(early.shape), np.nan, data.states))
    return _past(data, place < cut[..., None]), future


def _past(data: Trajectories, early: np.ndarray) -> Trajectories:
    """What comes early. Inputs are filled in first: what they are at the cut depends on what is given after it."""
    data = data.with_inputs_filled()
    kept = lambda array: np.where(early.reshape(*early.shape, *(1,) * (array.ndim - 3)), array, np.nan)
    inputs = None if data.inputs is None else kept(data.inputs)
    return dataclasses.replace(data, times=kept(data.times), states=kept(data.states), inputs=inputs)


def folds(data: Trajectories, count: int = 3, *, warmup: int = 1) -> list[tuple[Trajectories, Trajectories]]:
    """Parts to learn from and to validate on, for cross-validation: each trajectory is in one validation part.

    Whole trajectories where every environment has two or more, in as many folds as the smallest environment has
    trajectories, `count` at the most; otherwise one fold, with the ends of trajectories held out, as by `hold_out`.

    >>> data = Trajectories.from_arrays(range(20), np.zeros((2, 5, 20, 1)))
    >>> [held for _, held in folds(data, 2)]
    [Trajectories(2 environments, 3 trajectories each, 20 times, channels x0),
     Trajectories(2 environments, 2 trajectories each, 20 times, channels x0)]
    """
    expect("data", data, Trajectories, "leadax.load(FILE)")
    if not isinstance(count, int) or isinstance(count, bool) or count < 2:
        raise InputError(f"cross-validation needs at least two folds, got {count!r}")
    fewest = int(data.counts.min())
    if fewest < 2:
        return [_ends(data, FRACTION, warmup)]
    count = min(count, fewest)
    part = lambda fold, inside: data.choose(
        [[i for i in range(n) if (i % count == fold) == inside] for n in data.counts]
    )
    return [(part(fold, False), part(fold, True)) for fold in range(count)]
