"""What keeps the rest beside a known formula small."""

from typing import Any

from jaxtyping import Array, Float

from .._types import PRNGKey
from ..penalties import Carry, EmpiricalNorm, Penalty, Points
from ..penalties.base import Value, Weights


class Remainder(Penalty):
    """$w \\, \\Omega(g_e) + \\|f + g_e\\|^2$ on the data: what is learnt is small where the formula can explain it.

    It is f + g_e that is kept small, not f: the division of the sum into f and g_e remains that of LEADS.

    - `own`, `weight`: the penalty of the method itself, None for none, and w.
    """

    own: Penalty | None
    weight: float | Float[Array, ""] = 1.0
    norm: Penalty = EmpiricalNorm(relative=False, per_pixel=True)

    def init(self, net: Any, *, key: PRNGKey) -> Carry:
        """What the method's own penalty carries."""
        return () if self.own is None else self.own.init(net[0], key=key)

    def __call__(self, net: Any, points: Points, weights: Weights, carry: Carry) -> tuple[Value, Carry]:
        """Both parts; `net` is what the method's own penalty looks at, and the field f + g_e."""
        size, _ = self.norm(net[1], points, weights, ())
        if self.own is None:
            return size, carry
        own, carry = self.own(net[0], points, weights, carry)
        return self.weight * own + size, carry
