"""Trajectories in long form: one row per point, with columns `environment`, `trajectory`, `time` and the channels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from ..errors import InputError
from . import dates
from ._columns import KEYS, Found
from ._contents import Contents, numeric, with_unit
from ._header import Header
from ._trajectory_names import padded
from .trajectories import Trajectories

if TYPE_CHECKING:
    import pyarrow as pa


def to_table(data: Trajectories) -> "pa.Table":
    """A table with one row per point. Missing values are null."""
    import pyarrow as pa

    check(data)
    present = ~np.isnan(data.times)
    environment, trajectory, _ = np.nonzero(present)
    columns = {
        "environment": pa.DictionaryArray.from_arrays(environment.astype(np.int32), list(data.environments)),
        "trajectory": _trajectory_column(data, environment, trajectory),
        "time": pa.array(_time_column(data, present)),
    }
    values = data.states[present]
    # `from_pandas` turns NaN into null.
    columns |= {name: pa.array(values[:, c], from_pandas=True) for c, name in enumerate(data.channels)}
    return pa.table(columns)


def _trajectory_column(data: Trajectories, environment: np.ndarray, trajectory: np.ndarray) -> "pa.Array":
    import pyarrow as pa

    if data.trajectory_names is None:
        return pa.array(trajectory)
    return pa.array(padded(data.trajectory_names)[environment, trajectory], pa.string())


def _time_column(data: Trajectories, present: np.ndarray) -> np.ndarray:
    days = data.times[present]
    found = dates.from_days(days) if dates.are_dates(data.attributes) else None
    return days if found is None else found


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


def contents(
    found: Found,
    names: Mapping[int, "pa.DictionaryArray"],
    times: np.ndarray,
    values: Sequence[np.ndarray],
    header: Header,
) -> Contents:
    """The contents of a table: its rows and its header.

    - `names`: the columns that hold names, by position; `values`: one column for each channel.
    """
    environment = combined([names[place] for place in found.environment], "environment")
    trajectory = combined([names[place] for place in found.trajectory], "trajectory") if found.trajectory else None
    rows = Rows(environment, trajectory, numeric(times), times.dtype.kind == "M")
    dense_times, states, trajectory_names = assemble(rows, values)
    as_written = [found.names[place] for place in found.environment] == ["environment"]
    return Contents(
        times=dense_times,
        states=states,
        environments=environment.dictionary.to_pylist(),
        channels=[found.names[place] for place in found.channels],
        parameters=header.parameters if as_written else {},  # they are about the environments of the file
        attributes=with_unit(header.attributes, times),
        fingerprint=header.fingerprint,
        trajectory_names=trajectory_names,
    )


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


@dataclass(frozen=True)
class Rows:
    """The keys of all rows. Without a column of trajectories, `trajectory` is `None`."""

    environment: "pa.DictionaryArray"
    trajectory: "pa.DictionaryArray | None"
    times: np.ndarray
    are_dates: bool = False

    def point(self, row: SupportsIndex) -> str:
        """Where a row belongs, for a message."""
        found = f"environment `{self.environment[int(row)].as_py()}`"
        return found if self.trajectory is None else f"{found}, trajectory `{self.trajectory[int(row)].as_py()}`"

    def time(self, row: SupportsIndex) -> str:
        """The time of a row, for a message."""
        return dates.shown(float(self.times[row]), as_date=self.are_dates)


def assemble(rows: Rows, values: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, Sequence[Sequence[str]] | None]:
    """Padded arrays from rows in any order, and names. Environments and trajectories are ordered by their first row."""
    for row in np.flatnonzero(np.isnan(rows.times))[:1]:
        raise InputError(f"a row of {rows.point(row)} has no time")
    e = rows.environment.indices.to_numpy()
    labels = [""] if rows.trajectory is None else rows.trajectory.dictionary.to_pylist()
    i = np.zeros_like(e) if rows.trajectory is None else rows.trajectory.indices.to_numpy()
    if rows.trajectory is None:
        _check_increasing(rows, e)
    slot, names, shape = _slots(e, i, len(rows.environment.dictionary), labels)
    order = _sorting_order(slot, rows.times)
    arranged = lambda column: column if order is None else column[order]
    slot, times = arranged(slot), arranged(rows.times)
    for place in np.flatnonzero((slot[1:] == slot[:-1]) & (times[1:] == times[:-1]))[:1]:
        row = place if order is None else order[place]
        raise InputError(f"two rows have {rows.point(row)}, time {rows.time(row)}: each point must occur once")
    dense_times, states = _pad(slot, shape, times, [arranged(column) for column in values])
    return dense_times, states, None if rows.trajectory is None else names


def _check_increasing(rows: Rows, e: np.ndarray) -> None:
    """Without names of trajectories, times that go back mean that there are several: they must not be mixed."""
    order = np.argsort(e, kind="stable")
    back = (e[order][1:] == e[order][:-1]) & (rows.times[order][1:] <= rows.times[order][:-1])
    for place in np.flatnonzero(back)[:1]:
        before, after = order[place], order[place + 1]
        raise InputError(
            f"times must increase: {rows.point(after)} has {rows.time(after)} after {rows.time(before)}; if it has "
            "several trajectories, name their column with `--columns trajectory=NAME`; if not, sort its rows by time"
        )


def _slots(
    e: np.ndarray, i: np.ndarray, environments: int, labels: Sequence[str]
) -> tuple[np.ndarray, list[list[str]], tuple[int, int]]:
    """The index of each row's trajectory in an array `(environment, trajectory)`, flattened; names; and its shape."""
    import pyarrow as pa

    # Hashing keeps the order of first appearance and is ten times faster than the sort in `np.unique`.
    pairs = pa.array(e.astype(np.int64) * len(labels) + i).dictionary_encode()
    owner, label = np.divmod(pairs.dictionary.to_numpy(), len(labels))
    counts = np.bincount(owner, minlength=environments)
    rank = np.empty(len(owner), np.int64)
    rank[np.argsort(owner, kind="stable")] = np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)
    width = int(counts.max())
    names: list[list[str]] = [[] for _ in range(environments)]
    for one, which in zip(owner, label, strict=True):
        names[one].append(labels[which])
    return (owner * width + rank)[pairs.indices.to_numpy()], names, (environments, width)


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
