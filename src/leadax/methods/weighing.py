"""Noise that grows with the value: differences from the data in units in which it is the same everywhere."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..data.batch import Batch


def comparable(predicted: Float[Array, "*place channel"], data: Batch) -> tuple[Array, Array]:
    """Forecasts and observations whose differences may be squared and added up: as they are, or divided by the noise.

    Noise that grows with the value counts in units of that of a value one spread from zero. What it grows with is the
    mean of forecast and observation, which is not differentiated: observations alone would have those that are too
    small by chance count more, and what is learnt would be too small as well.
    """
    if data.growth is None:
        return predicted, data.states
    size = (_size(data.states, data) + _size(jax.lax.stop_gradient(predicted), data)) / 2
    unit = _noise(jnp.ones_like(size), data) / _noise(size, data)
    return predicted * unit, data.states * unit


def noise_of(data: Batch) -> Float[Array, "*place channel"]:
    """The standard deviation of the noise in each observed value."""
    return _noise(_size(data.states, data), data)


def noise_of_one(data: Batch) -> Float[Array, "*place channel"]:
    """The standard deviation of the noise in the units of `comparable`: that of a value one spread from zero."""
    return _noise(jnp.ones_like(data.states), data)


def _size(values: Float[Array, "*place channel"], data: Batch) -> Float[Array, "*place channel"]:
    """How far values are from zero, in standard units."""
    return values if data.growth is None else jnp.abs(values - _like(data.growth.zero, values))


def _noise(size: Float[Array, "*place channel"], data: Batch) -> Float[Array, "*place channel"]:
    assert data.noise is not None, "where states are inferred there is a noise level"
    level = _like(data.noise[..., : size.shape[-1]], size)
    return level if data.growth is None else jnp.sqrt(level**2 + (_like(data.growth.rate, size) * size) ** 2)


def _like(numbers: Float[Array, "*batch channel"], values: Float[Array, "*place channel"]) -> Array:
    """Numbers of each channel at all places; both may have leading axes over trajectories."""
    leading = numbers.ndim - 1
    spare = (1,) * (values.ndim - numbers.ndim)
    return jnp.broadcast_to(numbers.reshape(*numbers.shape[:leading], *spare, numbers.shape[-1]), values.shape)
