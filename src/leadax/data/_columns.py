"""Which columns of a table hold environments, trajectories, times, channels, inputs and covariates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import InputError
from ._column_names import kind_of, level_of, listed, place_of
from ._inputs import check_kind

KEYS = ("environment", "trajectory", "time")


@dataclass(frozen=True)
class Found:
    """The columns of one table by position; `trajectory` is empty if every environment is one trajectory.

    - `names`: the names of all columns; `chosen`: whether the user chose the channels.
    - `kinds`: those of the inputs.
    - `covariates`: the columns that make parameters, each with the text that counts as 1, or `None`.
    """

    names: tuple[str, ...]
    environment: tuple[int, ...]
    trajectory: tuple[int, ...]
    time: int
    channels: tuple[int, ...]
    chosen: bool = False
    inputs: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()
    covariates: tuple[tuple[int, str | None], ...] = ()

    @property
    def used(self) -> tuple[int, ...]:
        """All columns that are read."""
        return (*self.texts, self.time, *self.numbers)

    @property
    def texts(self) -> tuple[int, ...]:
        """The columns that are read as texts: names, and covariates, which may be either."""
        return tuple(dict.fromkeys((*self.environment, *self.trajectory, *(place for place, _ in self.covariates))))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The columns of channels, then those of inputs."""
        return (*self.channels, *self.inputs)


@dataclass(frozen=True)
class Columns:
    """What the user says about the columns of a table.

    - `keys`: the column of `environment`, `trajectory` or `time`, if it has another name. Several columns for an
      environment or a trajectory are a list, or one text with `+` between them.
    - `channels`: the columns that are channels; `None` for all that are left.
    - `inputs`: the columns that are inputs, with their kinds, or a list such as `force`, `rate:held`; `None` for those
      that are stored in a file of ours.
    - `covariates`: the columns that make parameters of the environments. `Sex=Male` is 1 where the text is Male.
    """

    keys: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    channels: Sequence[str] | None = None
    inputs: Mapping[str, str] | Sequence[str] | None = None
    covariates: Sequence[str] = ()

    def __post_init__(self):
        for key in self.keys:
            if key not in KEYS:
                raise InputError(f"`columns` has `{key}`, expected {', '.join(KEYS[:2])} or {KEYS[2]}")
        for what, given in (("channels", self.channels), ("inputs", self.inputs), ("covariates", self.covariates)):
            if isinstance(given, str):
                raise InputError(f'`{what}` must be a list of names, such as ["{given}"], got a text')
        if self.channels is not None and not self.channels:
            raise InputError("`channels` is empty: name at least one column, or leave it out to take all")

    @property
    def given(self) -> bool:
        """Whether the user said anything."""
        return bool(self.keys or self.covariates) or (self.channels, self.inputs) != (None, None)

    def find(self, names: Sequence[str], stored: Mapping[str, str] = {}) -> Found:
        """Find the columns in a table with these column names, and inputs that are `stored` in its header."""
        _check_separator(names)
        keys = {key: self._key(key, names) for key in KEYS}
        _check_once({key: found for key, found in keys.items() if found}, names)
        environment, trajectory, (time, *more) = keys.values()
        if more:
            raise InputError(f"the time must be one column, got {len(more) + 1}")
        covariates = [level_of(given, names) for given in self.covariates]
        # An environment may be called by a number that is also its covariate.
        _choice("covariate", [place for place, _ in covariates], names, {time: "the time"})
        taken = {place: "a key of the table" for found in keys.values() for place in found}
        taken |= {place: "a covariate" for place, _ in covariates if place not in taken}
        inputs = [(place_of(name, names), kind) for name, kind in self._kinds(names, stored)]
        _choice("input", [place for place, _ in inputs], names, taken)
        channels = self._channels(names, taken | {place: "an input" for place, _ in inputs}, stored)
        return Found(
            tuple(names),
            environment,
            trajectory,
            time,
            channels,
            chosen=self.channels is not None,
            inputs=tuple(place for place, _ in inputs),
            kinds=tuple(kind for _, kind in inputs),
            covariates=tuple(covariates),
        )

    def _kinds(self, names: Sequence[str], stored: Mapping[str, str]) -> list[tuple[str, str]]:
        """The inputs that were asked for, or those of a file of ours that were not asked for as something else."""
        if self.inputs is None:
            others = (*(self.channels or ()), *self.covariates)
            return [(name, kind) for name, kind in stored.items() if name not in others]
        inputs = self.inputs
        found = (
            list(inputs.items()) if isinstance(inputs, Mapping) else [kind_of(given.strip(), names) for given in inputs]
        )
        for name, kind in found:
            check_kind(name, kind)
        return found

    def _key(self, key: str, names: Sequence[str]) -> tuple[int, ...]:
        if key not in self.keys:
            if key == "trajectory" and (key not in names or self._maps(key, names)):
                return ()
            return (place_of(key, names, key),)
        given = self._named(key, names)
        if not given or not all(given):
            raise InputError(f"`columns` names no column for `{key}`: expected its name")
        return tuple(place_of(name, names) for name in given)

    def _named(self, key: str, names: Sequence[str]) -> Sequence[str]:
        given = self.keys[key]
        if not isinstance(given, str):
            return given
        return [given] if given in names else [part.strip() for part in given.split("+")]

    def _maps(self, name: str, names: Sequence[str]) -> bool:
        """Whether the user gave a column to some key."""
        return any(name in self._named(key, names) for key in self.keys)

    def _channels(self, names: Sequence[str], taken: Mapping[int, str], stored: Mapping[str, str]) -> tuple[int, ...]:
        if self.channels is None:
            return _all_others(names, [*taken, *(place for place, name in enumerate(names) if name in stored)])
        found = tuple(place_of(name, names) for name in self.channels)
        _choice("channel", found, names, taken)
        return found


def _choice(what: str, places: Sequence[int], names: Sequence[str], taken: Mapping[int, str]) -> None:
    """Check that columns are chosen once each, and are not taken by something else."""
    for place in places:
        if places.count(place) > 1:
            raise InputError(f"`{what}s` has `{names[place]}` twice: name each column once")
        if place in taken:
            article = "an" if what == "input" else "a"
            raise InputError(f"the column `{names[place]}` cannot be {article} {what}: it is {taken[place]}")


def _all_others(names: Sequence[str], taken: Sequence[int]) -> tuple[int, ...]:
    channels = tuple(place for place in range(len(names)) if place not in taken)
    for place in channels:
        name = names[place]
        if names.count(name) > 1 and name:
            raise InputError(f"two columns are called `{name}`: rename one, or choose the channels with `--channels`")
        if not name:
            raise InputError(
                "a column has no name: name or remove it (in pandas: `to_csv(..., index=False)`), or choose the "
                "channels with `--channels`"
            )
        if name in KEYS:
            raise InputError(
                f"the column `{name}` is left over, since another one holds that: choose the channels with `--channels`"
            )
    if not channels:
        raise InputError(f"no column with states: it has only {listed(names)}")
    return channels


def _check_once(keys: Mapping[str, tuple[int, ...]], names: Sequence[str]) -> None:
    owner: dict[int, str] = {}
    for key, places in keys.items():
        for place in places:
            if place in owner:
                both = key if owner[place] == key else f"{owner[place]} and {key}"
                raise InputError(f"`columns` has `{names[place]}` twice, for {both}: use each column once")
            owner[place] = key


def _check_separator(names: Sequence[str]) -> None:
    for letter, called in ((";", "semicolons"), ("\t", "tabs"), ("|", "bars")):
        if len(names) == 1 and letter in names[0]:
            raise InputError(
                f"its columns seem to be separated by {called}, expected commas, and `.` in numbers: its first line is "
                f"`{names[0]}`"
            )
