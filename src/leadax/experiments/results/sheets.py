"""A table for people: aligned on a terminal, or as Markdown."""

from collections.abc import Sequence
from typing import NamedTuple

UNKNOWN = "–"


class Sheet(NamedTuple):
    """A header, cells, and notes that a reader needs to understand them.

    >>> sheet = Sheet(("method", "error"), [("leads", "1.16e-03")], ("Smaller is better.",))
    >>> print(sheet.text())
    method  error
    leads   1.16e-03
    Smaller is better.
    >>> print(sheet.markdown())
    | method | error |
    |---|---|
    | leads | 1.16e-03 |
    <BLANKLINE>
    Smaller is better.
    """

    header: Sequence[str]
    cells: Sequence[Sequence[str]]
    notes: Sequence[str] = ()

    def text(self) -> str:
        """For a terminal."""
        lines = [self.header, *self.cells]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        aligned = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([*aligned, *self.notes])

    def markdown(self) -> str:
        """For a page."""
        line = lambda cells: "| " + " | ".join(cells) + " |"
        table = "\n".join([line(self.header), "|" + "---|" * len(self.header), *map(line, self.cells)])
        return "\n\n".join([table, *self.notes])


def number(value: float | int | None, form: str = ".2e") -> str:
    """A number, or a dash if it was not measured."""
    return UNKNOWN if value is None else format(value, form)


def with_spread(value: float | int | None, spread: float | int | None) -> str:
    """An error ± its spread.

    >>> with_spread(1.16e-3, 2e-5), with_spread(0.1, None), with_spread(None, None)
    ('1.16e-03 ± 2.0e-05', '1.00e-01', '–')
    """
    return number(value) + ("" if spread is None else f" ± {spread:.1e}")


def ratio(ours: float | int | None, theirs: float | int | None) -> str:
    """Ours divided by the paper's.

    >>> ratio(1.0, 2.0), ratio(1.0, None), ratio(1234.5, 1.0)
    ('0.50', '–', '1.2e+03')
    """
    if ours is None or theirs is None:
        return UNKNOWN
    return f"{ours / theirs:.2f}" if ours / theirs < 100 else f"{ours / theirs:.1e}"


def minutes(seconds: float | int | None) -> str:
    """How long training took.

    >>> minutes(90.0), minutes(None)
    ('1.5', '–')
    """
    return UNKNOWN if seconds is None else f"{seconds / 60:.1f}"


def part_of(found: int, total: int) -> str:
    """The note on an error that is not the mean over all environments, because some runs are missing.

    >>> part_of(6, 8), part_of(8, 8)
    (' [6 of 8 environments]', '')
    """
    return "" if found == total else f" [{found} of {total} environments]"
