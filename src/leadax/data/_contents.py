"""The contents of a file of any format, before they are checked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from unicodedata import category

import numpy as np

from ..errors import InputError
from . import _canonical, dates
from .trajectories import Trajectories


class DamageError(InputError):
    """A file written by Leadax has changed since."""


@dataclass(frozen=True)
class Contents:
    """The arrays and names in a file, not yet checked; `None` if the file does not have them.

    Arrays may be nested lists `[environment][trajectory]` of numbers: those of tables with very unequal lengths.
    """

    times: np.ndarray | list[list[np.ndarray]]
    states: np.ndarray | list[list[np.ndarray]]
    environments: Sequence[str] | None = None
    channels: Sequence[str] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    fingerprint: str | None = None
    trajectory_names: Sequence[Sequence[str]] | None = None
    inputs: np.ndarray | list[list[np.ndarray]] | None = None
    input_names: Sequence[str] | None = None
    input_kinds: Sequence[str] | None = None

    def trajectories(self) -> Trajectories:
        """Check the contents, and compare them with the fingerprint if the file has one."""
        try:
            data = self._build()
        except InputError as error:
            raise error if self.fingerprint is None else DamageError(str(error)) from error
        if self.fingerprint is not None and not data.has_fingerprint(self.fingerprint):
            raise DamageError(
                "its contents do not match the fingerprint in it; restore it from a backup, or "
                "remove the fingerprint if you changed the file on purpose"
            )
        return data

    def _build(self) -> Trajectories:
        times, states, attributes, inputs = self.times, self.states, self.attributes, self.inputs
        if isinstance(times, np.ndarray):
            attributes = with_unit(attributes, times)
            times, states = _canonical.dense(numeric(times), _real("states", np.asarray(states)))
            inputs = None if inputs is None else _real("inputs", np.asarray(inputs))
        return Trajectories.from_arrays(
            times,
            states,
            environments=self.environments,
            channels=self.channels,
            parameters=_canonical.environment_parameters(self.parameters, len(states)),
            attributes=attributes,
            trajectory_names=self.trajectory_names,
            inputs=inputs,
            input_names=self.input_names,
            input_kinds=self.input_kinds,
        )


def numeric(times: np.ndarray) -> np.ndarray:
    """Times as numbers: durations in seconds, dates in days since 1970-01-01."""
    times = np.asarray(times)
    if times.dtype.kind == "M":
        return dates.to_days(times)
    if times.dtype.kind == "m":
        return np.where(np.isnat(times), np.nan, times / np.timedelta64(1, "s"))
    return _real("times", times)


def with_unit(attributes: Mapping[str, str], times: np.ndarray) -> Mapping[str, str]:
    """The attributes of data with these times: one more if they are dates."""
    return {**attributes, dates.ATTRIBUTE: dates.UNIT} if times.dtype.kind == "M" else attributes


def shared_times(data: Trajectories) -> np.ndarray:
    """The times, of shape `(time,)` if they are bitwise equal in all trajectories, else `(env, traj, time)`."""
    bits = data.times.view(np.int64)
    alike = not np.isnan(data.times).any() and (bits == bits[:1, :1]).all()
    return data.times[0, 0] if alike else data.times


def check_names(data: Trajectories) -> None:
    """Raise `InputError` for names that some file format would not preserve."""
    named = [name for names in data.trajectory_names or () for name in names]
    for what, names in (
        ("environment", data.environments),
        ("channel", data.channels),
        ("parameter", data.parameters),
        ("attribute", data.attributes),
        ("trajectory", named),
        ("input", data.input_names),
    ):
        for name in names:
            if not name or any(category(letter) in ("Cc", "Cs") for letter in name):
                raise InputError(f"the {what} name {name!r} cannot be stored: it is empty or has control characters")
    for name, text in data.attributes.items():
        # NUL ends a string in HDF5, and NumPy strips it. Lone surrogates cannot be encoded in UTF-8.
        if any(letter == "\0" or category(letter) == "Cs" for letter in text):
            raise InputError(f"the attribute `{name}` cannot be stored: it has a NUL or a lone surrogate")


def _real(what: str, values: np.ndarray) -> np.ndarray:
    if values.dtype.kind not in "fiub":
        raise InputError(f"the {what} must be real numbers, found {values.dtype}")
    return values
