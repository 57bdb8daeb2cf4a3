"""From the rows of a table to padded arrays: which row is which point of which trajectory."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex, TypeAlias

import numpy as np

from ..errors import InputError
from . import dates
from ._canonical import check_padding
from ._inputs import impulse_channel
from ._ragged import wasteful

if TYPE_CHECKING:
    import pyarrow as pa

Arranged: TypeAlias = np.ndarray | list[list[np.ndarray]]


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


def assemble(
    rows: Rows, values: Sequence[np.ndarray], kinds: Sequence[str] = ()
) -> tuple[Arranged, Arranged, Sequence[Sequence[str]] | None]:
    """Times, values and names from rows in any order. Environments and trajectories are ordered by their first row.

    Arrays are padded; where that would be wasteful, they are nested lists `[environment][trajectory]` of arrays.

    - `values`: the columns of channels, then those of inputs, whose `kinds` are given. With inputs, a point may have
      several rows: in tables of doses, one for the dose and one for what was measured.
    """
    for row in np.flatnonzero(np.isnan(rows.times))[:1]:
        raise InputError(f"a row of {rows.point(row)} has no time")
    e = rows.environment.indices.to_numpy()
    labels = [""] if rows.trajectory is None else rows.trajectory.dictionary.to_pylist()
    i = np.zeros_like(e) if rows.trajectory is None else rows.trajectory.indices.to_numpy()
    if rows.trajectory is None:
        _check_increasing(rows, e, again=bool(kinds))
    slot, names, shape = _slots(e, i, len(rows.environment.dictionary), labels)
    order = _sorting_order(slot, rows.times)
    arranged = lambda column: column if order is None else column[order]
    slot, times, values = arranged(slot), arranged(rows.times), [arranged(column) for column in values]
    again = np.append(False, (slot[1:] == slot[:-1]) & (times[1:] == times[:-1]))
    if again.any():
        clash: int | None = int(np.argmax(again))
        if kinds:
            values, clash = _joined(np.flatnonzero(~again), values, kinds)
        if clash is not None:
            row = clash if order is None else order[clash]
            raise InputError(f"two rows have {rows.point(row)}, time {rows.time(row)}: each point must occur once")
        slot, times = slot[~again], times[~again]
    lengths = np.bincount(slot, minlength=shape[0] * shape[1])
    size = (*shape, int(lengths.max()))
    if wasteful((*size, len(values)), len(slot)):
        nested = [_nest(column, lengths, shape) for column in (times, np.stack(values, -1))]
        return nested[0], nested[1], None if rows.trajectory is None else names
    dense_times, dense_values = _pad(slot, lengths, size, times, values)
    return dense_times, dense_values, None if rows.trajectory is None else names


def _joined(
    starts: np.ndarray, values: Sequence[np.ndarray], kinds: Sequence[str]
) -> tuple[list[np.ndarray], int | None]:
    """One value for all rows of a point, which begin at `starts`; and a row whose point has two different ones."""
    joined = []
    for column, kind in zip(values, [*[""] * (len(values) - len(kinds)), *kinds], strict=True):
        low, high = np.fmin.reduceat(column, starts), np.fmax.reduceat(column, starts)
        if impulse_channel(kind) is not None:  # amounts add up
            low = high = np.where(np.isnan(low), np.nan, np.add.reduceat(np.nan_to_num(column), starts))
        for place in np.flatnonzero(low < high)[:1]:
            return joined, int(starts[place])
        joined.append(low)
    return joined, None


def _check_increasing(rows: Rows, e: np.ndarray, *, again: bool) -> None:
    """Without names of trajectories, times that go back mean that there are several: they must not be mixed.

    - `again`: whether a time may occur again.
    """
    order = np.argsort(e, kind="stable")
    before, after = rows.times[order][:-1], rows.times[order][1:]
    back = (e[order][1:] == e[order][:-1]) & (after < before if again else after <= before)
    for place in np.flatnonzero(back)[:1]:
        earlier, later = order[place], order[place + 1]
        raise InputError(
            f"times must increase: {rows.point(later)} has {rows.time(later)} after {rows.time(earlier)}; if it has "
            "several trajectories, name their column with `--columns trajectory=NAME`; if not, "
            + ("leave one of the rows out" if after[place] == before[place] else "sort its rows by time")
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


def _nest(column: np.ndarray, lengths: np.ndarray, shape: tuple[int, int]) -> list[list[np.ndarray]]:
    ends = np.cumsum(lengths).reshape(shape)
    begins, there = ends - lengths.reshape(shape), lengths.reshape(shape) > 0
    return [[column[begins[e, i] : ends[e, i]] for i in np.flatnonzero(there[e])] for e in range(shape[0])]


def _pad(
    slot: np.ndarray, lengths: np.ndarray, size: tuple[int, int, int], times: np.ndarray, values: Sequence[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    point = np.arange(len(slot)) - (np.cumsum(lengths) - lengths)[slot]
    check_padding(size, len(slot), len(values))
    place = slot * size[2] + point
    dense_times, states = np.full(size, np.nan), np.full((*size, len(values)), np.nan)
    dense_times.reshape(-1)[place] = times
    for c, column in enumerate(values):
        states.reshape(-1, len(values))[place, c] = column
    return dense_times, states
