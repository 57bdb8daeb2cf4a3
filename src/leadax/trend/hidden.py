"""The linear laws that a single channel and a hidden one beside it begin at."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..data import Trajectories
from ..data.layout import Layout
from ..data.units import Units
from .fitting import UNSURE
from .intervals import Points
from .second_order import SecondOrder, Series, derivative, fastest_rate, forecast, second_order, series_of

AT_REST = 2.0  # times as much may be left by laws of amounts that come to rest at 0
LEAST_RATE = 1e-6
HIGHEST = 3.0  # of a hidden channel, half of the way to where forecasts are cut off
MOST_STEPS = 16  # of the solver in a median interval
STEADY = 2.0  # how often the fastest part of a law may fall to 1/e in a step; beyond 2.8 the solver is not stable


class HiddenLaw(NamedTuple):
    """Linear laws of a channel x and a hidden one h, the rate of change of x where it is of size one.

    - `common`, `own`, `alone`, `pooled`: as in `leadax.trend.Trend`;
    - `states`: x and h at all points; `finer`: steps that a solver should take in a median interval;
    - `left`: the root mean square of what the laws leave; `rest`: the same, beyond the noise.
    """

    common: Float[np.ndarray, "term channel"]
    own: Float[np.ndarray, "env term channel"]
    alone: Float[np.ndarray, "env term channel"]
    pooled: Float[np.ndarray, "term channel"]
    states: Float[np.ndarray, "env traj time channel"]
    finer: int
    left: float
    rest: float


def hidden_law(data: Trajectories, units: Units, layout: Layout) -> HiddenLaw | None:
    """The laws that a channel and a hidden one begin at; None where several are observed or hidden, or inputs act."""
    if layout.hidden != 1 or not is_one_channel(data, layout):
        return None
    points = Points.of(data, units, layout)
    series = series_of(points, points.complete)
    if not series:
        return None
    count = len(points.times)
    law = linear_law(points, series)
    rate, states = _states(points, series, law)
    # Covariates have no part in it.
    field = lambda numbers: np.pad(_coefficients(numbers, rate), ((0, layout.seen), (0, 0)))
    alone = [_alone(points, [each for each in series if each.environment == e], law) for e in range(count)]
    pooled = second_order(series, count, rest=law.known_rest, share=False, fastest=law.fastest)
    common = field(law.common)
    own = np.stack([field(law.of(e)) - common for e in range(count)])
    beyond = max(law.left - (UNSURE * (layout.noise or (0.0,))[0]) ** 2, 0.0)
    every = (*alone, pooled.common, *(law.of(e) for e in range(count)))
    finer = _steps(max(map(fastest_rate, every)) * points.median_gap)
    left, rest = float(np.sqrt(law.left)), float(np.sqrt(beyond))
    return HiddenLaw(common, own, np.stack([field(n) for n in alone]), field(pooled.common), states, finer, left, rest)


def _steps(rate: float) -> int:
    """How many steps a solver should take in a median interval, for so many times 1/e in it."""
    return int(np.clip(np.ceil(rate), 1, MOST_STEPS))


def is_one_channel(data: Trajectories, layout: Layout) -> bool:
    """Whether such laws are possible: nothing else is observed, acts from outside, or is individual."""
    return not (data.space or len(layout.channels) > 1 or layout.individual or layout.inputs)


def linear_law(points: Points, series: list[Series]) -> SecondOrder:
    """The law of all environments; amounts come to rest at 0, unless that leaves clearly more, or swings around it."""
    fastest = STEADY * MOST_STEPS / points.median_gap
    free = second_order(series, len(points.times), fastest=fastest)
    if not points.amounts[0]:
        return free
    bound = second_order(series, len(points.times), rest=float(points.zero[0]), fastest=fastest)
    return bound if bound.left < AT_REST * free.left and not bound.swings else free


def _alone(points: Points, series: list[Series], law: SecondOrder) -> Float[np.ndarray, " number"]:
    """The numbers of an environment that knows nothing of the others; theirs where it has no data."""
    if not series:
        return law.common
    own = [each._replace(environment=0) for each in series]
    return second_order(own, 1, rest=law.known_rest, fastest=law.fastest).of(0)


def _states(points: Points, series: list[Series], law: SecondOrder) -> tuple[float, Float[np.ndarray, "..."]]:
    """The unit of h, and x and h along the curves of a law, which wait for their first point."""
    states = np.zeros((*points.times.shape, 2))
    places = np.argwhere(points.complete.sum(axis=2) > 1)
    for (e, i), each, start in zip(places, series, law.starts, strict=True):
        numbers, here = law.of(each.environment), np.isfinite(points.times[e, i])
        times = np.maximum(points.times[e, i, here] - points.times[e, i][points.complete[e, i]][0], 0.0)
        states[e, i, here] = np.stack([forecast(numbers, start, times), derivative(numbers, start, times)], axis=1)
    seen = states[points.complete][:, 1]
    rate = max(float(np.sqrt(np.mean(seen**2))), float(np.abs(seen).max()) / HIGHEST, LEAST_RATE)
    return rate, states / np.array([1.0, rate])


def _coefficients(numbers: Float[np.ndarray, " number"], rate: float) -> Float[np.ndarray, "term channel"]:
    """x' = r h and h' = (a (x* − x) − c r h)/r, as coefficients of 1, x and h."""
    a, c, rest = np.exp(numbers[0]), np.exp(numbers[1]), numbers[2]
    return np.array([[0.0, a * rest / rate], [0.0, -a / rate], [rate, -c]])
