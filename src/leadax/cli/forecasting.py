"""Forecasts of whole data sets."""

from collections.abc import Iterator, Sequence

import numpy as np

from ..data import Trajectories
from ..errors import InputError
from ..model import Model

MOST_STEPS = 10_000_000


def forecasts(model: Model, data: Trajectories, times: Sequence[float] | None, solver: str | None) -> Trajectories:
    """Forecasts of all trajectories as a data set, from the first point at which all of a state was observed."""
    model.for_data(data)  # refuses what does not fit, before any work
    moments = None if times is None else np.array(times)
    all_times: list[list[np.ndarray]] = []
    all_states: list[list[np.ndarray]] = []
    for e, name in enumerate(data.environments):
        tasks = list(_asked(data, e, moments))
        if solver is None:
            _check_steps(model, max((times[-1] - times[0] for _, times in tasks), default=0.0))
        all_times.append([times for _, times in tasks])
        all_states.append(_together(model, name, tasks, solver))
    return Trajectories.from_arrays(
        all_times,
        all_states,
        environments=data.environments,
        channels=data.channels,
        parameters=data.parameters,
        attributes={**data.attributes, "forecast_of": data.fingerprint},
        trajectory_names=data.trajectory_names,
    )


def _asked(data: Trajectories, e: int, times: np.ndarray | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each trajectory of an environment, the state to start from, and the times of the forecast."""
    for i in range(data.counts[e]):
        whole = data.observed[e, i].reshape(data.observed.shape[2], -1).all(axis=1)
        first = int(np.argmax(whole))
        own = data.times[e, i, first : data.lengths[e, i]]
        asked = own if times is None else np.unique([own[0], *times[times > own[0]]])
        if len(asked) < 2 or not whole[first]:
            which = i if data.trajectory_names is None else f"`{data.trajectory_names[e][i]}`"
            raise InputError(
                f"trajectory {which} of environment `{data.environments[e]}` has no whole state before the times asked "
                "for"
            )
        yield data.states[e, i, first], asked


def _together(
    model: Model, environment: str, tasks: Sequence[tuple[np.ndarray, np.ndarray]], solver: str | None
) -> list[np.ndarray]:
    """The forecasts of an environment, those at the same times in one call."""
    groups: dict[bytes, list[int]] = {}
    for i, (_, times) in enumerate(tasks):
        groups.setdefault(times.tobytes(), []).append(i)
    found: dict[int, np.ndarray] = {}
    for members in groups.values():
        starts = np.stack([tasks[i][0] for i in members])
        forecast = model.predict(starts, tasks[members[0]][1], environment=environment, solver=solver)
        found |= dict(zip(members, np.asarray(forecast), strict=True))
    return [found[i] for i in range(len(tasks))]


def _check_steps(model: Model, length: float) -> None:
    steps = length / (model.longest_step * model.units.time)
    if steps > MOST_STEPS:
        raise InputError(
            f"a forecast of length {length:g} takes {steps:.1e} steps as long as those of training, at most "
            f"{MOST_STEPS} are allowed: stop earlier, or give an adaptive `--solver`"
        )
