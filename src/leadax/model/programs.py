"""The compiled programs behind `Model.predict`: all members, from all states, in one environment."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..methods import Levels, Method
from ..methods.local import with_constants
from ..rollout import Solution, Steps, kept_within, solve, solve_forced, stopped_at

Constants = Float[Array, "member constant"] | None


@eqx.filter_jit
def forecast_states(
    method: Method, levels: Levels, e: Array, starts: Float[Array, "member ..."], steps: Steps, constants: Constants
) -> Array:
    """Forecasts by the steps of training, `(member, state, time, …)`."""

    def one(levels: Levels, starts: Array, constants: Array | None) -> Array:
        dynamics = method.dynamics(levels.shared, jax.tree.map(lambda a: a[e], levels.specific))
        along = with_constants(steps, constants)
        return jax.vmap(lambda start: dynamics.forecast(start, along))(starts)

    return jax.vmap(one)(levels._replace(local=()), starts, constants)


@eqx.filter_jit
def solve_states(
    method: Method,
    levels: Levels,
    e: Array,
    starts: Float[Array, "member ..."],
    clock: Float[Array, " time"],
    steps: Steps,
    constants: Constants,
    solver: str,
) -> Solution:
    """The same by an adaptive solver.

    - `steps`: one per interval, with what acts from outside; their first time is that of the start. Where they have
      bounds, the solution is cut off there: a solver that goes back and forth at an edge would never end.
    """

    def one(levels: Levels, starts: Array, constants: Array | None) -> Solution:
        fields = method.split(levels.shared, jax.tree.map(lambda a: a[e], levels.specific))
        assert fields is not None
        field = kept_within(lambda t, x, u: fields[0](t, x, u) + fields[1](t, x, u), steps.bounds)
        along = with_constants(steps, constants)
        begin = steps.times[0] if len(steps.times) else clock[0]
        if along.inputs is None and along.impulses is None:
            solved = lambda start: solve(field, start, clock, begin=begin, solver=solver)
        else:
            forcing = {"inputs": along.inputs, "impulses": along.impulses, "begin": begin}
            solved = lambda start: solve_forced(field, start, clock, **forcing, solver=solver)
        # A dose may well lead out of the region of the data.
        bounds = steps.bounds if along.impulses is None else None
        return jax.vmap(lambda start: _cut_off(solved(start), bounds, start))(starts)

    return jax.vmap(one)(levels._replace(local=()), starts, constants)


def _cut_off(solution: Solution, bounds: Array | None, start: Array) -> Solution:
    return solution._replace(states=stopped_at(bounds, jnp.broadcast_to(start, solution.states.shape), solution.states))
