"""Test errors on the way, from what runs log: rows like others, with the step of the look as their `steps`."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .rows import KEYS, Row, merged, read_rows, write_rows
from .study import ROWS

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
    rows = [row for folder in folders if (folder / ROWS).exists() for row in _curve(folder)]
    if rows:
        write_rows(merged(rows, path), path)


def read_curves(path: Path) -> list[Row]:
    """The curves of a file; none if there is no file."""
    return read_rows(path) if path.exists() else []


def _curve(folder: Path) -> list[dict[str, Any]]:
    setting = {key: json.loads((folder / ROWS).read_text())[0][key] for key in KEYS if key != "steps"}
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [
        {**setting, "steps": look["step"], "seed": seed, "mse_test": error, "seconds": round(look["seconds"], 1)}
        for look in (lines[i] for i in thinned(len(lines)))
        for seed, error in enumerate(look["test"])
    ]


def thinned(count: int, kept: int = KEPT) -> list[int]:
    """Places of at most so many of `count` looks, the last one among them.

    >>> thinned(3), thinned(100, 5)
    ([0, 1, 2], [0, 2, 9, 31, 99])
    """
    return sorted({int(i) - 1 for i in np.geomspace(1, max(count, 1), kept).round()}) if count else []
