"""What data say about a vector field that is linear in its coefficients: one equation per interval between points."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.interpolate import CubicSpline

from ..data import Trajectories
from ..data.forcing import driving
from ..data.layout import Layout
from ..data.units import Units
from ..nets.polynomial import Region, features


class Points(NamedTuple):
    """Data in standard units, as a field sees them.

    - `times`, `states`: NaN where there is nothing;
    - `first`, `last`: inputs at the start and the end of each interval; without an input their last axis is empty;
    - `impulses`: what is added to the state after each point;
    - `zero`: what is 0 in the units of the data, for each channel and input.
    """

    times: Float[np.ndarray, "env traj time"]
    states: Float[np.ndarray, "env traj time channel"]
    first: Float[np.ndarray, "env traj interval input"]
    last: Float[np.ndarray, "env traj interval input"]
    impulses: Float[np.ndarray, "env traj time channel"]
    zero: Float[np.ndarray, " variable"]

    @classmethod
    def of(cls, data: Trajectories, units: Units, layout: Layout) -> "Points":
        """The points of a data set."""
        states = units.standard(data.states)
        found = driving(data, units, layout)
        forcing = None if found is None else found.forcing()
        nothing = np.zeros((*data.times.shape[:2], data.times.shape[2] - 1, 0))
        if forcing is None or forcing.first is None or forcing.last is None:
            first = last = nothing
        else:
            first, last = forcing.first, forcing.last
        impulses = np.zeros_like(states) if forcing is None or forcing.impulses is None else forcing.impulses
        means, scales = (*units.mean, *units.input_mean), (*units.scale, *units.input_scale)
        zero = -np.asarray(means) / np.asarray(scales)
        return cls(data.times / units.time, states, first, last, impulses, zero)

    @property
    def median_gap(self) -> float:
        """The median interval between neighbouring points."""
        gaps = np.diff(self.times, axis=2)
        gaps = gaps[np.isfinite(gaps) & (gaps > 0)]
        return float(np.median(gaps)) if gaps.size else 1.0

    def of_environment(self, e: int) -> "Points":
        """The points of one environment."""
        return self._each(lambda array: array[[e]])

    def as_one(self) -> "Points":
        """The same points, as if all environments were one."""
        return self._each(lambda array: array.reshape(1, math.prod(array.shape[:2]), *array.shape[2:]))

    def _each(self, change: Callable[[np.ndarray], np.ndarray]) -> "Points":
        """The points with a change to all that belongs to environments."""
        return self._replace(**{name: change(array) for name, array in self._asdict().items() if name != "zero"})

    @property
    def complete(self) -> Bool[np.ndarray, "env traj time"]:
        """Where the whole state is known."""
        return np.isfinite(self.times) & np.isfinite(self.states).all(axis=-1)

    @property
    def region(self) -> Region:
        """The lowest and the highest value of each channel and input."""
        states = self.states[self.complete]
        inputs = np.moveaxis(np.stack([self.first, self.last]), -1, 0)
        low = [*states.min(axis=0), *(np.nanmin(values) for values in inputs)]
        high = [*states.max(axis=0), *(np.nanmax(values) for values in inputs)]
        return tuple(float(v) for v in low), tuple(float(v) for v in high)


class Equations(NamedTuple):
    """Equations `terms` · coefficients = `changes` of one environment; the first term is the constant one."""

    terms: Float[np.ndarray, "interval term"]
    changes: Float[np.ndarray, "interval channel"]


def equations(points: Points, degree: int, region: Region, use: Bool[np.ndarray, "env traj time"]) -> list[Equations]:
    """The equations of each environment.

    A change over an interval is the integral of the field along it: here of its terms along a cubic spline through the
    states, by Simpson's rule. Integrals need no derivatives of the data. An equation is divided by the root of its
    interval's length, as if what the terms cannot explain were a random walk.

    **Arguments**

    - `use`: at which points data may be used.
    """
    of = lambda x, u: with_constant(features(np.concatenate([x, u], axis=-1), degree, region))
    found = []
    for e in range(len(points.times)):
        parts = [_along(points, (e, i), use[e, i] & points.complete[e, i], of, region) for i in range(use.shape[1])]
        found.append(Equations(*(np.concatenate(columns) for columns in zip(*parts, strict=True))))
    return found


def with_constant(terms: Float[np.ndarray, "*shape term"]) -> Float[np.ndarray, "*shape one_more"]:
    """A term that is always 1, then the others."""
    return np.concatenate([np.ones((*terms.shape[:-1], 1)), terms], axis=-1)


def _along(
    points: Points, place: tuple[int, int], usable: np.ndarray, of: Callable[..., np.ndarray], region: Region
) -> Sequence[np.ndarray]:
    """Both sides of the equations of one trajectory."""
    times, states, impulses = points.times[place], points.states[place], points.impulses[place]
    both = usable[1:] & usable[:-1] & (np.diff(times) > 0)
    channels = states.shape[-1]
    low, high = (np.asarray(side[:channels]) for side in region)
    middles = np.clip(_middles(times, states, usable, impulses), low, high)[both]
    before, after = (states[:-1] + impulses[:-1])[both], states[1:][both]
    first, last = points.first[place][both], points.last[place][both]
    mean = (of(before, first) + 4 * of(middles, (first + last) / 2) + of(after, last)) / 6
    root = np.sqrt(np.diff(times)[both])[:, None]
    return mean * root, (after - before) / root


def _middles(times: np.ndarray, states: np.ndarray, usable: np.ndarray, impulses: np.ndarray) -> np.ndarray:
    """The states in the middle of each interval: on a spline, or on lines where states jump or points are few."""
    before = states[:-1] + impulses[:-1]
    lines = (before + states[1:]) / 2
    if impulses.any() or usable.sum() < 4 or not (np.diff(times[usable]) > 0).all():
        return lines
    curve = CubicSpline(times[usable], states[usable])
    return np.where(np.isfinite(lines), curve((times[:-1] + times[1:]) / 2), lines)
