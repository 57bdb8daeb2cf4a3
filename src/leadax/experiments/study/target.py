"""A table or figure of the paper is a `Target`: which runs it needs, how their rows become a table, what is drawn.

Tables and figures are made from small files alone, never from a model, so that results can be kept and drawn anywhere.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..results.rows import Row
from ..results.sheets import Sheet
from .options import Options
from .protocols import PROTOCOLS
from .runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _nothing_else(runs: Sequence[Run], folder: Path, place: Path) -> None:
    del runs, folder, place


def _no_figures(rows: Sequence[Row], place: Path) -> "dict[str, Figure]":
    del rows, place
    return {}


@dataclass(frozen=True)
class Target:
    """A table or figure of the paper.

    - `title`: which one it is; `budgets`: the seeds and steps of each budget;
    - `runs`: the runs for some options; `table`: from rows to the lines of the table; `sheet`: the table for people;
    - `glance`: a shorter one, which the page of results shows first;
    - `figures`: from rows and the folder of results to figures by the names of their files; none by default;
    - `systems`, `methods`, `samples`, `sizes`: those that can be chosen, if any;
    - `protocols`: those that make a difference;
    - `share_of_steps`: for systems whose steps are expensive; all steps by default;
    - `needed`: the columns of its rows that other targets do not have;
    - `adds_seeds`: whether further seeds can be added to its rows;
    - `keep`: called with the runs, their folder and the folder of results, to keep more than rows.
    """

    name: str
    title: str
    budgets: Mapping[str, tuple[int, int]]
    runs: Callable[[Options], Sequence[Run]]
    table: Callable[[Sequence[Row]], list[dict[str, Any]]]
    sheet: Callable[[Sequence[Row]], Sheet]
    glance: Callable[[Sequence[Row]], Sheet] | None = None
    figures: "Callable[[Sequence[Row], Path], dict[str, Figure]]" = _no_figures
    systems: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    samples: tuple[int, ...] = ()
    sizes: tuple[int, ...] = ()
    protocols: tuple[str, ...] = tuple(PROTOCOLS)
    share_of_steps: Mapping[str, float] = field(default_factory=dict)
    needed: tuple[str, ...] = ()
    adds_seeds: bool = False
    keep: Callable[[Sequence[Run], Path, Path], None] = _nothing_else
