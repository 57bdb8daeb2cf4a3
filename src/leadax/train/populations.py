"""From what was inferred of the trajectories trained on to the prior for new ones."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from ..data.batch import Batch
from ..methods import Levels, Method
from ..methods.infer import LEAST_RESIDUAL, levenberg_marquardt, misfit
from ..methods.local import Local, forecast
from ..methods.population import Population, in_environments, least_widths, numbers_of, population_of
from ..methods.prepare import Frozen
from ..methods.weighing import comparable

ROUNDS = 6  # of expectation and maximisation
ITERATIONS = 3  # of the search in each of them, which goes on where the last one ended
WEIGHT = 2.0  # of independent numbers, in trajectories: few trajectories say little about what goes together


class Posterior(NamedTuple):
    """What is known of one trajectory, and how well.

    - `local`: its most likely start and constants; `covariance`: of them, around these;
    - `squares`: what each observed value is off, squared, as is to be expected of all that are likely.
    """

    local: Local
    covariance: Float[Array, "... number number"]
    squares: Float[Array, "... time channel"]


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
        seen, states = comparable(predicted[..., : batch.states.shape[-1]], batch)
        off = jnp.where(batch.observed, seen - states, 0.0)
        first = population_of(levels.local, batch, _residual(off**2, batch))
        unseen = levels.local.individual is not None or levels.local.path.shape[-1] > batch.states.shape[-1]
        return _most_likely(method, levels, batch, first) if unseen and batch.states.ndim == 4 else first

    return jax.vmap(member)(numbers, levels)


def _most_likely(method: Method, levels: Levels, batch: Batch, first: Population) -> Population:
    """The population under which what was observed is most likely, by the EM algorithm; f and g_e are fixed.

    What is inferred of one trajectory is uncertain. If it is taken for certain, the population is too narrow or too
    wide, and the residual too small: it was fitted. Posteriors are normal distributions around what is most likely.
    """
    real = batch.complete[:, :, 0].astype(batch.states.dtype)

    def round_(loop: tuple[Local, Population], _: None) -> tuple[tuple[Local, Population], None]:
        local, population = loop
        middle = lambda a: jnp.sum(a * real[..., None], axis=(0, 1)) / jnp.sum(real)
        mean = Local(middle(local.path[:, :, 0])[None], jax.tree.map(middle, local.individual))

        def environment(specific: PyTree, local: Local, batch: Batch) -> Posterior:
            dynamics = method.dynamics(levels.shared, specific)
            off = lambda trajectory: misfit(dynamics, trajectory, mean, population)
            return jax.vmap(lambda local, trajectory: _posterior(off(trajectory), local, population.residual))(
                local, batch
            )

        found = jax.vmap(environment)(levels.specific, local, batch)
        return (found.local, _maximised(found, batch, real, first)), None

    start = Local(levels.local.path[:, :, :1], levels.local.individual)
    (_, population), _ = jax.lax.scan(round_, (start, first), None, ROUNDS)
    return population


def _posterior(off: Callable[[Local], PyTree], local: Local, residual: Array) -> Posterior:
    """The start and the constants of one trajectory, given all of its points."""
    local = levenberg_marquardt(off, local, ITERATIONS)
    point, whole = ravel_pytree(local)
    seen = lambda z: off(whole(z))
    (errors, _), push = jax.linearize(seen, point)
    by_number = jax.vmap(push)(jnp.eye(len(point), dtype=point.dtype))
    rows = jnp.concatenate([by_number[0].reshape(len(point), -1), by_number[1]], axis=1).T
    # By QR, as in the search: the inverse of the triangle is a root of the covariance.
    upper = jnp.linalg.qr(rows, mode="r")
    root = jax.scipy.linalg.solve_triangular(upper, jnp.eye(len(point), dtype=point.dtype))
    spread = jnp.sum(jnp.tensordot(root, by_number[0], axes=((0,), (0,))) ** 2, axis=0)
    unit = jnp.broadcast_to(jnp.maximum(residual, LEAST_RESIDUAL), errors.shape)
    return Posterior(local, root @ root.T, (errors**2 + spread) * unit**2)


def _maximised(found: Posterior, batch: Batch, real: Array, first: Population) -> Population:
    """The most likely population, given what is known of its trajectories."""
    z = jax.vmap(jax.vmap(numbers_of))(found.local)
    total = jnp.sum(real)
    z0 = z - jnp.sum(z * real[..., None], axis=(0, 1), keepdims=True) / total
    scatter = z0[..., :, None] * z0[..., None, :] + found.covariance
    scatter = jnp.sum(scatter * real[..., None, None], axis=(0, 1))
    covariance = (scatter + WEIGHT * first.covariance) / (total + WEIGHT)
    narrow = jnp.maximum(least_widths(batch, len(covariance)) ** 2 - jnp.diagonal(covariance), 0.0)
    means = in_environments(z, real)
    channels = first.start.shape[-1]
    individual = None if first.individual is None else means[:, channels:]
    residual = _residual(found.squares, batch)
    return Population(means[:, :channels], individual, covariance + jnp.diag(narrow), residual)


def _residual(squares: Array, batch: Batch) -> Float[Array, " observed"]:
    """The root mean square error of each observed channel."""
    axes = tuple(range(squares.ndim - 1))
    counts = jnp.maximum(jnp.sum(batch.observed, axis=axes, dtype=squares.dtype), 1)
    return jnp.sqrt(jnp.sum(jnp.where(batch.observed, squares, 0.0), axis=axes) / counts)
