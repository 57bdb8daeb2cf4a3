"""Find the line of a CSV file that the fast parser could not read, for the error message."""

import csv
import re

from ..errors import InputError
from ._table import KEYS

_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?|inf(inity)?|nan)?\s*", re.IGNORECASE)
_MISSING = {"#N/A", "#NA", "N/A", "NA", "NULL", "n/a", "null"}


def explain(raw: bytes, columns: list[str]) -> None:
    """Raise `InputError` with the line, the column and the cell at fault; return if none is found."""
    lines = raw.decode(errors="replace").split("\n")
    kept = [(number, line) for number, line in enumerate(lines, 1) if line.rstrip("\r") and not line.startswith("#")]
    for number, line in kept[1:]:
        cells = next(csv.reader([line.rstrip("\r")]), [])
        if len(cells) != len(columns):
            raise InputError(f"line {number} has {len(cells)} cells, expected {len(columns)} ({', '.join(columns)})")
        for name, cell in zip(columns, cells, strict=True):
            if name not in KEYS[:2] and cell.strip() not in _MISSING and not _NUMBER.fullmatch(cell):
                raise InputError(f"line {number}, column `{name}`: expected a number, found `{cell}`")
