"""Explicit Runge–Kutta methods as tables of numbers; the one step that reads them is in `fixed.py`."""

from dataclasses import dataclass

import diffrax
import numpy as np
from jaxtyping import Float

from leadax.errors import lookup


@dataclass(frozen=True, eq=False)
class Tableau:
    """A Butcher tableau: kᵢ = f(x + h Σⱼ aᵢⱼ kⱼ), then x(t + h) ≈ x + h Σᵢ bᵢ kᵢ, with error O(hᵖ) over a fixed time.

    - `name`: the key in `TABLEAUX`;
    - `order`: p;
    - `a`: strictly lower triangular, one row per stage;
    - `b`: the weights of the stages;
    - `c`: the row sums of `a`, the times of the stages as fractions of h (unused for a field without time).

    >>> table = TABLEAUX["rk4-38"]
    >>> table.order, table.b.tolist()
    (4, [0.125, 0.375, 0.375, 0.125])
    """

    name: str
    order: int
    a: Float[np.ndarray, "stage stage"]
    b: Float[np.ndarray, " stage"]
    c: Float[np.ndarray, " stage"]


def _from_rows(name: str, order: int, rows: list[list[float]], b: list[float]) -> Tableau:
    """A tableau from the rows of `a` below the (empty) first one."""
    a = np.zeros((len(b), len(b)))
    for i, row in enumerate(rows, start=1):
        a[i, : len(row)] = row
    return Tableau(name, order, a, np.array(b), a.sum(axis=1))


def _from_diffrax(name: str, order: int, table: diffrax.ButcherTableau) -> Tableau:
    """Diffrax's table, which leaves out the first row and may end in stages made only for the error estimate.

    The last stage of a first-same-as-last pair has b = 0 and no later stage to feed: without it every step is one
    evaluation of the field cheaper.
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
    # Kutta's 3/8 rule. The paper's "RK4" is torchdiffeq's `rk4`, which is this one, so it is the default of `rollout`:
    # with one step per Δt the learnt field absorbs the error of the method, and the two are not interchangeable.
    _from_rows("rk4-38", 4, [[1 / 3], [-1 / 3, 1.0], [1.0, -1.0, 1.0]], [1 / 8, 3 / 8, 3 / 8, 1 / 8]),
    _from_diffrax("tsit5", 5, diffrax.Tsit5.tableau),
    _from_diffrax("dopri5", 5, diffrax.Dopri5.tableau),
    _from_diffrax("dopri8", 8, diffrax.Dopri8.tableau),
)

TABLEAUX: dict[str, Tableau] = {table.name: table for table in _ALL}
"""The methods that `rollout` knows by name."""


def find_tableau(tableau: str | Tableau) -> Tableau:
    """The tableau itself, or the one of that name; an unknown name is an `InputError`."""
    return tableau if isinstance(tableau, Tableau) else lookup("tableau", tableau, TABLEAUX)
