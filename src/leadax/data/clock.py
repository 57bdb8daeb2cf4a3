"""`Clock`: time itself as an input of the learnt field."""

from dataclasses import dataclass

import numpy as np

from ..errors import InputError, is_number
from .trajectories import Trajectories
from .units import Units


@dataclass(frozen=True)
class Clock:
    """Let the learnt field see the time: as it is, for trends, or as sine and cosine of 2πt/P, for seasons.

    - `period`: P, in the units of time of the data; None for time as it is, in which forecasts beyond the times
      trained on are extrapolations.

    >>> Clock(period=365.25)
    Clock(period=365.25)
    """

    period: float | None = None

    def __post_init__(self):
        if self.period is not None and not (is_number(self.period) and self.period > 0):
            raise InputError(f"`period` must be a positive number, in the units of time of the data, got {self.period}")

    def options(self, data: Trajectories, units: Units) -> dict[str, float]:
        """The options of a net that sees it, in standard time."""
        if self.period is not None:
            return {"period": self.period / units.time}
        begin, end = (float(units.clock(bound(data.times))) for bound in (np.nanmin, np.nanmax))
        return {"begin": (begin + end) / 2, "length": (end - begin) / 2 or 1.0}
