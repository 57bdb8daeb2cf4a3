"""CSV tables in long form, read and written by pyarrow. Its parser is multi-threaded and reads floats exactly."""

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError
from . import _csv_fault, _header
from ._contents import Contents, DamageError
from ._table import KEYS, channels_of, contents, to_table
from .trajectories import Trajectories

if TYPE_CHECKING:
    import pyarrow as pa

_PREFIX = b"# leadax {"
_SMALL = 1 << 20
_BOM = b"\xef\xbb\xbf"
_PREAMBLE = re.compile(rb"(?:\xef\xbb\xbf)?(?:\s*#[^\n]*\n)*\s*")


def read(path: Path) -> Contents:
    """Read a table, whoever wrote it. Lines at the top that start with `#` are comments."""
    raw = path.read_bytes()
    header = _read_header(raw)
    line, rows = _split_column_names(raw)
    columns = next(csv.reader([line.decode()]), [])
    if header is None:
        columns = [name.strip() for name in columns]
    channels = channels_of(columns)
    table = _parse(rows, columns, raw)
    environment, trajectory = (table[name].combine_chunks() for name in KEYS[:2])
    values = {name: table[name].to_numpy() for name in channels}
    return contents(environment, trajectory, table["time"].to_numpy(), values, header or _header.Header())


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


def _split_column_names(raw: bytes) -> tuple[bytes, memoryview]:
    """The line with the column names, and the rows. In rows, `#` is an ordinary character: a site may be called #1."""
    preamble = _PREAMBLE.match(raw)
    start = preamble.end() if preamble else 0
    end = raw.find(b"\n", start) + 1 or len(raw)
    return raw[start:end], memoryview(raw)[end:]


def _parse(rows: memoryview, columns: list[str], raw: bytes) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.csv as pc

    if not bytes(rows[:1000]).strip():
        raise InputError("it has no rows")
    text, number = pa.dictionary(pa.int32(), pa.string()), pa.float64()
    types = {name: text if name in KEYS[:2] else number for name in columns}
    # Some programs write a space after each comma. pyarrow strips it from numbers only.
    missing = pc.ConvertOptions().null_values
    missing += [" " + word for word in missing]
    try:
        return pc.read_csv(
            pa.BufferReader(pa.py_buffer(rows)),
            # For small files, starting threads takes longer than it saves.
            read_options=pc.ReadOptions(column_names=columns, use_threads=len(rows) > _SMALL),
            convert_options=pc.ConvertOptions(column_types=types, null_values=missing),
        )
    except pa.ArrowInvalid as error:
        _csv_fault.explain(raw, columns)
        raise InputError(str(error)) from error
