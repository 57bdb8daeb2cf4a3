"""What the pictures compare: the first test trajectory of each environment, and each model's forecast of it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..data import Trajectories
from ..errors import InputError

if TYPE_CHECKING:
    from ..model import Model


class Forecasts(NamedTuple):
    """One trajectory from its first complete point on.

    - `environment`: where it was observed;
    - `times`: `(time,)`, its own; `truth`: `(time, *space, channel)`, NaN where nothing was observed;
    - `predicted`: by name of the method, like `truth`; NaN where the forecast is not finite.
    """

    environment: str
    times: np.ndarray
    truth: np.ndarray
    predicted: dict[str, np.ndarray]


def forecast_first(models: "Mapping[str, Model]", test: Trajectories, most: int) -> list[Forecasts]:
    """The forecasts of the first trajectory of each environment, of so many environments at most."""
    return [_forecast(models, test, e) for e in range(min(len(test.environments), most))]


def _forecast(models: "Mapping[str, Model]", test: Trajectories, e: int) -> Forecasts:
    name, length = test.environments[e], int(test.lengths[e, 0])
    complete = np.asarray(test.observed[e, 0, :length].reshape(length, -1).all(axis=1))
    if not complete[:-1].any():
        raise InputError(
            f"the first trajectory of environment `{name}` never has all channels observed at one time with a point "
            "after it: a forecast needs such a state to start from, leave it out"
        )
    kept = slice(int(np.argmax(complete)), length)
    times, truth = test.times[e, 0, kept], test.states[e, 0, kept]
    predict = lambda model: finite(model.predict(truth[0], times, environment=name))
    return Forecasts(name, times, truth, {method: predict(model) for method, model in models.items()})


def finite(values: np.ndarray) -> np.ndarray:
    """The values, with NaN for infinity, which Matplotlib would draw as a line to nowhere.

    >>> finite(np.array([1.0, np.inf])).tolist()
    [1.0, nan]
    """
    return np.where(np.isfinite(values), values, np.nan)
