"""The net for vector states of unknown systems: a polynomial of low degree, and an MLP for the rest."""

import math
from itertools import combinations_with_replacement

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import Inputs, PRNGKey, State, Tangent, Time
from . import _checks, _stack
from .base import LinearLayer, Net
from .layers import Dense
from .mlp import MLP

# An optimiser moves each weight by about the learning rate. Coefficients of a polynomial are of size one, and should be
# there before the MLP has learnt what they can explain.
PACE = 10.0
# Standard units, beyond which the polynomial stays as it is there: data say nothing about how it grows.
FURTHEST = 5.0
MOST_TERMS = 120


class PolyMLP(Net):
    """A polynomial beside a multilayer perceptron: $A H(x, u) + \\mathrm{MLP}(x, u)$.

    $H$ are the Hermite polynomials of state and inputs up to a total degree, orthonormal for standard normal numbers.
    Equations of populations, epidemics, reactions and oscillators are often polynomials or nearly so; then few numbers
    have to be learnt, and what is learnt holds beside the trajectories, too. The MLP learns the rest.

    **Arguments:**

    - `state_shape`: `(channel,)`; `inputs`: the number of inputs $u$;
    - `degree`: of the polynomial; by default 3, or less where that would be more than 120 terms;
    - `width`, `depth`, `factor`: of the MLP.

    >>> import jax, jax.numpy as jnp
    >>> from leadax.nets import PolyMLP
    >>> net = PolyMLP((2,), key=jax.random.key(0))
    >>> net.polynomial.weight.shape, net(0.0, jnp.ones(2)).shape
    ((9, 2), (2,))
    """

    mlp: MLP
    polynomial: Dense
    degree: int = eqx.field(static=True)
    factor: float = eqx.field(static=True)

    def __init__(
        self,
        state_shape: tuple[int, ...],
        *,
        key: PRNGKey,
        inputs: int = 0,
        degree: int | None = None,
        width: int = 64,
        depth: int = 4,
        factor: float | int = 1.0,
    ):
        channels = _checks.vector("PolyMLP", state_shape)
        self.degree = fitting_degree(channels + inputs) if degree is None else degree
        _checks.at_least(1, "PolyMLP", "degree", self.degree)
        self.factor = float(factor)
        self.mlp = MLP(state_shape, key=key, inputs=inputs, width=width, depth=depth, factor=factor)
        # A polynomial of zeros: it is linear in its coefficients, and needs no random start.
        self.polynomial = Dense(term_count(channels + inputs, self.degree), channels, key=key, std=0.0, use_bias=False)

    @property
    def layers(self) -> tuple[LinearLayer, ...]:
        """The dense layers of the MLP in order, and the coefficients of the polynomial."""
        return (*self.mlp.layers, self.polynomial)

    def __call__(self, t: Time | float, x: State, u: Inputs = None) -> Tangent:
        """The derivative of the state `x` under the inputs `u`, at any time."""
        seen = _stack.with_inputs(x, u, self.mlp.inputs)
        return self.mlp(t, x, u) + PACE * self.polynomial(hermite(seen, self.degree))


def fitting_degree(variables: int) -> int:
    """The degree of a polynomial of so many variables: 3, or less where there would be too many terms."""
    return next((degree for degree in (3, 2) if term_count(variables, degree) <= MOST_TERMS), 1)


def term_count(variables: int, degree: int) -> int:
    """How many terms a polynomial has, without the constant one.

    >>> term_count(2, 3)
    9
    """
    return math.comb(variables + degree, degree) - 1


def hermite(z: Float[Array, " variable"], degree: int) -> Float[Array, " term"]:
    """All products of orthonormal Hermite polynomials of total degree 1 to `degree`.

    >>> [round(value, 3) for value in hermite(jnp.array([2.0]), 3).tolist()]  # z, (z² − 1)/√2, (z³ − 3z)/√6
    [2.0, 2.121, 0.816]
    """
    z = jnp.clip(z, -FURTHEST, FURTHEST)
    powers = [jnp.ones_like(z), z]
    for n in range(1, degree):  # of the recurrence for orthonormal ones
        powers.append((z * powers[n] - math.sqrt(n) * powers[n - 1]) / math.sqrt(n + 1))
    table = jnp.stack(powers)
    # One matrix of zeros and ones per variable picks its factor of each term: faster than indexing, and far faster than
    # the gradient of that.
    picks = _picks(len(z), degree)
    factors = [jnp.asarray(picks[i], z.dtype) @ table[:, i] for i in range(len(z))]
    return jnp.prod(jnp.stack(factors), axis=0)


def _picks(variables: int, degree: int) -> np.ndarray:
    """`(variable, term, power)`: 1 where the term has that power of the variable."""
    terms = [c for d in range(1, degree + 1) for c in combinations_with_replacement(range(variables), d)]
    powers = np.array([[term.count(i) for term in terms] for i in range(variables)])
    return (powers[..., None] == np.arange(degree + 1)).astype(float)
