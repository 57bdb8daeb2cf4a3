"""Trajectories in long form: one row per point, with columns `environment`, `trajectory`, `time` and the channels."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from ._contents import Contents
from ._header import Header
from .trajectories import Trajectories

if TYPE_CHECKING:
    import pyarrow as pa

KEYS = ("environment", "trajectory", "time")


def to_table(data: Trajectories) -> "pa.Table":
    """A table with one row per point. Missing values are null."""
    import pyarrow as pa

    check(data)
    present = ~np.isnan(data.times)
    environment, trajectory, _ = np.nonzero(present)
    columns = {
        "environment": pa.DictionaryArray.from_arrays(environment.astype(np.int32), list(data.environments)),
        "trajectory": pa.array(trajectory),
        "time": pa.array(data.times[present]),
    }
    values = data.states[present]
    # `from_pandas` turns NaN into null.
    columns |= {name: pa.array(values[:, c], from_pandas=True) for c, name in enumerate(data.channels)}
    return pa.table(columns)


def check(data: Trajectories) -> None:
    """Raise `InputError` if the data do not fit into a table."""
    if data.space:
        grid = " × ".join(map(str, data.space))
        raise InputError(f"states on a grid ({grid}) do not fit into a table: save as .nc, .zarr or .npz")
    for name in data.channels:
        if name in KEYS:
            raise InputError(
                f"a channel cannot be called `{name}` in a table: rename the channel, or save as .nc, .zarr or .npz"
            )


def channels_of(columns: Sequence[str]) -> list[str]:
    """The columns that are channels. `InputError` unless all key columns are there, and all names are valid."""
    found = ", ".join(f"`{name}`" for name in columns) or "none"
    for name in KEYS:
        if name not in columns:
            raise InputError(f"no column `{name}`: it has {found}")
    for name in columns:
        if list(columns).count(name) > 1:
            raise InputError(f"two columns are called `{name}`")
        if not name:
            raise InputError("a column has no name: name or remove it (in pandas: `to_csv(..., index=False)`)")
    channels = [name for name in columns if name not in KEYS]
    if not channels:
        raise InputError(f"no column with states: it has only {found}")
    return channels


def contents(
    environment: "pa.DictionaryArray",
    trajectory: "pa.DictionaryArray",
    times: np.ndarray,
    values: Mapping[str, np.ndarray],
    header: Header,
) -> Contents:
    """The contents of a table: its rows and its header."""
    dense_times, states = assemble(environment, trajectory, times, list(values.values()))
    return Contents(
        times=dense_times,
        states=states,
        environments=environment.dictionary.to_pylist(),
        channels=list(values),
        parameters=header.parameters,
        attributes=header.attributes,
        fingerprint=header.fingerprint,
    )


def assemble(
    environment: "pa.DictionaryArray", trajectory: "pa.DictionaryArray", times: np.ndarray, values: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Padded arrays from rows in any order. Environments and trajectories are ordered by their first row."""
    names, labels = environment.dictionary.to_pylist(), trajectory.dictionary.to_pylist()
    e, i = environment.indices.to_numpy(), trajectory.indices.to_numpy()
    _check_keys(names, e, labels, i, times)
    slot, shape = _slots(e, i, len(names), len(labels))
    order = _sorting_order(slot, times)
    if order is not None:
        slot, times, values = slot[order], times[order], [column[order] for column in values]
        e, i = e[order], i[order]
    for row in np.flatnonzero((slot[1:] == slot[:-1]) & (times[1:] == times[:-1]))[:1]:
        where = f"environment `{names[e[row]]}`, trajectory `{labels[i[row]]}`, time {times[row]:.12g}"
        raise InputError(f"two rows have {where}: each point must occur once")
    return _pad(slot, shape, times, values)


def _check_keys(names: list, e: np.ndarray, labels: list, i: np.ndarray, times: np.ndarray) -> None:
    for what, known in (("environment", names), ("trajectory", labels)):
        if "" in known or None in known:
            raise InputError(f"a row has no {what}: every row needs one")
    for row in np.flatnonzero(np.isnan(times))[:1]:
        raise InputError(f"a row of environment `{names[e[row]]}`, trajectory `{labels[i[row]]}` has no time")


def _slots(e: np.ndarray, i: np.ndarray, environments: int, labels: int) -> tuple[np.ndarray, tuple[int, int]]:
    """The index of each row's trajectory in an array `(environment, trajectory)`, flattened, and its shape."""
    import pyarrow as pa

    # Hashing keeps the order of first appearance and is ten times faster than the sort in `np.unique`.
    pairs = pa.array(e.astype(np.int64) * labels + i).dictionary_encode()
    owner = pairs.dictionary.to_numpy() // labels
    counts = np.bincount(owner, minlength=environments)
    rank = np.empty(len(owner), np.int64)
    rank[np.argsort(owner, kind="stable")] = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = int(counts.max())
    return (owner * width + rank)[pairs.indices.to_numpy()], (environments, width)


def _sorting_order(slot: np.ndarray, times: np.ndarray) -> np.ndarray | None:
    in_order = (slot[1:] > slot[:-1]) | ((slot[1:] == slot[:-1]) & (times[1:] >= times[:-1]))
    return None if in_order.all() else np.lexsort((times, slot))


def _pad(
    slot: np.ndarray, shape: tuple[int, int], times: np.ndarray, values: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    lengths = np.bincount(slot, minlength=shape[0] * shape[1])
    point = np.arange(len(slot)) - (np.cumsum(lengths) - lengths)[slot]
    size = (*shape, int(lengths.max()))
    place = slot * size[2] + point
    dense_times, states = np.full(size, np.nan), np.full((*size, len(values)), np.nan)
    dense_times.reshape(-1)[place] = times
    for c, column in enumerate(values):
        states.reshape(-1, len(values))[place, c] = column
    return dense_times, states
