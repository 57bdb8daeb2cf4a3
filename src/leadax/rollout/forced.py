"""Adaptive steps under inputs that jump and impulses: one solve per interval, within which inputs are smooth."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from leadax._types import State, VectorField

from .adaptive import solve
from .outcome import DONE, Solution


def solve_forced(
    field: VectorField,
    start: State,
    times: Float[Array, " time"],
    *,
    inputs: Float[Array, "interval 2 *input"] | None = None,
    impulses: Float[Array, "interval channel"] | None = None,
    begin: float | Float[Array, ""] = 0.0,
    solver: str = "tsit5",
) -> Solution:
    """As `solve`, for inputs that are linear in each interval between the times, and impulses where it starts.

    - `inputs`: at both ends of each interval; they may jump from one to the next. None if there are none;
    - `impulses`: added to each channel of the state at the start of each interval.

    >>> times, impulses = jnp.array([0.0, 1.0, 2.0]), jnp.array([[0.0], [1.0]])
    >>> states = solve_forced(lambda t, x, u: 0 * x, jnp.array([1.0]), times, impulses=impulses).states
    >>> states[:, 0].tolist()
    [1.0, 1.0, 2.0]
    """
    origin = jnp.asarray(begin, start.dtype)

    def interval(x: State, row: tuple) -> tuple[State, Solution]:
        (first, last), ends, impulse = row
        x = x if impulse is None else x + jnp.broadcast_to(impulse, x.shape)
        length = last - first
        along = lambda t: ends[0] + t / jnp.where(length > 0, length, 1.0) * (ends[1] - ends[0])
        found = solve(
            field,
            x,
            jnp.stack([jnp.zeros_like(length), length]),
            begin=origin + first,
            inputs=None if ends is None else along,
            solver=solver,
        )
        return found.states[-1], found._replace(states=found.states[-1], stopped=first + found.stopped)

    rows = (jnp.stack([times[:-1], times[1:]], axis=1), inputs, impulses)
    _, parts = jax.lax.scan(interval, start, rows)
    # What comes after a failure starts from NaN: the first one tells what happened.
    k = jnp.argmax(parts.status != DONE)
    return Solution(
        states=jnp.concatenate([start[None], parts.states]),
        status=parts.status[k],
        stopped=parts.stopped[k],
        until=times[-1],
        largest=parts.largest[k],
        steps=jnp.sum(parts.steps),
    )
