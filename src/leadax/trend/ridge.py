"""Linear regression in many environments at once, with coefficients that are partly common and partly their own."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from .intervals import Equations

ROUNDS = 40
WIDEST = 5.0  # of a prior: coefficients are of size one in standard units
NARROWEST = 1e-3
LEAST_VARIANCE = 1e-9


class Coefficients(NamedTuple):
    """Those of environment e are `common` + `own[e]`."""

    common: Float[np.ndarray, "term channel"]
    own: Float[np.ndarray, "env term channel"]


class _Widths(NamedTuple):
    """The variance of the residuals, and the widths of the priors of common and own coefficients."""

    variance: float = 1e-3
    common: float = 1.0
    own: float = 0.3


def regression(environments: Sequence[Equations]) -> Coefficients:
    """The most likely coefficients, under normal priors whose widths are those that make the data most likely.

    $$y_e = \\Phi_e (w + v_e) + \\epsilon, \\; w \\sim N(0, a^2), v_e \\sim N(0, b^2), \\epsilon \\sim N(0, s^2)$$

    for each channel by itself; a, b and s by expectation maximisation. Where environments hardly differ, b becomes
    small, and all of them learn from each other.
    """
    squares = np.stack([terms.T @ terms for terms, _ in environments])
    products = np.stack([terms.T @ changes for terms, changes in environments])
    lengths = np.stack([(changes**2).sum(axis=0) for _, changes in environments]).sum(axis=0)
    count = sum(len(terms) for terms, _ in environments)
    columns = [_channel(squares, products[..., k], lengths[k], count) for k in range(products.shape[-1])]
    common, own = zip(*columns, strict=True)
    return Coefficients(np.stack(common, axis=-1), np.stack(own, axis=-1))


def _channel(squares: np.ndarray, products: np.ndarray, length: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Common and own coefficients of one channel."""
    widths = _Widths()
    common, own = np.zeros(products.shape[1]), np.zeros_like(products)
    for _ in range(ROUNDS):
        common, own, widths = _round(squares, products, length, count, widths)
    return common, own


def _round(
    squares: np.ndarray, products: np.ndarray, length: float, count: int, widths: _Widths
) -> tuple[np.ndarray, np.ndarray, _Widths]:
    """One round of expectation maximisation. Own coefficients are eliminated first, environment by environment."""
    variance, terms = widths.variance, squares.shape[-1]
    ratio, unit = variance / widths.own**2, np.eye(terms)
    inverse = np.linalg.inv(squares + ratio * unit)
    shrunk = ratio * inverse  # how much of a common coefficient an environment's own ones leave
    system = (shrunk @ squares).sum(axis=0)
    covariance = np.linalg.inv((system + system.T) / 2 + variance / widths.common**2 * unit)
    common = covariance @ np.einsum("epq,eq->p", shrunk, products)
    own = np.einsum("epq,eq->ep", inverse, products - squares @ common)
    both = common + own
    residual = length - 2 * np.sum(both * products) + np.einsum("ep,epq,eq->", both, squares, both)
    learnt = np.einsum("epq,eqp->", inverse, squares)
    learnt += np.einsum("epq,qr,esr,esp->", shrunk, covariance, shrunk, squares, optimize=True)
    taken = inverse @ squares
    spread = inverse + taken @ covariance @ taken.transpose(0, 2, 1)
    new = _Widths(
        max((max(residual, 0.0) + variance * learnt) / max(count, 1), LEAST_VARIANCE),
        _width(common**2 + variance * np.diag(covariance)),
        _width(own**2 + variance * np.diagonal(spread, axis1=1, axis2=2)),
    )
    return common, own, new


def _width(squares: np.ndarray) -> float:
    return float(np.clip(np.sqrt(np.mean(squares)), NARROWEST, WIDEST))
