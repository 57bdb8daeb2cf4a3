"""The adaptive methods by name, and how each chooses its steps."""

from collections.abc import Callable
from typing import Any

import diffrax
from jaxtyping import Array

from leadax.errors import lookup

EXPLICIT: dict[str, Callable[[], diffrax.AbstractSolver]] = {
    "bosh3": diffrax.Bosh3,
    "tsit5": diffrax.Tsit5,
    "dopri5": diffrax.Dopri5,
    "dopri8": diffrax.Dopri8,
}

IMPLICIT: dict[str, Callable[..., diffrax.AbstractSolver]] = {
    "implicit-euler": diffrax.ImplicitEuler,
    "kvaerno3": diffrax.Kvaerno3,
    "kvaerno5": diffrax.Kvaerno5,
}

SOLVERS: dict[str, Callable[..., diffrax.AbstractSolver]] = EXPLICIT | IMPLICIT
"""The adaptive methods by name; the last three are implicit, for stiff systems."""


class StopWhenStuck(diffrax.PIDController):
    """Diffrax's PID controller, which also ends the solve once steps cannot get any smaller, as at a blow-up.

    On its own it would try the same step again until `max_steps`. Its `dtmin` is a constant, which cannot suit both
    the first moments of a stiff system and its last; here the limit is the spacing of numbers at the current time.
    """

    def adapt_step_size(self, t0: Any, t1: Any, *args: Any, **kwargs: Any) -> Any:
        """As in Diffrax, but fails with `dt_min_reached` if the next step is empty or no smaller than a failed one."""
        keep, start, end, jump, state, result = super().adapt_step_size(t0, t1, *args, **kwargs)
        # Comparisons with NaN are false, so a step to NaN is stuck too.
        moves = (end > start) & (keep | (end < t1))
        result = diffrax.RESULTS.where(moves, result, diffrax.RESULTS.dt_min_reached)
        return keep, start, end, jump, state, result


def method_and_controller(
    name: str, rtol: float | Array, atol: float | Array, landings: Array, jumps: Array | None = None
) -> tuple[diffrax.AbstractSolver, diffrax.ClipStepSizeController]:
    """The method of that name, and a controller that keeps its error below rtol·|x| + atol.

    - `landings`: times to step onto. This costs a step per time (0.2 instead of 0.1 ms for 20 times of Lotka–Volterra,
      0.6 instead of 0.15 ms for 200), but the states there then have the accuracy asked for. Interpolated states were
      2 (Tsit5) to 1 700 times (Dopri8) worse, since interpolation is of lower order than the method: cubic or linear
      for the implicit ones;
    - `jumps`: times at which the field is discontinuous. Steps end just before and start just after. This saves
      `kvaerno5` little, since one of its stages lies beyond the end of the step.
    """
    build = lookup("solver", name, SOLVERS)
    if name in EXPLICIT:
        control = StopWhenStuck(rtol=rtol, atol=atol)
        return build(), diffrax.ClipStepSizeController(control, step_ts=landings, jump_ts=jumps)
    # Diffrax solves the equations of a stage to 1 % of the tolerances. float32 lacks the digits for that: all of 24
    # solves of dx/dt = x² by Kvaerno5 got lost in rounding, their steps shrinking to nothing well before the blow-up.
    # Solving to the tolerances themselves, with the PI control that Diffrax recommends for stiff systems, also takes a
    # quarter of the steps (van der Pol at 1e-8: 1 477 instead of 6 204; Lotka–Volterra: 64 instead of 339), and errors
    # stay within a few tolerances.
    control = StopWhenStuck(rtol=rtol, atol=atol, pcoeff=0.3, icoeff=0.4)
    finder = diffrax.VeryChord(rtol=100 * rtol, atol=100 * atol)  # pyright: ignore[reportArgumentType]
    return build(root_finder=finder), diffrax.ClipStepSizeController(control, step_ts=landings, jump_ts=jumps)
