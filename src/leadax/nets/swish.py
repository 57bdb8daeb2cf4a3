"""The activation of the paper's nets."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

# 1/sqrt(E[swish(z)²]) for z ~ N(0, 1) and β = .5: with weights multiplied by it, an activation preserves the variance.
GAIN = 1.8526


class Swish(eqx.Module):
    """Swish with a learnt slope: $x \\, \\sigma(x \\, \\mathrm{softplus}(\\beta)) / 1.1$.

    The steepest slope of $x \\, \\sigma(sx)$ is 1.0998 for every $s$. Divided by 1.1, the activation is 1-Lipschitz for
    every β, so the Lipschitz norm of a net depends on its linear layers alone.

    **Arguments:**

    - `beta`: the initial value of β, a scalar.

    >>> from leadax.nets import Swish
    >>> round(float(Swish()(1.0)), 3)
    0.66
    """

    beta: Float[Array, ""]

    def __init__(self, beta: float | int = 0.5):
        self.beta = jnp.array(beta, dtype=float)

    def __call__(self, x: Float[Array, "*shape"] | float) -> Float[Array, "*shape"]:
        """The activation of each entry of `x`."""
        # Only `x` is kept for the backward pass. Recomputing the rest is faster than storing it.
        return jax.checkpoint(_swish, prevent_cse=False)(x, self.beta)


def _swish(x: Array | float, beta: Array) -> Array:
    return x * jax.nn.sigmoid(x * jax.nn.softplus(beta)) / 1.1
