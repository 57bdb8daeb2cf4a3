"""The net of the paper's linear case."""

import equinox as eqx

from .._types import PRNGKey, State, Tangent
from . import _checks
from ._stack import LAST_GAIN
from .base import LinearLayer, Net
from .layers import Dense


class Linear(Net):
    """One matrix over the channels and no bias: $c \\, xW$; at every point alike where the state is a field.

    **Arguments:**

    - `state_shape`: `(*space, channel)`;
    - `factor`: factor $c$ of the output;
    - `init_std`: standard deviation of the weights; by default 0.1/√channels, so that it starts small.

    >>> import jax, jax.numpy as jnp
    >>> from leadax.nets import Linear
    >>> net = Linear((8,), key=jax.random.key(0))
    >>> bool(jnp.all(net(jnp.zeros(8)) == 0))
    True
    """

    dense: Dense
    factor: float = eqx.field(static=True)

    def __init__(
        self,
        state_shape: tuple[int, ...],
        *,
        key: PRNGKey,
        factor: float | int = 1.0,
        init_std: float | int | None = None,
    ):
        channels = _checks.channels("Linear", state_shape)
        self.dense = Dense(channels, channels, gain=LAST_GAIN, std=init_std, use_bias=False, key=key)
        self.factor = float(factor)

    @property
    def layers(self) -> tuple[LinearLayer, ...]:
        """The one matrix."""
        return (self.dense,)

    def __call__(self, x: State) -> Tangent:
        """The tangent at the state `x`."""
        return self.factor * self.dense(x)
