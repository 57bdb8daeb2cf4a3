"""Time derivatives estimated from observations, to train on derivatives instead of trajectories.

Training then compares the estimates d with (f + g_e)(x) at the observed states. The paper (Sec. 4.4, on
trajectory-based optimisation) finds that comparing trajectories works better; this module is for the other side of that
comparison. The estimates are computed once, before training, in NumPy. Each component of the state (one channel at one
grid point) is a time series of its own, made of the times at which it was observed.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float

from ..errors import InputError


def finite_differences(
    times: Float[np.ndarray, " time"],
    states: Float[np.ndarray, "time *space channel"],
    observed: Bool[np.ndarray, "time *space channel"],
) -> tuple[Float[np.ndarray, "time *space channel"], Bool[np.ndarray, "time *space channel"]]:
    """Slopes dₖ ≈ dx/dt(tₖ) of the parabola through each observation and its two neighbours, with error O(h²).

    The spacing may be irregular. At both ends the parabola is one-sided. Two observations give the slope of the line
    through them.

    **Arguments**

    - `times`: tₖ, increasing over the observed points.
    - `states`: xₖ of one trajectory.
    - `observed`: which values of `states` were observed. The others are ignored and may be NaN.

    **Returns**

    The slopes, zero where they are unknown, and a mask of where they are known: at all observed values of each time
    series with at least two of them.

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
    """Slopes dₖ of the cubic spline through the observations ("not-a-knot" at both ends), with error O(h³).

    Exact for cubic polynomials. Three observations give a parabola, two a line. More accurate than
    `finite_differences` on clean data and more sensitive to noise. Arguments and results are the same.

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
    """Call `estimate` once for each pattern of missing values; a fully observed field takes one call, of any size."""
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
    # Written as a negation, so that NaN is caught too.
    if not (np.diff(times) > 0).all():
        raise InputError(
            "`times` must increase over the observed points of a trajectory, got equal, decreasing or missing times: "
            "sort the points, or mark them as not observed"
        )


def _parabola_slopes(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.gradient(x, t, axis=0, edge_order=2 if len(t) > 2 else 1)


def _spline_slopes(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    from scipy.interpolate import CubicSpline  # takes 0.6 s to import, and few runs need it

    return CubicSpline(t, x, bc_type="not-a-knot")(t, 1)
