"""What data say about a vector field that is linear in its coefficients: one equation per interval between points."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.interpolate import CubicSpline

from ..data import Trajectories
from ..data.forcing import driving
from ..data.layout import Layout
from ..data.units import Units
from ..nets.polynomial import Region

SIGN = 0.1  # of the largest value: data that are negative by less have a sign
SMALL = 0.5  # of the largest value: data that come nearer to 0 are near to it

# A known part of the field at times, states and inputs, one row each.
Known = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class Formula(Protocol):
    """A known part of the field, which polynomials need not explain. All is in standard units, one row per point.

    - `left`: the size of the rates that it leaves to them.
    """

    left: float

    def rates(
        self, environments: np.ndarray, t: np.ndarray, x: np.ndarray, u: np.ndarray
    ) -> Float[np.ndarray, "row channel"]:
        """The rates of change at points of these environments."""
        ...

    def slopes(
        self, environments: np.ndarray, t: np.ndarray, x: np.ndarray, u: np.ndarray
    ) -> Float[np.ndarray, "row channel channel"]:
        """Their derivatives by the state."""
        ...


class Points(NamedTuple):
    """Data in standard units, as a field sees them.

    - `times`, `states`: NaN where there is nothing;
    - `first`, `last`: inputs at the start and the end of each interval; without an input their last axis is empty;
    - `impulses`: what is added to the state after each point;
    - `zero`: what is 0 in the units of the data, for each channel and input;
    - `place`: the environment that each trajectory is of; `formula`: what is known of the field, None for nothing.
    """

    times: Float[np.ndarray, "env traj time"]
    states: Float[np.ndarray, "env traj time channel"]
    first: Float[np.ndarray, "env traj interval input"]
    last: Float[np.ndarray, "env traj interval input"]
    impulses: Float[np.ndarray, "env traj time channel"]
    zero: Float[np.ndarray, " variable"]
    place: Int[np.ndarray, "env traj"]
    formula: Formula | None = None

    @classmethod
    def of(cls, data: Trajectories, units: Units, layout: Layout, formula: Formula | None = None) -> "Points":
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
        place = np.broadcast_to(np.arange(len(states))[:, None], states.shape[:2])
        return cls(data.times / units.time, states, first, last, impulses, zero, place, formula)

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
        kept = ("zero", "formula")
        return self._replace(**{name: change(array) for name, array in self._asdict().items() if name not in kept})

    @property
    def size(self) -> float:
        """Of the rates that there are to explain: in standard units those of the data have 1."""
        return 1.0 if self.formula is None else self.formula.left

    def known(self, place: Int[np.ndarray, " row"]) -> Known | None:
        """What is known of the field in the environments of some rows; None for nothing."""
        if self.formula is None:
            return None
        return partial(self.formula.rates, place)

    @property
    def complete(self) -> Bool[np.ndarray, "env traj time"]:
        """Where the whole state is known."""
        return np.isfinite(self.times) & np.isfinite(self.states).all(axis=-1)

    @property
    def amounts(self) -> Bool[np.ndarray, " channel"]:
        """Which channels are likely to be amounts: they come near to 0, and are not negative but for noise."""
        states = self.states[self.complete] - self.zero[: self.states.shape[-1]]
        low, high = states.min(axis=0), states.max(axis=0)
        return (high > 0) & (low > -SIGN * high) & (low < SMALL * high)

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


def equations(
    points: Points,
    of: Callable[[np.ndarray, np.ndarray], np.ndarray],
    region: Region,
    use: Bool[np.ndarray, "env traj time"],
) -> list[Equations]:
    """The equations of each environment.

    A change over an interval is the integral of the field along it: here of its terms along a cubic spline through the
    states, by Simpson's rule. Integrals need no derivatives of the data. An equation is divided by the root of its
    interval's length, as if what the terms cannot explain were a random walk.

    **Arguments**

    - `of`: the terms at states and inputs; `region`: which the spline is kept in;
    - `use`: at which points data may be used.
    """
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
    halfway = (first + last) / 2
    simpson = lambda at: (at(0, before, first) + 4 * at(0.5, middles, halfway) + at(1, after, last)) / 6
    gap = np.diff(times)[both]
    root = np.sqrt(gap)[:, None]
    changes = (after - before) / root
    if (known := points.known(np.full(len(gap), points.place[place]))) is not None:
        changes = changes - simpson(lambda part, x, u: known(times[:-1][both] + part * gap, x, u)) * root
    return simpson(lambda _, x, u: of(x, u)) * root, changes


def _middles(times: np.ndarray, states: np.ndarray, usable: np.ndarray, impulses: np.ndarray) -> np.ndarray:
    """The states in the middle of each interval: on a spline, or on lines where states jump or points are few."""
    before = states[:-1] + impulses[:-1]
    lines = (before + states[1:]) / 2
    if impulses.any() or usable.sum() < 4 or not (np.diff(times[usable]) > 0).all():
        return lines
    curve = CubicSpline(times[usable], states[usable])
    return np.where(np.isfinite(lines), curve((times[:-1] + times[1:]) / 2), lines)
