"""Trajectories in long form: one row per point, with `environment`, `trajectory`, `time`, the channels and inputs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from . import dates
from ._columns import KEYS, Found
from ._contents import Contents, numeric, with_unit
from ._covariates import per_environment
from ._header import Header
from ._rows import Arranged, Rows, assemble
from ._trajectory_names import padded
from .trajectories import Trajectories

if TYPE_CHECKING:
    import pyarrow as pa


def to_table(data: Trajectories) -> "pa.Table":
    """A table with one row per point. Missing values are null."""
    import pyarrow as pa

    check(data)
    environment, trajectory = (np.repeat(place, data.lengths.reshape(-1)) for place in _places(data))
    columns = {
        "environment": pa.DictionaryArray.from_arrays(environment.astype(np.int32), list(data.environments)),
        "trajectory": _trajectory_column(data, environment, trajectory),
        "time": pa.array(_time_column(data)),
    }
    values = data.points("states")
    # `from_pandas` turns NaN into null.
    columns |= {name: pa.array(values[:, c], from_pandas=True) for c, name in enumerate(data.channels)}
    if data.input_names:
        given = data.points("inputs")
        columns |= {name: pa.array(given[:, c], from_pandas=True) for c, name in enumerate(data.input_names)}
    return pa.table(columns)


def _trajectory_column(data: Trajectories, environment: np.ndarray, trajectory: np.ndarray) -> "pa.Array":
    import pyarrow as pa

    if data.trajectory_names is None:
        return pa.array(trajectory)
    return pa.array(padded(data.trajectory_names)[environment, trajectory], pa.string())


def _places(data: Trajectories) -> tuple[np.ndarray, np.ndarray]:
    """The environment and the position of each trajectory, padding included."""
    environment, trajectory = np.indices(data.lengths.shape)
    return environment.reshape(-1), trajectory.reshape(-1)


def _time_column(data: Trajectories) -> np.ndarray:
    days = data.points("times")
    found = dates.from_days(days) if dates.are_dates(data.attributes) else None
    return days if found is None else found


def check(data: Trajectories) -> None:
    """Raise `InputError` if the data do not fit into a table."""
    if data.space:
        grid = " × ".join(map(str, data.space))
        raise InputError(f"states on a grid ({grid}) do not fit into a table: save as .nc, .zarr or .npz")
    for what, names in (("a channel", data.channels), ("an input", data.input_names)):
        for name in (name for name in names if name in KEYS):
            raise InputError(f"{what} cannot be called `{name}` in a table: rename it, or save as .nc, .zarr or .npz")


def contents(
    found: Found,
    names: Mapping[int, "pa.DictionaryArray"],
    times: np.ndarray,
    values: Sequence[np.ndarray],
    header: Header,
) -> Contents:
    """The contents of a table: its rows and its header.

    - `names`: the columns that are read as texts, by position; `values`: one column for each channel and input.
    """
    environment = combined([names[place] for place in found.environment], "environment")
    trajectory = combined([names[place] for place in found.trajectory], "trajectory") if found.trajectory else None
    rows = Rows(environment, trajectory, numeric(times), times.dtype.kind == "M")
    arranged_times, arranged_values, trajectory_names = assemble(rows, values, found.kinds)
    states, inputs = _split(arranged_values, len(found.channels))
    covariates, meanings = _covariates_of(found, names, environment)
    as_written = [found.names[place] for place in found.environment] == ["environment"]
    return Contents(
        times=arranged_times,
        states=states,
        environments=environment.dictionary.to_pylist(),
        channels=[found.names[place] for place in found.channels],
        # Parameters in the header are about the environments of the file.
        parameters={**(header.parameters if as_written else {}), **covariates},
        attributes=with_unit({**header.attributes, **meanings}, times),
        fingerprint=header.fingerprint,
        trajectory_names=trajectory_names,
        inputs=inputs if found.inputs else None,
        input_names=[found.names[place] for place in found.inputs],
        input_kinds=found.kinds,
    )


def _split(values: Arranged, channels: int) -> tuple[Arranged, Arranged]:
    """States and inputs."""
    if isinstance(values, np.ndarray):
        return values[..., :channels], values[..., channels:]
    part = lambda chosen: [[value[:, chosen] for value in row] for row in values]
    return part(slice(channels)), part(slice(channels, None))


def _covariates_of(
    found: Found, names: Mapping[int, "pa.DictionaryArray"], environment: "pa.DictionaryArray"
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The covariates of all environments by name, and what 0 and 1 stand for in those that were texts."""
    numbers: dict[str, np.ndarray] = {}
    meanings: dict[str, str] = {}
    for place, level in found.covariates:
        name = found.names[place]
        numbers[name], meaning = per_environment(name, names[place], environment, level)
        meanings |= {} if meaning is None else {name: meaning}
    return numbers, meanings


def combined(columns: Sequence["pa.DictionaryArray"], what: str) -> "pa.DictionaryArray":
    """One column of names from one or several, with spaces between them: `F 1988`."""
    import pyarrow as pa

    for column in columns:
        if column.null_count or not all(column.dictionary.to_pylist()):
            raise InputError(f"a row has no {what}: every row needs one")
    first, *others = columns
    for other in others:
        count = len(other.dictionary)
        pairs = pa.array(first.indices.to_numpy().astype(np.int64) * count + other.indices.to_numpy())
        pairs = pairs.dictionary_encode()
        left, right = first.dictionary.to_pylist(), other.dictionary.to_pylist()
        joined = [f"{left[pair // count]} {right[pair % count]}" for pair in pairs.dictionary.to_pylist()]
        if len(set(joined)) < len(joined):
            name = max(joined, key=joined.count)
            raise InputError(f"two {what} names are both `{name}` once their columns are joined: rename one")
        first = pa.DictionaryArray.from_arrays(pairs.indices, joined)
    return first
