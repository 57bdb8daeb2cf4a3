"""What is learnt from, validated on and tested on: files of their own, or parts of the data."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, TypeAlias

from ..errors import InputError
from .console import optional
from .reading import Reading, warn_of_names

if TYPE_CHECKING:
    from ..data import Trajectories

Test: TypeAlias = Annotated[
    str | None,
    optional(
        "FRACTION|FILE",
        "What errors are measured on and nothing is learnt from: a data file with the same environments, or a fraction "
        "of DATA (whole trajectories where every environment has two or more, else the ends of all).",
    ),
]


class Parts(NamedTuple):
    """Data to learn from, to choose the best model on the way by, and to test on.

    - `covariates`: the parameters of environments that a model is to see; `clock`: how it is to see the time.
    """

    train: "Trajectories"
    validation: "Trajectories | None"
    test: "Trajectories | None"
    covariates: tuple[str, ...] = ()
    clock: "float | bool | None" = None


def parts_of(data: "Trajectories", test: str | None, validate: str, reading: Reading, warmup: int = 1) -> Parts:
    """Divide data as `--test` and `--validate` say; `reading` opens files, `warmup` points are told to a forecast."""
    read, seen = reading.load, (reading.covariate_names, reading.clock)
    from ..data import hold_out

    testing = None
    if test is not None and is_fraction(test):
        data, testing = _named("--test", lambda: hold_out(data, float(test), warmup=warmup))
    elif test is not None:
        testing = read(Path(test))
        warn_of_names(testing.channels, data.channels)
    if validate in ("auto", "none") or is_fraction(validate):
        how = validate if validate in ("auto", "none") else float(validate)
        train, validation = _named("--validate", lambda: hold_out(data, how, warmup=warmup))
        return Parts(train, validation, testing, *seen)
    return Parts(data, read(Path(validate)), testing, *seen)


def without_test(data: "Trajectories", test: str | None) -> "Trajectories":
    """The data that choices may be made on: all but the fraction that `--test` holds out."""
    if test is None or not is_fraction(test):
        return data
    from ..data import hold_out

    return _named("--test", lambda: hold_out(data, float(test)))[0]


def check_division(option: str, text: str | None) -> None:
    """An `InputError` for a number that is no fraction, before anything is loaded."""
    if text is not None and is_fraction(text) and not 0 < float(text) < 1:
        raise InputError(f"`{option}` must be a file or a fraction between 0 and 1, got {text}")


def is_fraction(text: str) -> bool:
    """Whether the text is a number, and not the name of a file."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def _named(
    option: str, divide: "Callable[[], tuple[Trajectories, Trajectories | None]]"
) -> "tuple[Trajectories, Trajectories | None]":
    try:
        return divide()
    except InputError as error:
        raise InputError(f"`{option}`: {error}") from error
