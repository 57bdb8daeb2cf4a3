"""The interfaces of this package: a linear layer, and a net built from linear layers."""

import abc

import equinox as eqx
from jaxtyping import Array, Float, Inexact

from .._types import Inputs, State, Tangent, Time


class LinearLayer(eqx.Module):
    """An affine layer: $x \\mapsto Wx + b$.

    Penalties use the linear map `linear`, the shape `in_shape` that it takes, and its weights as one `matrix`. Any
    layer that provides these works with every penalty.
    """

    weight: eqx.AbstractVar[Array]
    """The array of weights, of any shape."""

    @property
    @abc.abstractmethod
    def in_shape(self) -> tuple[int, ...]:
        """The shape that `linear` takes: `(*space, in)` on the net's grid, or `(in,)` for a pointwise layer."""

    @abc.abstractmethod
    def linear(self, x: Float[Array, "*space in"]) -> Float[Array, "*space out"]:
        """$Wx$, without the bias."""

    @abc.abstractmethod
    def matrix(self) -> Inexact[Array, "rows columns"]:
        """The weights as one matrix, reshaped as is usual in spectral normalisation."""

    @abc.abstractmethod
    def __call__(self, x: Float[Array, "*space in"]) -> Float[Array, "*space out"]:
        """$Wx + b$."""


class Net(eqx.Module):
    """A vector field to be learnt: time, a state `(*space, channel)` and inputs in, the derivative of the state out.

    Nets take a single state. Use `vmap` for several trajectories, environments or seeds. All are built as
    `Net(state_shape, *, key, inputs=0, ...)`, so `functools.partial(MLP, width=128)` is an architecture.
    """

    factor: eqx.AbstractVar[float]
    """The factor by which the output of the last layer is multiplied."""

    @property
    @abc.abstractmethod
    def layers(self) -> tuple[LinearLayer, ...]:
        """The linear layers, in order of application."""

    @abc.abstractmethod
    def __call__(self, t: Time | float, x: State, u: Inputs = None) -> Tangent:
        """The derivative of the state `x` at time `t`, given the inputs `u` at that time."""
