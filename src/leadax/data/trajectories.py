"""`Trajectories`: one immutable container for data from any number of environments."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from ..errors import InputError
from . import _canonical

HostStates: TypeAlias = Float[np.ndarray, "env traj time *space channel"]
HostTimes: TypeAlias = Float[np.ndarray, "env traj time"]
EnvironmentIndex = str | int | np.integer | slice | Sequence[str] | Sequence[int] | Int[np.ndarray, " chosen"]
TrajectoryIndex = int | np.integer | slice | Sequence[int] | Int[np.ndarray, " kept"]


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories:
    """Trajectories of the same kind of system from different environments.

    Unequal numbers of trajectories, unequal lengths, irregular times and missing values are ordinary: the arrays are
    padded with NaN, and NaN is the only mark of "not observed". Arrays are float64 and read-only.

    **Fields**

    - `times`: `(env, traj, time)`, strictly increasing within a trajectory; NaN where there is no such point.
    - `states`: `(env, traj, time, *space, channel)`; NaN where nothing was observed.
    - `environments`: the name of each environment.
    - `channels`: the name of each channel.
    - `parameters`: for each named parameter of the environments, one number per environment; may be empty.
    - `attributes`: where the data came from (`system`, `protocol`, …), text by name; may be empty.

    Use [`Trajectories.from_arrays`][] to make one: it fills in names and takes nested lists of unequal length.

    >>> import numpy as np
    >>> t = np.linspace(0, 1, 5)
    >>> x = np.stack([np.exp(-rate * t) for rate in (1.0, 2.0, 3.0)])[:, None, :, None]
    >>> data = Trajectories.from_arrays(t, x, parameters={"rate": [1, 2, 3]})
    >>> data
    Trajectories(3 environments, 1 trajectory each, 5 times, channels x0)
    >>> data.select("e1").parameters["rate"]
    array([2.])
    """

    times: HostTimes
    states: HostStates
    environments: tuple[str, ...]
    channels: tuple[str, ...]
    parameters: Mapping[str, Float[np.ndarray, " env"]] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self):
        times, states = _canonical.pack(self.times, self.states)
        canonical = {
            "times": times,
            "states": states,
            "environments": _canonical.names("environments", self.environments, len(self.states)),
            "channels": _canonical.names("channels", self.channels, states.shape[-1]),
            "parameters": _canonical.parameters(self.parameters, len(self.states)),
            "attributes": MappingProxyType({str(k): str(v) for k, v in sorted(self.attributes.items())}),
        }
        for name, value in canonical.items():
            object.__setattr__(self, name, value)
        _canonical.check(self.times, self.states, self.environments)

    @classmethod
    def from_arrays(
        cls,
        times: ArrayLike | Sequence[Sequence[ArrayLike]],
        states: ArrayLike | Sequence[Sequence[ArrayLike]],
        *,
        environments: Iterable[str] | None = None,
        channels: Iterable[str] | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> "Trajectories":
        """Make trajectories from arrays, or from nested lists `[environment][trajectory]` of unequal arrays.

        **Arguments**

        - `times`: `(time,)` if all trajectories share their times, else `(env, traj, time)` or nested lists.
        - `states`: `(env, traj, time, *space, channel)` or nested lists of `(time, *space, channel)`.
        - `environments`, `channels`: names; `e0, e1, …` and `x0, x1, …` by default.

        >>> import numpy as np
        >>> short, long = np.zeros((3, 2)), np.ones((7, 2))
        >>> Trajectories.from_arrays([[range(3), range(7)], [range(3)]], [[short, long], [short]])
        Trajectories(2 environments, 1-2 trajectories each, 3-7 times, channels x0, x1)
        """
        dense_times, dense_states = _canonical.dense(times, states)
        default = lambda letter, count: tuple(f"{letter}{i}" for i in range(count))
        return cls(
            times=dense_times,
            states=dense_states,
            environments=default("e", len(dense_states)) if environments is None else tuple(environments),
            channels=default("x", dense_states.shape[-1]) if channels is None else tuple(channels),
            parameters={k: np.asarray(v, np.float64) for k, v in (parameters or {}).items()},
            attributes=attributes or {},
        )

    @property
    def observed(self) -> Bool[np.ndarray, "env traj time *space channel"]:
        """Which values were observed."""
        return ~np.isnan(self.states)

    @property
    def space(self) -> tuple[int, ...]:
        """The grid of one state; empty for an ODE."""
        return self.states.shape[3:-1]

    @property
    def state_shape(self) -> tuple[int, ...]:
        """The shape `(*space, channel)` of one state."""
        return self.states.shape[3:]

    @cached_property
    def lengths(self) -> Int[np.ndarray, "env traj"]:
        """How many points each trajectory has; 0 for a padded one."""
        return np.sum(~np.isnan(self.times), axis=-1)

    @cached_property
    def counts(self) -> Int[np.ndarray, " env"]:
        """How many trajectories each environment has."""
        return np.sum(self.lengths > 0, axis=-1)

    def environment_index(self, environment: str | int | np.integer) -> int:
        """The position of an environment given by name or by position."""
        if isinstance(environment, bool | np.bool_):
            raise InputError("environments are chosen by name or position, not by a mask: use `np.flatnonzero(mask)`")
        if isinstance(environment, str):
            if environment not in self.environments:
                known = ", ".join(self.environments[:8]) + (", …" if len(self.environments) > 8 else "")
                raise InputError(f"no environment `{environment}` in the data: it has {known}")
            return self.environments.index(environment)
        count = len(self.environments)
        if not -count <= environment < count:
            raise InputError(f"no environment number {environment}: the data has {count}, counted from 0")
        return int(environment) % count

    def select(
        self,
        environments: EnvironmentIndex = slice(None),
        trajectories: TrajectoryIndex = slice(None),
    ) -> "Trajectories":
        """Keep some environments (by name or position) and some trajectories (by position in each environment).

        >>> import numpy as np
        >>> data = Trajectories.from_arrays(range(3), np.zeros((4, 5, 3, 1)))
        >>> data.select(["e2", "e0"], slice(2))
        Trajectories(2 environments, 2 trajectories each, 3 times, channels x0)
        """
        if isinstance(environments, slice):
            chosen = range(len(self.environments))[environments]
        elif isinstance(environments, str | int | np.integer):
            chosen = [self.environment_index(environments)]
        else:
            chosen = [self.environment_index(e) for e in environments]
        if len(chosen) == 0:
            raise InputError("`select` leaves no environment: name at least one")
        kept = [_canonical.positions(trajectories, self.counts[e], self.environments[e]) for e in chosen]
        return self._rearranged(list(chosen), kept)

    def split(self, fractions: Sequence[float], *, key: Any) -> tuple["Trajectories", ...]:
        """Divide the trajectories of each environment at random into parts, for training, validation and test.

        Every part keeps every environment. Where all environments have equally many trajectories, the i-th ones go to
        the same part: if they share their initial state, as in the paper's data, none is in two parts.

        **Arguments**

        - `fractions`: the share of each part, adding up to 1, for instance `(0.6, 0.2, 0.2)`.
        - `key`: a `jax.random` key.

        >>> import jax.random as jr, numpy as np
        >>> data = Trajectories.from_arrays(range(3), np.zeros((4, 10, 3, 1)))
        >>> train, test = data.split((0.8, 0.2), key=jr.key(0))
        >>> train, test
        (Trajectories(4 environments, 8 trajectories each, 3 times, channels x0),
         Trajectories(4 environments, 2 trajectories each, 3 times, channels x0))
        """
        import jax

        order = np.asarray(jax.random.permutation(key, self.states.shape[1]))
        every = range(len(self.environments))
        parts = [_canonical.apportion(order[order < self.counts[e]], fractions, self.environments[e]) for e in every]
        return tuple(self._rearranged(every, [parts[e][k] for e in every]) for k in range(len(fractions)))

    def split_times(self, fractions: Sequence[float]) -> tuple["Trajectories", ...]:
        """Cut each trajectory into consecutive windows of time: the past to learn from, the future to test on.

        Neighbouring windows share one point, so that a forecast of the next window starts where the last one ended.

        >>> import numpy as np
        >>> past, future = Trajectories.from_arrays(range(11), np.zeros((1, 1, 11, 1))).split_times((0.7, 0.3))
        >>> past.times.max(), future.times.min()
        (np.float64(7.0), np.float64(7.0))
        """
        _canonical.check_fractions(fractions)
        edges = np.round(np.cumsum([0, *fractions]) * (self.lengths[..., None] - 1)).astype(int)
        every = range(len(self.environments))
        all_trajectories = [range(count) for count in self.counts]
        windows = lambda k: lambda e, i: slice(edges[e, i, k], edges[e, i, k + 1] + 1)
        return tuple(self._rearranged(every, all_trajectories, windows(k)) for k in range(len(fractions)))

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write to a file; the ending of its name (`.nc .zarr .npz .csv .parquet`) says the format. See `load`."""
        from .files import save

        save(self, path, overwrite=overwrite)

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 of all contents; the same whatever file they came from."""
        labels = {
            "shape": self.states.shape,
            "environments": self.environments,
            "channels": self.channels,
            "parameters": list(self.parameters),
            "attributes": dict(self.attributes),
        }
        digest = hashlib.sha256(json.dumps(labels, sort_keys=True).encode())
        for array in (self.times, self.states, *self.parameters.values()):
            digest.update(np.ascontiguousarray(array, "<f8").data)
        return digest.hexdigest()

    def __reduce__(self):
        # Read-only mappings cannot be copied or sent to another process as they are.
        names = (self.environments, self.channels, dict(self.parameters), dict(self.attributes))
        return Trajectories, (self.times, self.states, *names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trajectories) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        span = lambda values, unit: _span(values) + f" {unit}" + ("" if np.all(values == 1) else "s")
        missing = 1 - np.sum(self.observed) / (self.lengths.sum() * np.prod(self.state_shape))
        parts = [
            span(np.array([len(self.environments)]), "environment"),
            _span(self.counts) + (" trajectory" if np.all(self.counts == 1) else " trajectories") + " each",
            span(self.lengths[self.lengths > 0], "time"),
            *([" × ".join(map(str, self.space)) + " grid"] if self.space else []),
            "channels " + ", ".join(self.channels),
            *([f"{missing:.1%} missing"] if missing > 0 else []),
        ]
        return f"Trajectories({', '.join(parts)})"

    def _rearranged(
        self,
        environments: Sequence[int],
        trajectories: Sequence[Sequence[int]],
        window: Callable[[int, int], slice] = lambda e, i: slice(None),
    ) -> "Trajectories":
        chosen = list(zip(environments, trajectories, strict=True))
        take = lambda array: [[array[e, i, : self.lengths[e, i]][window(e, i)] for i in kept] for e, kept in chosen]
        times, states = _canonical.dense(take(self.times), take(self.states))
        return Trajectories(
            times=times,
            states=states,
            environments=tuple(self.environments[e] for e in environments),
            channels=self.channels,
            parameters={name: values[list(environments)] for name, values in self.parameters.items()},
            attributes=self.attributes,
        )


def _span(values: Any) -> str:
    low, high = np.min(values), np.max(values)
    return f"{low}" if low == high else f"{low}-{high}"
