"""The training data of one environment as plain arrays, and what acts on trajectories from outside."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ..data import Trajectories
from ..data.batch import Batch, to_batch
from ..data.forcing import Forcing
from ..data.layout import HIDDEN, IMPULSE, Layout
from ..data.units import Units


class Outside(NamedTuple):
    """What acts on trajectories from outside, in standard units; without inputs their last axis is empty.

    - `first`, `last`: inputs at the start and the end of each interval; `impulses`: what is added after each point.
    """

    first: Float[np.ndarray, "*batch interval input"]
    last: Float[np.ndarray, "*batch interval input"]
    impulses: Float[np.ndarray, "*batch time value"]

    def of(self, which: int | tuple) -> "Outside":
        """What acts on some of the trajectories."""
        return Outside(*(array[which] for array in self))


class Course(NamedTuple):
    """One trajectory at the points where every value is known.

    - `pushed`: the integrals of the inputs from its start on; `given`: the sum of the impulses before each point.
    """

    times: Float[np.ndarray, " point"]
    states: Float[np.ndarray, "point value"]
    pushed: Float[np.ndarray, "point input"]
    given: Float[np.ndarray, "point value"]


class History:
    """The training data of one environment, one row per trajectory; a state is one row of values.

    - `times`: since the start of each trajectory; `states`; `observed`: which of them are known; `outside`.
    """

    times: Float[np.ndarray, "traj time"]
    states: Float[np.ndarray, "traj time value"]
    observed: Bool[np.ndarray, "traj time value"]
    outside: Outside

    def __init__(self, batch: Batch, environment: int):
        self.times = np.asarray(batch.times)[environment].astype(float)
        rows = lambda array: np.asarray(array)[environment].reshape(*self.times.shape, -1)
        self.states, self.observed = rows(batch.states).astype(float), rows(batch.observed)
        self.outside = outside(batch).of(environment)

    @property
    def mean(self) -> Float[np.ndarray, " value"]:
        """The mean of each value."""
        total = np.maximum(self.observed.sum(axis=(0, 1)), 1)
        return np.where(self.observed, self.states, 0.0).sum(axis=(0, 1)) / total

    @property
    def whole(self) -> list[Course]:
        """Each trajectory at the points where every value is known."""
        first, last, impulses = self.outside
        gaps = np.diff(self.times, axis=1)[..., None]
        total = lambda steps: np.cumsum(np.concatenate([np.zeros_like(steps[:, :1]), steps], axis=1), axis=1)
        along = self.times, self.states, total(gaps * (first + last) / 2), total(impulses[:, :-1])
        complete = np.asarray(self.observed.all(axis=-1))
        return [Course(*(np.asarray(array[i][c]) for array in along)) for i, c in enumerate(complete) if np.any(c)]


def acting(data: Trajectories) -> tuple[Trajectories, Layout]:
    """The data without what acts on states that nobody observes, and the layout of the rest."""
    kinds = [kind.removeprefix(IMPULSE) for kind in data.input_kinds]
    kept = [i for i, kind in enumerate(kinds) if not HIDDEN.fullmatch(kind) and not data.space]
    if len(kept) < len(kinds):
        names, kinds = (tuple(each[i] for i in kept) for each in (data.input_names, data.input_kinds))
        inputs = None if data.inputs is None or not kept else data.inputs[..., kept]
        data = replace(data, inputs=inputs, input_names=names, input_kinds=kinds)
    return data, Layout(data.channels, inputs=data.input_names, kinds=data.input_kinds)


def with_whole_starts(data: Trajectories) -> Trajectories | None:
    """The trajectories with a whole state before their last point; None where an environment has none of these.

    Others can be learnt from where starts are inferred. A simple forecast needs a state to begin at.
    """
    complete = data.observed.reshape(*data.times.shape, -1).all(axis=-1)
    before_last = np.arange(data.times.shape[2]) < data.lengths[..., None] - 1
    usable = (complete & before_last).any(axis=2)
    if usable.any(axis=1).all():
        return data if usable[data.lengths > 0].all() else data.choose([np.flatnonzero(row).tolist() for row in usable])
    return None


def to_history(data: Trajectories, units: Units, layout: Layout) -> Batch:
    """The arrays of a data set, with what acts on them in place of a solver's steps."""
    return to_batch(data, units, np.float32, lambda times, begin, forcing: forcing, layout)


def outside(batch: Batch) -> Outside:
    """What acts on the trajectories of a batch by `to_history`."""
    forcing: Forcing = batch.steps or Forcing()
    rows = (*batch.times.shape[:2], batch.times.shape[2] - 1)
    first, last = (np.zeros((*rows, 0)) if side is None else side for side in (forcing.first, forcing.last))
    states = np.asarray(batch.states)
    impulses = np.zeros(states.shape) if forcing.impulses is None else forcing.impulses
    # Nothing acts where times are padded; there inputs are missing.
    return Outside(*map(np.nan_to_num, (first, last, impulses.reshape(*batch.times.shape, -1))))
