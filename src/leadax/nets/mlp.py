"""The net for vector states."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Float, PyTree

from .._types import Inputs, PRNGKey, State, Tangent, Time
from ..errors import InputError
from . import _checks, _stack
from .base import LinearLayer, Net
from .layers import Dense
from .polynomial import HIGHEST, Region, Zero, count_of, features
from .swish import Swish

# An optimiser moves each weight by about the learning rate. The polynomial should be in place before the layers have
# learnt what it can explain.
PACE = 10.0
# Where a net begins at a polynomial, its layers begin with this part of their usual size: they add what is missing.
QUIET = 1e-3
# Of the initial weights of a polynomial. Not quite zero: products of zeros, as in factored tensors, never learn.
TINY = 1e-4


class MLP(Net):
    """Multilayer perceptron: $c \\, W_D \\sigma(\\cdots \\sigma(W_1 [x, u] + b_1) \\cdots) + c \\, b_D$.

    **Arguments:**

    - `state_shape`: `(channel,)`;
    - `inputs`: the number of inputs $u$;
    - `width`: hidden units; `depth`: linear layers $D$;
    - `factor`: the factor $c$ of what the layers compute;
    - `init_std`: standard deviation of the initial weights (0.05 in the paper for Lotka-Volterra). By default each
      layer preserves the variance of its input, and the last layer starts small;
    - `degree`: add a polynomial in $[x, u]$ of this degree, up to 5, past all layers. What is simple in a system is
      then learnt at once, and holds far from the data, too. 0 for none, 1 for a linear map;
    - `region`: the lowest and the highest values of $[x, u]$ between which the polynomial is curved
      (`leadax.nets.polynomial.features`); None for everywhere;
    - `zero`: adds to it the signed squares $(x - zero) |x - zero|$, such as the drag of a fast body; None for none.

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
    degree: int = eqx.field(static=True, default=0)
    region: Region | None = eqx.field(static=True, default=None)
    zero: Zero | None = eqx.field(static=True, default=None)
    polynomial: Dense | None = None

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
        degree: int = 0,
        region: Region | None = None,
        zero: Zero | None = None,
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
        self.degree, self.region, self.zero = _checks.at_least(0, "MLP", "degree", degree), region, zero
        if degree > HIGHEST:
            raise InputError(f"`degree` of MLP must be at most {HIGHEST}, got {degree}")
        count = count_of(channels + inputs, degree, zero)
        self.polynomial = Dense(count, channels, key=key, std=TINY) if degree else None

    @property
    def layers(self) -> tuple[LinearLayer, ...]:
        """The map from terms of the polynomial, then the dense layers in order."""
        return self.denses if self.polynomial is None else (self.polynomial, *self.denses)

    def __call__(self, t: Time | float, x: State, u: Inputs = None) -> Tangent:
        """The derivative of the state `x` under the inputs `u`, at any time."""
        seen = _stack.with_inputs(x, u, self.inputs)
        bent = self.factor * _stack.apply(self.denses, self.activations, seen)
        if self.polynomial is None:
            return bent
        return bent + PACE * self.polynomial(features(seen, self.degree, self.region, self.zero))


def begun_at(net: PyTree, coefficients: Float[Any, "*env term channel"]) -> PyTree:
    """The net, or nets of several environments, with this polynomial to begin with, its constant term first.

    A net without a polynomial stays as it is.
    """
    if not isinstance(net, MLP) or net.polynomial is None:
        return net
    parts = lambda net: (net.polynomial.weight, net.polynomial.bias, net.denses[-1].weight)
    constant, rest = coefficients[..., 0, :], coefficients[..., 1:, :]
    return eqx.tree_at(parts, net, (rest / PACE, constant / PACE, QUIET * net.denses[-1].weight))
