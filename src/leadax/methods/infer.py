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
from .local import Local, Population, forecast, guessed
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

    $$\\sum_k |\\hat x_k(x_0, c) - y_k|^2 / \\sigma^2 + |x_0 - \\bar x|^2 / s^2 + |c - \\bar c|^2 / w^2$$

    over its known points, by the Levenberg–Marquardt method; σ is the residual of training, which grows with the value
    where noise does (`leadax.methods.weighing`), and the prior, of what was not observed at the first point, is the
    population of trajectories trained on. All trajectories at once, without randomness.

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
    dynamics = method.dynamics(shared, specific)
    observed = trajectory.states.shape[-1]
    known = trajectory.observed & known.reshape(-1, *(1,) * (trajectory.observed.ndim - 1))
    like = lambda numbers, array: jnp.broadcast_to(numbers, array.shape)
    sigma = like(jnp.maximum(population.residual, LEAST_RESIDUAL), trajectory.states)
    spread = like(population.start_spread, first.path[0])
    # What was observed at the first point needs no prior.
    free = jnp.ones(first.path[0].shape, bool).at[..., :observed].set(~known[0])

    def residuals(local: Local) -> tuple:
        predicted = forecast(dynamics, local, trajectory)[..., :observed]
        seen, states = comparable(predicted, trajectory)
        off = jnp.where(known, (seen - states) / sigma, 0.0)
        prior = jnp.where(free, (local.path[0] - first.path[0]) / spread, 0.0)
        if local.individual is None or first.individual is None or population.individual_spread is None:
            return off, prior
        return off, prior, (local.individual - first.individual) / population.individual_spread

    return levenberg_marquardt(residuals, first)


def levenberg_marquardt(
    residuals: Callable[[PyTree], PyTree], start: PyTree, iterations: int = ITERATIONS, dense: int = DENSE
) -> PyTree:
    """Arguments that minimise a sum of squares, from a start, in a fixed number of steps.

    A step $\\delta$ solves $(J^\\top J + \\mu I) \\delta = -J^\\top r$. It is taken if it lowers the sum; then μ falls,
    otherwise it rises.

    - `dense`: how many unknowns there may be for the Jacobian to be written out; more are dealt with by products alone.

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
        proposal = x + _damped_step(push, r, damping, x, dense)
        better = cost(flat(proposal)) < cost(r)
        damping = jnp.where(better, damping / 4, damping * 8)
        return (jnp.where(better, proposal, x), jnp.clip(damping, 1e-6, 1e8)), None

    (found, _), _ = jax.lax.scan(step, (first, jnp.asarray(1.0, first.dtype)), None, iterations)
    return whole(found)


def _damped_step(
    push: Callable[[Array], Array], r: Float[Array, " r"], damping: Array, x: Float[Array, " x"], dense: int
) -> Array:
    if len(x) <= dense:
        jacobian = jax.vmap(push, out_axes=1)(jnp.eye(len(x), dtype=x.dtype))
        # By QR: the normal equations would square the condition number, which float32 cannot afford.
        stacked = jnp.concatenate([jacobian, jnp.sqrt(damping) * jnp.eye(len(x), dtype=x.dtype)])
        q, upper = jnp.linalg.qr(stacked)
        return jax.scipy.linalg.solve_triangular(upper, -q[: len(r)].T @ r)
    pull = jax.linear_transpose(push, x)
    normal = lambda v: pull(push(v))[0] + damping * v
    return jax.scipy.sparse.linalg.cg(normal, -pull(r)[0], maxiter=DENSE)[0]
