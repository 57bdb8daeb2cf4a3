"""The polynomial vector fields of a data set."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..data import Trajectories
from ..data.layout import Layout
from ..data.units import Units
from ..nets.polynomial import Region
from .intervals import Equations, Points, equations
from .ridge import regression


class Trend(NamedTuple):
    """Coefficients of polynomials, in standard units, as arrays of NumPy or JAX; the constant term comes first.

    - `common`, `own`: the field of environment e is `common` + `own[e]`;
    - `alone`: the fields of environments that know nothing of each other; `pooled`: one field for all.
    """

    common: Float[Any, "term channel"]
    own: Float[Any, "env term channel"]
    alone: Float[Any, "env term channel"]
    pooled: Float[Any, "term channel"]


def trend_of(data: Trajectories, units: Units, layout: Layout, degree: int, region: Region | None) -> Trend | None:
    """The trend of a data set; None where nothing can be said: fields on a grid, or states that are partly hidden.

    >>> t = np.linspace(0, 2, 9)
    >>> x = np.stack([np.exp(-a * t) for a in (0.5, 1.0)])[:, None, :, None]
    >>> trend = trend_of(Trajectories.from_arrays(t, x), Units.ones(1), Layout(("x",)), 1, None)
    >>> (trend.common + trend.own)[:, 1, 0].round(3).tolist()
    [-0.5, -1.0]
    """
    if data.space or layout.hidden or layout.individual:
        return None
    points = Points.of(data, units, layout)
    found = equations(points, degree, region or points.region, points.complete)
    common, own = regression(found)
    whole = Equations(*(np.concatenate(side) for side in zip(*found, strict=True)))
    alone = [_sum(*regression([one])) for one in found]
    return Trend(common, own, np.stack(alone), _sum(*regression([whole])))


def _sum(common: np.ndarray, own: np.ndarray) -> np.ndarray:
    return common + own[0]
