"""From what was inferred of the trajectories trained on to the prior for new ones."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ..data.batch import Batch
from ..methods import Levels, Method
from ..methods.local import Local, Population, forecast, population_of
from ..methods.prepare import Frozen
from ..methods.weighing import comparable


def with_population(method: Method, levels: Levels, batch: Batch) -> Levels:
    """The parameters of all members with the population of trajectories in place of each of them."""
    if not isinstance(levels.local, Local):
        return levels
    numbers, static = eqx.partition(method, eqx.is_array)
    return levels._replace(local=_population(Frozen(static), numbers, levels, batch))


@partial(jax.jit, static_argnums=0)
def _population(static: Frozen, numbers: PyTree, levels: Levels, batch: Batch) -> Population:
    def member(numbers: PyTree, levels: Levels) -> Population:
        method = eqx.combine(numbers, static.tree)
        one = lambda specific: partial(forecast, method.dynamics(levels.shared, specific))
        environment = lambda specific, local, batch: jax.vmap(one(specific))(local, batch)
        predicted = jax.vmap(environment)(levels.specific, levels.local, batch)
        return population_of(levels.local, batch, _residual(predicted, batch))

    return jax.vmap(member)(numbers, levels)


def _residual(predicted: Array, batch: Batch) -> Array:
    """The root mean square error of each observed channel, in the units of `comparable`."""
    seen, states = comparable(predicted[..., : batch.states.shape[-1]], batch)
    off = jnp.where(batch.observed, seen - states, 0.0)
    axes = tuple(range(off.ndim - 1))
    return jnp.sqrt(jnp.sum(off**2, axis=axes) / jnp.maximum(jnp.sum(batch.observed, axis=axes, dtype=off.dtype), 1))
