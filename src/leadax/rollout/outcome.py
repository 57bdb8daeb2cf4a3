"""The outcome of an adaptive solve, as numbers and in words."""

from typing import NamedTuple

import diffrax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from leadax.errors import RunError

from .solvers import IMPLICIT

DONE, OUT_OF_STEPS, STUCK, BROKEN = range(4)


class Solution(NamedTuple):
    """The result of `solve`; under `vmap` every entry gains the batch axes.

    - `states`: at the times asked for; NaN after a failure;
    - `status`: 0 for success; 1 if `max_steps` was reached; 2 if no step is small enough (blow-up, non-finite field);
      3 for anything else;
    - `stopped`, `until`: the time that was reached, and the last one asked for, both since `begin`;
    - `largest`: max |x| where it stopped, which tells a blow-up from a stiff system;
    - `steps`: how many were taken, rejected ones included.

    >>> import jax.numpy as jnp
    >>> from leadax.rollout import solve
    >>> blown_up = solve(lambda t, x, u: x**2, jnp.array([1.0]), jnp.array([0.0, 0.5, 2.0]))
    >>> int(blown_up.status), jnp.isnan(blown_up.states[:, 0]).tolist()
    (2, [False, False, True])
    """

    states: Float[Array, "*batch_time_space channel"]
    status: Int[Array, "*batch"]
    stopped: Float[Array, "*batch"]
    until: Float[Array, "*batch"]
    largest: Float[Array, "*batch"]
    steps: Int[Array, "*batch"]


def summary(raw: diffrax.Solution, times: Float[Array, " time"]) -> Solution:
    """Summarise Diffrax's solution at `times`."""
    assert raw.ts is not None
    assert raw.ys is not None
    stopped, states, last = raw.ts[1][0], raw.ys[0], raw.ys[1]
    reached = (times <= stopped).reshape(-1, *[1] * (states.ndim - 1))
    return Solution(
        states=jnp.where(reached, states, jnp.nan),
        status=_status(raw.result),
        stopped=stopped,
        until=times[-1],
        largest=jnp.max(jnp.abs(last)),
        steps=raw.stats["num_steps"],
    )


def _status(result: diffrax.RESULTS) -> Int[Array, ""]:
    known = ("successful", "max_steps_reached", "dt_min_reached")
    where = [result == getattr(diffrax.RESULTS, name) for name in known]
    return jnp.select(where, [DONE, OUT_OF_STEPS, STUCK], BROKEN)


def raise_if_failed(solution: Solution, *, solver: str = "tsit5", begin: float = 0.0) -> None:
    """Raise `RunError` for the first failure in a solution or a batch of them: what happened, when, and what to do.

    - `solver`: the name of the solver that was used, for the advice;
    - `begin`: the time of the start, added to the times in the message.

    >>> import jax.numpy as jnp
    >>> numbers = {"stopped": 1.0, "until": 2.0, "largest": 3e9, "steps": 321}
    >>> blown_up = Solution(jnp.full((2, 1), jnp.nan), jnp.array(2), **{k: jnp.array(n) for k, n in numbers.items()})
    >>> raise_if_failed(blown_up)
    Traceback (most recent call last):
    ...
    leadax.errors.RunError: the solver 'tsit5' stopped at t = 1 on its way to t = 2: no step is small enough there, ...
    """
    status = np.asarray(solution.status)
    failed = np.flatnonzero(status != DONE)
    if failed.size == 0:
        return
    k = int(failed[0])
    pick = lambda values: np.asarray(values).ravel()[k].item()
    which = f" in solution {k} of {status.size} ({failed.size} failed)" if status.ndim else ""
    raise RunError(
        f"the solver {solver!r} stopped at t = {begin + pick(solution.stopped):.6g} on its way to"
        f" t = {begin + pick(solution.until):.6g}{which}:"
        f" {_reason(int(status.ravel()[k]), pick(solution.steps), pick(solution.largest))};"
        f" {_advice(int(status.ravel()[k]), solver, np.asarray(solution.states).dtype)}"
    )


def _reason(status: int, steps: int, largest: float) -> str:
    return {
        OUT_OF_STEPS: f"{steps} steps were not enough",
        STUCK: f"no step is small enough there, where the largest |x| is {largest:.3g}",
        BROKEN: "the equations of an implicit step could not be solved",
    }[status]


def _advice(status: int, solver: str, dtype: np.dtype) -> str:
    stiff = "" if solver in IMPLICIT else "the system may be stiff, try solver='kvaerno5'; or "
    precise = "" if dtype == np.float64 else ", or compute in float64"
    return {
        OUT_OF_STEPS: f"{stiff}raise `max_steps`, or loosen `rtol` and `atol`",
        STUCK: f"x grows without bound or the field is not finite there: ask only for earlier times{precise}",
        BROKEN: f"try solver='tsit5', or loosen `rtol` and `atol`{precise}",
    }[status]
