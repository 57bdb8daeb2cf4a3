"""Linear laws of second order for a single channel, which may rise and fall where a field of the channel cannot."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from .effects import Normal, Widths, effects
from .intervals import Points

ROUNDS = 40  # of Gauss and Newton
INNER = 5  # of expectation maximisation in each of them
HALVINGS = 4
ENOUGH = 1e-4  # a round that lowers what is left by a smaller part is the last
RATES = np.geomspace(0.03, 10.0, 10)  # per unit of time, of the laws that a search begins with
MOST = 50  # trajectories that these are compared on
WIDE = 3.0  # of the prior of starts: states and rates of change have size one in standard units
STEP = 1e-5  # of differences
LEAST_LEFT = 1e-8
FARTHEST = np.array([[-9.0, -6.0, -10.0], [6.0, 4.0, 10.0]])  # numbers beyond which nothing is looked for


class Series(NamedTuple):
    """One trajectory: its environment and its points, with times from the first of them on."""

    environment: int
    times: Float[np.ndarray, " point"]
    values: Float[np.ndarray, " point"]


class SecondOrder(NamedTuple):
    """$x'' = a (x^* - x) - c x'$, with $a, c > 0$, so that everything comes to rest.

    - `common`: the middle of log a, log c and x*; `own`: what is to be added in each environment;
    - `starts`: x and x' at the first point of each trajectory;
    - `left`: the variance of what is unexplained; `known_rest`, `fastest`: as they were given.
    """

    common: Float[np.ndarray, " number"]
    own: Float[np.ndarray, "env number"]
    starts: Float[np.ndarray, "series 2"]
    left: float
    known_rest: float | None = None
    fastest: float = np.inf

    @property
    def swings(self) -> bool:
        """Whether some environment goes on to the other side of x*, again and again."""
        log_a, log_c, _ = (self.common + self.own).T
        return bool(np.any(2 * log_c < log_a + np.log(4)))

    def of(self, environment: int) -> Float[np.ndarray, " number"]:
        """The numbers of one environment."""
        return self.common + self.own[environment]


def series_of(points: Points, use: Bool[np.ndarray, "env traj time"]) -> list[Series]:
    """The trajectories of a single channel that have two points or more."""
    found = []
    for e, i in np.argwhere((use & points.complete).sum(axis=2) > 1):
        here = (use & points.complete)[e, i]
        times = points.times[e, i, here]
        found.append(Series(int(e), times - times[0], points.states[e, i, here, 0]))
    return found


def responses(
    numbers: Float[np.ndarray, " number"], times: Float[np.ndarray, " point"]
) -> Float[np.ndarray, "point 2"]:
    """What is left of a displacement of one from x*, and what has become of a rate of change of one, after some time.

    >>> spring = np.array([0.0, -40.0, 0.0])
    >>> (responses(spring, np.array([0.0, np.pi / 2])).round(4) + 0.0).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    a, half = np.exp(numbers[0]), np.exp(numbers[1]) / 2
    root = np.sqrt(complex(half**2 - a))
    root = root if abs(root) > 1e-6 else complex(1e-6)
    slow, fast = np.exp((root - half) * times), np.exp(-(root + half) * times)
    pushed = (slow - fast) / (2 * root)
    return np.stack([np.real((slow + fast) / 2 + half * pushed), np.real(pushed)], axis=1)


def fastest_rate(numbers: Float[np.ndarray, " number"]) -> float:
    """How often a second the fastest part of a law falls to 1/e, or turns by a radian.

    >>> round(fastest_rate(np.array([np.log(6.0), np.log(5.0), 0.0])), 6)  # two rates: 2 and 3
    3.0
    """
    half, a = np.exp(numbers[1]) / 2, np.exp(numbers[0])
    return float(np.abs(half + np.sqrt(complex(half**2 - a))))


def forecast(numbers: np.ndarray, start: np.ndarray, times: np.ndarray) -> Float[np.ndarray, " point"]:
    """x at some times after the start."""
    rest = numbers[2]
    return rest + responses(numbers, times) @ (start - np.array([rest, 0.0]))


def derivative(numbers: np.ndarray, start: np.ndarray, times: np.ndarray) -> Float[np.ndarray, " point"]:
    """x' at some times after the start."""
    a, c = np.exp(numbers[:2])
    displaced, pushed = responses(numbers, times).T
    return -a * pushed * (start[0] - numbers[2]) + (displaced - c * pushed) * start[1]


def second_order(
    series: Sequence[Series],
    environments: int,
    *,
    rest: float | None = None,
    share: bool = True,
    fastest: float = np.inf,
) -> SecondOrder:
    """The law of each environment, and the starts of its trajectories, with which forecasts come nearest to the data.

    Numbers have a part in common and one of each environment, under the priors of `leadax.trend.effects`; equations are
    linearised and solved again and again (Gauss–Newton). The search begins at the best of a number of laws.

    **Arguments**

    - `rest`: x*, if it is known; `share`: whether environments may differ;
    - `fastest`: the rate beyond which nothing is looked for.
    """
    some = series[:: -(-len(series) // MOST)]
    low, high = FARTHEST[0], np.minimum(FARTHEST[1], [2 * np.log(fastest), np.log(fastest), np.inf])
    slow = (numbers for numbers in _beginnings(rest) if np.all(numbers <= high))
    common = min(slow, key=lambda numbers: _left(some, [numbers] * environments))
    own, left = np.zeros((environments, 3)), _left(series, [common] * environments)
    present = np.array([True, True, rest is None])
    # A rest point of each environment would be the last value seen there.
    differ = np.array([True, True, False]) & share
    widths = Widths.wide(differ, present, variance=max(left, LEAST_LEFT))
    for _ in range(ROUNDS):
        normal = _normal(series, common + own, present, widths.variance)
        found = effects(normal, widths, INNER)
        aim = np.where(present, found.common, common), np.where(differ, found.own, 0.0)
        better = _searched(series, (common, own), aim, left, (low, high))
        if better is None:
            break
        before, (common, own, left), widths = left, better, found.widths
        if left > (1 - ENOUGH) * before:
            break
    starts = [_start(each, (common + own)[each.environment], widths.variance) for each in series]
    return SecondOrder(common, own, np.array(starts), widths.variance, rest, fastest)


def _beginnings(rest: float | None) -> list[np.ndarray]:
    """Laws with two rates, or one that swings."""
    points = (rest,) if rest is not None else (-2.0, -1.0, 0.0, 1.0)
    damped = [(np.log(p * q), np.log(p + q)) for k, p in enumerate(RATES) for q in RATES[: k + 1]]
    swinging = [(2 * np.log(w), np.log(2 * z * w)) for w in RATES for z in (0.05, 0.3)]
    return [np.array([*pair, x]) for pair in (*damped, *swinging) for x in points]


def _searched(series: Sequence[Series], now: tuple, aim: tuple, left: float, bounds: tuple) -> tuple | None:
    """The numbers aimed at, or half of the way there, a quarter, …, whichever leaves less than before first."""
    for halving in range(HALVINGS + 1):
        common, own = (old + 0.5**halving * (new - old) for old, new in zip(now, aim, strict=True))
        common, whole = np.clip(common, *bounds), np.clip(common + own, *bounds)
        if (found := _left(series, whole)) < left:
            return common, whole - common, found
    return None


def _left(series: Sequence[Series], numbers: Sequence[np.ndarray] | np.ndarray) -> float:
    """The mean square of what forecasts leave, from the best starts."""
    off = [
        forecast(numbers[each.environment], _start(each, numbers[each.environment], LEAST_LEFT), each.times)
        - each.values
        for each in series
    ]
    return float(np.mean(np.concatenate(off) ** 2))


def _start(each: Series, numbers: np.ndarray, variance: float) -> Float[np.ndarray, " 2"]:
    """The start of a trajectory that is most likely, with errors of this variance."""
    shape = responses(numbers, each.times)
    right = each.values - numbers[2] * (1 - shape[:, 0])
    return np.linalg.solve(shape.T @ shape + variance * _prior(numbers), shape.T @ right)


def _prior(numbers: np.ndarray) -> Float[np.ndarray, "2 2"]:
    """The precision of a start: what soon comes to rest may change fast."""
    return np.diag([1.0, 1 / max(1.0, np.exp(numbers[1])) ** 2]) / WIDE**2


def _normal(series: Sequence[Series], numbers: np.ndarray, free: np.ndarray, variance: float) -> Normal:
    """What the data say of the numbers that are free, linearised, whatever the starts."""
    squares, products = np.zeros((len(numbers), 3, 3)), np.zeros((len(numbers), 3))
    length, rows = 0.0, 0
    for each in series:
        own = numbers[each.environment]
        start = _start(each, own, variance)
        at = lambda numbers: forecast(numbers, start, each.times)  # noqa: B023 - used at once
        slopes = np.stack([(at(own + d) - at(own - d)) / (2 * STEP) for d in STEP * np.eye(3)], axis=1) * free
        right = each.values - at(own) + slopes @ own
        shape = responses(own, each.times)
        inner = np.linalg.inv(shape.T @ shape + variance * _prior(own))
        beyond = lambda a: a - shape @ (inner @ (shape.T @ a))  # noqa: B023
        squares[each.environment] += slopes.T @ beyond(slopes)
        products[each.environment] += slopes.T @ beyond(right)
        length += right @ beyond(right)
        rows += max(len(each.times) - 2, 0)
    return Normal(squares, products, float(length), max(float(rows), 1.0))
