"""Forecasts that cannot run away: a learnt field knows nothing far outside the data."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from leadax._types import State, VectorField


def kept_within(field: VectorField, bounds: Float[Array, "2 channel"] | None) -> VectorField:
    """The same field within bounds; outside, its value at the nearest point within, and a pull back there.

    $$f(t, \\bar x, u) - (x - \\bar x), \\qquad \\bar x = \\min(\\max(x, \\mathrm{low}), \\mathrm{high})$$

    A solution stays finite, because the pull grows with the distance and the rest does not. Steps of a solver need
    `stopped_at` besides.

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


def stopped_at(bounds: Float[Array, "2 channel"] | None, before: State, after: State) -> State:
    """The state after a step, which leads from within bounds to their edge at most, and from outside no further out.

    >>> import jax.numpy as jnp
    >>> bounds = jnp.array([[-2.0], [2.0]])
    >>> [float(stopped_at(bounds, jnp.array([x]), jnp.array([9.0]))[0]) for x in (1.0, 3.0, 10.0)]
    [2.0, 3.0, 9.0]
    """
    if bounds is None:
        return after
    low, high = (jnp.broadcast_to(side.astype(after.dtype), after.shape) for side in bounds)
    return jnp.clip(after, jnp.minimum(low, before), jnp.maximum(high, before))
