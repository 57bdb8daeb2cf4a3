"""Coefficients made exact: equations along the flow of a polynomial field itself, in place of a spline."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ..nets.polynomial import Region, Zero, count_of, degrees_of, features
from .basis import monomials, multiples
from .intervals import Equations, Known, Points, equations, with_constant
from .regression import Coefficients, regression

ROUNDS = 6
GAIN = 0.99
# The stages of the classical Runge–Kutta method: how far each looks ahead, and its weight.
AHEAD, WEIGHTS = (0.0, 0.5, 0.5, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6)
LARGEST = 1e3  # standard units


class Law(NamedTuple):
    """What kind of polynomial field is fitted: its degree, where it is curved, and the longest step of its solver.

    - `raw`: whether it is monomials in the units of the data that are likely to be few; otherwise the terms of a net;
    - `zero`: adds signed squares (`leadax.nets.polynomial.features`); None for none;
    - `own`: the highest degree of terms in which environments differ; None for that of the law;
    - `vanishing`: of each channel, whether its rate is the channel itself times a polynomial of one degree less, as it
      is for what grows in proportion to itself.
    """

    degree: int
    region: Region
    longest: float
    raw: bool = False
    zero: Zero | None = None
    own: int | None = None
    vanishing: tuple[bool, ...] = ()

    def basis(self, points: Points) -> Float[np.ndarray, "channel term coefficient"]:
        """From the coefficients of each channel that are likely to be few to those of the terms of a net."""
        every, channels = 1 + count_of(len(points.zero), self.degree, self.zero), points.states.shape[-1]
        basis = np.tile(np.eye(every), (channels, 1, 1))
        if self.raw:
            found = monomials(points.region, points.zero, self.degree)
            basis[:, : len(found), : len(found)] = found
        for c in np.flatnonzero(self.vanishing):
            found = multiples(points.region, points.zero, self.degree, int(c))
            basis[c] = 0.0
            basis[c, : len(found), : found.shape[1]] = found
        return basis

    def differ(self, points: Points) -> Bool[np.ndarray, " term"]:
        """In which terms environments may differ, the constant one first."""
        degrees = degrees_of(len(points.zero), self.degree, self.zero)
        return np.array([True, *(degree <= (self.own or self.degree) for degree in degrees)])

    def present(self, points: Points) -> Bool[np.ndarray, "coefficient channel"]:
        """Which coefficients the rate of each channel has."""
        return np.any(self.basis(points) != 0, axis=1).T

    def terms(self, x: Float[np.ndarray, "*shape channel"], u: Float[np.ndarray, "*shape input"]) -> np.ndarray:
        """The terms of the field at states and inputs, the constant one first."""
        return with_constant(features(np.concatenate([x, u], axis=-1), self.degree, self.region, self.zero))

    def steps(self, gaps: np.ndarray) -> int:
        """How many steps the longest of these intervals takes."""
        return max(1, int(np.ceil(np.max(gaps, initial=0.0) / self.longest - 1e-6)))


class Fitted(NamedTuple):
    """Coefficients, and the root mean square of the rates that they leave unexplained, per channel."""

    coefficients: Coefficients
    rest: float


def fitted(points: Points, law: Law, use: Bool[np.ndarray, "env traj time"]) -> Fitted:
    """Coefficients with which each point leads to the next as exactly as they can.

    They begin with the equations along a spline, which is not quite the path that a field takes between two points.
    Then the path is the one that the solver takes, by the method of Runge and Kutta, and its equations are solved again
    and again (Gauss–Newton), until that gains nothing.

    **Arguments**

    - `use`: at which points data may be used.
    """
    about = law.basis(points), law.differ(points), law.present(points)
    found = regression(equations(points, law.terms, law.region, use), *about)
    best, lowest = found, np.inf
    for _ in range(ROUNDS):
        along, rest = _along_flow(points, law, use, found)
        if not rest < GAIN * lowest:
            break
        best, lowest = found, rest
        found = regression(along, *about)
    return Fitted(best, lowest)


def _along_flow(
    points: Points, law: Law, use: Bool[np.ndarray, "env traj time"], found: Coefficients
) -> tuple[list[Equations], float]:
    """The equations of each environment, linearised about a field, and the size of the rates it leaves unexplained."""
    usable = use & points.complete
    gaps = np.diff(points.times, axis=2)
    both = usable[:, :, 1:] & usable[:, :, :-1] & (gaps > 0)
    along, rests = [], []
    for e in range(len(points.times)):
        here, whole = both[e], found.of(e)
        gap = gaps[e][here][:, None]
        begin = (points.states[e, :, :-1] + points.impulses[e, :, :-1])[here]
        inputs = points.first[e][here], points.last[e][here]
        times, place = points.times[e, :, :-1][here], np.nonzero(here)[0]
        known = points.known(points.place[e][place])
        end, terms = flow(law.terms, whole, begin, inputs, gap, law.steps(gap), times, known)
        miss = points.states[e, :, 1:][here] - end
        along.append(Equations(terms / np.sqrt(gap), (miss + terms @ whole) / np.sqrt(gap)))
        rests.append(miss / gap)
    every = np.concatenate(rests)
    return along, float(np.sqrt(np.mean(every**2))) if every.size else np.inf


def flow(
    of: Callable[[np.ndarray, np.ndarray], np.ndarray],
    coefficients: Float[np.ndarray, "*interval term channel"],
    x: Float[np.ndarray, "interval channel"],
    inputs: Sequence[Float[np.ndarray, "interval input"]],
    gap: Float[np.ndarray, "interval 1"],
    steps: int,
    times: Float[np.ndarray, " interval"],
    known: Known | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The states at the ends of intervals, and the integrals of the terms along the way.

    - `times`: at which intervals begin; `known`: what is added to the field, None for nothing.
    """
    first, last = inputs
    h, integrals = gap / steps, np.zeros((len(x), coefficients.shape[-2]))
    for k in range(steps):
        stage, slopes = x, np.zeros_like(x)
        total = np.zeros_like(x)
        for ahead, weight in zip(AHEAD, WEIGHTS, strict=True):
            stage = x + ahead * h * slopes
            u = first + (last - first) * (k + ahead) / steps
            terms = of(stage, u)
            slopes = (terms[:, None] @ coefficients)[:, 0]
            if known is not None:
                slopes = slopes + known(times + (k + ahead) * h[:, 0], stage, u)
            total, integrals = total + weight * slopes, integrals + weight * h * terms
        x = np.clip(x + h * total, -LARGEST, LARGEST)
    return x, integrals
