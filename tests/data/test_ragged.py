"""Data of very unequal lengths are held in parts: nobody may notice but by the memory that they take."""

import copy
import pickle

import jax.random as jr
import numpy as np
import pytest

from leadax import InputError, Trajectories, load
from leadax.data import _ragged


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Let small data be held in parts."""
    monkeypatch.setattr(_ragged, "LARGE", 0)
    monkeypatch.setattr(_ragged, "WASTE", 4)


def made(seed, *, inputs, names):
    """The same data in parts and in one piece."""
    chance = np.random.default_rng(seed)
    lengths = [[600], *[[int(n) for n in 2 ** chance.uniform(1, 7, size=chance.integers(1, 9))] for _ in range(4)]]
    times = [[np.cumsum(chance.uniform(0.1, 1, n)) for n in row] for row in lengths]
    holes = lambda n: np.where(chance.random((n, 2)) < 0.1, np.nan, chance.normal(size=(n, 2)))
    states = [[holes(n) for n in row] for row in lengths]
    states[0][0][0] = 1.0
    states[1].insert(0, np.full((4, 2), np.nan))  # an empty one is left out
    times[1].insert(0, np.arange(4.0))
    about = {"channels": ["u", "v"], "parameters": {"rate": range(5)}, "attributes": {"system": "none"}}
    if names:
        about["trajectory_names"] = [[f"{e}-{i}" for i in range(len(row))] for e, row in enumerate(times)]
    if inputs:
        given = [[chance.normal(size=(len(t), 1)) for t in row] for row in times]
        about |= {"inputs": given, "input_names": ["force"], "input_kinds": ["held"]}
    parts = Trajectories.from_arrays(times, states, **about)
    whole = Trajectories(parts.times, parts.states, parts.environments, parts.channels, parts.parameters,
                         parts.attributes, parts.trajectory_names, parts.inputs, parts.input_names,
                         parts.input_kinds)  # fmt: skip
    again = Trajectories.from_arrays(times, states, **about)
    assert again._in_parts is not None
    assert whole._in_parts is None
    return again, whole, times, states


@pytest.mark.parametrize("inputs", [False, True])
@pytest.mark.parametrize("names", [False, True])
def test_as_in_one_piece(tmp_path, inputs, names):
    for seed in range(4):
        parts, whole, times, states = made(seed, inputs=inputs, names=names)
        assert parts == whole
        assert repr(parts) == repr(whole)
        assert (parts.counts.tolist(), parts.space) == (whole.counts.tolist(), ())
        chosen = parts.select([3, 0], slice(2))
        assert chosen == whole.select([3, 0], slice(2))
        assert parts.choose([[0]] * 5) == whole.choose([[0]] * 5)
        assert copy.deepcopy(parts) == pickle.loads(pickle.dumps(parts)) == whole
        for ending in ("csv", "parquet"):
            parts.save(tmp_path / f"{seed}.{ending}")
            assert load(tmp_path / f"{seed}.{ending}") == whole
        assert not {"times", "states", "inputs"} & set(vars(parts)), "nothing of this needs padded arrays"
        np.testing.assert_array_equal(parts.states[2, 0, : len(times[2][0])], states[2][0])
        assert parts.states.shape == whole.states.shape
        assert not parts.states.flags.writeable
        assert np.isnan(parts.times).sum() == parts.times.size - parts.lengths.sum()
        assert (parts.inputs is not None) == inputs


def test_split():
    rows = [[np.zeros((n, 1)) for n in (3, 40, 3, 5)], [np.ones((n, 1)) for n in (200, 3, 4, 5)]]
    parts = Trajectories.from_arrays([[range(len(x)) for x in row] for row in rows], rows)
    train, test = parts.split((0.5, 0.5), key=jr.key(0))
    assert sorted(np.concatenate([train.lengths[0], test.lengths[0]])) == [3, 3, 5, 40]


def test_memory_follows_the_data():
    """Parts are padded to less than four times the data, whether lengths or numbers of trajectories are unequal."""
    short, long = np.zeros((3, 1)), np.zeros((20_000, 1))
    for rows in ([[short]] * 300 + [[long]], [[short] * 300, [short], [long]], [[long] + [short] * 300]):
        data = Trajectories.from_arrays([[range(len(x)) for x in row] for row in rows], rows)
        assert data._in_parts is not None
        held = sum(part.states.size for part in data._in_parts.parts)
        points = sum(len(x) for row in rows for x in row)
        assert points <= held < 4 * points


def test_what_does_not_fit_is_refused_where_it_is_padded(monkeypatch):
    monkeypatch.setattr("leadax._memory.free_memory", lambda: 10_000_000)
    rows = [[np.zeros((3, 1))]] * 300 + [[np.zeros((20_000, 1))]]
    data = Trajectories.from_arrays([[range(len(x)) for x in row] for row in rows], rows)
    assert data.select(range(300)).states.shape == (300, 1, 3, 1)
    with pytest.raises(InputError, match="301 environments × 1 trajectories × 20000 points, to which 20900 points are"):
        _ = data.states
    assert not data.has_fingerprint("0" * 64)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t, x: x[1][0].__setitem__(2, np.inf), "infinite value in environment number 1, trajectory 0, point 2"),
        (lambda t, x: t[1][0].__setitem__(2, 0.0), "times must increase: trajectory .* of environment `e1`"),
        (lambda t, x: x[1][0].fill(np.nan), "environment `e1` has no trajectory with an observed value: remove it"),
        (lambda t, x: x[0].append(np.ones((1, 1))) or t[0].append(np.zeros(1)), "has 1 point: .* or add a row"),
        (
            lambda t, x: x[0].append(np.ones((3, 2))) or t[0].append(np.arange(3.0)),
            "trajectory 1 of environment number",
        ),
    ],
)
def test_mistakes_are_found_in_parts(change, message):
    states = [[np.ones((3, 1))], [np.ones((50, 1))], *[[np.ones((3, 1))] for _ in range(20)]]
    times = [[np.arange(float(len(x))) for x in row] for row in states]
    change(times, states)
    with pytest.raises(InputError, match=message):
        Trajectories.from_arrays(times, states)


def test_an_unknown_attribute_is_an_error():
    with pytest.raises(AttributeError, match="`Trajectories` has no attribute `state`"):
        getattr(Trajectories.from_arrays(range(3), np.zeros((1, 1, 3, 1))), "state")  # noqa: B009
