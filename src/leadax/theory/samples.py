"""Sufficient sample sizes, for all training environments (Prop. 2) and for a novel one (Prop. 3)."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import InputError
from . import _checks
from ._checks import Number
from .capacity import HypothesisSpace

# The search for the best split starts on a grid of so many intervals, and stays this far from 0 and 1.
GRID = 20
EDGE = 1e-6


@dataclass(frozen=True)
class SampleSize:
    """A sufficient number of samples per environment.

    - `n`: the number of samples, that is, of points with their derivatives.
    - `z`: ε₁/ε, the part of ε that is for the shared fields; None for a novel environment.
    - `shared`, `specific`: the log-capacities of the two spaces at ε₁/16 and ε₂/16.
    """

    n: int
    z: Number | None
    shared: float
    specific: float


def samples(
    shared: HypothesisSpace,
    specific: HypothesisSpace,
    *,
    epsilon: Number,
    m: Number,
    delta: Number = 0.05,
    z: Number | None = None,
) -> SampleSize:
    """The samples per environment that bring the mean test error within ε of the training error (Prop. 2, Prop. S3).

    $$n \\ge \\max\\{64 ((\\log \\tfrac4\\delta + \\omega_f(\\varepsilon_1/16))/m + \\omega_g(\\varepsilon_2/16)), 16\\}
    / \\varepsilon^2, \\quad \\varepsilon_1 + \\varepsilon_2 = \\varepsilon$$

    **Arguments**

    - `shared`, `specific`: the hypothesis spaces of f and of the g_e.
    - `epsilon`: ε, in (units of the states/time)².
    - `m`: the number of environments.
    - `delta`: δ, the probability that the statement fails.
    - `z`: ε₁/ε. Defaults to the value that needs the fewest samples.

    >>> from leadax.theory import LinearMaps
    >>> space = LinearMaps(r=1, b=1, c=1, d=2)
    >>> samples(space, space, epsilon=1.0, m=1).n > samples(space, space, epsilon=1.0, m=8).n
    True
    """
    _checks.tolerance(epsilon)
    _checks.counts(m=m)
    _checks.fraction(delta=delta)
    limit = 16 * min(shared.largest_epsilon, specific.largest_epsilon)
    if not epsilon < limit:
        raise InputError(f"`epsilon` must be below 64·√c·R = {limit:g} for these networks, got {epsilon:g}")

    def at(z: Number) -> tuple[float, float]:
        return shared.log_capacity(z * epsilon / 16), specific.log_capacity((1 - z) * epsilon / 16)

    def needed(z: Number) -> float:
        for_f, for_g = at(z)
        return (math.log(4 / delta) + for_f) / m + for_g

    if z is None:
        z = best_split(needed)
    _checks.fraction(z=z)
    return SampleSize(_samples(needed(z), epsilon), z, *at(z))


def samples_novel(specific: HypothesisSpace, *, epsilon: Number, delta: Number = 0.05) -> SampleSize:
    """The samples of a novel environment that bring the test error within ε of the training error (Prop. 3).

    $$n' \\ge \\max\\{64 (\\log \\tfrac4\\delta + \\omega_g(\\varepsilon/16)), 16\\} / \\varepsilon^2$$

    with 0 < ε, δ < 1. Here f is fixed, so the capacity of f + g is at most the capacity of the g.

    >>> from leadax.theory import LinearMaps
    >>> samples_novel(LinearMaps(r=0, b=1, c=1, d=2), epsilon=0.5, delta=4 / math.e**2 / 10).n
    1102
    """
    _checks.tolerance(epsilon)
    _checks.fraction(epsilon=epsilon, delta=delta)
    capacity = specific.log_capacity(epsilon / 16)
    return SampleSize(_samples(math.log(4 / delta) + capacity, epsilon), None, 0.0, capacity)


def _samples(logarithms: float, epsilon: Number) -> int:
    return math.ceil(max(64 * logarithms, 16) / epsilon**2)


def best_split(needed: Callable[[float], float]) -> float:
    """Minimise a unimodal function on (0, 1), by a grid search and then a golden-section search.

    >>> round(best_split(lambda z: 8 / z**2 + 1 / (1 - z) ** 2), 4)
    0.6667
    """
    grid = [EDGE, *(i / GRID for i in range(1, GRID)), 1 - EDGE]
    values = [needed(z) for z in grid]
    best = values.index(min(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    ratio = (math.sqrt(5) - 1) / 2
    candidates = {grid[best]: values[best]}
    while high - low > 1e-5:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        candidates[left], candidates[right] = needed(left), needed(right)
        low, high = (low, right) if candidates[left] <= candidates[right] else (left, high)
    # Because of ceilings the function has flat parts, so the last point need not be the best.
    return min(candidates, key=lambda z: candidates[z])
