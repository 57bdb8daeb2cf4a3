"""Forecasts that cannot run away: a learnt field knows nothing far outside the data."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from leadax._types import VectorField


def kept_within(field: VectorField, bounds: Float[Array, "2 channel"] | None) -> VectorField:
    """The same field within bounds; outside, its value at the nearest point within, and a pull back there.

    $$f(t, \\bar x, u) - (x - \\bar x), \\qquad \\bar x = \\min(\\max(x, \\mathrm{low}), \\mathrm{high})$$

    A forecast stays finite, because the pull grows with the distance and the rest does not. It still leads outside, so
    that training sees how far; what users get is `cut_off`.

    - `bounds`: the lowest and the highest value of each channel; None for no bounds.

    >>> import jax.numpy as jnp
    >>> cubic = kept_within(lambda t, x, u: x**3, jnp.array([[-2.0], [2.0]]))
    >>> [float(cubic(jnp.array(0.0), jnp.array([x]), None)[0]) for x in (1.0, 2.0, 12.0)]
    [1.0, 8.0, -2.0]
    """
    if bounds is None:
        return field

    def bounded(t: Array, x: Array, u: Array | None) -> Array:
        low, high = (jnp.broadcast_to(side.astype(x.dtype), x.shape) for side in bounds)
        nearest = jnp.clip(x, low, high)
        return field(t, nearest, u) - (x - nearest)

    return bounded


def cut_off(
    path: Float[Array, "time *space channel"], bounds: Float[Array, "2 channel"] | None
) -> Float[Array, "time *space channel"]:
    """A forecast that ends at bounds; where it starts outside of them, at its start.

    >>> import jax.numpy as jnp
    >>> cut_off(jnp.array([[1.0, 3.0], [9.0, 4.0]]), jnp.array([[-2.0, -2.0], [2.0, 2.0]])).tolist()
    [[1.0, 3.0], [2.0, 3.0]]
    """
    if bounds is None:
        return path
    low, high = (jnp.broadcast_to(side.astype(path.dtype), path[:1].shape) for side in bounds)
    return jnp.clip(path, jnp.minimum(low, path[:1]), jnp.maximum(high, path[:1]))
