"""Whether a single channel needs a hidden one beside it, and the linear laws that both begin at."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..data import Trajectories
from ..data.layout import Layout
from ..data.units import Units
from .fitting import UNSURE
from .intervals import Points
from .second_order import SecondOrder, Series, derivative, forecast, second_order, series_of

MUCH = 0.5  # of what a law of second order leaves unexplained: turns that are smaller may be chance
RARELY = 1e-3  # how often chance alone may make turns so large
BEYOND_NOISE = 10.0  # times its variance: turns of the data themselves that are larger are none of the noise
LEAST_TURNS = 0.01  # of the variance of the data
MOST = 300  # trajectories that are looked at
FEWEST = 4  # points of a trajectory, on average, below which turns tell nothing
CLEARLY = 2.0  # times as much may be left by laws of amounts that come to rest at 0
LEAST_RATE = 1e-6


def needs_hidden(data: Trajectories, units: Units, layout: Layout) -> bool:
    """Whether what is observed rises and falls where the law of a single channel cannot.

    With one channel, each state has one rate of change, so that every trajectory of a field rises all the time or falls
    all the time. What is left of the data after the nearest curves that do not turn is compared with their noise. Of
    few points the noise is not known well. So linear laws of second order, which may turn, are fitted to whole
    trajectories, and the turns of their curves are compared with what they leave (F-test).

    Of several channels, and where inputs act on them, nothing is said.

    >>> t = np.linspace(0, 6, 20)
    >>> curves = [np.exp(-0.5 * t) - np.exp(-rate * t) for rate in (2.0, 3.0)]
    >>> rising = [1 - np.exp(-rate * t) for rate in (2.0, 3.0)]
    >>> found = []
    >>> for each in (curves, rising):
    ...     data = Trajectories.from_arrays(t, np.stack(each)[:, None, :, None])
    ...     found.append(needs_hidden(data, Units.measured(data), Layout(("x0",))))
    >>> found
    [True, False]
    """
    if not _is_one_channel(data, layout):
        return False
    points = Points.of(data, units, layout)
    series = series_of(points, points.complete)
    if not series or np.mean([len(each.times) for each in series]) < FEWEST:
        return False
    series = series[:: -(-len(series) // MOST)]
    noise = 0.0 if layout.noise is None else layout.noise[0]
    seen = float(np.mean(np.concatenate([turns(each.values) for each in series]) ** 2))
    return seen > max(BEYOND_NOISE * noise**2, LEAST_TURNS) or _law_turns(series, _law(points, series))


def turns(curve: Float[np.ndarray, " point"]) -> Float[np.ndarray, " point"]:
    """What is left of a curve after the nearest one that only rises or only falls: no field can explain it."""
    from scipy.optimize import isotonic_regression

    left = [curve - isotonic_regression(curve, increasing=up).x for up in (True, False)]
    return min(left, key=lambda each: float(np.sum(each**2)))


def _law_turns(series: list[Series], law: SecondOrder) -> bool:
    """Whether the curves of a law turn by more than can be chance, given what the law leaves."""
    from scipy.stats import f  # takes half a second to import

    curves = [
        forecast(law.of(each.environment), start, each.times) for each, start in zip(series, law.starts, strict=True)
    ]
    turned = sum(float(np.sum(turns(curve) ** 2)) for curve in curves)
    left = sum(float(np.sum((curve - each.values) ** 2)) for curve, each in zip(curves, series, strict=True))
    # A start has one number more than that of a field.
    more = len(series) + 1
    rest = max(sum(map(len, curves)) - 2 * len(series) - 3, 1)
    ratio = (turned / more) / max(left / rest, np.finfo(float).tiny)
    return turned > MUCH * left and float(f.sf(ratio, more, rest)) < RARELY


class HiddenLaw(NamedTuple):
    """Linear laws of a channel x and a hidden one h, the rate of change of x where it is of size one.

    - `common`, `own`, `alone`, `pooled`: as in `leadax.trend.Trend`;
    - `states`: x and h at all points; `left`: the root mean square of what the laws leave; `rest`: the same, beyond
      the noise.
    """

    common: Float[np.ndarray, "term channel"]
    own: Float[np.ndarray, "env term channel"]
    alone: Float[np.ndarray, "env term channel"]
    pooled: Float[np.ndarray, "term channel"]
    states: Float[np.ndarray, "env traj time channel"]
    left: float
    rest: float


def hidden_law(data: Trajectories, units: Units, layout: Layout) -> HiddenLaw | None:
    """The laws that a channel and a hidden one begin at; None where several are observed or hidden, or inputs act."""
    if layout.hidden != 1 or not _is_one_channel(data, layout):
        return None
    points = Points.of(data, units, layout)
    series = series_of(points, points.complete)
    if not series:
        return None
    count = len(points.times)
    law = _law(points, series)
    rate, states = _states(points, series, law)
    # Covariates have no part in it.
    field = lambda numbers: np.pad(_coefficients(numbers, rate), ((0, layout.seen), (0, 0)))
    alone = [_alone(points, [each for each in series if each.environment == e], law) for e in range(count)]
    pooled = second_order(series, count, rest=law.known_rest, share=False)
    common = field(law.common)
    own = np.stack([field(law.of(e)) - common for e in range(count)])
    beyond = max(law.left - (UNSURE * (layout.noise or (0.0,))[0]) ** 2, 0.0)
    left, rest = float(np.sqrt(law.left)), float(np.sqrt(beyond))
    return HiddenLaw(common, own, np.stack([field(n) for n in alone]), field(pooled.common), states, left, rest)


def _is_one_channel(data: Trajectories, layout: Layout) -> bool:
    return not (data.space or len(layout.channels) > 1 or layout.individual or layout.inputs)


def _law(points: Points, series: list[Series]) -> SecondOrder:
    """The law of all environments; amounts come to rest at 0, unless that leaves clearly more, or swings around it."""
    free = second_order(series, len(points.times))
    if not points.amounts[0]:
        return free
    bound = second_order(series, len(points.times), rest=float(points.zero[0]))
    return bound if bound.left < CLEARLY * free.left and not bound.swings else free


def _alone(points: Points, series: list[Series], law: SecondOrder) -> Float[np.ndarray, " number"]:
    """The numbers of an environment that knows nothing of the others; theirs where it has no data."""
    if not series:
        return law.common
    own = [each._replace(environment=0) for each in series]
    return second_order(own, 1, rest=law.known_rest).of(0)


def _states(points: Points, series: list[Series], law: SecondOrder) -> tuple[float, Float[np.ndarray, "..."]]:
    """The size of rates of change, and x and h along the curves of a law; 0 where there is no time."""
    states = np.zeros((*points.times.shape, 2))
    places = np.argwhere(points.complete.sum(axis=2) > 1)
    for (e, i), each, start in zip(places, series, law.starts, strict=True):
        numbers, here = law.of(each.environment), np.isfinite(points.times[e, i])
        times = points.times[e, i, here] - points.times[e, i][points.complete[e, i]][0]
        states[e, i, here] = np.stack([forecast(numbers, start, times), derivative(numbers, start, times)], axis=1)
    seen = states[points.complete][:, 1]
    rate = max(float(np.sqrt(np.mean(seen**2))), LEAST_RATE)
    return rate, states / np.array([1.0, rate])


def _coefficients(numbers: Float[np.ndarray, " number"], rate: float) -> Float[np.ndarray, "term channel"]:
    """x' = r h and h' = (a (x* − x) − c r h)/r, as coefficients of 1, x and h."""
    a, c, rest = np.exp(numbers[0]), np.exp(numbers[1]), numbers[2]
    return np.array([[0.0, a * rest / rate], [0.0, -a / rate], [rate, -c]])
