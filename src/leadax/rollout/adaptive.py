"""To predict: adaptive steps with an error under control, by Diffrax.

`solve` is pure, to be vmapped and compiled; it reports a failure as a number. `raise_if_failed` turns that number into
one line for the user. `predict` is both, for one trajectory.
"""

import diffrax
import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from leadax._types import State, VectorField
from leadax.errors import InputError

from .fixed import check_field
from .outcome import Solution, raise_if_failed, summary
from .solvers import method_and_controller

MAX_STEPS = 16_384


def predict(
    field: VectorField,
    state0: State,
    times: Float[Array | np.ndarray, " time"],
    *,
    solver: str = "tsit5",
    rtol: float | None = None,
    atol: float | None = None,
    max_steps: int = MAX_STEPS,
) -> Float[Array, "time *space channel"]:
    """States at any increasing times: x(t₀) = x₀, dx/dt = f(x), with adaptive steps.

    - `field`: f, one state (*space, channel) to its tangent. An `eqx.Module` compiles once for all its values,
      a function once for each function object, so do not write a new `lambda` for each call;
    - `state0`: x₀, at the first of `times`;
    - `solver`: a name in `SOLVERS`; `kvaerno5` for stiff systems;
    - `rtol`, `atol`: each step may add rtol·|x| + atol to the error; 1e-5 and 1e-6 in float32, 1e-8 both in float64;
    - `max_steps`: when to give up; one step per time asked for is not counted.

    Raises `RunError` if the last time cannot be reached. For the very steps of training use `rollout_free`.

    >>> import jax.numpy as jnp
    >>> states = predict(jnp.negative, jnp.array([1.0]), jnp.array([0.0, 1.0, 2.5]))
    >>> bool(jnp.allclose(states[:, 0], jnp.exp(jnp.array([0.0, -1.0, -2.5])), atol=1e-5))
    True
    """
    host = np.asarray(times, np.float64)
    _check_times(host)
    if not np.isfinite(state0).all():
        raise InputError("`state0` must be finite; got NaN or infinity in it: start from an observed state")
    # The field knows no time: counting from the start keeps the digits of dates and clock times in float32.
    clock = jnp.asarray(host - host[0], state0.dtype)
    solution = _solve_compiled(field, state0, clock, _tolerances(state0, rtol, atol), solver, max_steps)
    raise_if_failed(solution, solver=solver, start=float(host[0]))
    return solution.states


def solve(
    field: VectorField,
    state0: State,
    times: Float[Array, " time"],
    *,
    solver: str = "tsit5",
    rtol: float | Float[Array, ""] | None = None,
    atol: float | Float[Array, ""] | None = None,
    max_steps: int = MAX_STEPS,
) -> Solution:
    """As `predict`, but pure: to be vmapped and compiled, then checked outside by `raise_if_failed`.

    Equal times in a row (padding) are allowed and give equal states; decreasing times are not, and nothing checks them.

    >>> import jax, jax.numpy as jnp
    >>> starts = jnp.array([[1.0], [2.0]])
    >>> many = jax.vmap(lambda x0: solve(jnp.negative, x0, jnp.array([0.0, 1.0])))(starts)
    >>> many.states.shape, many.status.tolist()
    ((2, 2, 1), [0, 0])
    """
    check_field(field, state0)
    clock = (times - times[0]).astype(state0.dtype)
    rtol, atol = _tolerances(state0, rtol, atol)
    method, controller = method_and_controller(solver, rtol, atol, clock)
    raw = diffrax.diffeqsolve(
        diffrax.ODETerm(lambda t, x, args: field(x)),
        method,
        t0=clock[0],
        t1=clock[-1],
        dt0=None,
        y0=state0,
        saveat=diffrax.SaveAt(subs=(diffrax.SubSaveAt(ts=clock), diffrax.SubSaveAt(t1=True))),
        stepsize_controller=controller,
        max_steps=max_steps + len(clock),
        throw=False,
    )
    return summary(raw, times, clock)


@eqx.filter_jit
def _solve_compiled(field, state0, times, tolerances, solver, max_steps) -> Solution:
    rtol, atol = tolerances
    return solve(field, state0, times, solver=solver, rtol=rtol, atol=atol, max_steps=max_steps)


def _tolerances(state: State, rtol: float | Array | None, atol: float | Array | None) -> tuple[Array, Array]:
    """The given ones, or what the type of the state can bear: float32 has seven digits, and a step needs two of them.

    As arrays, so that they can change without compiling again.
    """
    default = (1e-8, 1e-8) if state.dtype == jnp.float64 else (1e-5, 1e-6)
    given = default[0] if rtol is None else rtol, default[1] if atol is None else atol
    return jnp.asarray(given[0], state.dtype), jnp.asarray(given[1], state.dtype)


def _check_times(times: np.ndarray) -> None:
    if times.size == 0:
        raise InputError("`times` must hold at least the time of `state0`; got none")
    if not np.isfinite(times).all():
        raise InputError("`times` must be finite; got NaN or infinity in it")
    wrong = np.flatnonzero(np.diff(times) <= 0)
    if wrong.size:
        k = int(wrong[0])
        raise InputError(
            f"`times` must increase; got {times[k]:.6g} followed by {times[k + 1]:.6g} at position {k + 1}:"
            " sort them and drop what is double"
        )
