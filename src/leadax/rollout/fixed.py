"""To learn: fixed Runge–Kutta steps from one observation time to the next, in one `scan`.

Timings behind the choices here: Lotka–Volterra, 10 environments × 1 trajectory × 20 points, f and g_e MLPs
2-64-64-64-2, float32, value and gradient of the mean squared error under jit, 2 shared cores, best of 300 interleaved:

- this form, under `vmap` over environments: 4.4 ms; `scan` outside and `vmap` of the field inside it: 4.4 ms;
- adding the stages one by one, x + h a₁ k₁ + h a₂ k₂ + …, in place of x + h (a₁ k₁ + a₂ k₂ + …): 4.4 to 4.6 ms;
- `jax.checkpoint` around a step or around the field: 5.0 ms. It pays in memory only; a caller who needs that hands over
  `jax.checkpoint(field)`;
- a hand-written adjoint that takes the gradient of all weights in one batched pass after the scan: 5.8 ms (4.5 ms with
  full Jacobians, for two channels only).
"""

import functools
import operator
from collections.abc import Iterable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from leadax._types import State, Tangent, VectorField
from leadax.errors import InputError

from .tableaux import Tableau, find_tableau


def rollout(
    field: VectorField,
    states: Float[Array, "time *space channel"],
    times: Float[Array, " time"],
    restart: Bool[Array, " time"] | None = None,
    *,
    tableau: str | Tableau = "rk4-38",
    substeps: int = 1,
) -> Float[Array, "time *space channel"]:
    """Predictions of one trajectory at its own times, restarted from the data where asked (scheduled sampling).

    x̂₀ = x₀ and x̂ₖ₊₁ = Φ(tₖ₊₁ − tₖ; xₖ if restart[k] else x̂ₖ), where Φ(h; ·) is one Runge–Kutta step, or several of
    h / `substeps`.

    - `field`: the vector field f + g_e, one state (*space, channel) to its tangent;
    - `states`: the observed states xₖ, any finite number where nothing was observed;
    - `times`: tₖ, not necessarily regular. Where two are equal, as in the padding of a short trajectory, the state is
      held and adds nothing to a gradient;
    - `restart`: True only where the state was observed. The first and the last entry have no effect; None is nowhere;
    - `tableau`: a name in `TABLEAUX`, or a `Tableau`;
    - `substeps`: steps per interval, 1 in the paper.

    No batch axes: `vmap` over trajectories, environments, seeds, and `jit` outside.

    >>> import jax.numpy as jnp
    >>> times, states = jnp.array([0.0, 1.0, 2.0]), jnp.array([[1.0], [5.0], [6.0]])
    >>> restart = jnp.array([False, True, False])
    >>> rollout(lambda x: x, states, times, restart, tableau="euler")[:, 0].tolist()
    [1.0, 2.0, 10.0]
    """
    data = None if restart is None else (restart[:-1], states[:-1])
    return _scan(field, states[0], times, data, find_tableau(tableau), substeps)


def rollout_free(
    field: VectorField,
    state0: State,
    times: Float[Array, " time"],
    *,
    tableau: str | Tableau = "rk4-38",
    substeps: int = 1,
) -> Float[Array, "time *space channel"]:
    """Predictions from the first state alone: x̂ₖ₊₁ = Φ(tₖ₊₁ − tₖ; x̂ₖ), stepping exactly as `rollout` does in training.

    - `state0`: x₀, at the first of `times`; the other arguments are those of `rollout`.

    >>> import jax.numpy as jnp
    >>> rollout_free(lambda x: x, jnp.array([1.0]), jnp.array([0.0, 1.0, 3.0]), tableau="euler")[:, 0].tolist()
    [1.0, 2.0, 6.0]
    """
    return _scan(field, state0, times, None, find_tableau(tableau), substeps)


def runge_kutta_step(field: VectorField, table: Tableau, state: State, step: Float[Array, ""]) -> State:
    """One explicit Runge–Kutta step: x + h Σᵢ bᵢ kᵢ with kᵢ = f(x + h Σⱼ aᵢⱼ kⱼ).

    - `state`: x; `step`: h.

    >>> import jax.numpy as jnp
    >>> from leadax.rollout import TABLEAUX
    >>> runge_kutta_step(lambda x: x, TABLEAUX["heun"], jnp.array([1.0]), jnp.array(1.0)).tolist()
    [2.5]
    """
    tangents: list[Tangent] = []
    for row in table.a:
        tangents.append(field(_moved(state, step, row, tangents)))
    return _moved(state, step, table.b, tangents)


def check_field(field: VectorField, state: State) -> None:
    """An `InputError` unless `field` maps a state to an array of its shape and type.

    Without it the mistake surfaces as a mismatch of carries deep inside `scan` or Diffrax.
    """
    tangent = jax.eval_shape(field, state)
    got = (getattr(tangent, "shape", None), getattr(tangent, "dtype", type(tangent)))
    if got != (state.shape, state.dtype):
        raise InputError(
            f"`field` must map a state of shape {state.shape} and type {state.dtype} to a tangent of the same;"
            f" got shape {got[0]} and type {got[1]}"
        )


def _moved(state: State, step: Array, weights: Iterable[float], tangents: list[Tangent]) -> State:
    """x + h Σ wᵢ kᵢ; zeros of the table never reach the compiler, Python floats keep the type of the state."""
    terms = [float(weight) * tangent for weight, tangent in zip(weights, tangents, strict=False) if weight != 0]
    return state + step * functools.reduce(operator.add, terms) if terms else state


def _scan(
    field: VectorField,
    state0: State,
    times: Array,
    data: tuple[Array, Array] | None,
    table: Tableau,
    substeps: int,
) -> Array:
    """All steps in one scan: `data` are the restarts and the states to restart from, at the start of each interval."""
    if substeps < 1:
        raise InputError(f"`substeps` must be at least 1; got {substeps}")
    check_field(field, state0)
    # Differences first, in the precision of the times; the type of the states after.
    steps = jnp.diff(times).astype(state0.dtype) / substeps
    if substeps > 1:
        steps, data = jnp.repeat(steps, substeps), _spread(data, substeps)

    # One array is carried: the gradient of a scan costs more with every further leaf of the carry.
    def advance(state: State, inputs: tuple) -> tuple[State, State]:
        step, here = inputs
        start = state if here is None else jnp.where(here[0], here[1], state)
        end = _step_or_hold(field, table, start, step, state0)
        return end, end

    _, later = jax.lax.scan(advance, state0, (steps, data))
    return jnp.concatenate([state0[None], later[substeps - 1 :: substeps]])


def _spread(data: tuple[Array, Array] | None, substeps: int) -> tuple[Array, Array] | None:
    """One row per substep, restarting at the first of each interval. (A loop inside the scan is 1.5 times slower.)"""
    if data is None:
        return None
    restart, states = (jnp.repeat(rows, substeps, axis=0) for rows in data)
    return restart & (jnp.arange(len(restart)) % substeps == 0), states


def _step_or_hold(field: VectorField, table: Tableau, state: State, step: Array, refuge: State) -> State:
    """The state one step later; the same state where the step is empty (padding).

    There the field is evaluated at `refuge`, a state that it is known to bear: 0 · f(x) would be NaN where f overflows,
    and `where` alone would let that NaN into the gradient. Costs nothing that can be measured.
    """
    moving = step != 0
    end = runge_kutta_step(field, table, jnp.where(moving, state, refuge), step)
    return jnp.where(moving, end, state)
