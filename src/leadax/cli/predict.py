"""`leadax predict`."""

import math
import re
from pathlib import Path
from typing import Annotated

import tyro

from ..errors import InputError
from .checks import check_count
from .console import Count, Json, Overwrite, optional, result
from .names import ADAPTIVE, check_name, listed
from .options import DataFile, RunPath, Using, open_model
from .reading import Reading, warn_of_names
from .runtime import prepare

MOST_POINTS = 1_000_000
DATE = re.compile(r"\d{4}-\d\d-\d\d")

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
    warmup: Count = None,
    using: Using = (),
    overwrite: Overwrite = False,
    reading: tyro.conf.OmitArgPrefixes[Reading] = Reading(),
    json: Json = False,
) -> None:
    """Forecast from the first state of each trajectory, or from its first points.

    Args:
        out: The data file to write the forecasts to.
        warmup: The points at the start of each trajectory that a forecast is told. By default 1, or as in training
            where something is hidden or individual.
        times: When, in the unit of the data's times: numbers separated by commas, or START:STOP:STEP, where dates such
            as 2021-03-04 are counted in days; by default each trajectory's own times.
    """
    check_count("--warmup", warmup)
    chosen = None if times is None else parsed_times(times)
    if solver is not None:
        check_name("solver", solver, ADAPTIVE)
    from ..data.dates import are_dates
    from ..data.files import check_output

    check_output(out, overwrite=overwrite)
    observed = reading.load(data)
    if times is not None and DATE.search(times) and not are_dates(observed.attributes):
        raise InputError(f"`--times` has dates, but the times in {data} are numbers")
    prepare()
    from ..evaluate import forecast as forecast_of

    model = open_model(run, using, reading)
    warn_of_names(observed.channels, model.channels)
    forecast = forecast_of(model, observed, times=chosen, solver=solver, warmup=warmup)
    forecast.save(out, overwrite=overwrite)
    result({"out": str(out), "fingerprint": forecast.fingerprint}, f"{out}: {forecast}", as_json=json)


def parsed_times(text: str) -> list[float]:
    """The times in `--times`.

    >>> parsed_times("0:1:0.5"), parsed_times("1,2.5")
    ([0.0, 0.5, 1.0], [1.0, 2.5])
    >>> parsed_times("2021-03-04:2021-03-06:1"), parsed_times("2021-03-04T12:00,2021-03-06")
    ([18690.0, 18691.0, 18692.0], [18690.5, 18692.0])
    """
    # The time of day has colons of its own.
    ranged = ":" in text and not ("," in text or re.search(r"[T ]\d\d:", text))
    try:
        numbers = [_moment(part) for part in text.split(":" if ranged else ",")]
        if not all(math.isfinite(number) for number in numbers):
            raise ValueError
        if not ranged:
            return numbers
        start, stop, step = numbers
        if not (step > 0 and stop >= start):
            raise ValueError
        count = (stop - start) / step + 1e-9
    except ValueError as error:
        raise InputError(
            f"`--times` must be finite numbers or dates separated by commas, or START:STOP:STEP with a positive STEP, "
            f"got `{text}`"
        ) from error
    if not count < MOST_POINTS:
        raise InputError(f"`--times {text}` has {count:.1e} points, at most {MOST_POINTS} are allowed")
    return [start + step * k for k in range(math.floor(count) + 1)]


def _moment(text: str) -> float:
    """A number, or a date as days since 1970-01-01."""
    if not DATE.search(text):
        return float(text)
    from ..data.dates import days_of

    return days_of(text)
