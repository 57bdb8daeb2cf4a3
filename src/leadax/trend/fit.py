"""The polynomial vector fields of a data set."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from ..data import Trajectories
from ..data.layout import Layout
from ..data.units import Units
from ..nets.polynomial import Region, Zero
from .fitting import Fit, fitted_for
from .flow import Law
from .hidden import hidden_law
from .intervals import Formula, Points
from .threads import on_one_thread

PARTS = ("common", "own", "alone", "pooled")


class Trend(NamedTuple):
    """Coefficients of polynomials, in standard units, as arrays of NumPy or JAX; the constant term comes first.

    - `common`, `own`: the field of environment e is `common` + `own[e]`;
    - `alone`: the fields of environments that know nothing of each other; `pooled`: one field for all;
    - `states`: whole states at the points of trajectories, where a part of them is hidden.

    What was not asked for is None.
    """

    common: Float[Any, "term channel"] | None = None
    own: Float[Any, "env term channel"] | None = None
    alone: Float[Any, "env term channel"] | None = None
    pooled: Float[Any, "term channel"] | None = None
    states: Float[Any, "env traj time channel"] | None = None


@on_one_thread
def trend_of(
    data: Trajectories,
    units: Units,
    layout: Layout,
    degree: int,
    region: Region | None,
    zero: Zero | None = None,
    longest: float | None = None,
    parts: Sequence[str] = PARTS,
    formula: Formula | None = None,
) -> Trend | None:
    """The trend of a data set; None where nothing can be said: fields on a grid, or states that are partly hidden.

    Of a single channel with a hidden one beside it, linear laws can be fitted (`leadax.trend.hidden`).

    **Arguments**

    - `degree`, `region`, `zero`: as in `leadax.nets.MLP`;
    - `longest`: the longest step of the solver, in standard time; by default the median interval;
    - `parts`: the fields of `Trend` that are wanted;
    - `formula`: a known part of the field, of which polynomials are the rest; None for none.

    >>> t = np.linspace(0, 2, 9)
    >>> x = np.stack([np.exp(-a * t) for a in (0.5, 1.0)])[:, None, :, None]
    >>> trend = trend_of(Trajectories.from_arrays(t, x), Units.ones(1), Layout(("x",)), 1, None)
    >>> (trend.common + trend.own)[:, 1, 0].round(3).tolist()
    [-0.5, -1.0]
    """
    if degree == 1 and formula is None and (law := hidden_law(data, units, layout)) is not None:
        return Trend(**{name: getattr(law, name) for name in (*parts, "states")})
    if data.space or layout.hidden or layout.individual:
        return None
    points = Points.of(data, units, layout, formula)
    if not points.complete.any():
        return None
    law = Law(degree, region or points.region, longest or points.median_gap, zero=zero)
    fit = lambda points: fitted_for(points, law, points.complete, layout.noise)
    found: dict[str, Any] = {}
    if {"common", "own"} & set(parts):
        found |= fit(points).coefficients._asdict()
    if "alone" in parts:
        each = [points.of_environment(e) for e in range(len(points.times))]
        fitted = [_sum(fit(own)) if own.complete.any() else None for own in each]
        # Where nothing is known of an environment, nothing moves.
        still = np.zeros_like(next(own for own in fitted if own is not None))
        found["alone"] = np.stack([still if own is None else own for own in fitted])
    if "pooled" in parts:
        found["pooled"] = _sum(fit(points.as_one()))
    return Trend(**{name: found[name] for name in parts})


def _sum(found: Fit) -> np.ndarray:
    return found.coefficients.of(0)
