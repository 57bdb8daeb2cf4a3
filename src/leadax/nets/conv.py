"""The net for fields whose law is local and the same everywhere."""

import equinox as eqx
import jax

from .._types import PRNGKey, State, Tangent
from . import _checks, _stack
from .base import LinearLayer, Net
from .layers import Convolution
from .swish import Swish


class ConvNet(Net):
    """Convolutions around the edges of a periodic grid, with activations between: it commutes with translations.

    **Arguments:**

    - `state_shape`: `(x, channel)` or `(y, x, channel)`;
    - `width`: hidden channels; `depth`: convolutions; `kernel_size`: taps along each axis, odd;
    - `factor`: factor of the output (the paper has 1e-3 for Gray-Scott);
    - `init_std`: standard deviation of the weights (the paper has 0.1); by default each layer keeps the variance of
      what enters it, and the last starts small.

    >>> import jax, jax.numpy as jnp
    >>> from leadax.nets import ConvNet
    >>> net = ConvNet((8, 8, 2), width=16, key=jax.random.key(0))
    >>> net(jnp.ones((8, 8, 2))).shape
    (8, 8, 2)
    """

    convolutions: tuple[Convolution, ...]
    activations: tuple[Swish, ...]
    factor: float = eqx.field(static=True)

    def __init__(
        self,
        state_shape: tuple[int, ...],
        *,
        key: PRNGKey,
        width: int = 64,
        depth: int = 4,
        kernel_size: int = 3,
        factor: float | int = 1.0,
        init_std: float | int | None = None,
    ):
        space, channels = _checks.field("ConvNet", state_shape)
        _checks.at_least(1, "ConvNet", "width", width)
        _checks.odd("ConvNet", "kernel_size", kernel_size)
        keys = jax.random.split(key, _checks.at_least(1, "ConvNet", "depth", depth))
        self.convolutions = tuple(
            Convolution(space, *size, kernel_size=kernel_size, gain=gain, std=init_std, key=k)
            for size, gain, k in zip(_stack.sizes(channels, width, depth), _stack.gains(depth), keys, strict=True)
        )
        self.activations = tuple(Swish() for _ in range(depth - 1))
        self.factor = float(factor)

    @property
    def layers(self) -> tuple[LinearLayer, ...]:
        """The convolutions, first to last."""
        return self.convolutions

    def __call__(self, x: State) -> Tangent:
        """The tangent at the field `x`."""
        return self.factor * _stack.apply(self.convolutions, self.activations, x)
