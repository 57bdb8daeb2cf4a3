"""Trajectories of very unequal lengths or numbers, held in parts: memory then follows the data, not the padding.

A part has the trajectories of about one length, of the environments that have about equally many of them; it is padded
to less than four times its data. What computes needs arrays in one piece: these are padded when they are asked for.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..errors import InputError
from . import _canonical

LARGE = 1 << 28  # bytes; up to here, data are in one piece
WASTE = 8  # as are those that padding makes less than so many times larger


Part: TypeAlias = Any  # `Trajectories` in one piece, a module that imports this one


class Piece(NamedTuple):
    """One trajectory, padded nowhere."""

    times: np.ndarray
    states: np.ndarray
    inputs: np.ndarray | None


class Parts(NamedTuple):
    """All parts, and where each trajectory is: `places[environment][trajectory]` is a part and a place in it."""

    parts: tuple[Part, ...]
    places: tuple[tuple[tuple[int, int, int], ...], ...]

    def lengths(self) -> np.ndarray:
        """The number of points in each trajectory; 0 for padding."""
        found = np.zeros((len(self.places), max(map(len, self.places))), int)
        for e, row in enumerate(self.places):
            for i, (part, inner, place) in enumerate(row):
                found[e, i] = self.parts[part].lengths[inner, place]
        return found

    def one(self, name: str, e: int, i: int) -> np.ndarray:
        """An array (`times`, `states`, `inputs`) of one trajectory, without padding."""
        part, inner, place = self.places[e][i]
        data = self.parts[part]
        return getattr(data, name)[inner, place, : data.lengths[inner, place]]

    def each(self, name: str) -> Iterator[tuple[int, int, np.ndarray]]:
        """An array of all trajectories in order, each with its environment and position."""
        for e, row in enumerate(self.places):
            for i in range(len(row)):
                yield e, i, self.one(name, e, i)

    def padded(self, name: str, lengths: np.ndarray) -> np.ndarray | None:
        """An array in one piece, read-only; an `InputError` if it does not fit into memory."""
        if getattr(self.parts[0], name) is None:
            return None
        size = (len(lengths), lengths.shape[1], int(lengths.max()))
        _canonical.check_padding(size, int(lengths.sum()), math.prod(self.parts[0].state_shape))
        whole = np.full((*size, *self.one(name, 0, 0).shape[1:]), np.nan)
        for e, i, values in self.each(name):
            whole[e, i, : len(values)] = values
        whole.setflags(write=False)
        return whole


def wasteful(shape: tuple[int, ...], points: int) -> bool:
    """Whether so many points are held in parts rather than padded to `(env, traj, time, *space, channel)`.

    It depends on the contents alone, since their fingerprint does.
    """
    return 8 * math.prod(shape) > LARGE and math.prod(shape[:3]) > WASTE * points


def pieces(times: Any, states: Any, inputs: Any) -> list[list[Piece]] | None:
    """The trajectories in nested lists `[environment][trajectory]`; None if all of them may as well be in one piece."""
    nested = all(_canonical.is_nested(given) for given in (times, states, *([] if inputs is None else [inputs])))
    if not nested or any(isinstance(given, np.ndarray) for given in (states, inputs)):
        return None
    found = _canonical.flat(times, states, "states")
    lengths = [len(t) for _, _, t, _ in found]
    if not wasteful((len(states), max(map(len, states)), max(lengths), *found[0][3].shape[1:]), sum(lengths)):
        return None
    acting = [None] * len(found) if inputs is None else [u for *_, u in _canonical.flat(times, inputs, "inputs")]
    rows: list[list[Piece]] = [[] for _ in states]
    for (e, i, t, x), u in zip(found, acting, strict=True):
        for what, values in (("states", x), *([] if u is None else [("inputs", u)])):
            _canonical.check_finite(what, values, (e, i))
        rows[e].append(Piece(t, x, u))
    return rows


def parted(
    rows: Sequence[Sequence[Piece]],
    environments: Sequence[str],
    names: Sequence[Sequence[str]],
    make: Callable[..., Part],
) -> Parts:
    """The parts of such data. Each is checked as all data are.

    - `names`: of the trajectories, for messages;
    - `make`: `Trajectories.from_arrays`, for one part.
    """
    for e in (e for e, row in enumerate(rows) if not row):
        raise InputError(f"environment `{environments[e]}` has no trajectory with an observed value: remove it")
    parts, places = [], [[(0, 0, 0)] * len(row) for row in rows]
    for number, group in enumerate(_groups(rows)):
        nested = lambda of, group=group: [[of(e, i) for i in chosen] for e, chosen in group.items()]
        more = {} if rows[0][0].inputs is None else {"inputs": nested(lambda e, i: rows[e][i].inputs)}
        part = make(
            nested(lambda e, i: rows[e][i].times),
            nested(lambda e, i: rows[e][i].states),
            environments=[environments[e] for e in group],
            trajectory_names=nested(lambda e, i: names[e][i]),
            **more,
        )
        parts.append(part)
        for inner, (e, chosen) in enumerate(group.items()):
            for place, i in enumerate(chosen):
                places[e][i] = (number, inner, place)
    return Parts(tuple(parts), tuple(map(tuple, places)))


def _groups(rows: Sequence[Sequence[Piece]]) -> list[dict[int, list[int]]]:
    """The trajectories of each part: positions by environment. Lengths and numbers in a part differ by less than 2."""
    groups: dict[tuple[int, int], dict[int, list[int]]] = defaultdict(dict)
    for e, row in enumerate(rows):
        lengths = np.array([len(piece.times).bit_length() for piece in row])
        for length in np.unique(lengths).tolist():
            chosen = np.flatnonzero(lengths == length).tolist()
            groups[length, len(chosen).bit_length()][e] = chosen
    return list(groups.values())
