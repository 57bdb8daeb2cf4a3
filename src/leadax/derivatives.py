"""Derivatives in time estimated from observations, for the form of the objective that matches derivatives.

The paper (Sec. 4.4, on trajectory-based optimisation) compares such estimates d with (f + g_e)(x) at the observed
states, and finds that errors of trajectories teach better; this is the other side of that comparison. Everything here
is NumPy, done once before training. Each value of the state (channel, pixel) is a series of its own, made of those
times at which it was observed.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from leadax.errors import InputError


def finite_differences(
    times: Float[np.ndarray, " time"],
    states: Float[np.ndarray, "time *space channel"],
    observed: Bool[np.ndarray, "time *space channel"],
) -> tuple[Float[np.ndarray, "time *space channel"], Bool[np.ndarray, "time *space channel"]]:
    """Slopes dₖ ≈ dx/dt(tₖ) of the parabola through each observation and its neighbours: error O(h²) on any grid.

    - `times`: tₖ, increasing where anything was observed;
    - `states`: xₖ of one trajectory; `observed`: which of its values count, the others may be anything, NaN included.

    Returns d (zero where unknown), and where it is known: at every observed value of a series of two or more. At the
    ends the parabola is one-sided; two observations alone give the slope of the line through them.

    >>> import numpy as np
    >>> times, seen = np.array([0.0, 1.0, 3.0, 4.0]), np.array([[True], [True], [True], [False]])
    >>> slopes, known = finite_differences(times, times[:, None] ** 2, seen)
    >>> slopes[:, 0].tolist(), known[:, 0].tolist()
    ([0.0, 2.0, 6.0, 0.0], [True, True, True, False])
    """
    return _per_series(times, states, observed, _parabola_slopes)


def spline(
    times: Float[np.ndarray, " time"],
    states: Float[np.ndarray, "time *space channel"],
    observed: Bool[np.ndarray, "time *space channel"],
) -> tuple[Float[np.ndarray, "time *space channel"], Bool[np.ndarray, "time *space channel"]]:
    """Slopes dₖ of the cubic spline through the observations, "not-a-knot" at the ends: error O(h³), exact for cubics.

    A cubic on each interval, with continuous first and second derivative at every knot, and a continuous third one at
    the second and the last but one. Arguments and result are those of `finite_differences`; three observations give a
    parabola, two a line. More exact than differences for clean data, and more sensitive to noise.

    >>> import numpy as np
    >>> times = np.array([0.0, 1.0, 2.0, 4.0, 5.0])
    >>> slopes, known = spline(times, times[:, None] ** 3, np.ones((5, 1), bool))
    >>> slopes[:, 0].round(9).tolist()
    [0.0, 3.0, 12.0, 48.0, 75.0]
    """
    return _per_series(times, states, observed, _spline_slopes)


ESTIMATES = {"finite-differences": finite_differences, "spline": spline}


def _per_series(
    times: np.ndarray,
    states: np.ndarray,
    observed: np.ndarray,
    estimate: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Runs `estimate` once per pattern of missing values: one run for a fully observed field, however many pixels."""
    values, seen = states.reshape(len(times), -1), observed.reshape(len(times), -1)
    slopes, known = np.zeros_like(values), np.zeros_like(seen)
    patterns, pattern_of = np.unique(seen, axis=1, return_inverse=True)
    for i, pattern in enumerate(patterns.T):
        if pattern.sum() < 2:
            continue
        _check_increasing(times[pattern])
        block = np.ix_(pattern, pattern_of.ravel() == i)
        slopes[block] = estimate(times[pattern], values[block])
        known[block] = True
    return slopes.reshape(states.shape), known.reshape(states.shape)


def _check_increasing(times: np.ndarray) -> None:
    # Negated, so that NaN is caught too.
    if not (np.diff(times) > 0).all():
        raise InputError(
            "`times` must increase over the observed points of a trajectory; got equal, decreasing or missing ones:"
            " mark such points as not observed, or sort them"
        )


def _parabola_slopes(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.gradient(x, t, axis=0, edge_order=2 if len(t) > 2 else 1)


def _spline_slopes(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Slopes at the knots from continuity of the second derivative: one equation per inner knot, one per end."""
    if len(t) < 4:
        return _parabola_slopes(t, x)
    h = np.diff(t)
    secants = np.diff(x, axis=0) / h[:, None]
    left, right = h[:-1], h[1:]
    pairs = left + right
    inner = 3 * (right[:, None] * secants[:-1] + left[:, None] * secants[1:])
    first = _end_equation(h[0], h[1], secants[0], secants[1])
    last = _end_equation(h[-1], h[-2], secants[-1], secants[-2])
    return _solve_tridiagonal(
        lower=np.concatenate([right, [pairs[-1]]]),
        diagonal=np.concatenate([[h[1]], 2 * pairs, [h[-2]]]),
        upper=np.concatenate([[pairs[0]], left]),
        right=np.concatenate([first[None], inner, last[None]]),
    )


def _end_equation(outer: float, inner: float, outer_secant: np.ndarray, inner_secant: np.ndarray) -> np.ndarray:
    """Not-a-knot: the right-hand side of inner · d_end + (outer + inner) · d_next, the same at both ends."""
    both = outer + inner
    return ((outer + 2 * both) * inner * outer_secant + outer**2 * inner_secant) / both


def _solve_tridiagonal(*, lower: np.ndarray, diagonal: np.ndarray, upper: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Gauss elimination without pivots, all columns of `right` at once; the pivots of a spline stay positive."""
    diagonal, solution = diagonal.copy(), right.copy()
    for k in range(1, len(diagonal)):
        factor = lower[k - 1] / diagonal[k - 1]
        diagonal[k] -= factor * upper[k - 1]
        solution[k] -= factor * solution[k - 1]
    solution[-1] /= diagonal[-1]
    for k in range(len(diagonal) - 2, -1, -1):
        solution[k] = (solution[k] - upper[k] * solution[k + 1]) / diagonal[k]
    return solution
