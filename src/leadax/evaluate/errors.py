"""Squared errors of forecasts: computed in one program for all members, environments and trajectories."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from ..data.batch import Batch
from ..methods import Levels, Method
from ..methods.prepare import Frozen


def squared_error(
    predicted: Float[Array, "time *space channel"],
    states: Float[Array, "time *space channel"],
    observed: Bool[Array, "time *space channel"],
) -> Float[Array, "time value"]:
    """Squared errors of the observed values of one trajectory, each state in a row, 0 where nothing was observed."""
    rows = lambda array: array.reshape(len(array), -1)
    # A forecast may be wild where nobody looks: not even its gradient may count there.
    return jnp.square(jnp.where(rows(observed), rows(predicted - states), 0.0))


def error_sums(method: Method, levels: Levels, batch: Batch) -> Float[Array, "member env traj time channel"]:
    """Sums of squared errors over the pixels at each point, in standard units.

    - `method`: its numbers as arrays with a leading axis over members (`side_by_side`).
    """
    numbers, static = eqx.partition(method, eqx.is_array)
    return _error_sums(Frozen(static), numbers, levels, batch)


@partial(jax.jit, static_argnums=0)
def _error_sums(static: Frozen, numbers: PyTree, levels: Levels, batch: Batch) -> Array:
    one = lambda numbers, levels: _member(eqx.combine(numbers, static.tree), levels, batch)
    return jax.vmap(one)(numbers, levels)


def _member(method: Method, levels: Levels, batch: Batch) -> Float[Array, "env traj time channel"]:
    def one(specific: PyTree, trajectory: Batch) -> Array:
        dynamics = method.dynamics(levels.shared, specific)
        predicted = dynamics.forecast(trajectory.states[0], trajectory.steps)
        squares = squared_error(predicted, trajectory.states, trajectory.observed)
        return jnp.sum(squares.reshape(len(squares), -1, predicted.shape[-1]), axis=1)

    return jax.vmap(lambda specific, env: jax.vmap(partial(one, specific))(env))(levels.specific, batch)
