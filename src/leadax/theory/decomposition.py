"""Proposition 1 for linear maps: the decomposition F_e = F + G_e with the smallest specific parts G_e."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..errors import InputError, lookup

Matrices = Float[np.ndarray, "env d d"]


class Decomposition(NamedTuple):
    """F and the G_e, and a bound `gap` on the difference between ΣΩ(G_e) and its minimum."""

    shared: Float[np.ndarray, "d d"]
    specific: Matrices
    gap: float = 0.0


class Norm(NamedTuple):
    """A matrix norm: its value, the value of its dual norm, and the projection onto the dual unit ball."""

    value: Callable[[np.ndarray], float]
    dual: Callable[[np.ndarray], float]
    project: Callable[[np.ndarray], np.ndarray]


def minimal_decomposition(matrices: Float[np.ndarray, "..."], norm: str = "squared-frobenius") -> Decomposition:
    """The F and G_e = F_e − F that minimise Σ_e Ω(G_e).

    **Arguments**

    - `matrices`: the F_e, of shape `(env, d, d)`.
    - `norm`: Ω. With `squared-frobenius`, as in the paper's experiments, F is the mean of the F_e. The others are norms
      without the square, minimised by ADMM until the duality gap is small: `frobenius` (F is the geometric median),
      `nuclear` (the G_e have low rank), `spectral`, and `entries` (the sum of absolute values; F is the median).

    >>> import numpy as np
    >>> F = np.array([[[1.0]], [[2.0]], [[6.0]]])
    >>> float(minimal_decomposition(F).shared[0, 0]), round(float(minimal_decomposition(F, "nuclear").shared[0, 0]), 6)
    (3.0, 2.0)
    """
    matrices = np.asarray(matrices, float)
    if matrices.ndim != 3 or matrices.shape[1] != matrices.shape[2] or not np.all(np.isfinite(matrices)):
        raise InputError(f"`matrices` must be finite and of shape (environment, d, d), got shape {matrices.shape}")
    if norm == "squared-frobenius":
        shared = matrices.mean(axis=0)
        return Decomposition(shared, matrices - shared)
    return _admm(matrices, lookup("norm", norm, {"squared-frobenius": NORMS["frobenius"], **NORMS}))


def observed_decomposition(matrices: Matrices, states: Float[np.ndarray, "env point d"]) -> Decomposition:
    """The F and G_e that minimise Σ_e ‖G_e‖² subject to (F + G_e)x = F_e·x *at the observed states* only.

    This is what can be learned from data. With P_e the projection onto the span of the states of environment e,

    $$F = (\\sum_e F_e P_e)(\\sum_e P_e)^+, \\quad G_e = (F_e - F) P_e.$$

    It equals `minimal_decomposition` if the states of every environment span the space. In general it is the limit of
    a fit as the penalty weight goes to zero.

    **Arguments**

    - `matrices`: the F_e, of shape `(env, d, d)`.
    - `states`: the observed states, of shape `(env, point, d)`.

    >>> import numpy as np
    >>> F = np.stack([np.eye(2), 3 * np.eye(2)])
    >>> seen = np.array([[[1.0, 0.0]], [[0.0, 1.0]]])
    >>> observed_decomposition(F, seen).shared.tolist()
    [[1.0, 0.0], [0.0, 3.0]]
    """
    projections = np.stack([_projection(points) for points in np.asarray(states, float)])
    seen = matrices @ projections
    shared = seen.sum(axis=0) @ np.linalg.pinv(projections.sum(axis=0), rcond=1e-9, hermitian=True)
    return Decomposition(shared, (matrices - shared) @ projections)


def relative_distance(matrix: Float[np.ndarray, "d d"], expected: Float[np.ndarray, "d d"]) -> float:
    """‖A − B‖/‖B‖ in the Frobenius norm; infinity if B is zero and A is not.

    >>> import numpy as np
    >>> relative_distance(1.1 * np.eye(2), np.eye(2)).__round__(9)
    0.1
    """
    difference, size = np.linalg.norm(matrix - expected), np.linalg.norm(expected)
    return float(difference / size) if size > 0 else float("inf") if difference > 0 else 0.0


def _projection(points: np.ndarray) -> np.ndarray:
    """The projection onto the span of the points. Singular values below 1e-9 of the largest are rounding errors."""
    _, sizes, directions = np.linalg.svd(points, full_matrices=False)
    kept = directions[sizes > 1e-9 * sizes[0]] if sizes.size and sizes[0] > 0 else directions[:0]
    return kept.T @ kept


def _admm(matrices: np.ndarray, norm: Norm, iterations: int = 100_000, tolerance: float = 1e-9) -> Decomposition:
    """ADMM for min Σ‖G_e‖ subject to G_e + F = F_e, with scaled multipliers."""
    shared = np.median(matrices, axis=0)
    size = float(np.mean([np.linalg.norm(f - shared) for f in matrices])) or 1.0
    multipliers, best = np.zeros_like(matrices), Decomposition(shared, matrices - shared, np.inf)
    for iteration in range(iterations):
        inside = matrices - shared - multipliers
        # Moreau: the proximal operator of a norm is the identity minus the projection onto the dual unit ball.
        specific = inside - size * np.stack([norm.project(x / size) for x in inside])
        shared = np.mean(matrices - specific - multipliers, axis=0)
        multipliers = multipliers + specific + shared - matrices
        if iteration % 20 == 0:
            best = min(best, _with_gap(matrices, shared, multipliers / size, norm), key=lambda found: found.gap)
            if best.gap <= tolerance * size * len(matrices):
                break
    return best


def _with_gap(matrices: np.ndarray, shared: np.ndarray, multipliers: np.ndarray, norm: Norm) -> Decomposition:
    """The decomposition for a given F, with its duality gap."""
    centred = multipliers - multipliers.mean(axis=0)
    feasible = centred / max(1.0, *(norm.dual(u) for u in centred))
    primal = sum(norm.value(f - shared) for f in matrices)
    return Decomposition(shared, matrices - shared, max(0.0, float(primal + np.sum(feasible * matrices))))


def _onto_simplex_ball(sizes: np.ndarray) -> np.ndarray:
    """Project non-negative numbers onto the set of those with a sum of at most 1."""
    if sizes.sum() <= 1:
        return sizes
    ordered = np.sort(sizes)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(sizes) + 1)
    return np.maximum(sizes - excess[np.flatnonzero(ordered > excess)[-1]], 0.0)


def _on_singular_values(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Turn a function of the singular values into a function of the matrix."""

    def apply(matrix: np.ndarray) -> np.ndarray:
        left, sizes, right = np.linalg.svd(matrix)
        return (left * change(sizes)) @ right

    return apply


_frobenius = lambda a: float(np.linalg.norm(a))
_spectral = lambda a: float(np.linalg.norm(a, 2))
_nuclear = lambda a: float(np.linalg.norm(a, "nuc"))

NORMS: Mapping[str, Norm] = {
    "frobenius": Norm(_frobenius, _frobenius, lambda a: a / max(1.0, _frobenius(a))),
    "nuclear": Norm(_nuclear, _spectral, _on_singular_values(lambda sizes: np.minimum(sizes, 1.0))),
    "spectral": Norm(_spectral, _nuclear, _on_singular_values(_onto_simplex_ball)),
    "entries": Norm(lambda a: float(np.abs(a).sum()), lambda a: float(np.abs(a).max()), lambda a: np.clip(a, -1, 1)),
}
