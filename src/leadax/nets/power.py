"""Power iteration: the direction that a linear map stretches most."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Inexact


def power_iteration(
    linear: Callable[[Array], Array], v: Float[Array, "*shape"], iterations: int
) -> Float[Array, "*shape"]:
    """Repeat $v \\leftarrow A^\\top A v / |A^\\top A v|$, so that $|Av|$ grows towards the spectral norm of $A$.

    The error of $v$ after $k$ iterations is of order $(\\sigma_2/\\sigma_1)^{2k}$. No gradient flows through $v$.

    **Arguments:**

    - `linear`: the map $A$, between real arrays of any shape; `v`: the initial vector, of length 1; `iterations`: $k$.

    >>> import jax.numpy as jnp
    >>> from leadax.nets.power import power_iteration
    >>> v = power_iteration(lambda v: jnp.array([3.0, 1.0]) * v, jnp.array([0.6, 0.8]), 20)
    >>> v.round(3).tolist()
    [1.0, 0.0]
    """

    def step(_: Any, v: Array) -> Array:
        # Unlike `linear_transpose`, `vjp` also works for a map defined by `jax.custom_vjp`, and the image is needed.
        image, transpose = jax.vjp(linear, v)
        (back,) = transpose(image)
        size = length(back)
        # A map that is zero leaves the vector as it is: a zero vector would stay zero after the map has changed.
        return jnp.where(size > 0, back / jnp.where(size > 0, size, 1.0), v)

    return jax.lax.stop_gradient(jax.lax.fori_loop(0, iterations, step, jax.lax.stop_gradient(v)))


def real_map(matrix: Inexact[Array, "rows columns"]) -> Callable[[Array], Array]:
    """Multiplication by a matrix. Complex vectors are given as `(2, columns)`: real and imaginary parts."""
    if not jnp.iscomplexobj(matrix):
        return lambda v: matrix @ v

    def multiply(v: Float[Array, "2 columns"]) -> Float[Array, "2 rows"]:
        image = matrix @ jax.lax.complex(v[0], v[1])
        return jnp.stack([image.real, image.imag])

    return multiply


def length(v: Float[Array, "..."]) -> Float[Array, ""]:
    """The Euclidean length of an array of any shape."""
    return jnp.sqrt(jnp.sum(v**2))
