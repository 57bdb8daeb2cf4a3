"""How a table of the user's own is read: options of every command that reads data."""

import csv
import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .._atomic import check_regular
from ..errors import InputError
from .checks import check_positive
from .console import message, optional

if TYPE_CHECKING:
    from ..data import Trajectories
    from ..model import Model

KEYS = ("environment", "trajectory", "time")
TABLES = (".csv", ".parquet")
CLOCK = "time"  # as an input
# A comma before the next KEY=, with no quotes or whole ones after it.
BETWEEN = re.compile(r',(?=\s*\w+\s*=)(?=(?:[^"]*"[^"]*")*[^"]*$)')


@dataclass(frozen=True)
class Reading:
    """How to read a table (.csv, .parquet)."""

    columns: Annotated[
        str | None,
        optional(
            "KEY=NAME[,…]",
            "Which columns of a table hold the environment, the trajectory and the time, such as "
            "environment=Diet,trajectory=Chick,time=Day; by default those of these names. environment=Variety+Year "
            "joins two columns. Without a trajectory, every environment is one.",
        ),
    ] = None
    channels: Annotated[
        str | None, optional("NAME[,…]", "Which columns of a table are channels; by default all others.")
    ] = None
    inputs: Annotated[
        str | None,
        optional(
            "NAME[:KIND][,…]",
            "Which columns of a table are inputs, known in the future too, such as force,rate:held,dose:impulse:gut. "
            "KIND: linear between given values (default); held, the last value until the next; impulse:CHANNEL, an "
            "amount that is added to a channel. time: the time itself, of data of any format.",
        ),
    ] = None
    period: Annotated[
        float | None,
        optional("NUMBER", "With --inputs time: the net sees sine and cosine of 2πt/NUMBER, for seasons."),
    ] = None
    covariates: Annotated[
        str | None,
        optional(
            "NAME[,…]",
            "Which columns of a table are covariates: numbers with one value per environment, or two texts, of which "
            "the second in the alphabet is 1. Sex=Female makes Female 1. In other files: which parameters of the "
            "environments.",
        ),
    ] = None

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """The names of the covariates: `Sex` of `Sex=Female`."""
        return tuple(name.partition("=")[0].strip() for name in listed_names("--covariates", self.covariates) or ())

    @property
    def clock(self) -> "float | bool | None":
        """How a net is to see the time: a period, True for time itself, None for not at all."""
        time_is_input = CLOCK in (listed_names("--inputs", self.inputs) or ())
        if self.period is None:
            return True if time_is_input else None
        if not time_is_input:
            raise InputError("`--period` is the period of the time as an input: give `--inputs time` too")
        check_positive("--period", self.period)
        return self.period

    def check_clock(self, model: "Model") -> None:
        """An `InputError` if a trained model sees the time in another way than these options say."""
        from ..nets.architecture import Architecture
        from ..nets.timed import Timed

        net = getattr(model.method, "net", None)
        if self.clock is None or not isinstance(net, Architecture):
            return
        period: Any = dict(net.options).get("period")  # in standard time
        if net.build is not Timed:
            how = "does not see the time"
        elif period is None:
            how = "sees the time as it is" if self.clock is not True else ""
        else:
            same = self.clock is not True and math.isclose(period * model.units.time, self.clock, rel_tol=1e-9)
            how = "" if same else f"sees the time with a period of {period * model.units.time:g}"
        if how:
            raise InputError(f"the model {how}: leave out `--inputs time` and `--period`, or give them as in training")

    @property
    def _columns_of_inputs(self) -> list[str] | None:
        names = listed_names("--inputs", self.inputs)
        return names and ([name for name in names if name != CLOCK] or None)

    def load(self, path: Path) -> "Trajectories":
        """The trajectories in a file."""
        columns = column_names(self.columns)
        channels = listed_names("--channels", self.channels)
        inputs, covariates = self._columns_of_inputs, listed_names("--covariates", self.covariates)
        _ = self.clock  # refuses what cannot be right before the file is read
        check_regular(path)
        from ..data import load

        # In other formats covariates are parameters of the environments already: nothing has to be made of columns.
        of_columns = covariates if covariates and path.suffix.lower() in TABLES else ()
        return load(path, columns=columns, channels=channels, inputs=inputs, covariates=of_columns)


def warn_of_names(given: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """A warning if channels have quite other names than those trained on; numbered ones (`x0`) may be anything."""
    numbered = any(all(re.fullmatch(r"x\d+", name) for name in names) for names in (given, expected))
    if len(given) == len(expected) and not set(given) & set(expected) and not numbered:
        message(
            f"warning: the channels are {', '.join(given)} here, and {', '.join(expected)} in training: they are taken "
            "for the same, in this order"
        )


def column_names(text: str | None) -> dict[str, str]:
    """What `--columns` says, as a dictionary. A name may have commas and equals signs in it, with double quotes or not.

    >>> column_names("environment=Variety+Year, time=Time, h")
    {'environment': 'Variety+Year', 'time': 'Time, h'}
    >>> column_names('time="Time, t=h"')
    {'time': 'Time, t=h'}
    """
    found: dict[str, str] = {}
    for part in [] if text is None else BETWEEN.split(text):
        key, _, name = (word.strip() for word in part.partition("="))
        name = name[1:-1] if len(name) > 2 and name[0] == name[-1] == '"' else name
        if key not in KEYS or not name:
            raise InputError(f"`--columns` must be KEY=NAME, where KEY is {', '.join(KEYS[:2])} or time, got `{part}`")
        if key in found:
            raise InputError(f"`--columns` has `{key}` twice: {found[key]} and {name}")
        found[key] = name
    return found


def listed_names(option: str, text: str | None) -> list[str] | None:
    """The names that an option lists, if it is given; one with a comma in it is in double quotes.

    >>> listed_names("--inputs", 'force, "rate, ml":held')
    ['force', 'rate, ml:held']
    """
    if text is None:
        return None
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    if not names or not all(names):
        raise InputError(f"`{option}` must be names separated by commas, got `{text}`")
    return names
