"""A study is a list of runs, each with a folder of its own. Finished runs are not done again."""

import itertools
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, wait
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ... import __version__
from ..._atomic import one_line
from ..._locks import waiting as waiting_lock
from ...errors import LeadaxError, RunError
from ..results.configs import config_column
from ..results.finished import ROWS, read_finished, write_finished
from ..results.rows import Row

ERROR = "error.txt"


@dataclass(frozen=True)
class Run:
    """One piece of work: `work(folder)` trains in that folder, resumes what is there, and returns its rows.

    Another process may do it, so `work` is a function of a module, or a `partial` of one.

    - `name`: of its folder;
    - `asked`: the settings behind it as JSON. A finished run with other settings is an error.
    """

    name: str
    work: Callable[[Path], Sequence[Row]]
    settings: Mapping[str, Any] = field(default_factory=dict)


class Outcome(NamedTuple):
    """What came of the runs: the rows of those that succeeded, in the runs' order, and the errors of the others."""

    rows: list[Row]
    failures: dict[str, BaseException]

    def raise_if_failed(self) -> None:
        """One line about all failures."""
        if not self.failures:
            return
        name, error = next(iter(self.failures.items()))
        what = one_line(error) if isinstance(error, LeadaxError) else f"{type(error).__name__}: {one_line(error)}"
        others = f" and {len(self.failures) - 1} more" if len(self.failures) > 1 else ""
        raise RunError(f"run {name}{others} failed: {what}; finished runs are kept, the same command goes on from them")


class InThisProcess(Executor):
    """Does the work at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call the function, and return a future that is done. Interruptions pass through."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


def carry_out(
    runs: Sequence[Run], folder: Path, progress: Callable[..., None], executor: Executor | None = None
) -> Outcome:
    """Do all runs that are not finished. One that fails does not stop the others.

    **Arguments**

    - `folder`: holds one folder per run; workers elsewhere must see it under the same path;
    - `progress`: called with the number of finished runs, their total and a text;
    - `executor`: does the work; by default this process, one run after the other.
    """
    folder = folder.resolve()
    done, failures = _already_done(runs, folder)
    progress(len(done), len(runs), "finished runs")
    count = itertools.count(len(done) + 1)
    left = [run for run in runs if run.name not in done and run.name not in failures]
    report = lambda name, future: progress(next(count), len(runs), name)
    futures = _submitted(left, folder, executor or InThisProcess(), report)
    wait(futures.values())
    for name, future in futures.items():
        if (error := _error(future)) is None:
            done[name] = future.result()
        else:
            failures[name] = error
    return Outcome([row for run in runs for row in done.get(run.name, [])], failures)


def unfinished(runs: Sequence[Run], folder: Path) -> int:
    """How many of the runs are still to be done."""
    return sum(not (folder / run.name / ROWS).exists() for run in runs)


def do(run: Run, folder: Path) -> list[Row]:
    """Do a run in its folder, or return its rows if it is finished.

    A scheduler that has lost sight of a worker gives its run to another one, while the first may still be at work: the
    second then waits, and takes the rows of the first.
    """
    with waiting_lock(folder / ".run.lock"):
        if (rows := read_finished(folder, run.settings)) is not None:
            return rows
        try:
            rows = run.work(folder)
            about = {"version": __version__, **config_column(folder)}
            found: list[Row] = [{**row, **about, **row} for row in rows]  # the row's own columns come first, and win
        except LeadaxError:
            raise
        except Exception:
            (folder / ERROR).write_text(traceback.format_exc())
            raise
        write_finished(folder, run.settings, found)
        (folder / ERROR).unlink(missing_ok=True)
    return found


def _already_done(runs: Sequence[Run], folder: Path) -> tuple[dict[str, list[Row]], dict[str, BaseException]]:
    """The rows of finished runs, and what is wrong with others."""
    done: dict[str, list[Row]] = {}
    failures: dict[str, BaseException] = {}
    for run in runs:
        try:
            if (rows := read_finished(folder / run.name, run.settings)) is not None:
                done[run.name] = rows
        except LeadaxError as error:
            failures[run.name] = error
    return done, failures


def _submitted(
    runs: Sequence[Run], folder: Path, executor: Executor, report: Callable[[str, Any], None]
) -> dict[str, Future[list[Row]]]:
    futures: dict[str, Future[list[Row]]] = {}
    for run in runs:
        try:
            futures[run.name] = executor.submit(do, run, folder / run.name)
        except BrokenExecutor as error:
            futures[run.name] = Future()
            futures[run.name].set_exception(error)
        futures[run.name].add_done_callback(partial(report, run.name))
    return futures


def _error(future: Future[Any]) -> BaseException | None:
    try:
        return future.exception()
    except CancelledError:
        return RunError("it was cancelled: is the scheduler gone?")
