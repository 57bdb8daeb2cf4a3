"""Infer what belongs to a new trajectory, its start and its constants, from its first points: all else is fixed."""

from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, PyTree

from ..data.batch import Batch
from .base import Levels, Method
from .dynamics import Dynamics
from .local import Local, forecast
from .population import Population, guessed, numbers_of, widened
from .prepare import Frozen
from .weighing import comparable

ITERATIONS = 16
DENSE = 64  # unknowns up to which the Jacobian is written out
LEAST_RESIDUAL = 1e-3  # standard units


def inferred(
    method: Method, levels: Levels, batch: Batch, known: Bool[Array, "env traj time"] | None
) -> "Local | tuple[()]":
    """What is local to each trajectory of a data set, for each member: `(member, env, traj, …)`.

    The start $x_0$ and the constants $c$ of a trajectory minimise

    $$\\sum_k |\\hat x_k(x_0, c) - y_k|^2 / \\sigma^2 + (z - \\bar z)^\\top C^{-1} (z - \\bar z), \\quad z = (x_0, c)$$

    over its known points, by the Levenberg–Marquardt method; σ, $\\bar z$ and C are those of the population of
    trajectories trained on, and σ grows with the value where noise does (`leadax.methods.weighing`). All trajectories
    at once, without randomness.

    **Arguments**

    - `method`: its numbers as arrays with a leading axis over members; `levels.local` is a `Population`, or empty;
    - `known`: which points may be looked at; None for the first alone, which needs no search.
    """
    if not isinstance(levels.local, Population):
        return ()
    numbers, static = eqx.partition(method, eqx.is_array)
    return _inferred(Frozen(static), numbers, levels, batch, known)


@partial(jax.jit, static_argnums=0)
def _inferred(static: Frozen, numbers: PyTree, levels: Levels, batch: Batch, known: Array | None) -> Local:
    def member(numbers: PyTree, levels: Levels) -> Local:
        method = eqx.combine(numbers, static.tree)
        environment = lambda e, specific, batch, known: jax.vmap(
            partial(_one, method, levels.shared, specific, levels.local, e)
        )(batch, known)
        places = jnp.arange(len(batch.times))
        return jax.vmap(environment)(places, levels.specific, batch, known)

    return jax.vmap(member)(numbers, levels)


def _one(
    method: Method,
    shared: PyTree,
    specific: PyTree,
    population: Population,
    e: Array,
    trajectory: Batch,
    known: Bool[Array, " time"] | None,
) -> Local:
    """What is local to one trajectory."""
    first = guessed(population, e, trajectory)
    if known is None:
        return first
    mean = Local(population.start[e][None], None if population.individual is None else population.individual[e])
    seen = trajectory.observed & known.reshape(-1, *(1,) * (trajectory.observed.ndim - 1))
    off = misfit(method.dynamics(shared, specific), trajectory._replace(observed=seen), mean, population)
    return levenberg_marquardt(off, first)


def misfit(
    dynamics: Dynamics, trajectory: Batch, mean: Local, population: Population
) -> Callable[[Local], tuple[Array, Array]]:
    """How far off what is local to one trajectory is, in standard deviations: from observations, and from the prior.

    - `mean`: of the prior, whose covariance and noise are those of the population.
    """
    observed, states = trajectory.states.shape[-1], trajectory.states
    residual = jnp.maximum(population.residual, LEAST_RESIDUAL)
    sigma = jnp.broadcast_to(residual, states.shape)
    surprise = _surprise(trajectory, mean, population.covariance, residual)

    def off(local: Local) -> tuple[Array, Array]:
        predicted = forecast(dynamics, local, trajectory)[..., :observed]
        seen, known = comparable(predicted, trajectory)
        return jnp.where(trajectory.observed, (seen - known) / sigma, 0.0), surprise(local)

    return off


def _surprise(trajectory: Batch, mean: Local, covariance: Array, sigma: Array) -> Callable[[Local], Array]:
    """How far a start and constants are from the mean of a population, in standard deviations."""
    if trajectory.states.ndim > 2:
        return _surprise_of_a_field(trajectory, mean, covariance)
    seen, count = trajectory.observed[0], trajectory.states.shape[-1]
    covariance = widened(covariance, trajectory.states[0] - mean.path[0, :count], sigma, seen)
    root = jnp.linalg.cholesky(covariance)
    return lambda local: jax.scipy.linalg.solve_triangular(root, numbers_of(local) - numbers_of(mean), lower=True)


def _surprise_of_a_field(trajectory: Batch, mean: Local, covariance: Array) -> Callable[[Local], Array]:
    """The same on a grid, where each pixel is independent; what was observed of a first state needs no prior."""
    channels, observed = mean.path.shape[-1], trajectory.states.shape[-1]
    spread = jnp.sqrt(jnp.diagonal(covariance))

    def surprise(local: Local) -> Array:
        start = local.path[0]
        free = jnp.ones(start.shape, bool).at[..., :observed].set(~trajectory.observed[0])
        like = lambda numbers: jnp.broadcast_to(numbers, start.shape)
        off = jnp.where(free, (start - like(mean.path[0])) / like(spread[:channels]), 0.0).ravel()
        if local.individual is None or mean.individual is None:
            return off
        return jnp.concatenate([off, (local.individual - mean.individual) / spread[channels:]])

    return surprise


def levenberg_marquardt(residuals: Callable[[PyTree], PyTree], start: PyTree, iterations: int = ITERATIONS) -> PyTree:
    """Arguments that minimise a sum of squares, from a start, in a fixed number of steps.

    A step $\\delta$ solves $(J^\\top J + \\mu I) \\delta = -J^\\top r$. It is taken if it lowers the sum; then μ falls,
    otherwise it rises.

    >>> rosenbrock = lambda x: (10 * (x[1] - x[0] ** 2), 1 - x[0])
    >>> levenberg_marquardt(rosenbrock, jnp.array([-1.2, 1.0]), 40).round(3).tolist()
    [1.0, 1.0]
    """
    first, whole = ravel_pytree(start)
    if not first.size:
        return start
    flat = lambda x: ravel_pytree(residuals(whole(x)))[0]
    cost = lambda r: jnp.nan_to_num(jnp.sum(r**2), nan=jnp.inf)

    def step(loop: tuple, _: None) -> tuple[tuple, None]:
        x, damping = loop
        r, push = jax.linearize(flat, x)
        proposal = x + _damped_step(push, r, damping, x)
        better = cost(flat(proposal)) < cost(r)
        damping = jnp.where(better, damping / 4, damping * 8)
        return (jnp.where(better, proposal, x), jnp.clip(damping, 1e-6, 1e8)), None

    (found, _), _ = jax.lax.scan(step, (first, jnp.asarray(1.0, first.dtype)), None, iterations)
    return whole(found)


def _damped_step(push: Callable[[Array], Array], r: Float[Array, " r"], damping: Array, x: Float[Array, " x"]) -> Array:
    if len(x) <= DENSE:
        jacobian = jax.vmap(push, out_axes=1)(jnp.eye(len(x), dtype=x.dtype))
        # By QR: the normal equations would square the condition number, which float32 cannot afford.
        stacked = jnp.concatenate([jacobian, jnp.sqrt(damping) * jnp.eye(len(x), dtype=x.dtype)])
        q, upper = jnp.linalg.qr(stacked)
        return jax.scipy.linalg.solve_triangular(upper, -q[: len(r)].T @ r)
    pull = jax.linear_transpose(push, x)
    normal = lambda v: pull(push(v))[0] + damping * v
    return jax.scipy.sparse.linalg.cg(normal, -pull(r)[0], maxiter=DENSE)[0]
