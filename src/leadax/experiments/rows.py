"""The rows of a study: one long CSV file per target, and what is averaged over.

A row is about one environment in one seed's model: where it comes from, what was measured, and what else a target adds.
"""

import csv
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._atomic import replacing
from ..errors import InputError
from .protocols import PROTOCOLS

Row = Mapping[str, Any]
KEYS = ("system", "method", "m", "n", "protocol", "steps")
NEEDED = (*KEYS, "seed", "mse_test")
NUMBERS = ("m", "n", "steps", "seed", "mse_test", "mse_train", "mse_minimum")


def write_rows(rows: Sequence[Row], path: Path) -> None:
    """Write rows as CSV, a column for everything that any of them has."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    with replacing(path, overwrite=True) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: _short(value) for name, value in row.items()} for row in rows)


def read_rows(path: Path, needed: Sequence[str] = ()) -> list[Row]:
    """Read what `write_rows` wrote; what looks like a number is one, and what is empty is not there.

    - `needed`: columns that must be there, beside those of all results.
    """
    if not path.exists():
        raise InputError(f"{path} does not exist: `leadax reproduce {path.stem}` makes it")
    damaged = lambda what: InputError(f"{path} is not a table of these results, or is damaged: {what}")
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows: list[Row] = [{k: _value(k, text) for k, text in row.items() if text} for row in csv.DictReader(file)]
    except (UnicodeDecodeError, csv.Error, AttributeError) as error:
        raise damaged("it is no CSV file") from error
    if not rows:
        raise damaged("it has no rows")
    for row in rows:
        for name in (*NEEDED, *needed):
            if name not in row:
                raise damaged(f"a row lacks `{name}`")
            if name in NUMBERS and isinstance(row[name], str):
                raise damaged(f"`{name}` is `{row[name]}`")
    return rows


def merged(rows: Sequence[Row], path: Path) -> list[Row]:
    """These rows, and before them those in the file of other systems, methods, sizes or protocols.

    Results are not replaced by those of less work, or of other data.
    """
    new = _by_setting(rows)
    before = _by_setting(read_rows(path) if path.exists() else [])
    for setting in new.keys() & before.keys():
        _refuse_less(path, before[setting], _effort(new[setting]))
    return [row for setting, of in before.items() if setting not in new for row in of] + list(rows)


def check_replaceable(path: Path, effort: Callable[[Row], Mapping[str, int] | None]) -> None:
    """`InputError` before the work is done, where it is known by then that `merged` would refuse what comes of it.

    **Arguments**

    - `effort`: the steps, seeds and `--seed` of what would replace a row; None if nothing would.
    """
    for rows in _by_setting(read_rows(path) if path.exists() else []).values():
        if (asked := effort(rows[0])) is not None:
            _refuse_less(path, rows, asked)


def _refuse_less(path: Path, before: Sequence[Row], effort: Mapping[str, int]) -> None:
    for what, amount in _effort(before).items():
        if what in effort and (amount > effort[what] or (what == "--seed" and amount != effort[what])):
            raise InputError(
                f"{path} has results of {amount} {what}, which these of {effort[what]} would replace: "
                "choose another `--results`; what is done is kept in the folder of runs"
            )


def _by_setting(rows: Sequence[Row]) -> dict[tuple[Any, ...], list[Row]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row.get(key) for key in KEYS if key != "steps"), []).append(row)
    return found


def _effort(rows: Sequence[Row]) -> dict[str, int]:
    """How much work there is behind rows of one setting, and which data."""
    distinct = lambda name: len({row.get(name) for row in rows})
    return {
        "steps": max(row["steps"] for row in rows),
        "steps before": max(row.get("pretraining_steps", 0) for row in rows),
        "seeds": distinct("seed"),
        "groups": distinct("group"),
        "--seed": rows[0].get("data_seed", 0),
    }


def summarise(rows: Iterable[Row], keys: Sequence[str] = KEYS) -> list[dict[str, Any]]:
    """One line for all rows that agree in `keys`: means of errors, and their spread over seeds and over trajectories.

    Rows have `seed`, `mse_train`, `mse_test` and `std_over_trajectories`, the spread of `mse_test` in an environment;
    those of several runs have a `group`, and `seconds` are then those of all of them. Every environment counts alike.

    >>> row = {"method": "leads", "mse_train": 0.0, "std_over_trajectories": 1.0}
    >>> line, = summarise([{**row, "seed": s, "mse_test": e} for s in (0, 1) for e in (1.0 + s, 3.0 + s)], ["method"])
    >>> [round(line[name], 3) for name in ("mse_test", "mse_std_over_seeds", "mse_std_over_trajectories")]
    [2.5, 0.707, 1.414]
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return [dict(zip(keys, values, strict=True)) | _line(group) for values, group in groups.items()]


def reported(line: Row) -> tuple[float, float | None]:
    """What is set beside the paper's number, and its spread over seeds.

    The smallest test error on the way, as the paper has it, or that of the last step: the protocol decides.
    """
    if PROTOCOLS[line["protocol"]].reports_minimum and line.get("mse_minimum") is not None:
        return line["mse_minimum"], line["mse_minimum_std_over_seeds"]
    return line["mse_test"], line["mse_std_over_seeds"]


def spread(values: Sequence[float | int]) -> float | None:
    """The standard deviation; None of a single value, and not a number where one of them is none.

    >>> spread([1.0, 3.0]), spread([1.0])
    (1.4142135623730951, None)
    """
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _line(rows: list[Row]) -> dict[str, Any]:
    seeds = sorted({row["seed"] for row in rows})
    of_seed = lambda seed, name: [row[name] for row in rows if row["seed"] == seed]
    per_seed = lambda name: [statistics.fmean(of_seed(seed, name)) for seed in seeds]
    # The variance over all trajectories is that within environments plus that between them.
    spreads = [
        (
            statistics.fmean(s**2 for s in of_seed(seed, "std_over_trajectories"))
            + float(np.var(of_seed(seed, "mse_test")))
        )
        ** 0.5
        for seed in seeds
    ]
    line = {
        "seeds": len(seeds),
        "environments": len({(row.get("group"), row.get("environment")) for row in rows}),
        "mse_train": statistics.fmean(row["mse_train"] for row in rows),
        "mse_test": statistics.fmean(per_seed("mse_test")),
        "mse_std_over_seeds": spread(per_seed("mse_test")),
        "mse_std_over_trajectories": statistics.fmean(spreads),
        "seconds": _seconds(rows),
    }
    if all("mse_minimum" in row for row in rows):
        minima = per_seed("mse_minimum")
        line |= {"mse_minimum": statistics.fmean(minima), "mse_minimum_std_over_seeds": spread(minima)}
    return line


def _seconds(rows: list[Row]) -> float | int | None:
    """Of all runs together; results that were kept before seconds were have none."""
    if not all("seconds" in row for row in rows):
        return None
    return sum({row.get("group", 0): row["seconds"] for row in rows}.values())


def _short(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _value(name: str, text: str) -> Any:
    # A version such as 1.0 is not a number, nor settings called 12e45678, and an error such as 590696 is no count.
    for kind in () if name in ("version", "config") else (float,) if name.startswith("mse") else (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
