"""`leadax predict`."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import tyro

from ..errors import InputError
from .console import Json, Overwrite, result
from .names import ADAPTIVE, check_name, listed
from .options import DataFile, RunPath, Using, open_model, read_data
from .runtime import prepare

if TYPE_CHECKING:
    from ..data import Trajectories
    from ..model import Model

MOST_POINTS = 1_000_000
MOST_STEPS = 10_000_000

Solver = Annotated[
    str | None,
    tyro.conf.arg(
        help=f"By default the steps of training; or an adaptive solver: {listed(ADAPTIVE)}. The last three are for "
        "stiff dynamics."
    ),
]


def predict(
    run: RunPath,
    data: DataFile,
    /,
    *,
    out: Path,
    times: str | None = None,
    solver: Solver = None,
    using: Using = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Forecast from the first state of each trajectory.

    Args:
        out: The data file to write the forecasts to.
        times: When, in the unit of the data's times: numbers separated by commas, or START:STOP:STEP; by default each
            trajectory's own times.
    """
    from ..data.files import check_output

    chosen = None if times is None else parsed_times(times)
    if solver is not None:
        check_name("solver", solver, ADAPTIVE)
    check_output(out, overwrite=overwrite)
    observed = read_data(data)
    prepare()
    forecast = forecasts(open_model(run, using), observed, chosen, solver)
    forecast.save(out, overwrite=overwrite)
    result({"out": str(out), "fingerprint": forecast.fingerprint}, f"{out}: {forecast}", as_json=json)


def forecasts(model: "Model", data: "Trajectories", times: np.ndarray | None, solver: str | None) -> "Trajectories":
    """Forecasts of all trajectories as a data set, from the first point at which all of a state was observed."""
    from ..data import Trajectories

    model.for_data(data)  # refuses what does not fit, before any work
    all_times: list[list[np.ndarray]] = []
    all_states: list[list[np.ndarray]] = []
    for e, name in enumerate(data.environments):
        starts, asked = zip(*_asked(data, e, times), strict=True)
        for moments in asked if solver is None else ():
            _check_steps(model, moments)
        all_times.append(list(asked))
        all_states.append(_together(model, name, starts, asked, solver))
    return Trajectories.from_arrays(
        all_times,
        all_states,
        environments=data.environments,
        channels=data.channels,
        parameters=data.parameters,
        attributes={**data.attributes, "forecast_of": data.fingerprint},
    )


def _asked(data: "Trajectories", e: int, times: np.ndarray | None) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each trajectory of an environment, the state to start from, and the times of the forecast."""
    for i in range(data.counts[e]):
        whole = data.observed[e, i].reshape(data.observed.shape[2], -1).all(axis=1)
        first = int(np.argmax(whole))
        own = data.times[e, i, first : data.lengths[e, i]]
        asked = own if times is None else np.unique([own[0], *times[times > own[0]]])
        if len(asked) < 2 or not whole[first]:
            raise InputError(
                f"trajectory {i} of environment `{data.environments[e]}` has no whole state before the times asked for"
            )
        yield data.states[e, i, first], asked


def _together(
    model: "Model", environment: str, starts: tuple[np.ndarray, ...], times: tuple[np.ndarray, ...], solver: str | None
) -> list[np.ndarray]:
    """The forecasts of an environment, those at the same times in one call."""
    groups: dict[bytes, list[int]] = {}
    for i, moments in enumerate(times):
        groups.setdefault(moments.tobytes(), []).append(i)
    found: dict[int, np.ndarray] = {}
    for members in groups.values():
        states = np.stack([starts[i] for i in members])
        forecast = model.predict(states, times[members[0]], environment=environment, solver=solver)
        found |= dict(zip(members, np.asarray(forecast), strict=True))
    return [found[i] for i in range(len(starts))]


def _check_steps(model: "Model", times: np.ndarray) -> None:
    steps = (times[-1] - times[0]) / (model.longest_step * model.units.time)
    if steps > MOST_STEPS:
        raise InputError(
            f"`--times` up to {times[-1]:g} take {steps:.1e} steps as long as those of training, at most {MOST_STEPS} "
            "are allowed: stop earlier, or give an adaptive `--solver`"
        )


def parsed_times(text: str) -> np.ndarray:
    """The times in `--times`.

    >>> parsed_times("0:1:0.5").tolist(), parsed_times("1,2.5").tolist()
    ([0.0, 0.5, 1.0], [1.0, 2.5])
    """
    try:
        numbers = [float(part) for part in text.split(":" if ":" in text else ",")]
        if not all(math.isfinite(number) for number in numbers):
            raise ValueError
        if ":" not in text:
            return np.array(numbers)
        start, stop, step = numbers
        if not (step > 0 and stop >= start):
            raise ValueError
        count = (stop - start) / step + 1e-9
    except ValueError as error:
        raise InputError(
            f"`--times` must be finite numbers separated by commas, or START:STOP:STEP with a positive STEP, got "
            f"`{text}`"
        ) from error
    if not count < MOST_POINTS:
        raise InputError(f"`--times {text}` has {count:.1e} points, at most {MOST_POINTS} are allowed")
    return start + step * np.arange(math.floor(count) + 1)
