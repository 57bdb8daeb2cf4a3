"""From evaluations to the rows of a study."""

from typing import Any

import numpy as np

from ..evaluation import Evaluation
from .rows import Row


def error_rows(setting: Row, train: Evaluation, test: Evaluation) -> list[dict[str, Any]]:
    """One row for each environment and seed: errors on both data sets, and the spread over test trajectories."""
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


def _per_trajectory(evaluation: Evaluation, seed: int, e: int) -> np.ndarray:
    counts = evaluation.counts[e]
    return np.where(counts > 0, evaluation.sums[seed, e], 0.0).sum(axis=1) / counts.sum(axis=1)


def _mean(evaluation: Evaluation, seed: int, e: int) -> float:
    counts = evaluation.counts[e]
    return float(np.where(counts > 0, evaluation.sums[seed, e], 0.0).sum() / counts.sum())
