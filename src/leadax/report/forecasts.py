"""What the pictures compare: the first test trajectory of each environment, and each model's forecast of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..data import Trajectories
from ..data.dates import are_dates
from .style import drawable

if TYPE_CHECKING:
    from ..model import Model


class Forecasts(NamedTuple):
    """A trajectory from its first complete point, and its forecasts.

    - `environment`: where it was observed;
    - `times`: `(time,)`; `truth`: `(time, *space, channel)`, NaN where nothing was observed;
    - `predicted`: the forecast of each method, shaped like `truth`; NaN where it is not finite;
    - `dated`: whether times are days since 1970-01-01, to be drawn as dates.
    """

    environment: str
    times: np.ndarray
    truth: np.ndarray
    predicted: dict[str, np.ndarray]
    dated: bool = False


def forecast_first(models: "Mapping[str, Model]", test: Trajectories, most: int) -> list[Forecasts]:
    """Forecasts of the first trajectory of each environment, for so many environments at most."""
    from .predicted import predict_first

    shown = test.select(slice(most), 0)
    predicted = {name: drawable(predict_first(model, shown)) for name, model in models.items()}
    times, truth, starts = drawable(shown.times[:, 0]), drawable(shown.states[:, 0]), first_complete(shown)[:, 0]
    found = []
    for e, name in enumerate(shown.environments):
        start, end = int(starts[e]), int(shown.lengths[e, 0])
        of_models = {method: states[e, : end - start] for method, states in predicted.items()}
        found.append(Forecasts(name, times[e, start:end], truth[e, start:end], of_models, are_dates(test.attributes)))
    return found


def first_complete(data: Trajectories) -> np.ndarray:
    """The first point of each trajectory at which everything is observed, `(env, traj)`: forecasts start there."""
    return np.argmax(data.observed.all(axis=tuple(range(3, data.states.ndim))), axis=2)
