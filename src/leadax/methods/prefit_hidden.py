"""What a known formula explains by itself where a part of the state is hidden: its numbers and whole trajectories."""

from collections.abc import Callable
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, PyTree

from ..data.batch import Batch
from .dynamics import DEFAULT_SOLVER, Flow
from .infer import levenberg_marquardt
from .known import Beside, Known
from .local import Local, forecast
from .nested import nested_levenberg_marquardt
from .prepare import Frozen
from .weighing import comparable, noise_of_one

ITERATIONS = 40
MOST_NUMBERS = 256  # of a formula in all environments, up to which each step of the search is exact


@partial(jax.jit, static_argnums=0)
def explained_whole(
    static: Frozen, arrays: PyTree, start: tuple[PyTree, PyTree], local: Local, batch: Batch
) -> tuple[tuple[PyTree, PyTree], Local]:
    """The numbers with which the formula alone is best, together with what is hidden and individual.

    There is no whole state to forecast from but the start, so whole trajectories are forecast. Hidden starts and
    constants have the prior of training, zero with the width 1, less if they are known to start at 0; numbers have
    their own, if they were given one; observations have the noise of the data.

    **Arguments**

    - `start`: the numbers of the formula, shared and specific; `local`: what is first known of the trajectories.
    """
    method: Known = eqx.combine(arrays, static.tree)
    observed = batch.states.shape[-1]
    assert batch.noise is not None, "where states are inferred there is a noise level"
    spare = (1,) * (batch.states.ndim - 4)
    width = batch.noise[..., observed:].reshape(*batch.noise.shape[:2], *spare, -1)
    real = batch.complete[:, :, 0]
    # Padding has neither a hidden start nor constants.
    of_real = lambda a: jnp.where(real.reshape(*real.shape, *(1,) * (a.ndim - 2)), a, 0.0)

    def off(numbers: tuple[PyTree, PyTree], own: Local) -> tuple:
        ahead = whole_forecasts(static, arrays, numbers, own, batch)[..., :observed]
        hidden = of_real(own.path[:, :, 0, ..., observed:])
        hidden = hidden / jnp.broadcast_to(width, hidden.shape)
        constants = () if own.individual is None else of_real(own.individual)
        seen, states = comparable(ahead, batch)
        return jnp.where(batch.observed, (seen - states) / noise_of_one(batch), 0.0), hidden, constants

    # A hidden state of a formula is an amount of something: zero is a likelier start than a slope of what is observed.
    first = Local(local.path[:, :, :1].at[..., observed:].set(0.0), local.individual)
    surprises = lambda numbers: method.surprises(*(Beside((), own) for own in numbers)).astype(first.path.dtype)
    if batch.states.ndim > 4 or ravel_pytree(start)[0].size > MOST_NUMBERS:
        both = lambda guess: (off(*guess), surprises(guess[0]))
        return levenberg_marquardt(both, (start, first), ITERATIONS)
    return _searched(off, surprises, start, first)


def _searched(off: Callable, surprises: Callable, start: tuple[PyTree, PyTree], first: Local) -> tuple:
    """The numbers of a formula and the starts and constants of trajectories for which the squares are least."""
    common, numbers_of = ravel_pytree(start)
    count = first.path.shape[0] * first.path.shape[1]
    leaves, kind = jax.tree.flatten(first)
    rows = lambda tree: jnp.concatenate([leaf.reshape(count, -1) for leaf in jax.tree.leaves(tree)], axis=1)
    ends = np.cumsum([leaf.size // count for leaf in leaves])[:-1]

    def local_of(own: Array) -> Local:
        parts = jnp.split(own, ends, axis=1)
        return jax.tree.unflatten(kind, [p.reshape(leaf.shape) for p, leaf in zip(parts, leaves, strict=True)])

    found, own = nested_levenberg_marquardt(
        lambda common, own: rows(off(numbers_of(common), local_of(own))),
        lambda common: surprises(numbers_of(common)),
        common, rows(first), ITERATIONS,
    )  # fmt: skip
    return numbers_of(found), local_of(own)


@partial(jax.jit, static_argnums=0)
def whole_forecasts(
    static: Frozen, arrays: PyTree, numbers: tuple[PyTree, PyTree], local: Local, batch: Batch
) -> Array:
    """Whole states by the formula alone, from each trajectory's start."""
    method: Known = eqx.combine(arrays, static.tree)

    def environment(own: PyTree, local: Local, batch: Batch) -> Array:
        flow = Flow(method.known(Beside((), numbers[0]), Beside((), own)), method.solver or DEFAULT_SOLVER)
        return jax.vmap(partial(forecast, flow))(local, batch)

    return jax.vmap(environment)(numbers[1], local, batch)


def begun(local: Local, found: Local, ahead: Array, observed: int) -> Local:
    """Where training begins: paths at the observations, hidden channels as the formula has them; its constants."""
    path = jnp.concatenate([local.path[..., :observed], ahead[..., observed:]], axis=-1)
    return Local(path.at[:, :, 0].set(found.path[:, :, 0]), found.individual)
