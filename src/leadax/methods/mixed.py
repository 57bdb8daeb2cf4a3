"""A known formula alone, with hidden states or individual constants, fitted to whole trajectories: mixed effects."""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from ..data.batch import Batch
from ..data.units import HIDDEN_BOUND
from .dynamics import DEFAULT_SOLVER, Flow
from .infer import DENSE, LEAST_RESIDUAL, levenberg_marquardt
from .known import Beside, Known
from .local import Local, forecast, widths
from .prepare import Frozen
from .weighing import comparable

ROUNDS, ITERATIONS = 4, 6  # after each round, the widths of constants and errors follow what was found
DENSE_ENTRIES = 20_000_000  # of a Jacobian that is written out


class Effects(NamedTuple):
    """What a formula alone is fitted with.

    - `numbers`: of the formula, shared and specific; `individual`: the constants of each trajectory, None for none.
    """

    numbers: tuple[PyTree, PyTree]
    individual: Float[Array, "env traj constant"] | None


@partial(jax.jit, static_argnums=0)
def numbers_alone(static: Frozen, arrays: PyTree, start: Effects, local: Local, batch: Batch) -> Effects:
    """The numbers φ with which the formula explains whole trajectories best, by the Levenberg–Marquardt method.

    Trajectories start at their first observation, hidden channels at 0, and constants stay as they are.
    """
    method: Known = eqx.combine(arrays, static.tree)
    misses = lambda numbers: _misses(method, start._replace(numbers=numbers), local, batch)
    return start._replace(numbers=levenberg_marquardt(misses, start.numbers))


@partial(jax.jit, static_argnums=0)
def with_effects(static: Frozen, arrays: PyTree, start: Effects, local: Local, batch: Batch) -> Effects:
    """The same with the constants c of each trajectory.

    Both minimise $\\sum |\\hat x - y|^2 / r^2 + \\sum c^2 / w^2$ over all observed values. The error r and the width w
    of the constants follow from what the round before has found.
    """
    method: Known = eqx.combine(arrays, static.tree)
    assert start.individual is not None
    real = batch.complete[:, :, 0].astype(batch.states.dtype)
    misses = lambda effects: _misses(method, effects, local, batch)
    unknown = sum(leaf.size for leaf in jax.tree.leaves(start))
    dense = unknown if unknown * batch.states.size <= DENSE_ENTRIES else DENSE

    def once(found: tuple[Effects, Array], _: None) -> tuple[tuple[Effects, Array], None]:
        effects, width = found
        error = jnp.broadcast_to(_error(misses(effects), batch), batch.states.shape)
        residuals = lambda e: (misses(e) / error, e.individual / jnp.broadcast_to(width, e.individual.shape))
        effects = levenberg_marquardt(residuals, effects, ITERATIONS, dense)
        assert effects.individual is not None
        return (effects, widths(effects.individual, real)), None

    first = start, jnp.ones(start.individual.shape[-1], batch.states.dtype)
    return jax.lax.scan(once, first, None, ROUNDS)[0][0]


@partial(jax.jit, static_argnums=0)
def forecast_whole(
    static: Frozen, arrays: PyTree, effects: Effects, local: Local, batch: Batch
) -> tuple[Float[Array, " channel"], Float[Array, "env traj time *space state"]]:
    """The error of each observed channel that the formula leaves, and its forecasts of whole trajectories."""
    method: Known = eqx.combine(arrays, static.tree)
    return _error(_misses(method, effects, local, batch), batch), _forecasts(method, effects, local, batch)


def begun(
    local: Local, effects: Effects, forecasts: Float[Array, "env traj time *space state"], observed: int
) -> Local:
    """What is first known of trajectories, with the constants and the hidden states that the formula says.

    - `observed`: how many channels are.
    """
    hidden = jnp.clip(forecasts[..., observed:], -HIDDEN_BOUND, HIDDEN_BOUND)
    hidden = jnp.where(jnp.isfinite(hidden), hidden, 0.0)
    return Local(jnp.concatenate([local.path[..., :observed], hidden], axis=-1), effects.individual)


def _misses(method: Known, effects: Effects, local: Local, batch: Batch) -> Array:
    """Differences from the data, 0 where nothing was observed."""
    found = _forecasts(method, effects, local, batch)[..., : batch.states.shape[-1]]
    seen, states = comparable(found, batch)
    return jnp.where(batch.observed, seen - states, 0.0)


def _error(misses: Array, batch: Batch) -> Float[Array, " channel"]:
    """The root mean square of each channel."""
    axes = tuple(range(misses.ndim - 1))
    count = jnp.maximum(jnp.sum(batch.observed, axis=axes, dtype=misses.dtype), 1)
    return jnp.maximum(jnp.sqrt(jnp.sum(misses**2, axis=axes) / count), LEAST_RESIDUAL)


def _forecasts(method: Known, effects: Effects, local: Local, batch: Batch) -> Array:
    """What the formula alone forecasts from the starts of trajectories."""
    path = local.path.at[:, :, 0, ..., batch.states.shape[-1] :].set(0.0)

    def environment(own: PyTree, local: Local, batch: Batch) -> Array:
        field = method.known(Beside((), effects.numbers[0]), Beside((), own))
        flow = Flow(field, method.solver or DEFAULT_SOLVER)
        return jax.vmap(lambda local, one: forecast(flow, local, one))(local, batch)

    return jax.vmap(environment)(effects.numbers[1], Local(path, effects.individual), batch)
