"""Which columns of a table hold environments, trajectories, times and channels."""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import InputError

KEYS = ("environment", "trajectory", "time")
MOST_SHOWN = 15


@dataclass(frozen=True)
class Found:
    """The columns of one table by position; `trajectory` is empty if every environment is one trajectory.

    - `names`: the names of all columns; `chosen`: whether the user chose the channels.
    """

    names: tuple[str, ...]
    environment: tuple[int, ...]
    trajectory: tuple[int, ...]
    time: int
    channels: tuple[int, ...]
    chosen: bool = False

    @property
    def used(self) -> tuple[int, ...]:
        """All columns that are read."""
        return (*self.environment, *self.trajectory, self.time, *self.channels)

    @property
    def texts(self) -> tuple[int, ...]:
        """The columns that hold names."""
        return (*self.environment, *self.trajectory)


@dataclass(frozen=True)
class Columns:
    """What the user says about the columns of a table.

    - `keys`: the column of `environment`, `trajectory` or `time`, if it has another name. Several columns for an
      environment or a trajectory are a list, or one text with `+` between them.
    - `channels`: the columns that are channels; `None` for all that are left.
    """

    keys: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    channels: Sequence[str] | None = None

    def __post_init__(self):
        for key in self.keys:
            if key not in KEYS:
                raise InputError(f"`columns` has `{key}`, expected {', '.join(KEYS[:2])} or {KEYS[2]}")
        if isinstance(self.channels, str):
            raise InputError(f'`channels` must be a list of names, such as ["{self.channels}"], got a text')
        if self.channels is not None and not self.channels:
            raise InputError("`channels` is empty: name at least one column, or leave it out to take all")

    @property
    def given(self) -> bool:
        """Whether the user said anything."""
        return bool(self.keys) or self.channels is not None

    def find(self, names: Sequence[str]) -> Found:
        """Find the columns in a table with these column names."""
        _check_separator(names)
        keys = {key: self._key(key, names) for key in KEYS}
        _check_once({key: found for key, found in keys.items() if found}, names)
        channels = self._channels(names, [place for found in keys.values() for place in found])
        environment, trajectory, (time, *more) = keys.values()
        if more:
            raise InputError(f"the time must be one column, got {len(more) + 1}")
        return Found(tuple(names), environment, trajectory, time, channels, chosen=self.channels is not None)

    def _key(self, key: str, names: Sequence[str]) -> tuple[int, ...]:
        if key not in self.keys:
            if key == "trajectory" and (key not in names or self._maps(key, names)):
                return ()
            return (_place(key, names, key),)
        given = self._named(key, names)
        if not given or not all(given):
            raise InputError(f"`columns` names no column for `{key}`: expected its name")
        return tuple(_place(name, names) for name in given)

    def _named(self, key: str, names: Sequence[str]) -> Sequence[str]:
        given = self.keys[key]
        if not isinstance(given, str):
            return given
        return [given] if given in names else [part.strip() for part in given.split("+")]

    def _maps(self, name: str, names: Sequence[str]) -> bool:
        """Whether the user gave a column to some key."""
        return any(name in self._named(key, names) for key in self.keys)

    def _channels(self, names: Sequence[str], taken: Sequence[int]) -> tuple[int, ...]:
        if self.channels is None:
            return _all_others(names, taken)
        found = tuple(_place(name, names) for name in self.channels)
        for place in found:
            if found.count(place) > 1:
                raise InputError(f"`channels` has `{names[place]}` twice: name each column once")
            if place in taken:
                raise InputError(f"the column `{names[place]}` cannot be a channel: it is a key of the table")
        return found


def _place(name: str, names: Sequence[str], key: str | None = None) -> int:
    """The position of a column; `key` if it was looked for by the name that a key has by default."""
    if names.count(name) > 1:
        raise InputError(f"two columns are called `{name}`: rename one of them")
    if name not in names:
        near = _near(name, names)
        advice = f"; did you mean `{near}`?" if near else ""
        if key is not None:
            advice = f"; name the one that holds it, as in `--columns {key}={near or 'NAME'}`"
        raise InputError(f"no column `{name}`: it has {_listed(names)}{advice}")
    return names.index(name)


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
        raise InputError(f"no column with states: it has only {_listed(names)}")
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


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"`{name}`" for name in names[:MOST_SHOWN]) or "none"
    return shown + (f", … ({len(names)} columns)" if len(names) > MOST_SHOWN else "")


def _near(name: str, known: Sequence[str]) -> str | None:
    lower = {word.lower(): word for word in known if word}
    close = difflib.get_close_matches(name.lower(), lower, n=1, cutoff=0.7)
    return lower[close[0]] if close else None
