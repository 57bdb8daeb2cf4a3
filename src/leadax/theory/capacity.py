"""Capacity of hypothesis spaces: the logarithm of their ε-covering numbers (supplement B, Table S1)."""

import abc
import math
from dataclasses import dataclass

from ..errors import InputError
from . import _checks
from ._checks import Number


class HypothesisSpace(abc.ABC):
    """A set of vector fields with a known bound ω(ε) on its log-capacity."""

    @abc.abstractmethod
    def log_capacity(self, epsilon: Number) -> float:
        """ω(ε) ≥ log C(ε), for 0 < ε < `largest_epsilon`."""

    @property
    @abc.abstractmethod
    def largest_epsilon(self) -> float:
        """The upper end of the range where ω is known; may be infinity."""


@dataclass(frozen=True)
class LinearMaps(HypothesisSpace):
    """Linear maps $x \\mapsto Gx$ with $\\|G\\|_F^2 \\le r$ (Prop. 4).

    $$\\omega(r, \\varepsilon) = \\lceil r c d (2b)^2 / \\varepsilon^2 \\rceil \\log 2d^2$$

    - `r`: bound on the squared Frobenius norm, in 1/time².
    - `b`: bound on the norm of a state, in units of the states.
    - `c`: bound on the squared error of a derivative, in (units of the states/time)².
    - `d`: dimension of the states.

    >>> LinearMaps(r=1, b=0.5, c=1, d=1).log_capacity(0.5) == 4 * math.log(2)
    True
    """

    r: Number
    b: Number
    c: Number
    d: Number

    def __post_init__(self):
        _checks.not_negative(r=self.r)
        _checks.positive(b=self.b, c=self.c)
        _checks.counts(d=self.d)

    def log_capacity(self, epsilon: Number) -> float:
        """⌈r·c·d·(2b)²/ε²⌉·log 2d²."""
        _checks.tolerance(epsilon)
        return math.ceil(self.r * self.c * self.d * (2 * self.b) ** 2 / epsilon**2) * math.log(2 * self.d**2)

    @property
    def largest_epsilon(self) -> float:
        """Infinity."""
        return math.inf


@dataclass(frozen=True)
class Networks(HypothesisSpace):
    """Networks of one architecture with $\\|g\\|_\\infty \\le R$ and $\\|g\\|_\\mathrm{Lip} \\le L$ (Prop. S2).

    $$\\omega(R, L, \\varepsilon) = 2W \\log (8e \\sqrt{c} D R L / \\varepsilon)$$

    The proof uses Haussler's theorem, which requires balls smaller than 2R: $\\varepsilon / 2\\sqrt{c} < 2R$. Where the
    formula is negative, the capacity is 0, since a single ball covers the space.

    - `R`: bound on the norm of a tangent, in units of the states/time.
    - `L`: bound on the Lipschitz constant, in 1/time.
    - `W`, `D`: the number of parameters and of layers.
    - `c`: bound on the squared error of a derivative, in (units of the states/time)².

    >>> Networks(R=1, L=1, W=1, D=1, c=1).log_capacity(1.0) == 2 * math.log(8 * math.e)
    True
    """

    R: Number
    L: Number
    W: Number
    D: Number
    c: Number

    def __post_init__(self):
        _checks.positive(R=self.R, L=self.L, c=self.c)
        _checks.counts(W=self.W, D=self.D)

    @classmethod
    def from_penalty(cls, r: Number, *, alpha: Number, W: Number, D: Number, c: Number) -> "Networks":
        """Networks with $\\Omega(g) = \\|g\\|_\\infty^2 + \\alpha\\|g\\|_\\mathrm{Lip}^2 \\le r$ (Prop. S3).

        Then $R \\le \\sqrt r$ and $L \\le \\sqrt{r/\\alpha}$, so that
        $\\omega = 2W \\log (8e\\sqrt c D r / \\varepsilon\\sqrt\\alpha)$.
        Training with the penalty weight 1/λ gives Ω ≤ r = λκ (corollary of Prop. S3), with κ from `kappa`.

        >>> Networks.from_penalty(4.0, alpha=0.25, W=1, D=1, c=1).L
        4.0
        """
        _checks.positive(r=r, alpha=alpha)
        return cls(R=math.sqrt(r), L=math.sqrt(r / alpha), W=W, D=D, c=c)

    def log_capacity(self, epsilon: Number) -> float:
        """2W·log(8e√c·D·R·L/ε), or 0 if this is negative."""
        _checks.tolerance(epsilon)
        if not epsilon < self.largest_epsilon:
            raise InputError(
                f"`epsilon` must be below 4·√c·R = {self.largest_epsilon:g} for these networks, got {epsilon:g}"
            )
        inside = 8 * math.e * math.sqrt(self.c) * self.D * self.R * self.L / epsilon
        return max(0.0, 2 * self.W * math.log(inside))

    @property
    def largest_epsilon(self) -> float:
        """4·√c·R."""
        return 4 * math.sqrt(self.c) * self.R
