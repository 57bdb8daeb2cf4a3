"""The compiled programs behind `Model.predict`: all members, from all states, in one environment."""

import equinox as eqx
import jax
from jaxtyping import Array, Float

from ..methods import Levels, Method
from ..methods.local import with_constants
from ..rollout import Solution, Steps, cut_off, kept_within, solve, solve_forced

Constants = Float[Array, "member constant"] | None


@eqx.filter_jit
def forecast_states(
    method: Method, levels: Levels, e: Array, starts: Float[Array, "member ..."], steps: Steps, constants: Constants
) -> Array:
    """Forecasts by the steps of training, `(member, state, time, …)`."""

    def one(levels: Levels, starts: Array, constants: Array | None) -> Array:
        dynamics = method.dynamics(levels.shared, jax.tree.map(lambda a: a[e], levels.specific))
        along = with_constants(steps, constants)
        return jax.vmap(lambda start: cut_off(dynamics.forecast(start, along), along.edges))(starts)

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

    - `steps`: one per interval, with what acts from outside; their first time is that of the start.
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
        return jax.vmap(lambda start: _cut_off(solved(start), along))(starts)

    return jax.vmap(one)(levels._replace(local=()), starts, constants)


def _cut_off(solution: Solution, steps: Steps) -> Solution:
    return solution._replace(states=cut_off(solution.states, steps.edges))
