"""`Trajectories`: an immutable container for trajectories from any number of environments."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from ..errors import InputError
from . import _canonical, _inputs, _ragged, _trajectory_names

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

HostStates: TypeAlias = Float[np.ndarray, "env traj time *space channel"]
HostTimes: TypeAlias = Float[np.ndarray, "env traj time"]
HostInputs: TypeAlias = Float[np.ndarray, "env traj time *grid input"]
EnvironmentIndex = str | int | np.integer | slice | Sequence[str] | Sequence[int] | Int[np.ndarray, " chosen"]
TrajectoryIndex = int | np.integer | slice | Sequence[int] | Int[np.ndarray, " kept"]


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories:
    """Trajectories of one kind of system in several environments.

    Environments may have different numbers of trajectories, and trajectories may have different lengths, irregular
    times and missing values. The arrays are padded with NaN, and NaN always means "not observed". They are float64 and
    read-only. Large data of very unequal lengths, from a table or nested lists, are held without most of the padding:
    they can be described, selected from, split and saved as a table. What computes with them pads them first.

    **Fields**

    - `times`: `(env, traj, time)`, strictly increasing within each trajectory; NaN in the padding.
    - `states`: `(env, traj, time, *space, channel)`; NaN where a value was not observed, and in the padding.
    - `environments`: the name of each environment.
    - `channels`: the name of each channel.
    - `parameters`: the known parameters of the environments, by name, with one number per environment; may be empty.
    - `attributes`: text that describes the data, by name (`system`, `protocol`, …); may be empty.
    - `trajectory_names`: the names of each environment's trajectories, all different; `None` if they were never named.
        Names that only count 0, 1, 2, … are no names.
    - `inputs`: what acts on the system and is known in the future too (a forcing, a dose, the weather), at the same
        times as the states: `(env, traj, time, input)`, or `(env, traj, time, *space, input)` for fields on their grid.
        NaN where no value is given; `None` if there are no inputs. A point may have inputs and no observed state.
    - `input_names`: the name of each input.
    - `input_kinds`: what each input is between its values: `linear` (interpolated), `held` (the last value, until the
        next), or `impulse:CHANNEL` (no value but an amount, added at its time to that channel of the state, which may
        be a hidden one: `hidden0`, `hidden1`, …).

    Use `Trajectories.from_arrays` to create one: it has default names and accepts nested lists of unequal lengths.

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
    trajectory_names: tuple[tuple[str, ...], ...] | None = None
    # Of data in parts, arrays are no attributes until they are asked for (`__getattr__`): they have no default in the
    # class either.
    inputs: HostInputs | None = field(default_factory=lambda: None)
    input_names: tuple[str, ...] = ()
    input_kinds: tuple[str, ...] = ()

    def __post_init__(self):
        given = _inputs.checked(self.inputs, self.states.shape)
        times, states, inputs = _canonical.pack(self.times, self.states, given)
        environments = _canonical.unique_names("environments", self.environments, len(self.states))
        real = np.asarray(_canonical.observed_points(self.states).any(axis=2))
        channels = _canonical.unique_names("channels", self.channels, states.shape[-1])
        input_names, input_kinds = _inputs.names_and_kinds(inputs, self.input_names, self.input_kinds, channels)
        canonical = {
            "times": times,
            "states": states,
            "environments": environments,
            "channels": channels,
            "parameters": _canonical.environment_parameters(self.parameters, len(self.states)),
            "attributes": _texts(self.attributes),
            "trajectory_names": _trajectory_names.canonical(self.trajectory_names, real, environments),
            "inputs": inputs,
            "input_names": input_names,
            "input_kinds": input_kinds,
        }
        for name, value in canonical.items():
            object.__setattr__(self, name, value)
        _canonical.check(self.times, self.states, self.inputs, self.environments, self.trajectory_names)

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
        trajectory_names: Iterable[Iterable[str]] | None = None,
        inputs: ArrayLike | Sequence[Sequence[ArrayLike]] | None = None,
        input_names: Iterable[str] | None = None,
        input_kinds: Iterable[str] | None = None,
    ) -> "Trajectories":
        """Create trajectories from arrays, or from nested lists `[environment][trajectory]` of arrays.

        **Arguments**

        - `times`: `(time,)` if all trajectories have the same times, otherwise `(env, traj, time)` or nested lists of
            `(time,)`.
        - `states`: `(env, traj, time, *space, channel)` or nested lists of `(time, *space, channel)`.
        - `environments`, `channels`: their names, by default `e0, e1, …` and `x0, x1, …`.
        - `parameters`, `attributes`, `trajectory_names`: as in the fields of `Trajectories`.
        - `inputs`: `(env, traj, time, input)` or `(env, traj, time, *space, input)`, or nested lists without the first
            two axes. `input_names` are `u0, u1, …` by default, and all `input_kinds` are `linear`.

        >>> import numpy as np
        >>> short, long = np.zeros((3, 2)), np.ones((7, 2))
        >>> Trajectories.from_arrays([[range(3), range(7)], [range(3)]], [[short, long], [short]])
        Trajectories(2 environments, 1-2 trajectories each, 3-7 times, channels x0, x1)
        >>> steps = np.ones((1, 2, 5, 1))
        >>> Trajectories.from_arrays(range(5), np.zeros((1, 2, 5, 1)), inputs=steps, input_kinds=["held"])
        Trajectories(1 environment, 2 trajectories each, 5 times, channels x0, inputs u0 (held))
        """
        default = lambda letter, count: tuple(f"{letter}{i}" for i in range(count))
        names = None if trajectory_names is None else tuple(map(tuple, trajectory_names))
        if (rows := _ragged.pieces(times, states, inputs)) is not None:
            named = default("e", len(rows)) if environments is None else tuple(environments)
            about = {"channels": channels, "input_names": input_names, "input_kinds": input_kinds}
            return cls._of_parts(rows, named, names, parameters or {}, attributes or {}, about)
        dense_times, dense_states = _canonical.dense(times, states)
        dense_inputs = None if inputs is None else _inputs.dense(times, inputs, dense_times)
        count = 0 if dense_inputs is None else dense_inputs.shape[-1]
        return cls(
            times=dense_times,
            states=dense_states,
            environments=default("e", len(dense_states)) if environments is None else tuple(environments),
            channels=default("x", dense_states.shape[-1]) if channels is None else tuple(channels),
            parameters=_canonical.environment_parameters(parameters or {}, len(dense_states)),
            attributes=attributes or {},
            trajectory_names=names,
            inputs=dense_inputs,
            input_names=default("u", count) if input_names is None else tuple(input_names),
            input_kinds=(_inputs.LINEAR,) * count if input_kinds is None else tuple(input_kinds),
        )

    @classmethod
    def _of_parts(
        cls,
        rows: Sequence[Sequence[_ragged.Piece]],
        environments: tuple[str, ...],
        names: tuple[tuple[str, ...], ...] | None,
        parameters: Mapping[str, ArrayLike],
        attributes: Mapping[str, str],
        about: Mapping[str, Any],
    ) -> "Trajectories":
        """Data that are held in parts; `about`: names of channels and inputs."""
        environments = _canonical.unique_names("environments", environments, len(rows))
        real = [np.array([not np.isnan(piece.states).all() for piece in row], bool) for row in rows]
        kept = [[piece for piece, seen in zip(*both, strict=True) if seen] for both in zip(rows, real, strict=True)]
        names = _trajectory_names.canonical(names, real, environments)
        named = names or [_trajectory_names.counted(len(row)) for row in kept]
        parts = _ragged.parted(kept, environments, named, partial(cls.from_arrays, **about))
        first, found = parts.parts[0], object.__new__(cls)
        values = {
            "environments": environments,
            "channels": first.channels,
            "parameters": _canonical.environment_parameters(parameters, len(rows)),
            "attributes": _texts(attributes),
            "trajectory_names": names,
            "input_names": first.input_names,
            "input_kinds": first.input_kinds,
            "_parts": parts,
        }
        for name, value in values.items():
            object.__setattr__(found, name, value)
        return found

    if not TYPE_CHECKING:  # where it would make every name an attribute

        def __getattr__(self, name: str) -> Any:
            """The arrays of data in parts, padded at the first use."""
            if name not in ("times", "states", "inputs") or self._in_parts is None:
                raise AttributeError(f"`Trajectories` has no attribute `{name}`")
            object.__setattr__(self, name, self._in_parts.padded(name, self.lengths))
            return self.__dict__[name]

    @property
    def _in_parts(self) -> _ragged.Parts | None:
        return self.__dict__.get("_parts")

    @property
    def observed(self) -> Bool[np.ndarray, "env traj time *space channel"]:
        """A mask of the values that were observed."""
        return ~np.isnan(self.states)

    @property
    def space(self) -> tuple[int, ...]:
        """The shape of the spatial grid; `()` for an ODE."""
        return self.state_shape[:-1]

    @property
    def state_shape(self) -> tuple[int, ...]:
        """The shape of one state, `(*space, channel)`."""
        return self._shape[3:]

    @property
    def _shape(self) -> tuple[int, ...]:
        if self._in_parts is None:
            return self.states.shape
        return (*self.lengths.shape, int(self.lengths.max()), *self._in_parts.parts[0].state_shape)

    @cached_property
    def lengths(self) -> Int[np.ndarray, "env traj"]:
        """The number of points in each trajectory; 0 for padding."""
        return np.sum(~np.isnan(self.times), axis=-1) if self._in_parts is None else self._in_parts.lengths()

    @cached_property
    def counts(self) -> Int[np.ndarray, " env"]:
        """The number of trajectories in each environment."""
        return np.sum(self.lengths > 0, axis=-1)

    def one(self, name: str, environment: int, trajectory: int) -> Float[np.ndarray, "time *rest"]:
        """The `times`, `states` or `inputs` of one trajectory, given by position, without padding.

        >>> data = Trajectories.from_arrays([[range(3), range(2)]], [[[[1.0], [2.0], [3.0]], [[4.0], [5.0]]]])
        >>> data.one("times", 0, 1), data.one("states", 0, 1).tolist()
        (array([0., 1.]), [[4.0], [5.0]])
        """
        if self._in_parts is not None:
            return self._in_parts.one(name, environment, trajectory)
        return getattr(self, name)[environment, trajectory, : self.lengths[environment, trajectory]]

    def points(self, name: str) -> Float[np.ndarray, "point *rest"]:
        """The `times`, `states` or `inputs` of all trajectories, one after the other, without padding.

        >>> Trajectories.from_arrays([[range(3), range(2)]], [[np.zeros((3, 1)), np.ones((2, 1))]]).points("times")
        array([0., 1., 2., 0., 1.])
        """
        if self._in_parts is not None:
            return np.concatenate([values for _, _, values in self._in_parts.each(name)])
        return getattr(self, name)[~np.isnan(self.times)]

    def place(self, environment: int | np.integer, trajectory: int | np.integer) -> str:
        """What messages call a trajectory, given by position."""
        name = trajectory if self.trajectory_names is None else f"`{self.trajectory_names[environment][trajectory]}`"
        return f"trajectory {name} of environment `{self.environments[environment]}`"

    def environment_index(self, environment: str | int | np.integer) -> int:
        """The position of an environment that is given by its name or position."""
        if isinstance(environment, bool | np.bool_):
            raise InputError("environments are selected by name or position, not by a mask: use `np.flatnonzero(mask)`")
        if isinstance(environment, str):
            if environment not in self.environments:
                known = ", ".join(self.environments[:8]) + (", …" if len(self.environments) > 8 else "")
                raise InputError(f"no environment `{environment}` in the data, which has {known}")
            return self.environments.index(environment)
        count = len(self.environments)
        if not -count <= environment < count:
            raise InputError(f"no environment number {environment}: there are {count}, counted from 0")
        return int(environment) % count

    def select(
        self,
        environments: EnvironmentIndex = slice(None),
        trajectories: TrajectoryIndex = slice(None),
    ) -> "Trajectories":
        """Select environments by name or position, and trajectories by position within each environment.

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
            raise InputError("`select` got no environments: select at least one")
        kept = [_canonical.trajectory_positions(trajectories, self.counts[e], self.environments[e]) for e in chosen]
        return self._take(list(chosen), kept)

    def choose(self, trajectories: Sequence[Sequence[int]]) -> "Trajectories":
        """Keep these trajectories of each environment, given by position.

        >>> import numpy as np
        >>> Trajectories.from_arrays(range(3), np.zeros((2, 5, 3, 1))).choose([[0, 4], [1]])
        Trajectories(2 environments, 1-2 trajectories each, 3 times, channels x0)
        """
        return self._take(range(len(self.environments)), trajectories)

    def split(self, fractions: Sequence[float], *, key: Any) -> tuple["Trajectories", ...]:
        """Split the trajectories of each environment at random, for example into training, validation and test data.

        Each part has all environments. If these have equal numbers of trajectories, the i-th trajectories of all
        environments end up in the same part. In the paper's data they share an initial state, which is therefore never
        in two parts.

        **Arguments**

        - `fractions`: the size of each part, for example `(0.6, 0.2, 0.2)`; they add up to 1.
        - `key`: a `jax.random` key.

        >>> import jax.random as jr, numpy as np
        >>> data = Trajectories.from_arrays(range(3), np.zeros((4, 10, 3, 1)))
        >>> train, test = data.split((0.8, 0.2), key=jr.key(0))
        >>> train, test
        (Trajectories(4 environments, 8 trajectories each, 3 times, channels x0),
         Trajectories(4 environments, 2 trajectories each, 3 times, channels x0))
        """
        import jax

        order = np.asarray(jax.random.permutation(key, self._shape[1]))
        every = range(len(self.environments))
        parts = [_canonical.divide(order[order < self.counts[e]], fractions, self.environments[e]) for e in every]
        return tuple(self._take(every, [parts[e][k] for e in every]) for k in range(len(fractions)))

    def split_times(self, fractions: Sequence[float]) -> tuple["Trajectories", ...]:
        """Cut each trajectory into consecutive time windows, for example the past to train on and the future to test.

        Neighbouring windows share one observed point: the last of one is the initial state for a forecast of the next.
        Inputs are given at all points of a window, so that each knows what was given before it.

        >>> import numpy as np
        >>> past, future = Trajectories.from_arrays(range(11), np.zeros((1, 1, 11, 1))).split_times((0.7, 0.3))
        >>> past.times.max(), future.times.min()
        (np.float64(7.0), np.float64(7.0))
        """
        _canonical.check_fractions(fractions)
        last = _canonical.observed_points(self.states).sum(axis=2) - 1
        edges = _canonical.observed_positions(self.states, np.round(np.cumsum([0, *fractions]) * last[..., None]))
        edges[..., 0], edges[..., -1] = 0, self.lengths - 1
        every = range(len(self.environments))
        all_trajectories = [range(count) for count in self.counts]
        windows = lambda k: lambda e, i: slice(edges[e, i, k], edges[e, i, k + 1] + 1)
        whole = self.with_inputs_filled()
        return tuple(whole._take(every, all_trajectories, windows(k)) for k in range(len(fractions)))

    def with_inputs_filled(self) -> "Trajectories":
        """The same data with inputs at all points, where one can cut without losing what was given before or after."""
        if self.inputs is None:
            return self
        values = _inputs.filled(self.times, self.inputs, self.input_kinds)
        present = ~np.isnan(self.times).reshape(*self.times.shape, *(1,) * (values.ndim - 3))
        return replace(self, inputs=np.where(present, values, np.nan))

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write to a file whose extension (`.nc .zarr .npz .csv .parquet`) sets the format. See `save`."""
        from .files import save

        save(self, path, overwrite=overwrite)

    def to_xarray(self) -> "xr.Dataset":
        """An `xarray.Dataset`: `state` along `environment, trajectory, time, (y, x,) channel`, as in NetCDF files.

        >>> import numpy as np
        >>> data = Trajectories.from_arrays(range(3), np.zeros((4, 5, 3, 1)))
        >>> data.to_xarray()["state"].dims
        ('environment', 'trajectory', 'time', 'channel')
        """
        from ._elsewhere import to_xarray

        return to_xarray(self)

    def to_pandas(self) -> "pd.DataFrame":
        """A `pandas.DataFrame` with a row per point: `environment`, `trajectory`, `time`, channels and inputs.

        >>> import numpy as np
        >>> Trajectories.from_arrays(range(2), np.zeros((1, 1, 2, 1))).to_pandas()
          environment  trajectory  time   x0
        0          e0           0   0.0  0.0
        1          e0           0   1.0  0.0
        """
        from ._elsewhere import to_pandas

        return to_pandas(self)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from ._elsewhere import to_html

        return to_html(self)

    @cached_property
    def fingerprint(self) -> str:
        """The SHA-256 hash of the contents. It does not depend on the file that they came from."""
        return self._digest(padded=not _ragged.wasteful(self._shape, int(self.lengths.sum())))

    def has_fingerprint(self, given: str) -> bool:
        """Whether this is the fingerprint, or the one that earlier releases gave to data that are mostly padding."""
        try:
            return given == self.fingerprint or given == self._digest(padded=True)
        except InputError:  # what does not fit into memory was not written by one of them
            return False

    def _digest(self, *, padded: bool) -> str:
        labels: dict[str, Any] = {
            "shape": self._shape,
            "environments": self.environments,
            "channels": self.channels,
            "parameters": list(self.parameters),
            "attributes": dict(self.attributes),
        }
        if self.trajectory_names is not None:  # without names, the fingerprint is that of files of format 1
            labels["trajectory_names"] = self.trajectory_names
        if self.input_names:
            shape = (*self._shape[:3], *self.one("inputs", 0, 0).shape[1:])
            labels["inputs"] = {"shape": shape, "names": self.input_names, "kinds": self.input_kinds}
        if not padded:
            labels["lengths"] = self.lengths.tolist()
        whole = lambda name: getattr(self, name) if padded else self.points(name)
        digest = hashlib.sha256(json.dumps(labels, sort_keys=True).encode())
        for array in (whole("times"), whole("states"), *self.parameters.values()):
            digest.update(np.ascontiguousarray(array, "<f8").data)
        if self.input_names:
            digest.update(np.ascontiguousarray(whole("inputs"), "<f8").data)
        return digest.hexdigest()

    def __reduce__(self):
        # `MappingProxyType` cannot be pickled or copied.
        names = (self.environments, self.channels, dict(self.parameters), dict(self.attributes))
        if self._in_parts is not None:
            every = [(e, range(count)) for e, count in enumerate(self.counts)]
            own = {"trajectory_names": self.trajectory_names, "inputs": self._nested("inputs", every)}
            own |= {"input_names": self.input_names, "input_kinds": self.input_kinds} if self.input_names else {}
            about = dict(zip(("environments", "channels", "parameters", "attributes"), names, strict=True))
            make = partial(Trajectories.from_arrays, **about, **own)
            return make, (self._nested("times", every), self._nested("states", every))
        inputs = (self.inputs, self.input_names, self.input_kinds)
        return Trajectories, (self.times, self.states, *names, self.trajectory_names, *inputs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Trajectories) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        span = lambda values, unit: _span(values) + f" {unit}" + ("" if np.all(values == 1) else "s")
        inputs = [f"{name} ({kind})" for name, kind in zip(self.input_names, self.input_kinds, strict=True)]
        held = (self,) if self._in_parts is None else self._in_parts.parts
        missing = 1 - sum(np.sum(part.observed) for part in held) / (self.lengths.sum() * np.prod(self.state_shape))
        parts = [
            span(np.array([len(self.environments)]), "environment"),
            _span(self.counts) + (" trajectory" if np.all(self.counts == 1) else " trajectories") + " each",
            span(self.lengths[self.lengths > 0], "time"),
            *([" × ".join(map(str, self.space)) + " grid"] if self.space else []),
            "channels " + ", ".join(self.channels),
            *([f"{missing:.1%} missing"] if missing > 0 else []),
            *([f"inputs {', '.join(inputs)}"] if inputs else []),
        ]
        return f"Trajectories({', '.join(parts)})"

    def _take(
        self,
        environments: Sequence[int],
        trajectories: Sequence[Sequence[int]],
        window: Callable[[int, int], slice] = lambda e, i: slice(None),
    ) -> "Trajectories":
        chosen = list(zip(environments, trajectories, strict=True))
        return Trajectories.from_arrays(
            self._nested("times", chosen, window) or [],
            self._nested("states", chosen, window) or [],
            environments=tuple(self.environments[e] for e in environments),
            channels=self.channels,
            parameters={name: values[list(environments)] for name, values in self.parameters.items()},
            attributes=self.attributes,
            trajectory_names=_trajectory_names.taken(self.trajectory_names, chosen),
            inputs=self._nested("inputs", chosen, window),
            input_names=self.input_names,
            input_kinds=self.input_kinds,
        )

    def _nested(
        self,
        name: str,
        chosen: Sequence[tuple[int, Sequence[int]]],
        window: Callable[[int, int], slice] = lambda e, i: slice(None),
    ) -> list[list[np.ndarray]] | None:
        """An array of the chosen trajectories, given as pairs of an environment and positions, without padding."""
        if name == "inputs" and not self.input_names:
            return None
        return [[self.one(name, e, i)[window(e, i)] for i in kept] for e, kept in chosen]


def _span(values: Any) -> str:
    low, high = np.min(values), np.max(values)
    return f"{low}" if low == high else f"{low}-{high}"


def _texts(attributes: Mapping[str, str]) -> Mapping[str, str]:
    return MappingProxyType({str(name): str(text) for name, text in sorted(attributes.items())})
