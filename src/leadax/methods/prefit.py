"""Where the numbers of a known formula begin: where the formula alone explains most of the data."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from ..data.batch import Batch
from .base import Levels
from .dynamics import DEFAULT_SOLVER, Flow
from .infer import levenberg_marquardt
from .known import Beside, Known
from .local import forecast


def begun(method: Any, levels: Levels, batch: Batch) -> Levels:
    """The levels with which training begins.

    The numbers of a formula are those with which it alone forecasts best, from each point of the data to the next, by
    the Levenberg–Marquardt method from their starts. Nets would otherwise learn what the formula could explain before
    its numbers have found their places. Where a part of the state is hidden, they stay at their starts: there is no
    point to forecast from.
    """
    if not isinstance(method, Known) or not method.parameters or _hides_something(levels, batch):
        return levels
    numbers = levels.shared.numbers, levels.specific.numbers
    shared, specific = levenberg_marquardt(lambda numbers: _misses(method, numbers, levels.local, batch), numbers)
    return levels._replace(
        shared=levels.shared._replace(numbers=shared), specific=levels.specific._replace(numbers=specific)
    )


def _misses(method: Known, numbers: tuple[PyTree, PyTree], local: PyTree, batch: Batch) -> Array:
    """What the formula alone is wrong by, from each point to the next."""

    def environment(own: PyTree, local: PyTree, batch: Batch) -> Array:
        flow = Flow(method.known(Beside((), numbers[0]), Beside((), own)), method.solver or DEFAULT_SOLVER)
        ahead = lambda local, trajectory: forecast(flow, local, trajectory, trajectory.complete)
        predicted = jax.vmap(ahead)(local, batch)
        return jnp.where(batch.observed, predicted - batch.states, 0.0)

    return jax.vmap(environment)(numbers[1], local, batch)


def _hides_something(levels: Levels, batch: Batch) -> bool:
    return bool(levels.local) and levels.local.path.shape[-1] > batch.states.shape[-1]
