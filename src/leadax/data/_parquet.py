"""Parquet tables in long form, read and written by pyarrow."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from . import _header
from ._contents import Contents, DamageError, seconds
from ._table import KEYS, channels_of, contents, to_table
from .trajectories import Trajectories

if TYPE_CHECKING:
    import pyarrow as pa

_KEY = b"leadax"
_SMALL = 1 << 20


def read(path: Path) -> Contents:
    """Read a table, whoever wrote it."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        table, metadata = file.read(use_threads=path.stat().st_size > _SMALL), file.metadata.metadata or {}
    header = _read_header(path, metadata)
    # pandas stores the index of a table in columns with such names.
    names = [name for name in table.column_names if not name.startswith("__index_level_")]
    channels = channels_of(names)
    if table.num_rows == 0:
        raise InputError("it has no rows")
    environment, trajectory = (_codes(table[name], name) for name in KEYS[:2])
    values = {name: _numbers(table, name) for name in channels}
    return contents(environment, trajectory, seconds(_numbers(table, "time")), values, header)


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


def _codes(column: "pa.ChunkedArray", what: str) -> "pa.DictionaryArray":
    import pyarrow as pa

    if column.null_count:
        raise InputError(f"a row has no {what}: every row needs one")
    codes = column.combine_chunks()
    codes = codes if pa.types.is_dictionary(codes.type) else codes.dictionary_encode()
    return pa.DictionaryArray.from_arrays(codes.indices, codes.dictionary.cast(pa.string()))


def _numbers(table: "pa.Table", name: str) -> np.ndarray:
    values = table[name].to_numpy()
    if name == "time" and values.dtype.kind in "mM":
        return values
    if values.dtype.kind not in "fiub":
        raise InputError(f"the column `{name}` must hold numbers, but it has the type {table[name].type}")
    return values.astype(np.float64, copy=False)
