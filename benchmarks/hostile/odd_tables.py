"""Tables of other programs: what is in them must be read as it is there, or refused.

What is right is found out by a second reader, in plain Python, which knows one simple way to read a table.
"""

import csv
import io
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from leadax import Trajectories, load

from .cases import REFUSED, Case, command

Rows = list[list[str]]
HEADER = ["environment", "trajectory", "time", "u", "v"]
MISSING = ("", "NaN", "nan", "NA", "null", "None", "#N/A")
ODD_CELLS = ("", " ", "NaN", "NA", "null", "None", "x", "1e400", "-1e400", "inf", "-Inf", "1,5", "0x10", "1_000", "١٢",
             "1 2", "--1", "1e", "\0", "é", "#N/A", "=1+1", '"', "'", "1.5.2", "2021-03-04", "1e308", "-1e308",
             "5e-324", " 1", "1 ", "+1", "01", "1.", ".5", "TRUE", "1e-5", "1E5")  # fmt: skip


def prepare(place: Path) -> None:
    """Nothing: tables are made as they are needed."""


def rows_of(chance: random.Random) -> Rows:
    """A small table that is right."""
    made = []
    for environment in range(chance.randint(1, 3)):
        for trajectory in range(chance.randint(1, 3)):
            for k in range(chance.randint(3, 6)):
                numbers = [k / 4, chance.uniform(-9, 9), chance.uniform(0, 1)]
                made.append([f"e{environment}", str(trajectory), *map(repr, numbers)])
    return [HEADER, *made]


def odd_cell(rows: Rows, chance: random.Random) -> None:
    row = chance.choice(rows[1:])
    row[chance.randrange(len(row))] = chance.choice(ODD_CELLS)


def odd_name(rows: Rows, chance: random.Random) -> None:
    rows[0] = [*rows[0]]
    rows[0][chance.randrange(5)] = chance.choice(("", " time", "Time", "time", "x" * 5000, "é", "1", "\0", "a,b", "u"))


def twice(rows: Rows, chance: random.Random) -> None:
    rows.append([*chance.choice(rows[1:])])


def ragged(rows: Rows, chance: random.Random) -> None:
    row = chance.choice(rows[1:])
    row.pop() if chance.random() < 0.5 else row.append("1")


def shuffled(rows: Rows, chance: random.Random) -> None:
    rest = rows[1:]
    chance.shuffle(rest)
    rows[1:] = rest


def fewer(rows: Rows, chance: random.Random) -> None:
    del rows[chance.randrange(1, len(rows)) :]


def other_order(rows: Rows, chance: random.Random) -> None:
    order = chance.sample(range(5), 5)
    rows[:] = [[row[place] for place in order] if len(row) == 5 else row for row in rows]


def repeated_header(rows: Rows, chance: random.Random) -> None:
    rows.insert(chance.randrange(1, len(rows)), [*rows[0]])


CHANGES: tuple[Callable[[Rows, random.Random], None], ...] = (
    *(odd_cell,) * 6, odd_name, twice, ragged, shuffled, fewer, other_order, repeated_header,
)  # fmt: skip


def written(rows: Rows, chance: random.Random) -> bytes:
    """A table as some program or other would write it."""
    text = io.StringIO()
    ends = chance.choice(("\n", "\n", "\r\n"))
    quoting = chance.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    csv.writer(text, lineterminator=ends, quoting=quoting).writerows(rows)
    raw = text.getvalue().encode(chance.choice((*("utf-8",) * 16, "utf-8-sig", "utf-8-sig", "utf-16")))
    raw += chance.choice((*(b"",) * 12, b"\n", b"\n\n", b"\0"))
    return (b"# a comment\n" if chance.random() < 0.1 else b"") + raw


def understood(rows: Rows) -> Any:
    """All points with their values by the plain reader; `REFUSED` where it does not understand the table."""
    names = [name.strip() for name in rows[0]]
    if len(set(names)) < len(names) or not {"environment", "time"} <= set(names):
        return REFUSED
    points: dict[tuple[str, str, float], tuple[float | None, ...]] = {}
    for row in rows[1:]:
        try:
            key, values = _point(dict(zip(names, (cell.strip() for cell in row), strict=True)))
        except ValueError:
            return REFUSED
        if key in points or not all(map(math.isfinite, (key[2], *(v for v in values if v is not None)))):
            return REFUSED
        points[key] = values
    return points


def _point(cells: dict[str, str]) -> tuple[tuple[str, str, float], tuple[float | None, ...]]:
    key = cells.pop("environment"), cells.pop("trajectory", "0"), float(cells.pop("time"))
    return key, tuple(None if cell in MISSING else float(cell) for cell in cells.values())


def points_of(data: Trajectories) -> Any:
    """All points of trajectories, in the same form."""
    found = {}
    for e, i, k in np.argwhere(~np.isnan(data.times)):
        name = str(i) if data.trajectory_names is None else data.trajectory_names[e][i]
        values = tuple(None if math.isnan(v) else float(v) for v in data.states[e, i, k])
        found[data.environments[e], name, float(data.times[e, i, k])] = values
    return found


def case(place: Path, chance: random.Random) -> Case:
    """A table with one to three oddities, loaded or drawn."""
    rows = rows_of(chance)
    changes = chance.choices(CHANGES, k=chance.randint(1, 3))
    for change in changes:
        if len(rows) > 1:
            change(rows, chance)
    Path("table.csv").write_bytes(written(rows, chance))
    what = f"table: {', '.join(change.__name__ for change in changes)}: {rows!r:.1500}"
    if chance.random() < 0.01:
        return Case(f"draw {what}", lambda: command("report", "table.csv", "--out", "x.html"), {})
    return Case(f"load {what}", lambda: points_of(load("table.csv")), understood(rows))
