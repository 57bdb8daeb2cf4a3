"""Power iteration: the direction in which a linear map stretches most."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact


def power_iteration(
    linear: Callable[[Array], Array], v: Float[Array, "*shape"], iterations: int
) -> Float[Array, "*shape"]:
    """Repeat $v \\leftarrow A^\\top A v / |A^\\top A v|$: then $|Av|$ grows towards the spectral norm of $A$.

    No gradient flows through $v$. It converges like $(\\sigma_2/\\sigma_1)^{2k}$.

    **Arguments:**

    - `linear`: the map $A$, of real arrays of any shape; `v`: where to start, of length 1; `iterations`: how often.

    >>> import jax.numpy as jnp
    >>> from leadax.nets.power import power_iteration
    >>> v = power_iteration(lambda v: jnp.array([3.0, 1.0]) * v, jnp.array([0.6, 0.8]), 20)
    >>> v.round(3).tolist()
    [1.0, 0.0]
    """

    def step(_, v):
        # `vjp` and not `linear_transpose`, which refuses maps with a derivative of their own.
        image, transpose = jax.vjp(linear, v)
        (back,) = transpose(image)
        size = length(back)
        # A map that is all zero must not end the vector, or it would stay zero when the map no longer is.
        return jnp.where(size > 0, back / jnp.where(size > 0, size, 1.0), v)

    return jax.lax.stop_gradient(jax.lax.fori_loop(0, iterations, step, jax.lax.stop_gradient(v)))


def real_map(matrix: Inexact[Array, "rows columns"]) -> Callable[[Array], Array]:
    """Multiplication by a matrix; a complex vector is `(2, columns)`, its real and its imaginary part."""
    if not jnp.iscomplexobj(matrix):
        return lambda v: matrix @ v

    def multiply(v: Float[Array, "2 columns"]) -> Float[Array, "2 rows"]:
        image = matrix @ jax.lax.complex(v[0], v[1])
        return jnp.stack([image.real, image.imag])

    return multiply


def length(v: Float[Array, "..."]) -> Float[Array, ""]:
    """Euclidean length of an array of any shape."""
    return jnp.sqrt(jnp.sum(v**2))
