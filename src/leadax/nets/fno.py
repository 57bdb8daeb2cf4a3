"""The net for smooth fields whose dynamics are not local."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import Inputs, PRNGKey, State, Tangent, Time
from ..errors import InputError
from . import _checks, _stack
from .base import LinearLayer, Net
from .layers import Dense
from .spectral import SpectralConvolution
from .swish import GAIN, Swish


class FourierLayer(eqx.Module):
    """$Kx + xW + b$: a spectral convolution $K$ for the large scales plus a dense layer for all scales."""

    spectral: SpectralConvolution
    pointwise: Dense

    def __call__(self, x: Float[Array, "*space width"]) -> Float[Array, "*space width"]:
        """The sum of both branches."""
        return self.spectral(x) + self.pointwise(x)


class FNO(Net):
    """Fourier neural operator (Li et al., 2021): a lift, Fourier layers with activations in between, a projection.

    **Arguments:**

    - `state_shape`: `(x, channel)` or `(y, x, channel)`, with at least 2 · modes points along each axis;
    - `inputs`: the number of inputs, each a number or a field on the grid;
    - `modes`: frequencies kept along each axis; `width`: channels of the Fourier layers; `depth`: Fourier layers;
    - `projection`: hidden units of the projection, two pointwise layers;
    - `grid_input`: whether the net also sees the coordinates of each point. Without them it commutes with translations;
    - `factor`: the factor of the output;
    - `init_std`: standard deviation of the initial real weights (0.1 in the paper), with spectral weights from
      U[0, 1)/√width. By default each layer preserves the variance of its input, and the last layer starts small.

    >>> import jax, jax.numpy as jnp
    >>> from leadax.nets import FNO
    >>> net = FNO((16, 1), depth=1, key=jax.random.key(0))
    >>> net(0.0, jnp.ones((16, 1))).shape
    (16, 1)
    """

    lift: Dense
    fourier: tuple[FourierLayer, ...]
    hidden: Dense
    last: Dense
    activations: tuple[Swish, ...]
    grid_input: bool = eqx.field(static=True)
    inputs: int = eqx.field(static=True)
    factor: float = eqx.field(static=True)

    def __init__(
        self,
        state_shape: tuple[int, ...],
        *,
        key: PRNGKey,
        inputs: int = 0,
        modes: int = 6,
        width: int = 10,
        depth: int = 4,
        projection: int = 128,
        grid_input: bool = True,
        factor: float | int = 1.0,
        init_std: float | int | None = None,
    ):
        space, channels = _checks.field("FNO", state_shape)
        for name, value in {"modes": modes, "width": width, "depth": depth, "projection": projection}.items():
            _checks.at_least(1, "FNO", name, value)
        if min(space) < 2 * modes:
            raise InputError(
                f"FNO with modes={modes} needs at least {2 * modes} points along each axis of space, "
                f"got a state of shape {state_shape}: use `modes` of at most {min(space) // 2}, or the ConvNet"
            )
        self.grid_input, self.factor = grid_input, float(factor)
        self.inputs = _checks.at_least(0, "FNO", "inputs", inputs)

        lift, hidden, last, *keys = jax.random.split(key, depth + 3)
        self.lift = Dense(channels + inputs + grid_input * len(space), width, std=init_std, key=lift)
        self.fourier = tuple(
            _fourier_layer(space, width, modes, gain=GAIN if i else 1.0, std=init_std, key=k)
            for i, k in enumerate(keys)
        )
        self.hidden = Dense(width, projection, std=init_std, key=hidden)
        self.last = Dense(projection, channels, gain=_stack.LAST_GAIN, std=init_std, key=last)
        # One after each Fourier layer but the last, and one after the hidden layer of the projection.
        self.activations = tuple(Swish() for _ in range(depth))

    @property
    def layers(self) -> tuple[LinearLayer, ...]:
        """The lift, the spectral and pointwise parts of each Fourier layer, and the two layers of the projection."""
        fourier = [part for layer in self.fourier for part in (layer.spectral, layer.pointwise)]
        return (self.lift, *fourier, self.hidden, self.last)

    def __call__(self, t: Time | float, x: State, u: Inputs = None) -> Tangent:
        """The derivative of the field `x` under the inputs `u`, at any time."""
        seen = _stack.with_inputs(x, u, self.inputs)
        h = self.lift(jnp.concatenate([seen, grid(x)], axis=-1) if self.grid_input else seen)
        for layer, activation in zip(self.fourier[:-1], self.activations, strict=False):
            h = activation(layer(h))
        h = self.activations[-1](self.hidden(self.fourier[-1](h)))
        return self.factor * self.last(h)


def _fourier_layer(
    space: tuple[int, ...], width: int, modes: int, *, gain: float, std: float | int | None, key: PRNGKey
) -> FourierLayer:
    spectral, pointwise = jax.random.split(key)
    share = gain / math.sqrt(2)  # the variances of the two branches add up
    return FourierLayer(
        SpectralConvolution(space, width, width, modes=modes, gain=share, uniform=std is not None, key=spectral),
        Dense(width, width, gain=share, std=std, key=pointwise),
    )


def grid(x: State) -> Float[Array, "*space dimensions"]:
    """The coordinates of each point, from 0 to 1 along each axis, both ends included.

    On a periodic grid the last point should be at 1 - 1/n. We include the end because the nets of the paper do; a net
    learns equally well from either, and weights stay comparable.
    """
    axes = [jnp.linspace(0, 1, points, dtype=x.dtype) for points in x.shape[:-1]]
    return jnp.stack(jnp.meshgrid(*axes, indexing="ij"), axis=-1)
