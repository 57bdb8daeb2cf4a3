"""The container: immutable, canonical, and split without loss or overlap."""

import hypothesis.strategies as st
import jax.random as jr
import numpy as np
import pytest
from hypothesis import given
from tests.data.strategies import assert_same, examples, parts

from leadax.data import Trajectories
from leadax.errors import InputError


def rows(data: Trajectories, e: int) -> list[bytes]:
    """The trajectories of one environment, each as bytes, without padding."""
    ends = data.lengths[e, : data.counts[e]]
    return [data.times[e, i, :end].tobytes() + data.states[e, i, :end].tobytes() for i, end in enumerate(ends)]


def numbered(environments: int = 3, trajectories: int = 7, times: int = 4) -> Trajectories:
    """Every state says which trajectory it belongs to."""
    which = np.arange(trajectories)[None, :, None, None]
    return Trajectories.from_arrays(range(times), np.broadcast_to(which, (environments, trajectories, times, 1)))


@examples(60)
@given(drawn=parts())
def test_canonical_form(drawn):
    data = Trajectories.from_arrays(**drawn)
    assert data.states.shape[:3] == data.times.shape
    assert data.counts.tolist() == [len(row) for row in drawn["states"]]
    for e, row in enumerate(drawn["times"]):
        for i, times in enumerate(row):
            assert data.lengths[e, i] == len(times)
            np.testing.assert_array_equal(data.times[e, i, : len(times)], times)
            np.testing.assert_array_equal(data.states[e, i, : len(times)], drawn["states"][e][i])
    assert np.isnan(data.states[np.isnan(data.times)]).all()
    assert repr(data).startswith("Trajectories(")


@examples(60)
@given(drawn=parts(), more=st.tuples(st.integers(0, 2), st.integers(0, 2)), front=st.booleans())
def test_fingerprint_does_not_depend_on_padding(drawn, more, front):
    data = Trajectories.from_arrays(**drawn)
    space = [(0, 0)] * (data.states.ndim - 3)
    # Empty trajectories may stand before or behind the real ones; missing points only behind.
    pad = ((0, 0), (more[0], 0) if front else (0, more[0]), (0, more[1]))
    padded = Trajectories(
        times=np.pad(data.times, pad, constant_values=np.nan),
        states=np.pad(data.states, (*pad, *space), constant_values=np.nan),
        environments=data.environments,
        channels=data.channels,
        parameters=data.parameters,
        attributes=data.attributes,
    )
    assert_same(padded, data)
    assert padded == data
    assert hash(padded) == hash(data)


def test_fingerprint_changes_with_every_field():
    base = {
        "times": np.arange(3.0),
        "states": np.arange(12.0).reshape(2, 1, 3, 2),
        "environments": ["a", "b"],
        "channels": ["u", "v"],
        "parameters": {"rate": [1, 2]},
        "attributes": {"system": "one"},
    }
    holed = base["states"].copy()
    holed[1, 0, 1, 0] = np.nan
    changes = [
        {"times": np.array([0, 1, 2.5])},
        {"states": -base["states"]},
        {"states": holed},
        {"states": base["states"].reshape(2, 1, 3, 2, 1), "channels": ["u"]},
        {"environments": ["a", "c"]},
        {"environments": ["b", "a"]},
        {"channels": ["u", "w"]},
        {"parameters": {"rate": [1, 3]}},
        {"parameters": {"speed": [1, 2]}},
        {"parameters": {}},
        {"attributes": {"system": "two"}},
        {"attributes": {"system": "one", "protocol": ""}},
    ]
    prints = [Trajectories.from_arrays(**(base | change)).fingerprint for change in [{}, *changes]]
    assert len(set(prints)) == len(prints)
    assert Trajectories.from_arrays(**base).fingerprint == prints[0]
    assert Trajectories.from_arrays(**base) != "something else"


def test_fingerprint_is_fixed_for_ever():
    """Files and runs store it: a change of how it is computed would call all of them damaged."""
    states = np.arange(12.0).reshape(2, 1, 3, 2)
    data = Trajectories.from_arrays(range(3), states, parameters={"rate": [1, 2]}, attributes={"system": "é"})
    assert data.fingerprint == "63aedf13593009a613cbbc2011c22fcc91ed8b3aa825fb693812a90081233d42"


@examples(20)
@given(drawn=parts())
def test_immutable(drawn):
    data = Trajectories.from_arrays(**drawn)
    for array in (data.times, data.states, *data.parameters.values()):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        data.times = data.times  # pyright: ignore[reportAttributeAccessIssue]
    for mapping in (data.parameters, data.attributes):
        with pytest.raises(TypeError):
            mapping["new"] = 0


def test_does_not_share_memory_with_what_it_was_made_from():
    times, states, rate = np.arange(3.0), np.zeros((1, 1, 3, 1)), np.ones(1)
    data = Trajectories.from_arrays(times, states, parameters={"rate": rate})
    before = data.fingerprint
    times[:], states[:], rate[:] = -1, -1, -1
    data.__dict__.pop("fingerprint")
    assert data.fingerprint == before


@examples(40)
@given(drawn=parts(), choice=st.data())
def test_select(drawn, choice):
    data = Trajectories.from_arrays(**drawn)
    count = len(data.environments)
    chosen = choice.draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True))
    kept = choice.draw(st.integers(1, int(data.counts.min())))
    part = data.select(chosen, slice(kept))
    assert part.environments == tuple(data.environments[e] for e in chosen)
    for position, e in enumerate(chosen):
        assert rows(part, position) == rows(data, e)[:kept]
    for name, values in data.parameters.items():
        np.testing.assert_array_equal(part.parameters[name], values[chosen])
    assert part.attributes == data.attributes
    assert_same(data.select(), data)
    assert_same(data.select([data.environments[e] for e in chosen], slice(kept)), part)


def test_select_refuses():
    for choice, message in {"zebra": "no environment `zebra`", 3: "no environment number 3"}.items():
        with pytest.raises(InputError, match=message):
            numbered().select(choice)
    with pytest.raises(InputError, match="no trajectory number 7"):
        numbered().select(trajectories=7)
    with pytest.raises(InputError, match="got no environments"):
        numbered().select([])
    assert numbered().select(-1, -1).states.max() == 6


@examples(40)
@given(drawn=parts(min_trajectories=2), seed=st.integers(0, 100), share=st.floats(0.05, 0.95))
def test_split_is_disjoint_and_complete(drawn, seed, share):
    data = Trajectories.from_arrays(**drawn)
    train, test = data.split((share, 1 - share), key=jr.key(seed))
    for e in range(len(data.environments)):
        assert sorted(rows(train, e) + rows(test, e)) == sorted(rows(data, e))
        assert rows(train, e)
        assert rows(test, e)
    assert train.environments == test.environments == data.environments


@examples(20)
@given(seed=st.integers(0, 1000), counts=st.lists(st.integers(3, 9), min_size=1, max_size=4))
def test_split_sends_the_same_trajectory_to_the_same_part(seed, counts):
    full = numbered(1, 9)
    states = [[full.states[0, i] for i in range(count)] for count in counts]
    data = Trajectories.from_arrays([[full.times[0, 0]] * count for count in counts], states)
    same = [count for count in counts if count == counts[0]]
    for part in data.split((0.5, 0.25, 0.25), key=jr.key(seed)):
        inside = [sorted({row[0, 0] for row in part.states[e, : part.counts[e]]}) for e in range(len(counts))]
        alike = [found for found, count in zip(inside, counts, strict=True) if count == counts[0]]
        assert alike == [alike[0]] * len(same)


def test_split_depends_on_the_key_only():
    data = numbered(trajectories=40)
    assert data.split((0.5, 0.5), key=jr.key(1))[0] == data.split((0.5, 0.5), key=jr.key(1))[0]
    assert data.split((0.5, 0.5), key=jr.key(1))[0] != data.split((0.5, 0.5), key=jr.key(2))[0]
    assert [part.counts[0] for part in data.split((0.6, 0.3, 0.1), key=jr.key(0))] == [24, 12, 4]


def test_split_refuses():
    with pytest.raises(InputError, match="add up to 1"):
        numbered().split((0.5, 0.4), key=jr.key(0))
    with pytest.raises(InputError, match="too few for 8 parts"):
        numbered().split([1 / 8] * 8, key=jr.key(0))


@examples(40)
@given(drawn=parts(min_times=5), share=st.floats(0.3, 0.7))
def test_split_times_cuts_without_loss(drawn, share):
    """Without holes: windows are consecutive, and share the one point where they meet."""
    states = [[np.nan_to_num(x) for x in row] for row in drawn["states"]]
    data = Trajectories.from_arrays(**(drawn | {"states": states}))
    past, future = data.split_times((share, 1 - share))
    for e, count in enumerate(data.counts):
        for i in range(count):
            a, b, whole = past.lengths[e, i], future.lengths[e, i], data.lengths[e, i]
            assert a + b == whole + 1
            assert past.times[e, i, a - 1] == future.times[e, i, 0]
            joined = np.concatenate([past.states[e, i, :a], future.states[e, i, 1:b]])
            np.testing.assert_array_equal(joined, data.states[e, i, :whole])


def test_state_without_a_time_is_not_cut_off():
    with pytest.raises(InputError, match="point 2 has a state but no time"):
        Trajectories.from_arrays([0, 1, np.nan], np.zeros((1, 1, 3, 1)))


def test_extreme_times_do_not_overflow():
    data = Trajectories.from_arrays([-1.7e308, 0, 1.7e308], np.zeros((1, 1, 3, 1)))
    assert data.lengths.tolist() == [[3]]


def test_positions_of_numpy_and_masks():
    data = Trajectories.from_arrays(range(3), np.arange(12.0).reshape(2, 2, 3, 1), environments=np.array(["a", "b"]))
    assert data.select(np.int64(1)).environments == ("b",)
    assert data.select(np.array([1, 0]), np.array([1])).states[0, 0, 0, 0] == 9.0
    with pytest.raises(InputError, match="not by a mask"):
        data.select([True, False])
    with pytest.raises(InputError, match="not by a mask"):
        data.select("a", [True, False])


def test_copies_and_pickles():
    import copy
    import pickle

    data = Trajectories.from_arrays(range(3), np.ones((1, 1, 3, 1)), parameters={"rate": [2.0]})
    assert copy.deepcopy(data) == data
    assert pickle.loads(pickle.dumps(data)) == data
