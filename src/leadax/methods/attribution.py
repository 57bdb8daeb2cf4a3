"""What of the learnt rest a known formula could explain is attributed to it, once training is over."""

import math
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ..data.batch import Batch
from .base import Levels, Method, sum_of
from .infer import levenberg_marquardt
from .known import Beside, Known
from .local import Local, forecast, points_seen
from .prepare import Frozen

POINTS = 256  # of an environment at the most
SIZE_SHARE = 1e-3


def attributed(method: Method, levels: Levels, batch: Batch, *, shared: bool) -> Levels:
    """The levels of all members with the numbers that a known formula is told to have; forecasts stay as they are.

    A sum h(φ) + r can be divided in many ways, and data say nothing of which is right. Told is the φ that leaves the
    flattest rest, which minimises the mean over the data of |∂r/∂(x, u)|² + |r|²/1000 in units of `Known.scale`. The
    smallest rest, which training prefers, trades terms that are correlated along trajectories, such as sin θ and
    ω|ω| in a damped swing; the derivatives of terms in different variables are orthogonal at every point. The size
    counts a little, because a constant has no derivative; on a grid, which has too many derivatives, it counts alone.

    **Arguments**

    - `method`: its numbers as arrays with a leading axis over members; `levels`: as they were trained;
    - `shared`: whether numbers that environments share may be told anew.
    """
    if not isinstance(method, Known) or not method.parameters:
        return levels
    numbers, static = eqx.partition(method, eqx.is_array)
    return _attributed(Frozen(static), shared, numbers, levels, batch)


@partial(jax.jit, static_argnums=(0, 1))
def _attributed(static: Frozen, shared: bool, numbers: PyTree, levels: Levels, batch: Batch) -> Levels:
    return jax.vmap(lambda n, each: _member(eqx.combine(n, static.tree), each, batch, shared))(numbers, levels)


def _member(method: Known, levels: Levels, batch: Batch, shared: bool) -> Levels:
    def told(moved: tuple) -> tuple[Beside, Beside]:
        common = moved[1] if shared else levels.shared.moved
        return levels.shared._replace(moved=common), levels.specific._replace(moved=moved[0])

    # Once: forecasts do not depend on what the numbers are told to be, and a solver inside a search compiles for long.
    states = jax.vmap(partial(_states, method, levels.shared))(levels.specific, levels.local, batch)

    def rests(moved: tuple) -> PyTree:
        common, own = told(moved)
        return jax.vmap(partial(_rests, method, common))(own, levels.local, states, batch)

    start = (levels.specific.moved, levels.shared.moved if shared else ())
    common, own = told(levenberg_marquardt(rests, start))
    return levels._replace(shared=common, specific=own)


def _states(method: Known, shared: Beside, specific: Beside, local: PyTree, batch: Batch) -> Array:
    """The states of one environment: as they were observed, or as they are forecast where something was inferred."""
    if not isinstance(local, Local):
        return batch.states
    return jax.vmap(partial(forecast, method.dynamics(shared, specific)))(local, batch)


def _rests(
    method: Known, shared: Beside, specific: Beside, local: PyTree, states: Array, batch: Batch
) -> tuple[Array, ...]:
    """The rest of one environment and its derivatives at some points of the data, weighted."""
    seen = points_seen(batch, local.individual if isinstance(local, Local) else None)
    every = math.ceil(batch.times.size / POINTS)
    some = lambda array: array.reshape(-1, *array.shape[2:])[::every]
    fields = method.learnt(shared, specific)
    assert fields is not None, "a formula is added to a vector field"
    rest, counts = sum_of(*fields), some(batch.complete)
    # A wild state in the padding must not get as far as a gradient.
    states = jnp.where(counts.reshape(-1, *(1,) * (states.ndim - 2)), some(states), 0.0)
    unit = jnp.asarray(method.unit(states.shape[-1]), states.dtype)
    scaled = lambda t, x, u: rest(t, x, u) / jnp.broadcast_to(unit, x.shape)
    weighted = lambda a: jnp.where(counts.reshape(-1, *(1,) * (a.ndim - 1)), a, 0.0)
    place = (some(batch.clock), states, None if seen is None else some(seen))
    size = weighted(jax.vmap(scaled)(*place))
    if states.ndim > 2:
        return (size,)
    slopes = jax.vmap(lambda t, x, u: jax.jacfwd(lambda xu: scaled(t, *xu))((x, u)))(*place)
    return (math.sqrt(SIZE_SHARE) * size, *(weighted(slope) for slope in jax.tree.leaves(slopes)))
