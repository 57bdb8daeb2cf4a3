"""What training minimises: the error of whole trajectories plus Ω/λ."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from .._types import PRNGKey
from ..data.batch import Batch
from ..evaluate.errors import squared_error
from ..methods import Levels, Method, Regulariser
from ..penalties import Points
from ..rollout import Restart


class Terms(NamedTuple):
    """The parts of the loss, for the reader: mean squared error and Ω of each environment."""

    error: Float[Array, " env"]
    penalty: Float[Array, " env"]


def loss(
    method: Method,
    levels: Levels,
    carry: PyTree,
    batch: Batch,
    restart: Bool[Array, "env traj time"] | None,
) -> tuple[Float[Array, ""], tuple[Terms, PyTree]]:
    """Mean squared error over all observed values + (1/λ)·Σ_e Ω(g_e), in standard units.

    The error is that of forecast states; or, where the batch has slopes, that of (f + g_e)(x) against them.

    The error is a *mean* over environments, trajectories, times, channels and pixels while Ω is *summed* over
    environments, as in the experiments of the paper: λ does not carry over to other numbers of them.

    **Arguments**

    - `carry`: what the penalty carries between steps, stacked over environments;
    - `restart`: where forecasts restart from the data; None for nowhere.

    Returns the loss, and its terms together with the new carry.
    """
    in_environment = partial(_in_environment, method, levels.shared)
    sums, counts, penalties, carry = jax.vmap(in_environment)(levels.specific, carry, batch, restart)
    error = jnp.sum(sums) / jnp.sum(counts)
    terms = Terms(sums / jnp.maximum(counts, 1), penalties)
    return error + _weighted(method.regulariser(), error, jnp.sum(penalties)), (terms, carry)


def _weighted(regulariser: Regulariser | None, error: Array, total: Array) -> Array | float:
    """The penalty as it counts in the loss."""
    if regulariser is None:
        return 0.0
    if not regulariser.relative:
        return regulariser.weight * total
    # κ · error/Ω as a number: the gradient is that of a penalty whose weight follows the error down.
    ratio = error / jnp.maximum(total, jnp.finfo(total.dtype).tiny)
    return regulariser.weight * jax.lax.stop_gradient(ratio) * total


def _in_environment(method: Method, shared: PyTree, specific: PyTree, carry: PyTree, batch: Batch, restart):
    """The sum of squared errors of one environment, how many there are, its Ω and the new carry."""
    squares = jax.vmap(partial(_squares, method, shared, specific))(batch, restart)
    error, count = jnp.sum(squares), jnp.sum(batch.observed, dtype=squares.dtype)
    regulariser = method.regulariser()
    if regulariser is None:
        return error, count, jnp.zeros_like(error), carry
    # Points of all trajectories in a row: fewer axes, which a CPU is faster with.
    row = lambda a: a.reshape(-1, *a.shape[2:])
    points = Points(row(batch.clock), row(batch.states))
    weights = row(batch.complete).astype(error.dtype)
    penalty, carry = regulariser.penalty(regulariser.subject(shared, specific), points, weights, carry)
    return error, count, penalty, carry


def _squares(method: Method, shared: PyTree, specific: PyTree, trajectory: Batch, restart) -> Float[Array, ""]:
    """The sum of squared errors of one trajectory."""
    if trajectory.slopes is None:
        restarts = None if restart is None else Restart(restart, trajectory.states)
        predicted = method.dynamics(shared, specific).forecast(trajectory.states[0], trajectory.steps, restarts)
        return jnp.sum(squared_error(predicted, trajectory.states, trajectory.observed))
    fields = method.split(shared, specific)
    assert fields is not None, "`fit` refuses to match derivatives without a vector field"
    tangent = lambda t, x: fields[0](t, x, None) + fields[1](t, x, None)
    predicted = jax.vmap(tangent)(trajectory.clock, trajectory.states)
    return jnp.sum(squared_error(predicted, trajectory.slopes, trajectory.observed))


def first_carry(method: Method, levels: Levels, key: PRNGKey, environments: int) -> PyTree:
    """What the penalty carries into the first step, for all environments."""
    regulariser = method.regulariser()
    if regulariser is None:
        return ()
    init = lambda specific, key: regulariser.penalty.init(regulariser.subject(levels.shared, specific), key=key)
    return jax.vmap(init)(levels.specific, jax.random.split(key, environments))
