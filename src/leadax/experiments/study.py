"""A study is a list of runs, each a folder, and one table of what they measured. Finished runs are not done again.

Every table and figure of the paper is a `Target`: a file of its own that says which runs it takes, how their rows
become a table, and what is drawn from the rows. Tables and figures come from the rows alone, never from a model, so
that results can be kept in a small CSV file and drawn again anywhere.
"""

import csv
import json
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._atomic import replacing
from ..errors import InputError, RunError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Of one environment in one seed's model: where it comes from, what was measured, and whatever else a target adds.
Row = Mapping[str, Any]
ROWS = "rows.json"
KEYS = ("system", "method", "m", "n", "protocol", "steps")


@dataclass(frozen=True)
class Options:
    """How much work a study may be; a target decides what that means."""

    budget: str
    seeds: int
    steps: int
    protocol: str
    seed: int = 0
    system: str | None = None

    def for_system(self, system: str, share_of_steps: Mapping[str, float]) -> "Options":
        """The same work for one system, where a step of some costs more than one of others."""
        steps = max(1, round(self.steps * share_of_steps.get(system, 1.0)))
        return replace(self, system=system, steps=steps)


@dataclass(frozen=True)
class Run:
    """One piece of work: `work(folder)` trains in that folder, resuming what is there, and returns its rows."""

    name: str
    work: Callable[[Path], Sequence[Row]]


@dataclass(frozen=True)
class Target:
    """A table or figure of the paper.

    - `budgets`: for each budget its seeds and steps;
    - `runs`: the runs for some options; `table`: from rows to the table's rows; `text`: the table for people;
    - `figures`: from rows to pictures, by the names of their files;
    - `systems`: those that one can choose from, if any.
    """

    name: str
    budgets: Mapping[str, tuple[int, int]]
    runs: Callable[[Options], Sequence[Run]]
    table: Callable[[Sequence[Row]], list[dict[str, Any]]]
    text: Callable[[Sequence[Row]], str]
    figures: "Callable[[Sequence[Row]], dict[str, Figure]]"
    systems: tuple[str, ...] = ()


def carry_out(runs: Sequence[Run], folder: Path, progress: Callable[..., None]) -> list[Row]:
    """Do the runs that are not finished, and return the rows of all, in their order."""
    rows: list[Row] = []
    for done, run in enumerate(runs):
        progress(done, len(runs), run.name)
        rows += _finished(folder / run.name) or _do(run, folder / run.name)
    progress(len(runs), len(runs), "all runs")
    return rows


def _do(run: Run, folder: Path) -> list[Row]:
    folder.mkdir(parents=True, exist_ok=True)
    rows = list(run.work(folder))
    with replacing(folder / ROWS, overwrite=True) as temporary:
        temporary.write_text(json.dumps(rows, indent=1) + "\n")
    return rows


def _finished(folder: Path) -> list[Row] | None:
    try:
        return json.loads((folder / ROWS).read_text())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise RunError(f"{folder / ROWS} is damaged: remove that folder, and the run will be done again") from error


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write rows as CSV, a column for everything that any of them has."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with replacing(path, overwrite=True) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _short(value) for name, value in row.items()} for row in rows)


def read_rows(path: Path) -> list[Row]:
    """Read what `write_rows` wrote; what looks like a number is one, and what is empty is not there."""
    if not path.exists():
        raise InputError(f"{path} does not exist: `leadax reproduce {path.stem}` makes it")
    with path.open(newline="") as file:
        rows: list[Row] = [{k: _number(text) for k, text in row.items() if text} for row in csv.DictReader(file)]
    needed = ("system", "method", "m", "n", "protocol", "steps", "seed", "mse_test")
    missing = next((name for row in rows for name in needed if name not in row), None)
    if not rows or missing:
        what = f"a row lacks `{missing}`" if rows else "it has no rows"
        raise InputError(f"{path} is not a table of results, or is damaged: {what}")
    return rows


def merged(rows: Sequence[Row], path: Path) -> list[Row]:
    """These rows, and before them those in the file of other systems, methods, sizes or protocols.

    Results of more steps are not replaced by those of fewer.
    """
    of = lambda row: tuple(row.get(key) for key in KEYS if key != "steps")
    most = {of(row): max(r["steps"] for r in rows if of(r) == of(row)) for row in rows}
    before = read_rows(path) if path.exists() else []
    for row in before:
        if row["steps"] > most.get(of(row), row["steps"]):
            raise InputError(
                f"{path} has results of {row['steps']} steps, which these of {most[of(row)]} would replace: "
                "choose another `--results`"
            )
    return [row for row in before if of(row) not in most] + list(rows)


def summarise(rows: Iterable[Row], keys: Sequence[str] = KEYS) -> list[dict[str, Any]]:
    """One line for all rows that agree in `keys`: means of errors, and their spread over seeds and over trajectories.

    Rows have `seed`, `mse_train`, `mse_test` and `std_over_trajectories`, the spread of `mse_test` in an environment.
    Every environment counts alike.

    >>> row = {"method": "leads", "mse_train": 0.0, "std_over_trajectories": 1.0}
    >>> line, = summarise([{**row, "seed": s, "mse_test": e} for s in (0, 1) for e in (1.0 + s, 3.0 + s)], ["method"])
    >>> [round(line[name], 3) for name in ("mse_test", "mse_std_over_seeds", "mse_std_over_trajectories")]
    [2.5, 0.707, 1.414]
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return [dict(zip(keys, values, strict=True)) | _line(group) for values, group in groups.items()]


def _line(rows: list[Row]) -> dict[str, Any]:
    seeds = sorted({row["seed"] for row in rows})
    of_seed = lambda seed, name: [row[name] for row in rows if row["seed"] == seed]
    per_seed = [statistics.fmean(of_seed(seed, "mse_test")) for seed in seeds]
    # The variance over all trajectories is that within environments plus that between them.
    spreads = [
        (
            statistics.fmean(s**2 for s in of_seed(seed, "std_over_trajectories"))
            + statistics.pvariance(of_seed(seed, "mse_test"))
        )
        ** 0.5
        for seed in seeds
    ]
    return {
        "seeds": len(seeds),
        "mse_train": statistics.fmean(row["mse_train"] for row in rows),
        "mse_test": statistics.fmean(per_seed),
        "mse_std_over_seeds": statistics.stdev(per_seed) if len(seeds) > 1 else None,
        "mse_std_over_trajectories": statistics.fmean(spreads),
    }


def _short(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _number(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
