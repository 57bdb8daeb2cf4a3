"""Explicit Runge–Kutta methods as tables of numbers; `fixed.py` has the one step that reads them."""

from dataclasses import dataclass

import diffrax
import numpy as np
from jaxtyping import Float

from leadax.errors import lookup


@dataclass(frozen=True, eq=False)
class Tableau:
    """A Butcher tableau: kᵢ = f(t + cᵢ h, x + h Σⱼ aᵢⱼ kⱼ), then x(t + h) ≈ x + h Σᵢ bᵢ kᵢ.

    - `name`: the key in `TABLEAUX`;
    - `order`: p; the error over a fixed time is O(hᵖ);
    - `a`: strictly lower triangular, one row per stage;
    - `b`: the weights of the stages.

    >>> table = TABLEAUX["rk4-38"]
    >>> table.order, table.b.tolist()
    (4, [0.125, 0.375, 0.375, 0.125])
    """

    name: str
    order: int
    a: Float[np.ndarray, "stage stage"]
    b: Float[np.ndarray, " stage"]

    @property
    def c(self) -> Float[np.ndarray, " stage"]:
        """The times of the stages as fractions of h: the row sums of `a`."""
        sums = self.a.sum(axis=1)
        # Rounding must not put the last stages of Dopri8 beyond the end of the step.
        return np.where(np.isclose(sums, 1, rtol=0, atol=1e-13), 1.0, sums)


def _from_rows(name: str, order: int, rows: list[list[float]], b: list[float]) -> Tableau:
    """A tableau from the rows of `a` after the first, which is empty."""
    a = np.zeros((len(b), len(b)))
    for i, row in enumerate(rows, start=1):
        a[i, : len(row)] = row
    return Tableau(name, order, a, np.array(b))


def _from_diffrax(name: str, order: int, table: diffrax.ButcherTableau) -> Tableau:
    """Diffrax's table, which omits the first row and may end in stages that serve the error estimate only.

    The last stage of a first-same-as-last pair has b = 0 and no later stage uses it. Dropping it saves one evaluation
    of the field per step.
    """
    stages = int(np.flatnonzero(table.b_sol)[-1]) + 1
    rows = [row.tolist() for row in table.a_lower[: stages - 1]]
    return _from_rows(name, order, rows, table.b_sol[:stages].tolist())


_ALL = (
    _from_rows("euler", 1, [], [1.0]),
    _from_diffrax("heun", 2, diffrax.Heun.tableau),
    _from_diffrax("midpoint", 2, diffrax.Midpoint.tableau),
    _from_diffrax("ralston", 2, diffrax.Ralston.tableau),
    _from_diffrax("bosh3", 3, diffrax.Bosh3.tableau),
    _from_rows("rk4", 4, [[0.5], [0.0, 0.5], [0.0, 0.0, 1.0]], [1 / 6, 1 / 3, 1 / 3, 1 / 6]),
    # Kutta's 3/8 rule, the default of `rollout`: the paper's "RK4" is torchdiffeq's `rk4`, which is this one. With one
    # step per Δt the learnt field absorbs the error of the method, so the two rules are not interchangeable.
    _from_rows("rk4-38", 4, [[1 / 3], [-1 / 3, 1.0], [1.0, -1.0, 1.0]], [1 / 8, 3 / 8, 3 / 8, 1 / 8]),
    _from_diffrax("tsit5", 5, diffrax.Tsit5.tableau),
    _from_diffrax("dopri5", 5, diffrax.Dopri5.tableau),
    _from_diffrax("dopri8", 8, diffrax.Dopri8.tableau),
)

TABLEAUX: dict[str, Tableau] = {table.name: table for table in _ALL}
"""The fixed-step methods by name."""


def find_tableau(tableau: str | Tableau) -> Tableau:
    """Return the tableau of that name, or the tableau itself; an unknown name raises `InputError`."""
    return tableau if isinstance(tableau, Tableau) else lookup("tableau", tableau, TABLEAUX)
