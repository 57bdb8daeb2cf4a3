"""The polynomial vector fields of a data set."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..data import Trajectories
from ..data.layout import Layout
from ..data.units import Units
from ..nets.polynomial import Region
from .flow import Fitted, Law, fitted
from .intervals import Points


class Trend(NamedTuple):
    """Coefficients of polynomials, in standard units, as arrays of NumPy or JAX; the constant term comes first.

    - `common`, `own`: the field of environment e is `common` + `own[e]`;
    - `alone`: the fields of environments that know nothing of each other; `pooled`: one field for all.
    """

    common: Float[Any, "term channel"]
    own: Float[Any, "env term channel"]
    alone: Float[Any, "env term channel"]
    pooled: Float[Any, "term channel"]


def trend_of(
    data: Trajectories, units: Units, layout: Layout, degree: int, region: Region | None, longest: float | None = None
) -> Trend | None:
    """The trend of a data set; None where nothing can be said: fields on a grid, or states that are partly hidden.

    **Arguments**

    - `degree`, `region`: as in `leadax.nets.MLP`;
    - `longest`: the longest step of the solver, in standard time; by default the median interval.

    >>> t = np.linspace(0, 2, 9)
    >>> x = np.stack([np.exp(-a * t) for a in (0.5, 1.0)])[:, None, :, None]
    >>> trend = trend_of(Trajectories.from_arrays(t, x), Units.ones(1), Layout(("x",)), 1, None)
    >>> (trend.common + trend.own)[:, 1, 0].round(3).tolist()
    [-0.5, -1.0]
    """
    if data.space or layout.hidden or layout.individual:
        return None
    points = Points.of(data, units, layout)
    law = Law(degree, region or points.region, longest or points.median_gap)
    common, own = fitted(points, law, points.complete).coefficients
    alone = [_sum(fitted(points.of_environment(e), law, points.complete[[e]])) for e in range(len(own))]
    pooled = points.as_one()
    return Trend(common, own, np.stack(alone), _sum(fitted(pooled, law, pooled.complete)))


def _sum(found: Fitted) -> np.ndarray:
    common, own = found.coefficients
    return common + own[0]
