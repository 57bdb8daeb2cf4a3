"""Norms of a vector field on the data."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import PRNGKey, VectorField
from ..errors import InputError
from .base import Carry, Penalty, Points, Value, Weights, evaluated


class EmpiricalNorm(Penalty):
    """Squared empirical norm on the data, $\\|g\\|_{L^p}^2 = (\\frac1n \\sum_x |g(x)|^p)^{2/p}$ (supplement C).

    With the defaults it is the paper's $\\frac1n \\sum_x \\|g(x)\\|^2 / \\|x\\|^2$.

    **Arguments**

    - `p`: from 1 to `math.inf`, the largest value;
    - `relative`: divide $|g(x)|$ by $|x|$ + `epsilon`, so that states of all sizes count alike;
    - `per_pixel`: take $|\\cdot|$ over the channels of one pixel and the mean over pixels too, as the paper's
      experiments did, instead of over the whole state. Heavy-tailed where a field crosses zero;
    - `epsilon`: keeps the ratio finite at $x = 0$.

    >>> import jax.numpy as jnp
    >>> points = Points(jnp.zeros(3), jnp.ones((3, 2)))
    >>> value, _ = EmpiricalNorm(relative=False)(lambda t, x, u: 2 * x, points, jnp.ones(3), ())
    >>> float(value)
    8.0
    """

    p: float | int = eqx.field(static=True, default=2.0)
    relative: bool = eqx.field(static=True, default=True)
    per_pixel: bool = eqx.field(static=True, default=False)
    epsilon: float | int = eqx.field(static=True, default=1e-5)

    def __check_init__(self):
        if not self.p >= 1:
            raise InputError(f"`p` of EmpiricalNorm must be from 1 to infinity, got {self.p}: use 2")
        if not self.epsilon > 0:
            raise InputError(f"`epsilon` of EmpiricalNorm must be positive, got {self.epsilon}: use 1e-5")

    def init(self, net: VectorField, *, key: PRNGKey) -> Carry:
        """Nothing."""
        del net, key
        return ()

    def __call__(self, net: VectorField, points: Points, weights: Weights, carry: Carry) -> tuple[Value, Carry]:
        """The squared norm of `net` on the observed states."""
        # The net must not see the padding at all: 0 times the gradient at a wild state is still NaN.
        states = jnp.where(_like(weights.astype(bool), points.states), points.states, 1.0)
        squares = self._squares(evaluated(net, points._replace(states=states)))
        if self.relative:
            squares = squares / (_power(self._squares(states), 0.5) + self.epsilon) ** 2
        return _mean_power(squares, _like(weights, squares).astype(squares.dtype), self.p), carry

    def _squares(self, x: Float[Array, "point *space channel"]) -> Float[Array, "..."]:
        return jnp.sum(x**2, axis=-1 if self.per_pixel else tuple(range(1, x.ndim)))


def _like(weights: Array, x: Array) -> Array:
    """`weights` of points, as large as `x` whose first axis are the points."""
    return jnp.broadcast_to(weights.reshape(-1, *(1,) * (x.ndim - 1)), x.shape)


def _mean_power(squares: Float[Array, "*shape"], weights: Float[Array, "*shape"], p: float | int) -> Value:
    """(mean of squares^(p/2))^(2/p), with zero gradient where the squares are zero."""
    squares = jnp.where(weights > 0, squares, 0.0)
    if math.isinf(p):
        return jnp.max(squares)
    total = jnp.sum(weights)
    weights = weights / jnp.where(total > 0, total, 1.0)
    if p == 2:
        return jnp.sum(weights * squares)
    # In units of the largest, so that high powers neither overflow nor vanish. The unit cancels, also in the gradient.
    largest = jax.lax.stop_gradient(jnp.max(squares))
    unit = jnp.where(largest > 0, largest, 1.0)
    return unit * _power(jnp.sum(weights * _power(squares / unit, p / 2)), 2 / p)


def _power(x: Float[Array, "*shape"], exponent: float) -> Float[Array, "*shape"]:
    """`x` ≥ 0 to a power, with zero gradient at 0 in place of an infinite one."""
    positive = x > 0
    return jnp.where(positive, jnp.where(positive, x, 1.0) ** exponent, 0.0)
