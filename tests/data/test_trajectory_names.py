"""Trajectories keep their names, whatever is done to the data; data without names are as they always were."""

import copy
import pickle

import jax.random as jr
import numpy as np
import pytest

from leadax.data import Trajectories, hold_out
from leadax.errors import InputError

NAMES = (("a", "b", "c", "d"), ("e", "f", "g", "d"))


def named(names=NAMES, points: int = 4) -> Trajectories:
    """Every state says which trajectory it belongs to: its name as a number."""
    states = np.array([[[[ord(name[-1])]] * points for name in row] for row in NAMES], float)
    return Trajectories.from_arrays(range(points), states, trajectory_names=names)


def agree(data: Trajectories) -> bool:
    """Whether the names are still those of the states."""
    assert data.trajectory_names is not None
    found = [[chr(int(np.nanmax(data.states[e, i]))) for i in range(n)] for e, n in enumerate(data.counts)]
    return data.trajectory_names == tuple(map(tuple, found))


def test_parts_keep_names():
    data = named()
    assert data.select("e1").trajectory_names == (("e", "f", "g", "d"),)
    assert data.select(trajectories=[2, 0]).trajectory_names == (("c", "a"), ("g", "e"))
    assert data.choose([[3], [0, 1]]).trajectory_names == (("d",), ("e", "f"))
    whole = [*data.split((0.5, 0.5), key=jr.key(0)), *data.split_times((0.5, 0.5)), *hold_out(data)]
    ends = hold_out(named(points=20).choose([[1], [2, 3]]), 0.3)
    for part in (data, *whole, *ends):
        assert part is not None
        assert agree(part)
    assert ends[0].trajectory_names == ends[1].trajectory_names == (("b",), ("g", "d"))
    assert copy.deepcopy(data) == pickle.loads(pickle.dumps(data)) == data
    assert pickle.loads(pickle.dumps(data)).trajectory_names == NAMES


def test_names_move_with_empty_trajectories():
    states = named().states.copy()
    states[0, 1] = states[1, 3] = states[1, 0] = np.nan
    data = Trajectories.from_arrays(range(4), states, trajectory_names=NAMES)
    assert data.trajectory_names == (("a", "c", "d"), ("f", "g"))
    assert agree(data)
    assert agree(data.select(trajectories=slice(1, None)))


def test_names_that_count_are_no_names():
    counted = named((("0", "1", "2", "3"),) * 2)
    assert counted.trajectory_names is None
    assert counted.fingerprint == named(None).fingerprint
    for names in [("1", "2", "3", "4"), ("0", "2", "1", "3"), ("00", "1", "2", "3")]:
        assert named((("0", "1", "2", "3"), names)).trajectory_names == (("0", "1", "2", "3"), names)


def test_fingerprint():
    """Without names it is the one that version 0.1 wrote into files; every name changes it."""
    plain = Trajectories.from_arrays(range(3), np.arange(6.0).reshape(1, 2, 3, 1))
    assert plain.fingerprint == "f8ed791915b53d8f5c07efa87805b7fd07ed5b96d2604cab10cec2231c95d45f"
    others = [named(), named((NAMES[0], ("e", "f", "g", "h"))), named((NAMES[1], NAMES[0])), named(None)]
    assert len({data.fingerprint for data in others}) == 4


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            (("a", "a", "c", "d"), NAMES[1]),
            "`trajectory_names` of environment `e0` must be unique, but `a` occurs more",
        ),
        ((NAMES[0], ("a", "b")), "`trajectory_names` of environment `e1` must have 4 names, got 2"),
        ((NAMES[0], tuple("abcde")), "`trajectory_names` of environment `e1` must have 4 names, got 5"),
        ((NAMES[0],), r"`trajectory_names` must have one list per environment \(2\), got 1"),
    ],
)
def test_bad_names(names, message):
    with pytest.raises(InputError, match=message):
        named(names)


def test_messages_name_the_trajectory():
    with pytest.raises(InputError, match="trajectory `b` of environment `e0` has 1 point"):
        Trajectories.from_arrays([[[0, 1], [0]]], [[np.ones((2, 1)), np.ones((1, 1))]], trajectory_names=[["a", "b"]])
