"""Linear regression in many environments at once, with coefficients that are partly common and partly their own."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

ROUNDS = 60
WIDEST = 5.0  # of a prior: coefficients are of size one in standard units
NARROWEST = 1e-3
LEAST_VARIANCE = 1e-9


class Normal(NamedTuple):
    """What the equations of each environment say of its coefficients θ: (θᵀ A θ − 2 bᵀ θ + c) / s².

    - `squares`: A; `products`: b; `length`: c, summed over environments; `rows`: the number of equations. The
      variance s² is unknown.
    """

    squares: Float[np.ndarray, "env coefficient coefficient"]
    products: Float[np.ndarray, "env coefficient"]
    length: float
    rows: float


class Widths(NamedTuple):
    """The variance of what equations leave, and the widths of the priors of common and of own coefficients."""

    variance: float
    common: Float[np.ndarray, " coefficient"]
    own: Float[np.ndarray, " coefficient"]

    @classmethod
    def wide(cls, normal: Normal, variance: float = 1e-3) -> "Widths":
        """Where the search for widths begins."""
        size = normal.products.shape[1]
        return cls(variance, np.ones(size), np.full(size, 0.3))


class Effects(NamedTuple):
    """Coefficients of environment e are `common` + `own[e]`; `widths` are those that make the data most likely."""

    common: Float[np.ndarray, " coefficient"]
    own: Float[np.ndarray, "env coefficient"]
    widths: Widths


def effects(normal: Normal, widths: Widths | None = None, rounds: int = ROUNDS) -> Effects:
    """The most likely coefficients, under normal priors whose widths are those that make the data most likely.

    $$y_e = \\Phi_e (w + v_e) + \\epsilon, w_j \\sim N(0, a_j^2), v_{ej} \\sim N(0, b_j^2), \\epsilon \\sim N(0, s^2)$$

    with a, b and s by expectation maximisation. A coefficient that explains nothing gets a small $a_j$ and goes away.
    One in which environments hardly differ gets a small $b_j$, and all of them determine it together.

    **Arguments**

    - `widths`: where to begin; by default wide ones.
    """
    found = _round(normal, Widths.wide(normal) if widths is None else widths)
    for _ in range(rounds - 1):
        found = _round(normal, found.widths)
    return found


def _round(normal: Normal, widths: Widths) -> Effects:
    """One round: the coefficients with these widths, and the widths that fit them better.

    Own coefficients are eliminated first, environment by environment.
    """
    squares, products = normal.squares, normal.products
    ratio = widths.variance / widths.own**2
    inverse = np.linalg.inv(squares + np.diag(ratio))
    shrunk = ratio[:, None] * inverse  # how much of a common coefficient an environment's own ones leave
    system = (shrunk @ squares).sum(axis=0)
    covariance = np.linalg.inv((system + system.T) / 2 + np.diag(widths.variance / widths.common**2))
    common = covariance @ np.einsum("epq,eq->p", shrunk, products)
    own = np.einsum("epq,eq->ep", inverse, products - squares @ common)
    taken = inverse @ squares
    of_own = np.diagonal(inverse, axis1=1, axis2=2) + np.einsum(
        "epq,qr,epr->ep", taken, covariance, taken, optimize=True
    )
    of_both = inverse + shrunk.transpose(0, 2, 1) @ covariance @ shrunk
    new = Widths(
        _variance(normal, common + own, widths.variance * of_both),
        _width(common**2 + widths.variance * np.diag(covariance)),
        _width(np.mean(own**2 + widths.variance * of_own, axis=0)),
    )
    return Effects(common, own, new)


def _variance(normal: Normal, both: np.ndarray, covariance: np.ndarray) -> float:
    """The mean square of what is left, and of what is uncertain about it."""
    left = normal.length - 2 * np.sum(both * normal.products) + np.einsum("ep,epq,eq->", both, normal.squares, both)
    uncertain = np.einsum("epq,eqp->", normal.squares, covariance)
    return float(max((max(left, 0.0) + uncertain) / normal.rows, LEAST_VARIANCE))


def _width(squares: np.ndarray) -> np.ndarray:
    return np.clip(np.sqrt(squares), NARROWEST, WIDEST)
