"""The rows of a study, kept as one CSV file per target.

A row holds the result of one seed, in one environment or in all: where it comes from, what was measured, and whatever
else its target adds.
"""

import csv
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..._atomic import replacing
from ...errors import InputError

Row = Mapping[str, Any]
# What a result is a result of.
KEYS = ("system", "method", "m", "n", "protocol", "steps")
NEEDED = (*KEYS, "seed", "mse_test")
NUMBERS = ("m", "n", "steps", "seed", "mse_test", "mse_train", "mse_minimum")
# Columns of text that may look like a number: version 1.0, settings named 12e45678.
TEXTS = ("version", "config")


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write rows as CSV, with a column for everything that any of them has."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with replacing(path, overwrite=True) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _short(value) for name, value in row.items()} for row in rows)


def read_rows(path: Path, needed: Sequence[str] = ()) -> list[Row]:
    """Read what `write_rows` wrote. What looks like a number is one; empty cells are left out.

    **Arguments**

    - `needed`: columns that must be there, in addition to those that all results have.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist: `leadax reproduce {path.stem}` makes it")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows: list[Row] = [{k: _value(k, text) for k, text in row.items() if text} for row in csv.DictReader(file)]
    except (UnicodeDecodeError, csv.Error, AttributeError) as error:
        raise _damaged(path, "it is no CSV file") from error
    if not rows:
        raise _damaged(path, "it has no rows")
    for row in rows:
        _check(path, row, (*NEEDED, *needed))
    return rows


def merged(rows: Sequence[Row], path: Path) -> list[Row]:
    """These rows, after those in the file that are of other systems, methods, sizes or protocols, or of lower seeds.

    Results are not replaced by those of less work, or of other data.
    """
    new = _by_setting(rows)
    before = _by_setting(read_rows(path) if path.exists() else [])
    kept = {setting: _beside(of, new[setting]) if setting in new else of for setting, of in before.items()}
    for setting in new.keys() & before.keys():
        own, both = _effort(new[setting]), _effort(kept[setting] + new[setting])
        _refuse_less(path, before[setting], {**own, "seeds": both["seeds"], "first": _first_seed(new[setting])})
    return [row for of in kept.values() for row in of] + list(rows)


def _beside(before: Sequence[Row], new: Sequence[Row]) -> list[Row]:
    """Those of lower seeds than the new ones."""
    return [row for row in before if row["seed"] < _first_seed(new)]


def _first_seed(rows: Sequence[Row]) -> int:
    return min(row["seed"] for row in rows)


def check_replaceable(path: Path, effort: Callable[[Row], Mapping[str, int] | None]) -> None:
    """An `InputError` before any work is done, if `merged` would refuse its results afterwards.

    **Arguments**

    - `effort`: the steps, seeds and `--seed` of what would replace a row, and the first of the seeds that are new; None
      if nothing would.
    """
    for rows in _by_setting(read_rows(path) if path.exists() else []).values():
        if (planned := effort(rows[0])) is not None:
            _refuse_less(path, rows, planned)


def _refuse_less(path: Path, before: Sequence[Row], effort: Mapping[str, int]) -> None:
    exact = ("--seed", "steps") if effort.get("first") else ("--seed",)
    for what, amount in _effort(before).items():
        if what in effort and (amount > effort[what] or (what in exact and amount != effort[what])):
            raise InputError(
                f"{path} has results of {amount} {what}, which these of {effort[what]} would replace or join: "
                "choose another `--results`; finished runs stay in the folder of runs"
            )


def _by_setting(rows: Sequence[Row]) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row.get(key) for key in KEYS if key != "steps"), []).append(row)
    return found


def _effort(rows: Sequence[Row]) -> dict[str, int]:
    """How much work went into the rows of one setting, and from which data."""
    distinct = lambda name: len({row.get(name) for row in rows})
    return {
        "steps": max(row["steps"] for row in rows),
        "steps before": max(row.get("pretraining_steps", 0) for row in rows),
        "seeds": distinct("seed"),
        "groups": distinct("group"),
        "--seed": rows[0].get("data_seed", 0),
    }


def _check(path: Path, row: Row, needed: Sequence[str]) -> None:
    for name in needed:
        if name not in row:
            raise _damaged(path, f"a row lacks `{name}`")
        if name in NUMBERS and isinstance(row[name], str):
            raise _damaged(path, f"`{name}` is `{row[name]}`")


def _damaged(path: Path, what: str) -> InputError:
    return InputError(f"{path} is not a table of these results, or is damaged: {what}")


def _short(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _value(name: str, text: str) -> Any:
    # An error such as 590696 is not a count.
    for kind in () if name in TEXTS else (float,) if name.startswith("mse") else (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
