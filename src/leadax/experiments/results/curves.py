"""Learning curves: test errors during training, kept as rows with the step of each look as their `steps`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .finished import history_of, read_finished
from .rows import KEYS, Row, merged, read_rows, write_rows

# Looks that are kept of a run, at steps that grow by a common factor: a picture needs no more.
KEPT = 24

Curves = dict[tuple[str, str, str], dict[int, list[float]]]


def curves_of(rows: Sequence[Row]) -> Curves:
    """For each system, protocol and method the test errors of all seeds at each step."""
    found: Curves = {}
    for row in rows:
        curve = found.setdefault((row["system"], row["protocol"], row["method"]), {})
        curve.setdefault(row["steps"], []).append(row["mse_test"])
    return found


def keep_curves(folders: Sequence[Path], path: Path) -> None:
    """Add the curves of finished runs to a file."""
    rows = [row for folder in folders for row in _curve(folder)]
    if rows:
        write_rows(merged(rows, path), path)


def read_curves(path: Path) -> list[Row]:
    """The curves in a file; none if there is no file."""
    return read_rows(path) if path.exists() else []


def _curve(folder: Path) -> list[dict[str, Any]]:
    finished = read_finished(folder)
    if not finished:
        return []
    setting = {key: finished[0][key] for key in KEYS if key != "steps"}
    first_seed = min(row["seed"] for row in finished)
    history = history_of(folder)
    return [
        {**setting, "steps": snapshot.step, "seed": seed, "mse_test": error, "seconds": round(snapshot.seconds, 1)}
        for snapshot in (history[i] for i in thinned(len(history)))
        for seed, error in enumerate(snapshot.test or (), first_seed)
    ]


def thinned(count: int, kept: int = KEPT) -> list[int]:
    """The positions of at most `kept` of `count` looks, including the last one.

    >>> thinned(3), thinned(100, 5)
    ([0, 1, 2], [0, 2, 9, 31, 99])
    """
    return sorted({int(i) - 1 for i in np.geomspace(1, max(count, 1), kept).round()}) if count else []
