"""A study is a list of runs, each a folder, and one table of what they measured. Finished runs are not done again.

Every table and figure of the paper is a `Target`: a file of its own that says which runs it takes, how their rows
become a table, and what is drawn. Tables and figures come from small files alone, never from a model, so that results
can be kept and drawn again anywhere.
"""

import itertools
import json
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import __version__
from .._atomic import one_line, replacing
from .._locks import waiting as waiting_lock
from ..errors import LeadaxError, RunError
from .configs import config_column
from .protocols import PROTOCOLS
from .rows import Row
from .sheets import Sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = "rows.json"
ERROR = "error.txt"


@dataclass(frozen=True)
class Options:
    """How much work a study may be; a target decides what that means.

    - `exact`: whether `steps` are those of every system, or of the cheapest one, with a share of them for others;
    - `methods`: only these;
    - `model_steps`: of the models of Table 1 that a target starts from; as the budget says by default.
    """

    budget: str
    seeds: int
    steps: int
    protocol: str
    seed: int = 0
    system: str | None = None
    methods: tuple[str, ...] | None = None
    exact: bool = False
    model_steps: int | None = None

    def for_system(self, system: str, share_of_steps: Mapping[str, float]) -> "Options":
        """The same work for one system, where a step of some costs more than one of others.

        The paper's own effort is the same for all.
        """
        share = 1.0 if self.exact or self.budget == "paper" else share_of_steps.get(system, 1.0)
        steps = max(1, round(self.steps * share))
        return replace(self, system=system, steps=steps, exact=True)

    def concern(self, row: Row) -> bool:
        """Whether a row is of the system and methods that were asked for, in any protocol."""
        return self.system in (None, row["system"]) and bool(self.among([row["method"]]))

    def effort(self, share_of_steps: Mapping[str, float], row: Row) -> dict[str, int] | None:
        """What is behind the results that this work would put in the place of a row; None if it would not."""
        if row["protocol"] != self.protocol or not self.concern(row):
            return None
        steps = self.for_system(row["system"], share_of_steps).steps
        return {"steps": steps, "seeds": self.seeds, "--seed": self.seed}

    def among(self, names: Sequence[str]) -> list[str]:
        """Those of the methods that were asked for."""
        return [name for name in names if self.methods is None or name in self.methods]


@dataclass(frozen=True)
class Run:
    """One piece of work: `work(folder)` trains in that folder, resuming what is there, and returns its rows.

    It may be done in another process: `work` is a function of a module, or a `partial` of one.
    """

    name: str
    work: Callable[[Path], Sequence[Row]]


def _nothing(runs: Sequence[Run], folder: Path, place: Path) -> None:
    del runs, folder, place


def _no_figures(rows: Sequence[Row], place: Path) -> "dict[str, Figure]":
    del rows, place
    return {}


@dataclass(frozen=True)
class Target:
    """A table or figure of the paper.

    - `title`: which one of the paper's it is;
    - `budgets`: for each budget its seeds and steps;
    - `runs`: the runs for some options; `table`: from rows to the table's lines; `sheet`: the table for people;
    - `figures`: from rows, and the folder of results, to pictures by the names of their files; none by default;
    - `systems`, `methods`: those that one can choose from, if any; `protocols`: those that differ for it;
    - `share_of_steps`: of systems whose steps take long; all by default;
    - `needed`: columns of its rows that others' have not;
    - `keep`: `(runs, their folder, folder of results)`: put there what else is needed beside the rows.
    """

    name: str
    title: str
    budgets: Mapping[str, tuple[int, int]]
    runs: Callable[[Options], Sequence[Run]]
    table: Callable[[Sequence[Row]], list[dict[str, Any]]]
    sheet: Callable[[Sequence[Row]], Sheet]
    figures: "Callable[[Sequence[Row], Path], dict[str, Figure]]" = _no_figures
    systems: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    protocols: tuple[str, ...] = tuple(PROTOCOLS)
    share_of_steps: Mapping[str, float] = field(default_factory=dict)
    needed: tuple[str, ...] = ()
    keep: Callable[[Sequence[Run], Path, Path], None] = _nothing


class Outcome(NamedTuple):
    """What became of the runs: the rows of those that were done, in the runs' order, and the errors of the others."""

    rows: list[Row]
    failures: dict[str, BaseException]

    def raise_if_failed(self) -> None:
        """One line about all failures."""
        if self.failures:
            name, error = next(iter(self.failures.items()))
            what = one_line(error) if isinstance(error, LeadaxError) else f"{type(error).__name__}: {one_line(error)}"
            others = f" and {len(self.failures) - 1} more" if len(self.failures) > 1 else ""
            raise RunError(f"run {name}{others} failed: {what}; what is done is kept, type the same again to go on")


class InThisProcess(Executor):
    """Does what it is asked to at once, here."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Do it, and return a future that is done. Interruptions pass through."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def carry_out(
    runs: Sequence[Run], folder: Path, progress: Callable[..., None], executor: Executor | None = None
) -> Outcome:
    """Do the runs that are not finished. One that fails leaves the others alone.

    **Arguments**

    - `folder`: holds a folder for each run; workers elsewhere must see it under the same path;
    - `executor`: who does them; by default this process, one after the other.
    """
    executor = executor or InThisProcess()
    folder = folder.resolve()
    done: dict[str, list[Row]] = {}
    failures: dict[str, BaseException] = {}
    for run in runs:
        try:
            if (rows := _finished(folder / run.name)) is not None:
                done[run.name] = rows
        except RunError as error:
            failures[run.name] = error
    progress(len(done), len(runs), "finished runs")
    count = itertools.count(len(done) + 1)
    tell = lambda name, future: progress(next(count), len(runs), name)
    futures: dict[str, Future[list[Row]]] = {}
    for run in runs:
        if run.name in done or run.name in failures:
            continue
        try:
            futures[run.name] = executor.submit(do, run, folder / run.name)
        except BrokenExecutor as error:
            failures[run.name] = error
        else:
            futures[run.name].add_done_callback(partial(tell, run.name))
    wait(futures.values())
    for name, future in futures.items():
        if (error := _error(future)) is None:
            done[name] = future.result()
        else:
            failures[name] = error
    return Outcome([row for run in runs for row in done.get(run.name, [])], failures)


def unfinished(runs: Sequence[Run], folder: Path) -> int:
    """How many of the runs are still to do."""
    return sum(not (folder / run.name / ROWS).exists() for run in runs)


def do(run: Run, folder: Path) -> list[Row]:
    """Do a run in its folder, or return its rows if it is finished.

    A scheduler that has lost sight of a worker gives its run to another one, while the first may be still at it: the
    second then waits, and takes the rows of the first.
    """
    with waiting_lock(folder / ".run.lock"):
        if (rows := _finished(folder)) is not None:
            return rows
        try:
            rows = run.work(folder)
            about = {"version": __version__, **config_column(folder)}
            found: list[Row] = [{**row, **about, **row} for row in rows]  # what a row says of itself stands first
        except LeadaxError:
            raise
        except Exception:
            (folder / ERROR).write_text(traceback.format_exc())
            raise
        with replacing(folder / ROWS, overwrite=True) as temporary:
            temporary.write_text(json.dumps(found, indent=1) + "\n")
        (folder / ERROR).unlink(missing_ok=True)
    return found


def _finished(folder: Path) -> list[Row] | None:
    try:
        return json.loads((folder / ROWS).read_text())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise RunError(f"{folder / ROWS} is damaged: remove that file, and the run will be measured again") from error


def _error(future: Future[Any]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError:
        return RunError("it was cancelled: is the scheduler gone?")
