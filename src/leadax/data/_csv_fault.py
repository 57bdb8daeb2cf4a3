"""Find the line of a CSV file that the fast parser could not read, for the error message."""

import csv
import re

from ..errors import InputError
from ._columns import Found
from .dates import looks_like_date, parse

_NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*([eE][-+]?\d+)?|\.\d+([eE][-+]?\d+)?|inf(inity)?|nan)?\s*", re.IGNORECASE)
_MISSING = {"#N/A", "#NA", "N/A", "NA", "NULL", "n/a", "null"}


def explain(raw: bytes, found: Found, *, dates: bool) -> None:
    """Raise `InputError` with the line, the column and the cell at fault; return if none is found.

    - `dates`: whether the first row has a date for its time.
    """
    lines = raw.decode(errors="replace").split("\n")
    kept = [(number, line) for number, line in enumerate(lines, 1) if line.rstrip("\r") and not line.startswith("#")]
    names = found.names
    for number, line in kept[1:]:
        cells = next(csv.reader([line.rstrip("\r")]), [])
        if len(cells) != len(names):
            raise InputError(f"line {number} has {len(cells)} cells, expected {len(names)} ({', '.join(names)})")
        for place in sorted({found.time, *found.numbers}):
            cell = cells[place]
            problem = "" if cell.strip() in _MISSING else _problem(cell, place, found, dates=dates)
            if problem:
                raise InputError(f"line {number}, column `{names[place]}`: {problem}")


def _problem(cell: str, place: int, found: Found, *, dates: bool) -> str:
    """What is wrong with a cell; nothing if it is as it should be."""
    is_number = bool(_NUMBER.fullmatch(cell))
    if place == found.time and (dates or looks_like_date(cell)):
        if dates and parse(cell) is not None:
            return ""
        if dates and not is_number:
            return f"`{cell}` is not a date, expected one such as 2021-03-04 or 2021-03-04T12:30"
        first, other = ("a date", "the number") if dates else ("a number", "the date")
        return f"expected {first}, as in the first row, found {other} `{cell}`: use one or the other throughout"
    if is_number:
        return ""
    if place == found.time:
        return f"expected a number or a date such as 2021-03-04, found `{cell}`"
    advice = (
        ""
        if found.chosen or place in found.inputs
        else "; if the column is no channel, choose those that are with `--channels`"
    )
    return f"expected a number, found `{cell}`{advice}"
