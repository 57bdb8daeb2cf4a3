"""A net that sees the time: seasons, trends, a clock on the wall."""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import Inputs, PRNGKey, State, Tangent, Time
from .architecture import Architecture
from .base import LinearLayer, Net


class Timed(Net):
    """$\\mathrm{net}(x, [u, c(t)])$ with $c = \\sin, \\cos(2 \\pi t / P)$, or $c = (t - a) / b$ without a period.

    - `of`: the architecture of the net; `state_shape`, `inputs`, `key`: as of every net;
    - `period`: P in standard time; None for time itself; `begin`, `length`: a and b.

    >>> import jax
    >>> from leadax.nets import MLP
    >>> net = Timed((2,), of=Architecture(MLP), period=12.0, key=jax.random.key(0))
    >>> bool(jnp.allclose(net(1.0, jnp.ones(2)), net(13.0, jnp.ones(2)), atol=1e-5))
    True
    """

    of: Net
    period: float | None = eqx.field(static=True)
    begin: float = eqx.field(static=True)
    length: float = eqx.field(static=True)

    def __init__(
        self,
        state_shape: tuple[int, ...],
        *,
        key: PRNGKey,
        of: Architecture,
        inputs: int = 0,
        period: float | None = None,
        begin: float = 0.0,
        length: float = 1.0,
    ):
        self.of = of(state_shape, key=key, inputs=inputs + (1 if period is None else 2))
        self.period, self.begin, self.length = period, begin, length

    @property
    def factor(self) -> float:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the net."""
        return self.of.factor

    @property
    def layers(self) -> tuple[LinearLayer, ...]:
        """Those of the net."""
        return self.of.layers

    def __call__(self, t: Time | float, x: State, u: Inputs = None) -> Tangent:
        """The derivative of the state `x` at time `t`."""
        hands = self._hands(jnp.asarray(t, x.dtype))
        if u is not None:
            hands = jnp.concatenate([u, jnp.broadcast_to(hands, (*u.shape[:-1], len(hands))).astype(u.dtype)], axis=-1)
        return self.of(t, x, hands)

    def _hands(self, t: Time) -> Float[Array, " number"]:
        if self.period is None:
            return ((t - self.begin) / self.length)[None]
        angle = 2 * math.pi / self.period * t
        return jnp.stack([jnp.sin(angle), jnp.cos(angle)])
