"""The net of the paper's linear system."""

import equinox as eqx

from .._types import Inputs, PRNGKey, State, Tangent, Time
from . import _checks, _stack
from .base import LinearLayer, Net
from .layers import Dense


class Linear(Net):
    """One matrix over the channels, without a bias: $c \\, [x, u] \\, W$. It acts on each point of a field separately.

    **Arguments:**

    - `state_shape`: `(*space, channel)`;
    - `inputs`: the number of inputs $u$;
    - `factor`: the factor $c$ of the output;
    - `init_std`: standard deviation of the initial weights; by default 0.1/√(channels + inputs), a small start.

    >>> import jax, jax.numpy as jnp
    >>> from leadax.nets import Linear
    >>> net = Linear((8,), key=jax.random.key(0))
    >>> bool(jnp.all(net(0.0, jnp.zeros(8)) == 0))
    True
    """

    dense: Dense
    inputs: int = eqx.field(static=True)
    factor: float = eqx.field(static=True)

    def __init__(
        self,
        state_shape: tuple[int, ...],
        *,
        key: PRNGKey,
        inputs: int = 0,
        factor: float | int = 1.0,
        init_std: float | int | None = None,
    ):
        channels = _checks.channels("Linear", state_shape)
        self.inputs = _checks.at_least(0, "Linear", "inputs", inputs)
        self.dense = Dense(channels + inputs, channels, gain=_stack.LAST_GAIN, std=init_std, use_bias=False, key=key)
        self.factor = float(factor)

    @property
    def layers(self) -> tuple[LinearLayer, ...]:
        """The one matrix."""
        return (self.dense,)

    def __call__(self, t: Time | float, x: State, u: Inputs = None) -> Tangent:
        """The derivative of the state `x` under the inputs `u`, at any time."""
        return self.factor * self.dense(_stack.with_inputs(x, u, self.inputs))
