"""Squared errors of forecasts: computed in one program for all members, environments and trajectories."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, PyTree

from ..data import Trajectories
from ..data.batch import Batch
from ..data.holdouts import fewest_points
from ..errors import InputError
from ..methods import Levels, Method
from ..methods.infer import inferred
from ..methods.local import Local, forecast
from ..methods.prepare import Frozen
from ..rollout import cut_off


def squared_error(
    predicted: Float[Array, "time *space channel"],
    states: Float[Array, "time *space channel"],
    observed: Bool[Array, "time *space channel"],
) -> Float[Array, "time value"]:
    """Squared errors of the observed values of one trajectory, each state in a row, 0 where nothing was observed."""
    rows = lambda array: array.reshape(len(array), -1)
    # A forecast may be wild where nobody looks: not even its gradient may count there.
    return jnp.square(jnp.where(rows(observed), rows(predicted - states), 0.0))


def error_sums(
    method: Method, levels: Levels, batch: Batch, known: Bool[Array, "env traj time"] | None = None
) -> Float[Array, "member env traj time channel"]:
    """Sums of squared errors over the pixels at each point, in standard units.

    - `method`: its numbers as arrays with a leading axis over members (`side_by_side`);
    - `known`: the points that a forecast may look at; None for the first of each trajectory.
    """
    predicted = forecasts(method, levels, batch, known)
    return _sums(predicted, batch)


def forecasts(
    method: Method, levels: Levels, batch: Batch, known: Bool[Array, "env traj time"] | None = None
) -> Float[Array, "member env traj time *space channel"]:
    """Forecasts of all members at all points, whole states in standard units; the rest is as in `error_sums`.

    Where starts are inferred, they are inferred from the known points (`leadax.methods.infer`). Otherwise forecasts
    start anew at each known point where the whole state was observed.
    """
    numbers, static = eqx.partition(method, eqx.is_array)
    local = inferred(method, levels, batch, known)
    restart = None if known is None or isinstance(local, Local) else known & batch.complete
    return _forecasts(Frozen(static), numbers, levels._replace(local=local), batch, restart)


@partial(jax.jit, static_argnums=0)
def _forecasts(static: Frozen, numbers: PyTree, levels: Levels, batch: Batch, restart: Array | None) -> Array:
    def member(numbers: PyTree, levels: Levels) -> Array:
        method = eqx.combine(numbers, static.tree)

        def one(specific: PyTree, local: PyTree, along: Batch, restart: Array | None) -> Array:
            path = forecast(method.dynamics(levels.shared, specific), local, along, restart)
            return cut_off(path, along.steps.edges)

        environment = lambda specific, *rest: jax.vmap(partial(one, specific))(*rest)
        return jax.vmap(environment)(levels.specific, levels.local, batch, restart)

    return jax.vmap(member)(numbers, levels)


@jax.jit
def _sums(predicted: Float[Array, "member env traj time *space channel"], batch: Batch) -> Array:
    """Squared errors of what was observed, summed over pixels."""
    channels = batch.states.shape[-1]

    def one(predicted: Array, trajectory: Batch) -> Array:
        squares = squared_error(predicted[..., :channels], trajectory.states, trajectory.observed)
        return jnp.sum(squares.reshape(len(squares), -1, channels), axis=1)

    return jax.vmap(lambda member: jax.vmap(jax.vmap(one))(member, batch))(predicted)


@partial(jax.jit, static_argnums=1)
def first_points(batch: Batch, warmup: int) -> Bool[Array, "env traj time"]:
    """Which points come no later than the `warmup`-th observation of their trajectory."""
    seen = jnp.any(batch.observed, axis=tuple(range(3, batch.observed.ndim)))
    return (jnp.cumsum(seen, axis=-1) <= warmup) & jnp.any(batch.complete, axis=-1, keepdims=True)


def known_points(batch: Batch, warmup: int) -> Bool[Array, "env traj time"] | None:
    """Which points a forecast may look at; None for only one, which is all that a plain forecast needs."""
    return None if warmup == 1 else first_points(batch, warmup)


def chosen_warmup(warmup: int | None, usual: int, data: Trajectories) -> int:
    """The warm-up that was asked for, checked; or the usual one, shortened if no point would be left to forecast."""
    if warmup is None:
        # No shorter than that: of held-out ends, the points that follow the warm-up must not be those learnt from.
        return max(1, min(usual, fewest_points(data) - 1))
    check_warmup(warmup, data)
    return warmup


def check_warmup(warmup: int, data: Trajectories) -> None:
    """An `InputError` unless every trajectory has something left to forecast."""
    if not isinstance(warmup, int) or isinstance(warmup, bool) or warmup < 1:
        raise InputError(f"`warmup` must be a whole number from 1 on, got {warmup!r}")
    seen = data.observed.reshape(*data.times.shape, -1).any(axis=-1).sum(axis=-1)
    short = np.argwhere((data.lengths > 0) & (seen <= warmup))
    if warmup > 1 and len(short):
        e, i = short[0]
        raise InputError(
            f"a warm-up of {warmup} leaves nothing to forecast of {data.place(e, i)}, which has {seen[e, i]} observed "
            "points: use a shorter one"
        )
