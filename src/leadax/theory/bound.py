"""Bounds on the test error, for a given number of samples."""

import math
from dataclasses import dataclass

from ..errors import InputError
from . import _checks
from ._checks import Number
from .capacity import HypothesisSpace
from .samples import samples

ROUNDING = 1e-14


@dataclass(frozen=True)
class ErrorBound:
    """With probability 1 − δ, the mean test error exceeds the training error by at most `epsilon`: see `error_bound`.

    - `epsilon`: ε.
    - `z`: ε₁/ε, the part of ε that is for the shared maps.
    - `p`, `q`: the terms in the bound.
    """

    epsilon: float
    z: Number
    p: float
    q: float


def error_bound(
    *,
    m: Number,
    n: Number,
    r: Number,
    r_shared: Number,
    b: Number,
    c: Number,
    d: Number,
    delta: Number = 0.05,
    z: Number | None = None,
) -> ErrorBound:
    """The error bound for linear maps (Prop. 5, with r and r′ as in the main text), minimised over z.

    $$\\varepsilon = \\max\\{\\sqrt{(p + \\sqrt{p^2 + 4q})/2}, \\sqrt{16/n}\\}, \\quad p = \\tfrac{64}{mn} \\log
    \\tfrac4\\delta$$

    $$q = \\tfrac{64}{n} \\lceil (\\tfrac{r'}{mz^2} + \\tfrac{r}{(1-z)^2}) cd(32b)^2 \\rceil \\log 2d^2$$

    **Arguments**

    - `m`, `n`: the number of environments, and of samples in each.
    - `r`, `r_shared`: r and r′, bounds on the squared Frobenius norms ‖G_e‖² and ‖F‖².
    - `b`, `c`, `d`: as in `LinearMaps`.
    - `delta`: δ, the probability that the bound fails.
    - `z`: ε₁/ε. Defaults to the best, for which r′/mz² + r/(1−z)² = ((r′/m)^⅓ + r^⅓)³.

    >>> few, many = (error_bound(m=m, n=40, r=0.2, r_shared=1.75, b=5, c=50, d=8).epsilon for m in (2, 8))
    >>> many < few
    True
    """
    _checks.counts(m=m, n=n, d=d)
    _checks.not_negative(r=r, r_shared=r_shared)
    _checks.positive(b=b, c=c)
    _checks.fraction(delta=delta)
    split, norms = _best_split(r_shared / m, r) if z is None else _given_split(r_shared / m, r, z)
    p = 64 / (m * n) * math.log(4 / delta)
    try:
        # What is a whole number but for rounding is not rounded up to the next.
        q = 64 / n * math.ceil(norms * c * d * (32 * b) ** 2 * (1 - ROUNDING)) * math.log(2 * d**2)
    except OverflowError:
        raise InputError(f"the bound overflows: r = {r:g}, r_shared = {r_shared:g}, b = {b:g}, c = {c:g}") from None
    return ErrorBound(max(math.sqrt((p + math.sqrt(p**2 + 4 * q)) / 2), math.sqrt(16 / n)), split, p, q)


def _best_split(shared: Number, specific: Number) -> tuple[float, float]:
    """The z that minimises shared/z² + specific/(1−z)², and the minimum."""
    roots = shared ** (1 / 3), specific ** (1 / 3)
    return roots[0] / sum(roots) if sum(roots) else 0.5, sum(roots) ** 3


def _given_split(shared: Number, specific: Number, z: Number) -> tuple[Number, float]:
    _checks.fraction(z=z)
    return z, shared / z**2 + specific / (1 - z) ** 2


def smallest_error(
    shared: HypothesisSpace,
    specific: HypothesisSpace,
    *,
    m: Number,
    n: Number,
    delta: Number = 0.05,
    z: Number | None = None,
) -> float:
    """The smallest ε for which n samples in each of m environments suffice, for any hypothesis spaces (Prop. 2).

    >>> from leadax.theory import Networks, samples
    >>> space = Networks(R=1, L=1, W=100, D=2, c=1)
    >>> n = samples(space, space, epsilon=2.0, m=4).n
    >>> round(smallest_error(space, space, m=4, n=n), 3)
    2.0
    """
    _checks.counts(n=n)
    enough = lambda epsilon: samples(shared, specific, epsilon=epsilon, m=m, delta=delta, z=z).n <= n
    limit = 16 * min(shared.largest_epsilon, specific.largest_epsilon)
    high = min(1.0, limit / 2)
    while not enough(high):
        if high > limit * (1 - 1e-9):
            needed = samples(shared, specific, epsilon=high, m=m, delta=delta, z=z).n
            raise InputError(
                f"`n` = {n:g} samples are too few for any bound: even for the largest error that the theorem allows, "
                f"{limit:.3g}, it needs {needed:.3g}"
            )
        high = min(2 * high, limit * (1 - 1e-10))
    low = high / 2
    while enough(low):
        high, low = low, low / 2
    while high / low > 1 + 1e-5:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
