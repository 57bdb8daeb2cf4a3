"""The net for vector states."""

import equinox as eqx
import jax

from .._types import Inputs, PRNGKey, State, Tangent, Time
from . import _checks, _stack
from .base import LinearLayer, Net
from .layers import Dense
from .swish import Swish

# An optimiser moves each weight by about the learning rate. The linear part should be in place before the layers have
# learnt what it can explain.
SKIP_PACE = 10.0


class MLP(Net):
    """Multilayer perceptron: $c \\, W_D \\sigma(\\cdots \\sigma(W_1 [x, u] + b_1) \\cdots) + c \\, b_D$.

    **Arguments:**

    - `state_shape`: `(channel,)`;
    - `inputs`: the number of inputs $u$;
    - `width`: hidden units; `depth`: linear layers $D$;
    - `factor`: the factor $c$ of the output;
    - `init_std`: standard deviation of the initial weights (0.05 in the paper for Lotka-Volterra). By default each
      layer preserves the variance of its input, and the last layer starts small;
    - `skip`: add a linear map $S [x, u]$ past all layers. What is linear in a system is then learnt at once, and holds
      far from the data, too.

    >>> import jax, jax.numpy as jnp
    >>> from leadax.nets import MLP
    >>> net = MLP((2,), inputs=1, width=16, key=jax.random.key(0))
    >>> net(0.0, jnp.ones(2), jnp.ones(1)).shape
    (2,)
    """

    denses: tuple[Dense, ...]
    activations: tuple[Swish, ...]
    inputs: int = eqx.field(static=True)
    factor: float = eqx.field(static=True)
    skip: Dense | None = None

    def __init__(
        self,
        state_shape: tuple[int, ...],
        *,
        key: PRNGKey,
        inputs: int = 0,
        width: int = 64,
        depth: int = 4,
        factor: float | int = 1.0,
        init_std: float | int | None = None,
        skip: bool = False,
    ):
        channels = _checks.vector("MLP", state_shape)
        _checks.at_least(1, "MLP", "width", width)
        keys = jax.random.split(key, _checks.at_least(1, "MLP", "depth", depth))
        self.inputs = _checks.at_least(0, "MLP", "inputs", inputs)
        sizes, gains = _stack.sizes(channels, inputs, width, depth), _stack.gains(depth)
        self.denses = tuple(
            Dense(*size, gain=gain, std=init_std, key=k) for size, gain, k in zip(sizes, gains, keys, strict=True)
        )
        self.activations = tuple(Swish() for _ in range(depth - 1))
        self.factor = float(factor)
        self.skip = Dense(channels + inputs, channels, key=key, std=0.0, use_bias=False) if skip else None

    @property
    def layers(self) -> tuple[LinearLayer, ...]:
        """The dense layers in order, then the linear map past them."""
        return self.denses if self.skip is None else (*self.denses, self.skip)

    def __call__(self, t: Time | float, x: State, u: Inputs = None) -> Tangent:
        """The derivative of the state `x` under the inputs `u`, at any time."""
        seen = _stack.with_inputs(x, u, self.inputs)
        bent = self.factor * _stack.apply(self.denses, self.activations, seen)
        return bent if self.skip is None else bent + SKIP_PACE * self.skip(seen)
