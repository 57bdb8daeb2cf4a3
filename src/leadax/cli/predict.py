"""`leadax predict`."""

import math
from pathlib import Path
from typing import Annotated

from ..errors import InputError
from .console import Json, Overwrite, optional, result
from .names import ADAPTIVE, check_name, listed
from .options import DataFile, RunPath, Using, open_model, read_data
from .runtime import prepare

MOST_POINTS = 1_000_000

Solver = Annotated[
    str | None,
    optional(
        "NAME",
        f"By default the steps of training; or an adaptive solver: {listed(ADAPTIVE)}. The last three are for stiff "
        "dynamics.",
    ),
]


def predict(
    run: RunPath,
    data: DataFile,
    /,
    *,
    out: Path,
    times: Annotated[str | None, optional("TIMES")] = None,
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
    chosen = None if times is None else parsed_times(times)
    if solver is not None:
        check_name("solver", solver, ADAPTIVE)
    from ..data.files import check_output

    check_output(out, overwrite=overwrite)
    observed = read_data(data)
    prepare()
    from .forecasting import forecasts

    forecast = forecasts(open_model(run, using), observed, chosen, solver)
    forecast.save(out, overwrite=overwrite)
    result({"out": str(out), "fingerprint": forecast.fingerprint}, f"{out}: {forecast}", as_json=json)


def parsed_times(text: str) -> list[float]:
    """The times in `--times`.

    >>> parsed_times("0:1:0.5"), parsed_times("1,2.5")
    ([0.0, 0.5, 1.0], [1.0, 2.5])
    """
    try:
        numbers = [float(part) for part in text.split(":" if ":" in text else ",")]
        if not all(math.isfinite(number) for number in numbers):
            raise ValueError
        if ":" not in text:
            return numbers
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
    return [start + step * k for k in range(math.floor(count) + 1)]
