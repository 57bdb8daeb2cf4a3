"""From evaluations to rows, and from rows to the lines of a table."""

import statistics
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...evaluate import Evaluation
from .rows import KEYS, Row


def error_rows(setting: Row, train: Evaluation, test: Evaluation) -> list[dict[str, Any]]:
    """One row per environment and seed: the errors on both data sets, and the spread over test trajectories."""
    rows = []
    for seed in range(len(test.sums)):
        for e, name in enumerate(test.environments):
            each = _per_trajectory(test, seed, e)
            errors = {
                "mse_train": _mean(train, seed, e),
                "mse_test": float(each.mean()),
                "std_over_trajectories": float(each.std(ddof=1)),
            }
            rows.append({**setting, "environment": name, "seed": seed, **errors})
    return rows


def summarise(rows: Iterable[Row], keys: Sequence[str] = KEYS) -> list[dict[str, Any]]:
    """One line for all rows that agree in `keys`: mean errors, and their spread over seeds and over trajectories.

    Rows have `seed`, `mse_train`, `mse_test` and `std_over_trajectories`, the spread of `mse_test` in an environment.
    Where several runs make one line, their rows have a `group`, and `seconds` is the total. Every environment has the
    same weight.

    >>> row = {"method": "leads", "mse_train": 0.0, "std_over_trajectories": 1.0}
    >>> line, = summarise([{**row, "seed": s, "mse_test": e} for s in (0, 1) for e in (1.0 + s, 3.0 + s)], ["method"])
    >>> [round(line[name], 3) for name in ("mse_test", "mse_std_over_seeds", "mse_std_over_trajectories")]
    [2.5, 0.707, 1.414]
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return [dict(zip(keys, values, strict=True)) | _line(group) for values, group in groups.items()]


def spread(values: Sequence[float | int]) -> float | None:
    """The standard deviation: None for a single value, NaN if one of them is NaN.

    >>> spread([1.0, 3.0]), spread([1.0])
    (1.4142135623730951, None)
    """
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


def _line(rows: list[Row]) -> dict[str, Any]:
    seeds = sorted({row["seed"] for row in rows})
    of_seed = lambda seed, name: [row[name] for row in rows if row["seed"] == seed]
    per_seed = lambda name: [statistics.fmean(of_seed(seed, name)) for seed in seeds]
    # The variance over all trajectories is the mean variance within environments plus the variance between them.
    within = lambda seed: statistics.fmean(s**2 for s in of_seed(seed, "std_over_trajectories"))
    spreads = [(within(seed) + float(np.var(of_seed(seed, "mse_test")))) ** 0.5 for seed in seeds]
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
    """The seconds of all runs together; None for old results, which have none."""
    if not all("seconds" in row for row in rows):
        return None
    return sum(seconds for _, seconds in {(row.get("group", 0), row["seconds"]) for row in rows})


def _per_trajectory(evaluation: Evaluation, seed: int, e: int) -> np.ndarray:
    counts = evaluation.counts[e]
    return np.where(counts > 0, evaluation.sums[seed, e], 0.0).sum(axis=1) / counts.sum(axis=1)


def _mean(evaluation: Evaluation, seed: int, e: int) -> float:
    counts = evaluation.counts[e]
    return float(np.where(counts > 0, evaluation.sums[seed, e], 0.0).sum() / counts.sum())
