"""Adaptive steps with error control by Diffrax, for predictions.

`solve` is pure: `vmap` and compile it. It reports a failure as a number, which `raise_if_failed` turns into a message.
`predict` does both for one trajectory.
"""

from collections.abc import Callable
from typing import TypeAlias

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadax._types import State, VectorField
from leadax.errors import InputError

from .fixed import check_tangent
from .outcome import Solution, raise_if_failed, summary
from .solvers import method_and_controller

InputFunction: TypeAlias = Callable[[Array], Array]

MAX_STEPS = 16_384


def predict(
    field: VectorField,
    start: State,
    times: Float[Array | np.ndarray, " time"],
    *,
    begin: float = 0.0,
    inputs: InputFunction | None = None,
    jumps: Float[Array | np.ndarray, " jump"] | None = None,
    solver: str = "tsit5",
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = MAX_STEPS,
) -> Float[Array, "time *space channel"]:
    """Solve dx/dt = f(b + τ, x, u(τ)) with adaptive steps from x(0) = x₀, and return the states at the times τ.

    - `field`: f, the tangent of one state (*space, channel). An `eqx.Module` compiles once for all its values,
      a function once per function object, so do not write a new `lambda` for each call;
    - `start`: x₀;
    - `times`: τ, increasing from 0;
    - `begin`: b, the time of the start;
    - `inputs`: u, a function or `eqx.Module`; None if there are none. `kvaerno5` also asks for u a little beyond the
      last time;
    - `jumps`: times τ at which the inputs jump. Steps end there, which saves many rejected steps;
    - `solver`: a name in `SOLVERS`; `kvaerno5` for stiff systems;
    - `rtol`, `atol`: each step may add rtol·|x| + atol to the error; 1e-5 and 1e-6 in float32, both 1e-8 in float64;
    - `max_steps`: when to give up, not counting one step for each of `times` and `jumps`.

    Raises `RunError` if the last time cannot be reached. To step exactly as in training, use `rollout`.

    >>> import jax.numpy as jnp
    >>> times = jnp.array([0.0, 1.0, 2.5])
    >>> states = predict(lambda t, x, u: u - x, jnp.array([1.0]), times, inputs=lambda t: jnp.cos(t) - jnp.sin(t))
    >>> bool(jnp.allclose(states[:, 0], jnp.cos(times), atol=1e-5))
    True
    """
    host = np.asarray(times, np.float64)
    _check_times(host)
    if not np.isfinite(start).all():
        raise InputError("`start` must be finite; got NaN or infinity in it: start from an observed state")
    clock = jnp.asarray(host, start.dtype)
    arrays = jnp.asarray(begin, start.dtype), None if jumps is None else jnp.asarray(jumps, start.dtype)
    solution = _solve_compiled(field, start, clock, inputs, *arrays, _tolerances(start, rtol, atol), solver, max_steps)
    raise_if_failed(solution, solver=solver, begin=begin)
    return solution.states


def solve(
    field: VectorField,
    start: State,
    times: Float[Array, " time"],
    *,
    begin: float | Float[Array, ""] = 0.0,
    inputs: InputFunction | None = None,
    jumps: Float[Array, " jump"] | None = None,
    solver: str = "tsit5",
    rtol: float | Float[Array, ""] | None = None,
    atol: float | Float[Array, ""] | None = None,
    max_steps: int = MAX_STEPS,
) -> Solution:
    """As `predict`, but pure: `vmap` and compile it, then check the result outside with `raise_if_failed`.

    Repeated times (padding) are allowed and repeat the state. Decreasing times are wrong, and nothing checks for them.

    >>> import jax, jax.numpy as jnp
    >>> starts, times = jnp.array([[1.0], [2.0]]), jnp.array([0.0, 1.0])
    >>> many = jax.vmap(lambda start: solve(lambda t, x, u: -x, start, times))(starts)
    >>> many.states.shape, many.status.tolist()
    ((2, 2, 1), [0, 0])
    """
    clock, origin = times.astype(start.dtype), jnp.asarray(begin, start.dtype)
    jumps = None if jumps is None else jumps.astype(start.dtype)
    u = inputs if inputs is None or jumps is None else _left_limit(inputs, clock[-1])
    tangent = lambda t, x, args: field(origin + t, x, None if u is None else u(t))
    check_tangent(jax.eval_shape(tangent, clock[0], start, None), start)
    method, controller = method_and_controller(solver, *_tolerances(start, rtol, atol), clock, jumps)
    raw = diffrax.diffeqsolve(
        diffrax.ODETerm(tangent),
        method,
        t0=clock[0],
        t1=clock[-1],
        dt0=None,
        y0=start,
        saveat=diffrax.SaveAt(subs=(diffrax.SubSaveAt(ts=clock), diffrax.SubSaveAt(t1=True))),
        stepsize_controller=controller,
        max_steps=max_steps + len(clock) + (0 if jumps is None else len(jumps)),
        throw=False,
    )
    return summary(raw, clock)


@eqx.filter_jit
def _solve_compiled(
    field: VectorField,
    start: State,
    times: Array,
    inputs: InputFunction | None,
    begin: Array,
    jumps: Array | None,
    tolerances: tuple[Array, Array],
    solver: str,
    max_steps: int,
) -> Solution:
    rtol, atol = tolerances
    forcing = {"begin": begin, "inputs": inputs, "jumps": jumps}
    return solve(field, start, times, **forcing, solver=solver, rtol=rtol, atol=atol, max_steps=max_steps)


def _left_limit(inputs: InputFunction, last: Array) -> InputFunction:
    """The same inputs, but just before a jump at the last time. Diffrax steps onto that time, not just before it."""
    before = jnp.nextafter(jax.lax.stop_gradient(last), -jnp.inf)
    return lambda t: inputs(jnp.where(t == last, before, t))


def _tolerances(state: State, rtol: float | Array | None, atol: float | Array | None) -> tuple[Array, Array]:
    """The tolerances given, or defaults for the type of the state: float32 has seven digits, and a step needs two.

    As arrays, so that they can change without compiling again.
    """
    default = (1e-8, 1e-8) if state.dtype == jnp.float64 else (1e-5, 1e-6)
    given = default[0] if rtol is None else rtol, default[1] if atol is None else atol
    return jnp.asarray(given[0], state.dtype), jnp.asarray(given[1], state.dtype)


def _check_times(times: np.ndarray) -> None:
    if times.size == 0:
        raise InputError("`times` must hold at least the time of the start; got none")
    if not np.isfinite(times).all():
        raise InputError("`times` must be finite; got NaN or infinity in it")
    if times[0] != 0:
        # Also keeps the digits of dates and clock times in float32.
        raise InputError(
            f"`times` must count from the start, with 0 first; got {times[0]:.6g}: subtract it, and pass it as `begin`"
        )
    wrong = np.flatnonzero(np.diff(times) <= 0)
    if wrong.size:
        k = int(wrong[0])
        raise InputError(
            f"`times` must increase; got {times[k]:.6g} followed by {times[k + 1]:.6g} at position {k + 1}:"
            " sort them and drop duplicates"
        )
