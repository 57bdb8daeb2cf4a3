"""The net for vectors."""

import equinox as eqx
import jax

from .._types import PRNGKey, State, Tangent
from . import _checks, _stack
from .base import LinearLayer, Net
from .layers import Dense
from .swish import Swish


class MLP(Net):
    """Multilayer perceptron on a vector state: $c \\, W_D \\sigma(\\cdots \\sigma(W_1 x + b_1) \\cdots) + c \\, b_D$.

    **Arguments:**

    - `state_shape`: `(channel,)`;
    - `width`: hidden units; `depth`: linear layers $D$;
    - `factor`: factor $c$ of the output;
    - `init_std`: standard deviation of the weights (the paper has 0.05 for Lotka-Volterra); by default each layer
      keeps the variance of what enters it, and the last starts small.

    >>> import jax, jax.numpy as jnp
    >>> from leadax.nets import MLP
    >>> net = MLP((2,), width=16, key=jax.random.key(0))
    >>> net(jnp.ones(2)).shape
    (2,)
    """

    denses: tuple[Dense, ...]
    activations: tuple[Swish, ...]
    factor: float = eqx.field(static=True)

    def __init__(
        self,
        state_shape: tuple[int, ...],
        *,
        key: PRNGKey,
        width: int = 64,
        depth: int = 4,
        factor: float | int = 1.0,
        init_std: float | int | None = None,
    ):
        channels = _checks.vector("MLP", state_shape)
        _checks.at_least(1, "MLP", "width", width)
        keys = jax.random.split(key, _checks.at_least(1, "MLP", "depth", depth))
        self.denses = tuple(
            Dense(*size, gain=gain, std=init_std, key=k)
            for size, gain, k in zip(_stack.sizes(channels, width, depth), _stack.gains(depth), keys, strict=True)
        )
        self.activations = tuple(Swish() for _ in range(depth - 1))
        self.factor = float(factor)

    @property
    def layers(self) -> tuple[LinearLayer, ...]:
        """The dense layers, first to last."""
        return self.denses

    def __call__(self, x: State) -> Tangent:
        """The tangent at the state `x`."""
        return self.factor * _stack.apply(self.denses, self.activations, x)
