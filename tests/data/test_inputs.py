"""Inputs go wherever the data go, and are known at every point."""

import copy
import pickle
from itertools import pairwise

import jax.random as jr
import numpy as np
import pytest

from leadax.data import Trajectories, folds, hold_out
from leadax.data.input_series import check_ends, filled
from leadax.errors import InputError

NAN = np.nan
NAMES = ("force", "rate", "dose")
KINDS = ("linear", "held", "impulse:x1")


def driven(points: int = 6, trajectories: int = 4) -> Trajectories:
    """Inputs that say which trajectory and which point they belong to: environment, trajectory and point as digits."""
    e, i, k = np.indices((2, trajectories, points))
    states = np.stack([e, i], axis=-1).astype(float)
    inputs = np.stack([100 * e + 10 * i + k, 100 * e + 10 * i + k, k == 1], axis=-1).astype(float)
    return Trajectories.from_arrays(range(points), states, inputs=inputs, input_names=NAMES, input_kinds=KINDS)


def agree(data: Trajectories) -> bool:
    """Whether every input is still that of its state and time."""
    assert (data.input_names, data.input_kinds) == (NAMES, KINDS)
    assert data.inputs is not None
    expected = 100 * data.states[..., 0] + 10 * data.states[..., 1] + data.times
    seen = ~np.isnan(expected)
    return bool(seen.any() and (data.inputs[seen][:, 0] == expected[seen]).all())


def test_parts_keep_inputs():
    data = driven()
    parts = [data.select("e1"), data.select(trajectories=[2, 0]), data.choose([[3], [0, 1]])]
    parts += [*data.split((0.5, 0.5), key=jr.key(0)), *data.split_times((0.4, 0.6)), *hold_out(data)]
    parts += [part for fold in folds(data) for part in fold]
    parts += hold_out(driven(20, 1))
    for part in (data, *parts):
        assert part is not None
        assert agree(part)
    assert copy.deepcopy(data) == pickle.loads(pickle.dumps(data)) == data
    assert agree(pickle.loads(pickle.dumps(data)))


def test_nested_lists_of_unequal_lengths():
    times, states = [[[0, 1, 2], [0, 1]], [[0, 5]]], [[np.ones((3, 1)), np.ones((2, 1))], [np.ones((2, 1))]]
    data = Trajectories.from_arrays(times, states, inputs=[[np.ones((3, 2)), np.zeros((2, 2))], [np.ones((2, 2))]])
    assert (data.input_names, data.input_kinds) == (("u0", "u1"), ("linear", "linear"))
    assert data.inputs is not None
    np.testing.assert_array_equal(data.inputs[0, 1], [[0, 0], [0, 0], [NAN, NAN]])
    assert data.select(0, 1).inputs.shape == (1, 1, 2, 2)  # pyright: ignore[reportOptionalMemberAccess]
    assert repr(data).endswith("channels x0, inputs u0 (linear), u1 (linear))")


def test_inputs_move_with_empty_trajectories():
    data = driven()
    states = data.states.copy()
    states[0, 1] = states[1, 0] = NAN
    moved = Trajectories.from_arrays(
        range(6), states, inputs=data.inputs, input_names=NAMES, input_kinds=KINDS, channels=data.channels
    )
    assert moved.counts.tolist() == [3, 3]
    assert agree(moved)
    assert moved == data.choose([[0, 2, 3], [1, 2, 3]])


def test_fields_and_numbers_on_a_grid():
    states = np.random.default_rng(0).random((2, 1, 4, 3, 2, 1))
    for inputs in (states[..., [0, 0]], states[:, :, :, 0, 0]):
        data = Trajectories.from_arrays(range(4), states, inputs=inputs)
        np.testing.assert_array_equal(data.inputs, inputs)  # pyright: ignore[reportArgumentType]
        np.testing.assert_array_equal(data.select(1).inputs[0], inputs[1])  # pyright: ignore[reportOptionalSubscript]
        np.testing.assert_array_equal(filled(data), inputs)


def test_a_point_with_an_input_alone_is_kept():
    states, inputs = np.array([[[[1.0], [NAN], [2.0], [NAN]]]]), np.array([[[[0], [5], [NAN], [6]]]])
    data = Trajectories.from_arrays([0, 1, 2, 3], states, inputs=inputs)
    assert data.lengths.tolist() == [[4]]
    np.testing.assert_array_equal(data.times[0, 0], [0, 1, 2, 3])


def test_one_state_and_times_ask_for_a_forecast():
    states = np.array([[[[1.0], [NAN], [NAN]]]])
    assert Trajectories.from_arrays(range(3), states, inputs=np.ones((1, 1, 3, 1))).lengths.tolist() == [[3]]
    assert Trajectories.from_arrays(range(3), states).lengths.tolist() == [[3]]


def test_fingerprint():
    """That of data without inputs is as it was (`test_trajectories`); every part of the inputs changes it."""
    base = driven()
    inputs = np.array(base.inputs)
    change = lambda **changes: Trajectories.from_arrays(
        range(6),
        base.states,
        **{"inputs": inputs, "input_names": NAMES, "input_kinds": KINDS} | changes,
    )
    assert change() == base
    nothing = {"inputs": None, "input_names": None, "input_kinds": None}
    others = [
        change(inputs=-inputs),
        change(input_names=("force", "rate", "drug")),
        change(input_kinds=("held", "held", "impulse:x1")),
        change(input_kinds=("linear", "held", "impulse:hidden0")),
        change(**nothing),
    ]
    assert len({data.fingerprint for data in (base, *others)}) == 6
    none = Trajectories.from_arrays(range(6), base.states, inputs=np.zeros((2, 4, 6, 0)))
    assert none.inputs is None
    assert none == others[-1]


def test_immutable():
    inputs = np.ones((1, 1, 3, 1))
    data = Trajectories.from_arrays(range(3), np.ones((1, 1, 3, 1)), inputs=inputs)
    inputs[:] = 0
    assert data.inputs is not None
    assert data.inputs.min() == 1
    with pytest.raises(ValueError, match="read-only"):
        data.inputs[...] = 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": np.ones((1, 1, 3))}, r"`inputs` must have the axes \(environment, trajectory, time, …, input\)"),
        ({"inputs": np.ones((1, 1, 4, 1))}, r"`times` and `inputs` differ in length"),
        ({"inputs": np.ones((1, 1, 3, 2, 1))}, r"must have the shape \(1, 1, 3, input\), like the states, got"),
        ({"inputs": [[np.ones((2, 1))]]}, "`times` must be nested in the same way as `inputs`"),
        ({"inputs": np.full((1, 1, 3, 1), np.inf)}, "`inputs` has an infinite value in environment number 0"),
        ({"input_names": ["a", "b"]}, "`input_names` must have 1 names, got 2"),
        ({"input_names": ["x0"]}, "`x0` is a channel and an input: rename one"),
        ({"input_kinds": []}, "`input_kinds` must have 1 kinds, one per input, got 0"),
        ({"input_kinds": ["hold"]}, "`u0` must be `linear`, `held` or `impulse:CHANNEL`, got `hold`"),
        ({"input_kinds": ["impulse:"]}, "must be `linear`, `held` or `impulse:CHANNEL`, got `impulse:`"),
        ({"input_kinds": ["impulse:gut"]}, "`u0` adds to `gut`, expected `x0`, `x1`, or `hidden0`, `hidden1`, …"),
        ({"inputs": None, "input_names": ["a"]}, "`input_names` must have 0 names, got 1"),
        (
            {"times": [0, 1, NAN], "states": np.array([[[[1, 1], [1, 1], [NAN] * 2]]])},
            "point 2 has an input but no time",
        ),
    ],
)
def test_refusals(changes, message):
    given = {"times": range(3), "states": np.ones((1, 1, 3, 2)), "inputs": np.ones((1, 1, 3, 1))}
    with pytest.raises(InputError, match=message):
        Trajectories.from_arrays(**given | changes)


def by_hand(times: np.ndarray, values: np.ndarray, kind: str) -> np.ndarray:
    """What an input is at all points of one trajectory, one point after the other."""
    given = ~np.isnan(values)
    if kind.startswith("impulse"):
        return np.where(given, values, 0)
    if kind == "linear":
        return np.interp(times, times[given], values[given])
    first, *_ = values[given]
    return np.array([np.append(first, values[: k + 1][given[: k + 1]])[-1] for k in range(len(times))])


def test_filled_against_a_plain_loop():
    rng = np.random.default_rng(0)
    lengths = [[5, 9], [7]]
    times = [[np.sort(rng.random(n)) for n in row] for row in lengths]
    inputs = [[np.where(rng.random((n, 3)) < 0.6, NAN, rng.random((n, 3))) for n in row] for row in lengths]
    for values in (values for row in inputs for values in row):
        values[rng.integers(len(values)), :] = 1.0
    states = [[np.ones((n, 2)) for n in row] for row in lengths]
    data = Trajectories.from_arrays(times, states, inputs=inputs, input_names=NAMES, input_kinds=KINDS)
    found = filled(data)
    assert np.isfinite(found).all()
    for e, i in ((0, 0), (0, 1), (1, 0)):
        n = lengths[e][i]
        for c, kind in enumerate(KINDS):
            np.testing.assert_allclose(found[e, i, :n, c], by_hand(times[e][i], inputs[e][i][:, c], kind), rtol=1e-14)
        tail = found[e, i, n:]
        np.testing.assert_array_equal(tail, np.broadcast_to(found[e, i, n - 1] * [1, 1, 0], tail.shape))


def test_filled_without_a_value():
    inputs = np.array([[[[1.0], [2.0]], [[NAN], [NAN]]]])
    make = lambda kind, names: Trajectories.from_arrays(
        range(2), np.ones((1, 2, 2, 1)), inputs=inputs, input_kinds=[kind], trajectory_names=names
    )
    for kind in ("linear", "held"):
        with pytest.raises(InputError, match="trajectory 1 of environment `e0` has no value of the input `u0`: give"):
            filled(make(kind, None))
    with pytest.raises(InputError, match="trajectory `b` of environment"):
        filled(make("held", [["a", "b"]]))
    np.testing.assert_array_equal(filled(make("impulse:x0", None))[0, 1], [[0], [0]])
    assert filled(Trajectories.from_arrays(range(2), np.ones((1, 1, 2, 1)))).shape == (1, 1, 2, 0)


def test_a_linear_input_goes_on_to_the_end():
    """Up to the largest gap between its values; what is held, and a single value, hold for ever."""
    inputs = np.full((1, 2, 9, 2), NAN)
    inputs[0, :, [0, 2, 5], 0], inputs[0, :, 1, 1] = 1.0, 2.0
    make = lambda end: Trajectories.from_arrays(
        np.append(np.arange(8.0), end), np.ones((1, 2, 9, 1)), inputs=inputs, input_kinds=["linear", "held"]
    )
    check_ends(make(8.0))
    with pytest.raises(InputError, match=r"`u0` of trajectory 0 .* ends at 5, before the trajectory does at 8\.5"):
        check_ends(make(8.5))
    inputs[:, :, 2:, 0] = NAN
    check_ends(make(8.5))
    check_ends(Trajectories.from_arrays(range(2), np.ones((1, 1, 2, 1))))


def gappy() -> Trajectories:
    """Inputs that are given at the first and the last of 21 points; every third point is observed."""
    times = np.arange(21.0)
    inputs = np.full((1, 1, 21, 2), NAN)
    inputs[0, 0, 0], inputs[0, 0, -1], inputs[0, 0, 12, 1] = (0, 5), (20, 9), 7
    states = np.where(times % 3 == 0, times, NAN)[None, None, :, None]
    return Trajectories.from_arrays(times, states, inputs=inputs, input_kinds=["linear", "held"])


@pytest.mark.parametrize("fractions", [(0.5, 0.5), (0.3, 0.3, 0.4)])
def test_windows_know_what_was_given_before_and_after_them(fractions):
    whole = dict(zip(gappy().times[0, 0], filled(gappy())[0, 0].tolist(), strict=True))
    windows = gappy().split_times(fractions)
    for window in windows:
        found = dict(zip(window.times[0, 0], filled(window)[0, 0].tolist(), strict=True))
        assert found == {time: whole[time] for time in found}
    for before, after in pairwise(windows):
        assert before.times[0, 0, -1] == after.times[0, 0, 0]
        assert before.observed[0, 0, -1].all(), "a forecast can start there"
    assert windows[-1].times.max() == 20


def test_held_out_ends_are_observed_and_the_past_ends_before_them():
    past, future = hold_out(gappy(), 0.4)
    assert future is not None
    assert np.flatnonzero(past.observed[0, 0, :, 0]).tolist() == [0, 3, 6, 9, 12]
    assert np.flatnonzero(future.observed[0, 0, :, 0]).tolist() == [0, 15, 18]
    whole = filled(gappy())[0, 0]
    np.testing.assert_array_equal(filled(past)[0, 0], whole[:15])
    np.testing.assert_array_equal(filled(future)[0, 0], whole)
