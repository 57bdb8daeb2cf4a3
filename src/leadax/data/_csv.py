"""CSV tables in long form, read and written by pyarrow. Its parser is multi-threaded and reads floats exactly."""

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError
from . import _csv_fault, _header
from ._columns import Columns, Found
from ._contents import Contents, DamageError
from ._table import contents, to_table
from .dates import from_texts, looks_like_date
from .trajectories import Trajectories

if TYPE_CHECKING:
    import pyarrow as pa

_PREFIX = b"# leadax {"
_SMALL = 1 << 20
_BOM = b"\xef\xbb\xbf"
_PREAMBLE = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s*#[^\n]*\n)*\s*")


def read(path: Path, columns: Columns) -> Contents:
    """Read a table, whoever wrote it. Lines at the top that start with `#` are comments."""
    raw = path.read_bytes()
    if b"\0" in raw[:_SMALL]:
        raise InputError("it is not a text table: save it as CSV in UTF-8")
    header = _read_header(raw)
    line, rows = _split_column_names(raw)
    _check_text(line, raw)
    names = next(csv.reader([line.decode()]), [])
    if header is None:
        names = [name.strip() for name in names]
    found = columns.find(names, {} if header is None else header.inputs)
    if not bytes(rows[:1000]).strip():
        raise InputError("it has no rows")
    dates = looks_like_date(_first_cell(rows, found.time))
    table = _parse(rows, found, raw, dates=dates)
    keys = {place: table[str(place)].combine_chunks() for place in found.texts}
    if header is None:
        keys = {place: _trimmed(column) for place, column in keys.items()}
    times = _dates_of(table, found, raw) if dates else table[str(found.time)].to_numpy()
    values = [table[str(place)].to_numpy() for place in found.numbers]
    return contents(found, keys, times, values, header or _header.Header())


def write(data: Trajectories, path: Path) -> None:
    """Write a line with parameters, attributes and fingerprint, then the table. Floats are exact."""
    import pyarrow.csv as pc

    table = to_table(data)
    with path.open("wb") as file:
        file.write(b"# leadax " + _header.describe(data).encode() + b"\n")
        pc.write_csv(table, file)


def _read_header(raw: bytes) -> _header.Header | None:
    first = raw[: raw.find(b"\n") + 1 or len(raw)].removeprefix(_BOM)
    if first.startswith(_PREFIX):
        return _header.parse(first.removeprefix(b"# leadax "))
    # If the prefix is damaged, the line looks like a comment. The mark inside it shows that it is not.
    if _header.MARK.encode() in first:
        raise DamageError("its first line no longer starts with `# leadax`")
    return None


def _check_text(part: bytes, raw: bytes) -> None:
    """An `InputError` with the line unless a part of a file is UTF-8."""
    try:
        part.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, raw.index(part) + error.start) + 1
        raise InputError(f"line {line} is not UTF-8: save the table as CSV in UTF-8") from error


def _split_column_names(raw: bytes) -> tuple[bytes, memoryview]:
    """The line with the column names, and the rows. In rows, `#` is an ordinary character: a site may be called #1."""
    preamble = _PREAMBLE.match(raw)
    start = preamble.end() if preamble else 0
    end = raw.find(b"\n", start) + 1 or len(raw)
    return raw[start:end], memoryview(raw)[end:]


def _first_cell(rows: memoryview, place: int) -> str:
    """The first cell of a column that is not empty, which tells whether it holds numbers or dates."""
    lines = csv.reader(io.StringIO(bytes(rows[:_SMALL]).decode(errors="replace"), newline=""))
    return next((cells[place] for cells in lines if len(cells) > place and cells[place].strip()), "")


def _parse(rows: memoryview, found: Found, raw: bytes, *, dates: bool) -> "pa.Table":
    """The columns that are used, each named by its position: others may have the same name, or none."""
    import pyarrow as pa
    import pyarrow.csv as pc

    text, number = pa.dictionary(pa.int32(), pa.string()), pa.float64()
    types = {str(place): text if place in found.texts else number for place in found.used}
    if dates:
        types[str(found.time)] = text
    # Some programs write a space after each comma. pyarrow strips it from numbers only.
    missing = pc.ConvertOptions().null_values
    missing += [" " + word for word in missing]
    every = [str(place) for place in range(len(found.names))]
    try:
        return pc.read_csv(
            pa.BufferReader(pa.py_buffer(rows)),
            # For small files, starting threads takes longer than it saves.
            read_options=pc.ReadOptions(column_names=every, use_threads=len(rows) > _SMALL),
            convert_options=pc.ConvertOptions(column_types=types, null_values=missing, include_columns=list(types)),
        )
    except pa.ArrowInvalid as error:
        _check_text(raw, raw)
        _csv_fault.explain(raw, found, dates=dates)
        raise InputError(str(error)) from error


def _trimmed(column: "pa.DictionaryArray") -> "pa.DictionaryArray":
    """Names without the spaces that some programs write after each comma."""
    import pyarrow as pa

    names = [name.strip() for name in column.dictionary.to_pylist()]
    if names == column.dictionary.to_pylist():
        return column
    distinct = pa.array(names).dictionary_encode()
    return pa.DictionaryArray.from_arrays(distinct.indices.take(column.indices), distinct.dictionary)


def _dates_of(table: "pa.Table", found: Found, raw: bytes) -> np.ndarray:
    column = table[str(found.time)].combine_chunks()
    texts = column.dictionary.to_pylist()
    dates = from_texts(texts)
    if isinstance(dates, int):
        _csv_fault.explain(raw, found, dates=True)
        raise InputError(f"column `{found.names[found.time]}`: `{texts[dates]}` is not a date")
    return dates[column.indices.to_numpy()]
