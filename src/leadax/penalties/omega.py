"""The paper's Ω."""

import math

import jax
from jaxtyping import Array, Float

from .._types import PRNGKey, VectorField
from ..errors import InputError, expect, is_number
from .base import Carry, NoPenalty, Penalty, Points, Value, Weights
from .norms import EmpiricalNorm
from .weights import SpectralNorm


class Omega(Penalty):
    """The paper's penalty (eq. 7), with norms that can be computed.

    $$\\Omega(g) = \\|g\\|_\\infty^2 + \\alpha \\|g\\|_\\mathrm{Lip}^2$$

    **Arguments**

    - `norm`: what stands for the largest value; `lipschitz`: what stands for the Lipschitz norm;
    - `alpha`: weight α of the second; with 0 it is not computed.

    The paper's experiments used `Omega(EmpiricalNorm(per_pixel=True), SpectralNorm(5, "matrix", include_factor=False),
    alpha)`.

    >>> import jax, jax.numpy as jnp
    >>> from leadax.nets import MLP
    >>> from leadax.penalties import Omega
    >>> points = Points(jnp.zeros(5), jnp.ones((5, 2)))
    >>> net, omega = MLP((2,), init_std=0, key=jax.random.key(0)), Omega(alpha=1e-3)
    >>> value, carry = omega(net, points, jnp.ones(5), omega.init(net, key=jax.random.key(1)))
    >>> float(value)
    0.0
    """

    norm: Penalty
    lipschitz: Penalty
    alpha: float | Float[Array, ""]

    def __init__(self, norm: Penalty = EmpiricalNorm(), lipschitz: Penalty = SpectralNorm(), alpha: float | int = 1e-2):
        for part in (norm, lipschitz):
            expect("norm and lipschitz", part, Penalty, "leadax.EmpiricalNorm() and leadax.SpectralNorm()")
        if not (is_number(alpha) or isinstance(alpha, jax.Array)) or not 0 <= alpha < math.inf:
            raise InputError(f"`alpha` of Omega must be zero or a positive number, got {alpha}: use 1e-2")
        self.norm, self.lipschitz, self.alpha = norm, lipschitz if alpha else NoPenalty(), float(alpha)

    def init(self, net: VectorField, *, key: PRNGKey) -> Carry:
        """What both parts carry."""
        keys = jax.random.split(key)
        return self.norm.init(net, key=keys[0]), self.lipschitz.init(net, key=keys[1])

    def __call__(self, net: VectorField, points: Points, weights: Weights, carry: Carry) -> tuple[Value, Carry]:
        """The weighted sum of both parts."""
        norm, ours = self.norm(net, points, weights, carry[0])
        lipschitz, theirs = self.lipschitz(net, points, weights, carry[1])
        return norm + self.alpha * lipschitz, (ours, theirs)
