"""Least squares with a few common unknowns and, in each of many groups, some that nothing else depends on."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def nested_levenberg_marquardt(
    residuals: Callable[[Array, Array], Float[Array, "group row"]],
    about_common: Callable[[Array], Float[Array, " prior"]],
    common: Float[Array, " common"],
    own: Float[Array, "group own"],
    iterations: int,
) -> tuple[Float[Array, " common"], Float[Array, "group own"]]:
    """Unknowns that minimise a sum of squares; each step is exact, and costs as little as the common ones alone.

    As `leadax.methods.infer.levenberg_marquardt`, for many unknowns of which most belong to one group of rows: those
    are eliminated group by group.

    **Arguments**

    - `residuals`: the rows of each group, which depend on the common unknowns and on its own;
    - `about_common`: rows that depend on the common unknowns alone.

    >>> slopes, x = jnp.array([[1.0], [3.0]]), jnp.arange(4.0)[None]
    >>> rows = lambda common, own: common[0] + own * x - (0.5 + slopes * x)
    >>> found = nested_levenberg_marquardt(rows, lambda common: common * 0, jnp.zeros(1), jnp.zeros((2, 1)), 20)
    >>> [array.round(3).tolist() for array in found]
    [[0.5], [[1.0], [3.0]]]
    """

    def cost(common: Array, own: Array) -> Array:
        total = jnp.sum(residuals(common, own) ** 2) + jnp.sum(about_common(common) ** 2)
        return jnp.nan_to_num(total, nan=jnp.inf)

    def step(loop: tuple, _: None) -> tuple[tuple, None]:
        common, own, damping = loop
        moves = _step(residuals, about_common, common, own, damping)
        proposal = common + moves[0], own + moves[1]
        better = cost(*proposal) < cost(common, own)
        taken = [jnp.where(better, new, old) for new, old in zip(proposal, (common, own), strict=True)]
        damping = jnp.where(better, damping / 4, damping * 8)
        return (*taken, jnp.clip(damping, 1e-6, 1e8)), None

    (common, own, _), _ = jax.lax.scan(step, (common, own, jnp.asarray(1.0, common.dtype)), None, iterations)
    return common, own


def _step(residuals: Callable, about_common: Callable, common: Array, own: Array, damping: Array) -> tuple:
    """The damped Gauss–Newton step of the common unknowns and of those of each group."""
    rows, by_common = residuals(common, own), jax.jacfwd(residuals)(common, own)
    # No group depends on another's unknowns: moving the k-th of all groups at once has all derivatives.
    along = lambda k: jax.jvp(lambda z: residuals(common, z), (own,), (jnp.zeros_like(own).at[:, k].set(1.0),))[1]
    by_own = jax.vmap(along, out_axes=-1)(jnp.arange(own.shape[-1]))
    small = jnp.sqrt(damping) * jnp.eye(own.shape[-1], dtype=own.dtype)
    eliminated = jax.vmap(lambda a, b, r: _eliminated(a, b, r, small))(by_own, by_common, rows)
    q_common, q_rows, upper, left_common, left_rows = eliminated
    firm = jnp.sqrt(damping) * jnp.eye(len(common), dtype=common.dtype)
    flat = lambda array: array.reshape(-1, *array.shape[2:])
    stacked = jnp.concatenate([flat(left_common), jax.jacfwd(about_common)(common), firm])
    errors = jnp.concatenate([flat(left_rows), about_common(common), jnp.zeros_like(common)])
    move = common
    if len(common):
        q, triangle = jnp.linalg.qr(stacked)
        move = jax.scipy.linalg.solve_triangular(triangle, -q.T @ errors)
    solve = lambda upper, c, r: jax.scipy.linalg.solve_triangular(upper, -r - c @ move)
    return move, jax.vmap(solve)(upper, q_common, q_rows)


def _eliminated(by_own: Array, by_common: Array, rows: Array, small: Array) -> tuple:
    """What one group says of its own unknowns, and what is left of its rows for the common ones."""
    q, upper = jnp.linalg.qr(jnp.concatenate([by_own, small]))
    padded = lambda array: jnp.concatenate([array, jnp.zeros((len(small), *array.shape[1:]), array.dtype)])
    common, errors = padded(by_common), padded(rows)
    q_common, q_rows = q.T @ common, q.T @ errors
    return q_common, q_rows, upper, common - q @ q_common, errors - q @ q_rows
