"""How trajectories differ: the prior from which the start and the constants of a new one are inferred."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from ..data.batch import Batch
from ..data.layout import Layout
from .local import SMALLEST_WIDTH, Local

FAMILIAR = 3.0  # standard deviations up to which a first point is taken to be one of the population


class Population(NamedTuple):
    """Where the trajectories of each environment start, and how they differ: the prior for a new trajectory.

    - `start`, `individual`: the mean of starts and of individual constants in each environment;
    - `covariance`: of starts and constants together, channels of the state first;
    - `residual`: how far forecasts are from what is observed, the standard deviation in each channel.
    """

    start: Float[Array, "env channel"]
    individual: Float[Array, "env constant"] | None
    covariance: Float[Array, "number number"]
    residual: Float[Array, " observed"]


def numbers_of(local: Local) -> Float[Array, " number"]:
    """The start and the constants of one trajectory in a row."""
    start = local.path[0]
    return start if local.individual is None else jnp.concatenate([start, local.individual])


def population_of(local: Local, batch: Batch, residual: Float[Array, " observed"]) -> Population:
    """The prior for new trajectories from those that were trained on, as if what was inferred of them were certain.

    Its numbers are taken to be independent. Constants are spread around zero, as they are in training.
    """
    real = batch.complete[:, :, 0].astype(residual.dtype)
    starts = local.path[:, :, 0]
    starts = starts.reshape(*starts.shape[:2], -1, starts.shape[-1]).mean(axis=2)
    centre = jnp.sum(starts * real[..., None], axis=(0, 1), keepdims=True) / jnp.sum(real)
    squares, individual = (starts - centre) ** 2, None
    if local.individual is not None:
        individual = in_environments(local.individual, real)
        squares = jnp.concatenate([squares, local.individual**2], axis=-1)
    variance = jnp.sum(squares * real[..., None], axis=(0, 1)) / jnp.sum(real)
    covariance = jnp.diag(jnp.maximum(variance, least_widths(batch, variance.shape[0]) ** 2))
    return Population(in_environments(starts, real), individual, covariance, residual)


def least_widths(batch: Batch, count: int) -> Float[Array, " number"]:
    """The smallest standard deviation of each number; hidden starts that are known better may have a smaller one."""
    assert batch.noise is not None, "where states are inferred there is a noise level"
    place, observed = jnp.arange(count), batch.states.shape[-1]
    noise = jnp.concatenate([batch.noise[0, 0], jnp.ones(count - batch.noise.shape[-1], batch.noise.dtype)])
    return jnp.where(place >= observed, jnp.minimum(noise, SMALLEST_WIDTH), SMALLEST_WIDTH)


def blank_population(layout: Layout, environments: int) -> "Population | tuple[()]":
    """A population of the right shapes; empty where nothing is inferred."""
    if not layout.inferred:
        return ()
    channels, count = len(layout.state), layout.individual
    return Population(
        start=jnp.zeros((environments, channels)),
        individual=jnp.zeros((environments, count)) if count else None,
        covariance=jnp.eye(channels + count),
        residual=jnp.ones(len(layout.channels)),
    )


def guessed(population: Population, environment: Array | int, trajectory: Batch) -> Local:
    """The start of one trajectory from its first point alone: what was observed there, and the prior's mean."""
    mean = jax.tree.map(lambda a: a[environment], (population.start, population.individual))
    observed = trajectory.states.shape[-1]
    shape = trajectory.states.shape[1:-1]
    start = jnp.broadcast_to(mean[0], (*shape, mean[0].shape[-1]))
    seen = jnp.where(trajectory.observed[0], trajectory.states[0], start[..., :observed])
    return Local(jnp.concatenate([seen, start[..., observed:]], axis=-1)[None], mean[1])


def widened(
    covariance: Float[Array, "number number"],
    off: Float[Array, " observed"],
    sigma: Float[Array, " observed"],
    seen: Bool[Array, " observed"],
) -> Float[Array, "number number"]:
    """The covariance for a trajectory that starts elsewhere than any before: wide enough for its first point.

    - `off`: how far the first point is from the mean of the population; `sigma`: how noisy it is; `seen`: where it is.
    """
    count = len(off)
    usual = FAMILIAR**2 * (jnp.diagonal(covariance)[:count] + sigma**2)
    more = jnp.where(seen, jnp.maximum(off**2 - usual, 0.0), 0.0)
    return covariance + jnp.diag(jnp.concatenate([more, jnp.zeros(len(covariance) - count, more.dtype)]))


def in_environments(
    values: Float[Array, "env traj number"], real: Float[Array, "env traj"]
) -> Float[Array, "env number"]:
    """The mean over the trajectories of each environment."""
    return jnp.sum(values * real[..., None], axis=1) / jnp.maximum(jnp.sum(real, axis=1), 1)[:, None]
