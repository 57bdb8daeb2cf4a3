"""What training minimises: the error of whole trajectories plus Ω/λ."""

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from .._types import PRNGKey
from ..data.batch import Batch
from ..evaluate.errors import squared_error
from ..methods import Levels, Method, Regulariser
from ..methods.local import Local, forecast, points_seen
from ..methods.weighing import comparable, noise_of
from ..penalties import Points


class Terms(NamedTuple):
    """The parts of the loss, for the reader: mean squared error and Ω of each environment."""

    error: Float[Array, " env"]
    penalty: Float[Array, " env"]


class Sums(NamedTuple):
    """What the trajectories of one environment add up to.

    - `error`: squared errors; `observed`: how many values were;
    - `tie`: squared gaps where a forecast restarts from an inferred state;
    - `prior`: squared distances of what is inferred from what is likely, in units of how far off it may be.
    """

    error: Float[Array, "*env"]
    observed: Float[Array, "*env"]
    tie: Float[Array, "*env"]
    prior: Float[Array, "*env"]


def loss(
    method: Method,
    levels: Levels,
    carry: PyTree,
    batch: Batch,
    restart: Bool[Array, "env traj time"] | None,
    weight_decay: float = 0.0,
) -> tuple[Float[Array, ""], tuple[Terms, PyTree]]:
    """Mean squared error over all observed values + (1/λ)·Σ_e Ω(g_e), in standard units.

    The error is that of forecast states; or, where the batch has slopes, that of (f + g_e)(x) against them.

    The error is a *mean* over environments, trajectories, times, channels and pixels while Ω is *summed* over
    environments, as in the experiments of the paper: λ does not carry over to other numbers of them.

    Where states are inferred, forecasts start and restart from them: a restart adds the squared distance of its state
    from the forecast that ends there. The prior keeps inferred states near what was observed, within the noise, and
    hidden starts and individual constants near zero. Its weight makes all of them most likely under Gaussian errors as
    large as the present one: as long as forecasts are much worse than the noise, observations are believed.

    **Arguments**

    - `carry`: what the penalty carries between steps, stacked over environments;
    - `restart`: where forecasts restart from the data, or from inferred states; None for nowhere;
    - `weight_decay`: γ, of a normal prior of all weights with the variance 1/(γ · inputs of their layer). It counts as
      the prior above does.

    Returns the loss, and its terms together with the new carry.
    """
    in_environment = partial(_in_environment, method, levels.shared)
    sums, penalties, carry = jax.vmap(in_environment)(levels.specific, levels.local, carry, batch, restart)
    count = jnp.sum(sums.observed)
    error = jnp.sum(sums.error) / count
    terms = Terms(sums.error / jnp.maximum(sums.observed, 1), penalties)
    value = error + _weighted(method.regulariser(), error, jnp.sum(penalties))
    present = jax.lax.stop_gradient(error)
    prior = method.prior(levels.shared, levels.specific)
    if prior is not None:
        value += present * prior / count
    if isinstance(levels.local, Local):
        value += (jnp.sum(sums.tie) + present * jnp.sum(sums.prior)) / count
    if weight_decay:
        value += weight_decay * present * squared_weights(levels) / count
    return value, (terms, carry)


def squared_weights(levels: Levels) -> Array | float:
    """The sum of all squared weights, each times the number of inputs of its layer: about 1 per weight at first.

    Biases and other vectors do not count.
    """
    own = [(leaf, leaf.shape) for leaf in jax.tree.leaves(levels.shared)]
    own += [(leaf, leaf.shape[1:]) for leaf in jax.tree.leaves(levels.specific)]
    matrices = [(leaf, math.prod(shape[:-1])) for leaf, shape in own if len(shape) > 1]
    return sum(fan_in * jnp.sum(jnp.square(jnp.abs(leaf))) for leaf, fan_in in matrices)


def _weighted(regulariser: Regulariser | None, error: Array, total: Array) -> Array | float:
    """The penalty as it counts in the loss."""
    if regulariser is None:
        return 0.0
    if not regulariser.relative:
        return regulariser.weight * total
    # κ · error/Ω as a number: the gradient is that of a penalty whose weight follows the error down.
    ratio = error / jnp.maximum(total, jnp.finfo(total.dtype).tiny)
    return regulariser.weight * jax.lax.stop_gradient(ratio) * total


def _in_environment(
    method: Method,
    shared: PyTree,
    specific: PyTree,
    local: "Local | tuple[()]",
    carry: PyTree,
    batch: Batch,
    restart: Array | None,
) -> tuple[Sums, Array, PyTree]:
    """The sums of one environment, its Ω and the new carry."""
    each, states = jax.vmap(partial(_in_trajectory, method, shared, specific))(local, batch, restart)
    sums = jax.tree.map(jnp.sum, each)
    regulariser = method.regulariser()
    if regulariser is None:
        return sums, jnp.zeros_like(sums.error), carry
    # Points of all trajectories in a row: fewer axes, which a CPU is faster with.
    row = lambda a: a.reshape(-1, *a.shape[2:])
    # As with the states that were inferred, Ω is no reason to move the constants: it is about g_e.
    constants = jax.lax.stop_gradient(local.individual) if isinstance(local, Local) else None
    seen = points_seen(batch, constants)
    points = Points(row(batch.clock), row(states), None if seen is None else row(seen))
    weights = row(batch.complete).astype(sums.error.dtype)
    penalty, carry = regulariser.penalty(regulariser.subject(shared, specific), points, weights, carry)
    return sums, penalty, carry


def _in_trajectory(
    method: Method,
    shared: PyTree,
    specific: PyTree,
    local: "Local | tuple[()]",
    trajectory: Batch,
    restart: Array | None,
) -> tuple[Sums, Array]:
    """The sums of one trajectory, and the states at which Ω is evaluated: observed ones, or forecasts of them."""
    count = jnp.sum(trajectory.observed, dtype=trajectory.states.dtype)
    nothing = jnp.zeros_like(count)
    if trajectory.slopes is not None:
        return Sums(_slope_error(method, shared, specific, trajectory), count, nothing, nothing), trajectory.states
    predicted = forecast(method.dynamics(shared, specific), local, trajectory, restart)
    seen = predicted[..., : trajectory.states.shape[-1]]
    squares = squared_error(*comparable(seen, trajectory), trajectory.observed)
    if not isinstance(local, Local):
        return Sums(jnp.sum(squares), count, nothing, nothing), trajectory.states
    # How far a start is from what was observed there is no error of a forecast: the prior has it.
    error = jnp.sum(squares[1:])
    prior = _prior(local, trajectory) + _departures(local, trajectory, restart)
    return Sums(error, count, _tie(local, predicted, restart), prior), jax.lax.stop_gradient(predicted)


def _tie(local: Local, predicted: Array, restart: Array | None) -> Float[Array, ""]:
    """What ties the pieces of a trajectory together where its forecast restarts; at the start nothing ends."""
    if restart is None:
        return jnp.zeros((), predicted.dtype)
    here = restart.at[0].set(False).reshape(-1, *(1,) * (predicted.ndim - 1))
    return jnp.sum(jnp.where(here, predicted - local.path, 0.0) ** 2)


def _departures(local: Local, trajectory: Batch, restart: Array | None) -> Float[Array, ""]:
    """Squared distances of inferred from observed states, in units of the noise, where forecasts start and restart."""
    states, first = trajectory.states, jnp.arange(len(trajectory.times)) == 0
    here = (first if restart is None else first | restart).reshape(-1, *(1,) * (states.ndim - 1))
    off = (local.path[..., : states.shape[-1]] - states) / noise_of(trajectory)
    return jnp.sum(jnp.where(here & trajectory.observed, off, 0.0) ** 2)


def _prior(local: Local, trajectory: Batch) -> Float[Array, ""]:
    """Squared hidden starts and individual constants; 0 for padding.

    Both have the width 1: what they amount to is up to the net. A width that followed the constants would shrink with
    them, until they say nothing.
    """
    observed = trajectory.states.shape[-1]
    assert trajectory.noise is not None, "where states are inferred there is a noise level"
    hidden = local.path[0, ..., observed:]
    # By default the width is 1; less where hidden channels start at zero.
    total = jnp.sum((hidden / jnp.broadcast_to(trajectory.noise[observed:], hidden.shape)) ** 2)
    if local.individual is not None:
        total += jnp.sum(local.individual**2)
    return jnp.where(trajectory.complete[0], total, 0.0)


def _slope_error(method: Method, shared: PyTree, specific: PyTree, trajectory: Batch) -> Float[Array, ""]:
    """The squared error of (f + g_e)(x) against slopes of the data."""
    fields = method.split(shared, specific)
    assert trajectory.slopes is not None
    assert fields is not None, "`fit` refuses to match derivatives without a vector field"
    tangent = lambda t, x, u: fields[0](t, x, u) + fields[1](t, x, u)
    predicted = jax.vmap(tangent)(trajectory.clock, trajectory.states, trajectory.inputs)
    return jnp.sum(squared_error(predicted, trajectory.slopes, trajectory.observed))


def first_carry(method: Method, levels: Levels, key: PRNGKey, environments: int) -> PyTree:
    """What the penalty carries into the first step, for all environments."""
    regulariser = method.regulariser()
    if regulariser is None:
        return ()
    init = lambda specific, key: regulariser.penalty.init(regulariser.subject(levels.shared, specific), key=key)
    return jax.vmap(init)(levels.specific, jax.random.split(key, environments))
