"""The net for fields whose dynamics are local and the same everywhere."""

import equinox as eqx
import jax

from .._types import Inputs, PRNGKey, State, Tangent, Time
from . import _checks, _stack
from .base import LinearLayer, Net
from .layers import Convolution
from .swish import Swish


class ConvNet(Net):
    """Convolutions on a periodic grid, with activations in between. It commutes with translations.

    **Arguments:**

    - `state_shape`: `(x, channel)` or `(y, x, channel)`;
    - `inputs`: the number of inputs, each a number or a field on the grid;
    - `width`: hidden channels; `depth`: convolutions; `kernel_size`: taps along each axis, odd;
    - `factor`: the factor of the output (1e-3 in the paper for Gray-Scott);
    - `init_std`: standard deviation of the initial weights (0.1 in the paper). By default each layer preserves the
      variance of its input, and the last layer starts small.

    >>> import jax, jax.numpy as jnp
    >>> from leadax.nets import ConvNet
    >>> net = ConvNet((8, 2), width=4, depth=2, key=jax.random.key(0))
    >>> net(0.0, jnp.ones((8, 2))).shape
    (8, 2)
    """

    convolutions: tuple[Convolution, ...]
    activations: tuple[Swish, ...]
    inputs: int = eqx.field(static=True)
    factor: float = eqx.field(static=True)

    def __init__(
        self,
        state_shape: tuple[int, ...],
        *,
        key: PRNGKey,
        inputs: int = 0,
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
        self.inputs = _checks.at_least(0, "ConvNet", "inputs", inputs)
        sizes, gains = _stack.sizes(channels, inputs, width, depth), _stack.gains(depth)
        self.convolutions = tuple(
            Convolution(space, *size, kernel_size=kernel_size, gain=gain, std=init_std, key=k)
            for size, gain, k in zip(sizes, gains, keys, strict=True)
        )
        self.activations = tuple(Swish() for _ in range(depth - 1))
        self.factor = float(factor)

    @property
    def layers(self) -> tuple[LinearLayer, ...]:
        """The convolutions, in order."""
        return self.convolutions

    def __call__(self, t: Time | float, x: State, u: Inputs = None) -> Tangent:
        """The derivative of the field `x` under the inputs `u`, at any time."""
        return self.factor * _stack.apply(self.convolutions, self.activations, _stack.with_inputs(x, u, self.inputs))
