"""Linear regression in many environments at once, with coefficients that are partly common and partly their own."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

ROUNDS = 60
WIDEST = 5.0  # of a prior: coefficients are of size one in standard units
NARROWEST = 1e-5
LEAST_SURE = 1e-6
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
    """The variance of what equations leave, and the widths of the priors of common and of own coefficients.

    - `differ`: in which coefficients environments may differ at all; `present`: which ones there are at all.
    """

    variance: float
    common: Float[np.ndarray, " coefficient"]
    own: Float[np.ndarray, " coefficient"]
    differ: Bool[np.ndarray, " coefficient"]
    present: Bool[np.ndarray, " coefficient"]

    @classmethod
    def wide(
        cls,
        differ: Bool[np.ndarray, " coefficient"],
        present: Bool[np.ndarray, " coefficient"],
        variance: float = 1e-3,
    ) -> "Widths":
        """Where the search for widths begins."""
        differ = differ & present
        widest = np.where(present, 1.0, NARROWEST), np.where(differ, 0.3, NARROWEST)
        return cls(variance, *widest, differ, present)


class Effects(NamedTuple):
    """Coefficients of environment e are `common` + `own[e]`; `widths` are those that make the data most likely."""

    common: Float[np.ndarray, " coefficient"]
    own: Float[np.ndarray, "env coefficient"]
    widths: Widths

    def times(self, basis: Float[np.ndarray, "term coefficient"]) -> "Effects":
        """The same as coefficients of other terms, from those of these by a matrix."""
        return Effects(basis @ self.common, self.own @ basis.T, self.widths)


def effects(normal: Normal, widths: Widths, rounds: int = ROUNDS) -> Effects:
    """The most likely coefficients, under normal priors whose widths are those that make the data most likely.

    $$y_e = \\Phi_e (w + v_e) + \\epsilon, w_j \\sim N(0, a_j^2), v_{ej} \\sim N(0, b_j^2), \\epsilon \\sim N(0, s^2)$$

    with s by expectation maximisation, and a and b by MacKay's rule: the square of a width is that of its coefficients,
    divided by how far the data determine them. A coefficient that explains nothing gets a small $a_j$ and goes away.
    One in which environments hardly differ gets a small $b_j$, and all of them determine it together.

    **Arguments**

    - `widths`: where to begin.
    """
    found = _round(normal, widths)
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
    common = covariance @ np.sum(shrunk @ products[..., None], axis=0)[:, 0]
    own = (inverse @ (products - squares @ common)[..., None])[..., 0]
    taken = inverse @ squares
    of_own = np.diagonal(inverse, axis1=1, axis2=2) + np.sum((taken @ covariance) * taken, axis=2)
    of_both = inverse + shrunk.transpose(0, 2, 1) @ covariance @ shrunk
    sure = lambda spread, width: np.clip(1 - widths.variance * spread / width**2, LEAST_SURE, 1.0)
    new = Widths(
        _variance(normal, common + own, widths.variance * of_both),
        np.where(widths.present, _width(common**2 / sure(np.diag(covariance), widths.common)), NARROWEST),
        np.where(widths.differ, _width(np.sum(own**2, axis=0) / np.sum(sure(of_own, widths.own), axis=0)), NARROWEST),
        widths.differ,
        widths.present,
    )
    return Effects(common, own, new)


def _variance(normal: Normal, both: np.ndarray, covariance: np.ndarray) -> float:
    """The mean square of what is left, and of what is uncertain about it."""
    explained = (normal.squares @ both[..., None])[..., 0]
    left = normal.length - np.sum(both * (2 * normal.products - explained))
    uncertain = np.sum(normal.squares * covariance)  # both are symmetric
    return float(max((max(left, 0.0) + uncertain) / normal.rows, LEAST_VARIANCE))


def _width(squares: np.ndarray) -> np.ndarray:
    return np.clip(np.sqrt(squares), NARROWEST, WIDEST)


def evidence(normal: Normal, widths: Widths) -> float:
    """The logarithm of how likely the data are with priors of these widths, up to a constant."""
    s, a, b = widths.variance, widths.common**2, widths.own**2
    squares, products = normal.squares / s, normal.products / s
    inner = squares + np.diag(1 / b)
    taken = np.linalg.solve(inner, squares)
    system = np.sum(squares - squares @ taken, axis=0) + np.diag(1 / a)
    own = np.linalg.solve(inner, products[..., None])[..., 0]
    rest = np.sum(products - np.einsum("epq,eq->ep", squares, own), axis=0)
    explained = np.sum(products * own) + rest @ np.linalg.solve(system, rest)
    logs = np.linalg.slogdet(inner)[1].sum() + np.linalg.slogdet(system)[1]
    logs += np.log(a).sum() + len(products) * np.log(b).sum() + normal.rows * np.log(s)
    return float(-0.5 * (normal.length / s - explained + logs))
