"""How a search is shown: a live table, lines, and the table at its end."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .console import message

if TYPE_CHECKING:
    from ..choose.search import Standing
    from ..choose.tried import Tried
    from ..records import Snapshot

SHOWN = 15
HEADER = ("method", "settings", "error", "diverged", "steps", "folds")


def cells(line: "Tried") -> tuple[str, ...]:
    """A row of the table of what was tried."""
    settings = str(line.candidate).removeprefix(line.candidate.shape.method).strip()
    error = f"{line.nmse:.3g}" if math.isfinite(line.nmse) else "failed"
    default = " (default)" if line.default else ""
    return line.candidate.shape.method + default, settings, error, str(line.diverged), str(line.steps), str(line.folds)


def table(tried: "Sequence[Tried]") -> str:
    """The best of what was tried, for people; errors are normalised."""
    rows = [HEADER, *(cells(line) for line in tried[:SHOWN])]
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEADER))]
    pad = lambda row: [c.ljust(w) if k < 2 else c.rjust(w) for k, (c, w) in enumerate(zip(row, widths, strict=True))]
    more = [f"and {len(tried) - SHOWN} more"] if len(tried) > SHOWN else []
    return "\n".join(["  ".join(pad(row)).rstrip() for row in rows] + more)


@contextmanager
def watching() -> "Iterator[tuple[Callable[[Standing], None], Callable[[Snapshot, int], None]]]":
    """A live table on a terminal, a line for each group otherwise. Yields who is told of groups, and of looks."""
    if not sys.stderr.isatty():
        yield (lambda standing: message(line) if (line := last_group(standing)) else None), lambda snapshot, steps: None
        return
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:
        newest: list[Standing] = []

        def watch(standing: "Standing", step: str = "") -> None:
            newest[:] = [standing]
            live.update(live_table(standing, step), refresh=True)

        yield watch, lambda snapshot, steps: watch(newest[0], f", step {snapshot.step} of {steps}") if newest else None


def last_group(standing: "Standing") -> str | None:
    """A line about the group that has just been trained; None if it still is."""
    if not standing.rungs:
        return standing.now
    if standing.now or not standing.records:
        return None
    record = standing.records[-1]
    best = min(zip(record.scores, record.group, strict=False), key=lambda pair: pair[0].rank, default=None)
    if record.problem or best is None:
        what = f"{record.group[0].shape}: {record.problem}"
    else:
        what = f"{best[1]}: error {best[0].nmse:.3g}, the best of {len(record.group)}"
    return f"{_when(standing)}: {what}"


def live_table(standing: "Standing", step: str = "") -> Any:
    """The best groups so far and what is being trained, for a terminal."""
    from rich.table import Table

    from ..choose.tried import tried_of

    shown = Table(title=_when(standing), caption=standing.now + step if standing.now else None)
    for name in HEADER:
        shown.add_column(name, justify="left" if name in HEADER[:2] else "right")
    for line in tried_of(standing.records, ())[:SHOWN]:
        shown.add_row(*cells(line))
    return shown


def _when(standing: "Standing") -> str:
    spent = f"{minutes_of(standing.seconds)} of {minutes_of(standing.total)} minutes"
    return f"rung {standing.rung} of {standing.rungs}, {spent}" if standing.rungs else spent


def minutes_of(seconds: float) -> str:
    """Seconds as minutes and seconds.

    >>> minutes_of(125.2)
    '2:05'
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
