"""`leadax predict`."""

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from .console import Json, Overwrite, result
from .options import DataFile, RunPath, open_model
from .runtime import prepare

if TYPE_CHECKING:
    from ..data import Trajectories
    from ..model import Model


def predict(
    run: RunPath,
    data: DataFile,
    /,
    *,
    out: Path,
    times: str | None = None,
    solver: str | None = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Forecast from the first state of each trajectory.

    Args:
        out: The data file to write the forecasts to.
        times: When: numbers with commas between them, or START:STOP:STEP; each trajectory's own times by default.
        solver: By default the steps of training; or an adaptive one, such as tsit5, or kvaerno5 for stiff dynamics.
    """
    from ..data import load
    from ..data.files import check_output

    check_output(out, overwrite=overwrite)
    prepare()
    chosen = None if times is None else _times(times)
    forecast = forecasts(open_model(run), load(data), chosen, solver)
    forecast.save(out, overwrite=overwrite)
    result({"out": str(out), "fingerprint": forecast.fingerprint}, f"{out}: {forecast}", as_json=json)


def forecasts(model: "Model", data: "Trajectories", times: list[float] | None, solver: str | None) -> "Trajectories":
    """Forecasts of all trajectories as a data set, from the first point at which all of a state was observed."""
    import numpy as np

    from ..data import Trajectories

    model.for_data(data)  # refuses what does not fit, before any work
    all_times: list[list[np.ndarray]] = []
    all_states: list[list[np.ndarray]] = []
    for e, name in enumerate(data.environments):
        all_times.append([])
        all_states.append([])
        for i in range(data.counts[e]):
            whole = data.observed[e, i].reshape(data.observed.shape[2], -1).all(axis=1)
            first = int(np.argmax(whole))
            own = data.times[e, i, first : data.lengths[e, i]]
            asked = own if times is None else np.unique([own[0], *(t for t in times if t > own[0])])
            if len(asked) < 2 or not whole[first]:
                raise InputError(f"trajectory {i} of environment `{name}` has no state before the times asked for")
            all_times[e].append(asked)
            all_states[e].append(model.predict(data.states[e, i, first], asked, environment=name, solver=solver))
    return Trajectories.from_arrays(
        all_times,
        all_states,
        environments=data.environments,
        channels=data.channels,
        parameters=data.parameters,
        attributes={**data.attributes, "forecast_of": data.fingerprint},
    )


def _times(text: str) -> list[float]:
    import numpy as np

    try:
        if ":" in text:
            start, stop, step = (float(part) for part in text.split(":"))
            if not (step > 0 and stop >= start):
                raise ValueError
            times = start + step * np.arange(np.floor((stop - start) / step + 1e-9) + 1)
        else:
            times = np.array([float(part) for part in text.split(",")])
        if not np.all(np.isfinite(times)):
            raise ValueError
    except (ValueError, OverflowError) as error:
        raise InputError(
            f"`--times` must be finite numbers with commas, or START:STOP:STEP with a positive STEP, got `{text}`"
        ) from error
    return times.tolist()
