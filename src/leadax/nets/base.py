"""The two interfaces of this room: a linear layer, and a net made of linear layers."""

import abc
import math

import equinox as eqx
from jaxtyping import Array, Float, Inexact

from .._types import State, Tangent


class LinearLayer(eqx.Module):
    """A layer whose output is linear in its input, up to a bias: $x \\mapsto Wx + b$.

    The penalty Ω asks three things of it: the map `linear`, the shape `in_shape` of what the map takes, and the
    weights as one `matrix`. A new kind of layer that answers them works with every penalty.
    """

    @property
    @abc.abstractmethod
    def in_shape(self) -> tuple[int, ...]:
        """Shape of the input of `linear` on the net's own grid; `(in,)` for a layer that acts at each point alone."""

    @abc.abstractmethod
    def linear(self, x: Float[Array, "*space in"]) -> Float[Array, "*space out"]:
        """$Wx$, without the bias."""

    @abc.abstractmethod
    def matrix(self) -> Inexact[Array, "rows columns"]:
        """The weights as one matrix, in the reshaping that spectral normalisation of GANs made common."""

    @property
    def summed_axes(self) -> int:
        """How many axes of `weight` before the last one, that of outputs, are summed over.

        For Muon, which takes `weight` for the matrix that this makes it; 0 where it is no one matrix.
        """
        return 0

    def operations(self, space: tuple[int, ...]) -> int:
        """Floating-point operations of `linear` on a field on the grid `space`: 2 for each weight at each point."""
        return 2 * math.prod(self.matrix().shape) * math.prod(space)

    @abc.abstractmethod
    def __call__(self, x: Float[Array, "*space in"]) -> Float[Array, "*space out"]:
        """$Wx + b$."""


class Net(eqx.Module):
    """A vector field to learn: one state `(*space, channel)` in, one tangent of the same shape out.

    Nets know no batch: `vmap` over trajectories, and over environments and seeds with stacked parameters. All are
    built as `Net(state_shape, *, key, ...)`, so `functools.partial(MLP, width=128)` is an architecture.
    """

    factor: eqx.AbstractVar[float]
    """What the output of the last layer is multiplied by."""

    @property
    @abc.abstractmethod
    def layers(self) -> tuple[LinearLayer, ...]:
        """The linear layers, in the order in which a state meets them."""

    @abc.abstractmethod
    def __call__(self, x: State) -> Tangent:
        """The tangent at the state `x`."""
