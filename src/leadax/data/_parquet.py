"""Parquet tables in long form, read and written by pyarrow."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._memory import check_fits
from ..errors import InputError
from . import _header
from ._columns import KEYS, Columns, Found
from ._contents import Contents, DamageError
from ._table import contents, to_table
from .dates import from_texts
from .trajectories import Trajectories

if TYPE_CHECKING:
    import pyarrow as pa

_KEY = b"leadax"
_SMALL = 1 << 20


def read(path: Path, columns: Columns) -> Contents:
    """Read a table, whoever wrote it."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        check_fits("what it holds", 8 * file.metadata.num_rows * file.metadata.num_columns)
        table, metadata = file.read(use_threads=path.stat().st_size > _SMALL), file.metadata.metadata or {}
    header = _read_header(path, metadata)
    # pandas stores the index of a table in columns with such names.
    table = table.select([i for i, name in enumerate(table.column_names) if not name.startswith("__index_level_")])
    found = columns.find(table.column_names, header.inputs)
    if table.num_rows == 0:
        raise InputError("it has no rows")
    keys = {place: _codes(table.column(place)) for place in found.texts}
    values = [_numbers(table, place, found) for place in found.numbers]
    return contents(found, keys, _times(table, found), values, header)


def write(data: Trajectories, path: Path) -> None:
    """Write with a checksum on each page. Keys repeat, so a dictionary makes them smaller; states do not."""
    import pyarrow.parquet as pq

    table = to_table(data)
    # No `store_schema`: readers would use that second schema instead of the table's own.
    options: Any = {"use_dictionary": list(KEYS), "write_page_checksum": True, "store_schema": False}
    with pq.ParquetWriter(path, table.schema, **options) as file:
        file.write_table(table)
        file.add_key_value_metadata({_KEY: _header.describe(data).encode()})


def _read_header(path: Path, metadata: Mapping[bytes, bytes]) -> _header.Header:
    if _KEY in metadata:
        return _header.parse(metadata[_KEY])
    # One flipped byte can hide all metadata from the library. The mark in the raw bytes shows that there was some.
    if _header.MARK.encode() in _footer(path):
        raise DamageError("its Leadax header is missing")
    return _header.Header()


def _footer(path: Path) -> bytes:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(size - 8)
        file.seek(max(0, size - 8 - int.from_bytes(file.read(4), "little")))
        return file.read()


def _codes(column: "pa.ChunkedArray") -> "pa.DictionaryArray":
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):  # a category of pandas, of which no row may be left
        column = column.cast(column.type.value_type)
    codes = column.combine_chunks().dictionary_encode()
    return pa.DictionaryArray.from_arrays(codes.indices, codes.dictionary.cast(pa.string()))


def _times(table: "pa.Table", found: Found) -> np.ndarray:
    """Numbers, durations or dates; dates may be written out as text."""
    column, name = table.column(found.time), found.names[found.time]
    values = column.to_numpy()
    if values.dtype.kind in "mM":
        return values
    if values.dtype.kind != "O":
        return _numbers(table, found.time, found)
    texts = ["" if text is None else str(text) for text in values]
    dates = from_texts(texts)
    if isinstance(dates, int):
        raise InputError(f"the column `{name}` must hold numbers or dates, but row {dates + 1} has `{texts[dates]}`")
    return dates


def _numbers(table: "pa.Table", place: int, found: Found) -> np.ndarray:
    values = table.column(place).to_numpy()
    if values.dtype.kind not in "fiub":
        advice = "" if found.chosen or place not in found.channels else "; choose the channels with `--channels`"
        kind = table.column(place).type
        raise InputError(f"the column `{found.names[place]}` must hold numbers, but it has the type {kind}{advice}")
    return values.astype(np.float64, copy=False)
