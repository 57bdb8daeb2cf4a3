"""Names of trajectories. Those that only count from 0 say nothing that the order does not say: they are left out."""

from collections.abc import Sequence

import numpy as np

from ..errors import InputError
from . import _canonical

Names = tuple[tuple[str, ...], ...]


def canonical(
    given: Sequence[Sequence[str]] | None, real: Sequence[np.ndarray] | np.ndarray, environments: Sequence[str]
) -> Names | None:
    """The names of the trajectories that have an observed value; `None` if all environments count 0, 1, 2, …

    - `given`: for each environment, the names along the axis of trajectories. Padding at the end needs none.
    - `real`: for each environment, which of its trajectories have an observed value.
    """
    if given is None:
        return None
    if len(given) != len(environments):
        raise InputError(
            f"`trajectory_names` must have one list per environment ({len(environments)}), got {len(given)}"
        )
    found = tuple(_of_one(names, real[e], environments[e]) for e, names in enumerate(given))
    return None if all(names == counted(len(names)) for names in found) else found


def counted(count: int) -> tuple[str, ...]:
    """The names of trajectories that were never named: their positions."""
    return tuple(map(str, range(count)))


def padded(names: Names) -> np.ndarray:
    """The names as an array `(env, traj)` of strings, empty for padding."""
    width = max(map(len, names))
    return np.array([[*row, *[""] * (width - len(row))] for row in names], object)


def taken(names: Names | None, chosen: Sequence[tuple[int, Sequence[int]]]) -> Names | None:
    """The names of the chosen trajectories, given as pairs of an environment and positions in it."""
    if names is None:
        return None
    grid = padded(names)  # as wide as the arrays, so that a position means the same here and there
    return tuple(tuple(str(grid[e, i]) for i in kept) for e, kept in chosen)


def _of_one(names: Sequence[str], real: np.ndarray, environment: str) -> tuple[str, ...]:
    places = np.flatnonzero(real).tolist()
    if len(names) > len(real) or (places and places[-1] >= len(names)):
        raise InputError(
            f"`trajectory_names` of environment `{environment}` must have {len(places)} names, got {len(names)}"
        )
    return _canonical.unique_names(
        f"trajectory_names` of environment `{environment}", [names[i] for i in places], len(places)
    )
