"""Whether a single channel needs a hidden one beside it: whether it turns where no field of it could."""

import numpy as np
from jaxtyping import Float

from ..data import Trajectories
from ..data.layout import Layout
from ..data.noise import FEWEST as FEWEST_FOR_NOISE
from ..data.units import Units
from .hidden import is_one_channel, linear_law
from .intervals import Points
from .second_order import SecondOrder, Series, forecast, series_of
from .threads import on_one_thread

MUCH = 0.5  # of what a law of second order leaves unexplained: turns that are smaller may be chance
RARELY = 1e-3  # how often chance alone may make turns so large
BEYOND_NOISE = 10.0  # times its variance: turns of the data themselves that are larger are none of the noise
LEAST_TURNS = 0.01  # of the variance of the data
MOST = 300  # trajectories that are looked at
FEWEST = 4  # points of a trajectory, on average, below which turns tell nothing
SEVERAL = 3  # trajectories, from which on a single one that turns is not enough: it may have an outlier
SEEN = 0.5  # of the turns of a law, that the data must show themselves


@on_one_thread
def needs_hidden(data: Trajectories, units: Units, layout: Layout) -> bool:
    """Whether what is observed rises and falls where the law of a single channel cannot.

    With one channel, each state has one rate of change, so that every trajectory of a field rises all the time or falls
    all the time. What is left of the data after the nearest curves that do not turn is compared with their noise. Of
    few points the noise is not known, or not well. So linear laws of second order, which may turn, are fitted to whole
    trajectories, and the turns of their curves are compared with what they leave (F-test).

    Of several channels, and where inputs act on them, nothing is said.

    >>> t = np.linspace(0, 6, 20)
    >>> curves = [np.exp(-0.5 * t) - np.exp(-rate * t) for rate in (2.0, 3.0)]
    >>> rising = [1 - np.exp(-rate * t) for rate in (2.0, 3.0)]
    >>> found = []
    >>> for each in (curves, rising):
    ...     data = Trajectories.from_arrays(t, np.stack(each)[:, None, :, None])
    ...     found.append(needs_hidden(data, Units.measured(data), Layout(("x0",))))
    >>> found
    [True, False]
    """
    if not is_one_channel(data, layout):
        return False
    points = Points.of(data, units, layout)
    series = series_of(points, points.complete)
    if not series or np.mean([len(each.times) for each in series]) < FEWEST:
        return False
    series = series[:: -(-len(series) // MOST)]
    seen = np.array([np.sum(turns(each.values) ** 2) for each in series])
    count = sum(len(each.values) for each in series)
    without_worst = float(np.sum(np.sort(seen)[: -1 if len(seen) >= SEVERAL else None]))
    known = layout.noise is not None or count - 2 * len(series) >= FEWEST_FOR_NOISE
    noise = (layout.noise or (0.0,))[0]
    if known and without_worst > max(BEYOND_NOISE * noise**2, LEAST_TURNS) * count:
        return True
    return float(seen.sum()) > LEAST_TURNS * count and _law_turns(series, linear_law(points, series), float(seen.sum()))


def turns(curve: Float[np.ndarray, " point"]) -> Float[np.ndarray, " point"]:
    """What is left of a curve after the nearest one that only rises or only falls: no field can explain it."""
    from scipy.optimize import isotonic_regression

    left = [curve - isotonic_regression(curve, increasing=up).x for up in (True, False)]
    return min(left, key=lambda each: float(np.sum(each**2)))


def _law_turns(series: list[Series], law: SecondOrder, seen: float) -> bool:
    """Whether the curves of a law turn by more than can be chance, given what the law leaves, and the data with them.

    - `seen`: the sum of the squared turns of the data.
    """
    from scipy.stats import f  # takes half a second to import

    curves = [
        forecast(law.of(each.environment), start, each.times) for each, start in zip(series, law.starts, strict=True)
    ]
    turned = sum(float(np.sum(turns(curve) ** 2)) for curve in curves)
    left = sum(float(np.sum((curve - each.values) ** 2)) for curve, each in zip(curves, series, strict=True))
    # A start has one number more than that of a field.
    more = len(series) + 1
    rest = max(sum(map(len, curves)) - 2 * len(series) - 3, 1)
    ratio = (turned / more) / max(left / rest, np.finfo(float).tiny)
    return seen > SEEN * turned > SEEN * MUCH * left and float(f.sf(ratio, more, rest)) < RARELY
