"""From ragged, irregular, holed data to padded arrays: what is kept, where, and to how many digits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadax.data import Trajectories
from leadax.data.batch import to_batch
from leadax.data.units import Units
from leadax.errors import InputError


def in_own_units(data, *dtype):
    return to_batch(data, Units.ones(len(data.channels)), *dtype)


def random_data(rng, space=()):
    """Any number of trajectories of any lengths with holes, each with a whole state that is not the last."""
    shape = (*space, 2)
    times, states = [], []
    for _ in range(rng.integers(1, 4)):
        lengths = rng.integers(2, 7, size=rng.integers(1, 4))
        times.append([np.cumsum(rng.exponential(size=n)) + 100 * rng.standard_normal() for n in lengths])
        states.append([rng.standard_normal((n, *shape)) for n in lengths])
        for x in states[-1]:
            x[rng.uniform(size=x.shape) < 0.3] = np.nan
            x[rng.integers(len(x) - 1)] = rng.standard_normal(shape)
            x[-1].flat[0] = 1.0
    return times, states


@pytest.mark.parametrize("space", [(), (3,), (2, 3)])
def test_equals_a_plain_loop(space):
    rng = np.random.default_rng(len(space))
    for _ in range(10):
        times, states = random_data(rng, space)
        batch = jax.tree.map(np.asarray, to_batch(Trajectories.from_arrays(times, states), Units.ones(2), jnp.float64))
        for e, row in enumerate(states):
            for i in range(batch.times.shape[1]):
                if i >= len(row):
                    assert not batch.observed[e, i].any()
                    assert not batch.complete[e, i].any()
                    np.testing.assert_array_equal(batch.times[e, i], 0)
                    np.testing.assert_array_equal(batch.states[e, i], 0)
                    continue
                whole = [not np.isnan(state).any() for state in row[i]]
                first = whole.index(True)
                t, x = times[e][i][first:] - times[e][i][first], row[i][first:]
                n = len(t)
                np.testing.assert_array_equal(batch.times[e, i, :n], t)
                np.testing.assert_array_equal(batch.times[e, i, n:], t[-1])
                np.testing.assert_array_equal(batch.observed[e, i, :n], ~np.isnan(x))
                np.testing.assert_array_equal(batch.states[e, i, :n], np.nan_to_num(x))
                np.testing.assert_array_equal(batch.complete[e, i, :n], whole[first:])
                assert not batch.observed[e, i, n:].any()
                assert not batch.complete[e, i, n:].any()
                np.testing.assert_array_equal(batch.states[e, i, n:], 0)


def test_every_forecast_has_a_start():
    rng = np.random.default_rng(0)
    batch = to_batch(Trajectories.from_arrays(*random_data(rng)), Units.ones(2))
    real = np.asarray(batch.observed).any(axis=(2, 3))
    np.testing.assert_array_equal(batch.complete[:, :, 0], real)


def test_type():
    data = Trajectories.from_arrays(range(3), np.zeros((1, 1, 3, 1)))
    assert in_own_units(data).states.dtype == in_own_units(data).times.dtype == jnp.float32
    assert in_own_units(data, jnp.float64).states.dtype == jnp.float64


@pytest.mark.parametrize(
    ("start", "step"), [(2_460_000.5, 1e-3), (1.7e9, 0.25), (-1e12, 1.0)], ids=["day", "clock", "ms"]
)
def test_float32_keeps_the_digits_of_dates(start, step):
    times = start + step * np.arange(8)
    data = Trajectories.from_arrays(times, np.zeros((1, 1, 8, 1)))
    # What float64 has left of such times, and what float32 would.
    np.testing.assert_allclose(
        in_own_units(data).times[0, 0],
        step * np.arange(8),
        rtol=1e-6,
        atol=2 * np.spacing(abs(start)),
    )
    assert np.abs(np.diff(times.astype(np.float32)) - step).max() > 0.1 * step


@pytest.mark.parametrize(
    "states",
    [[[1, np.nan], [np.nan, 2], [3, np.nan]], [[1, np.nan], [np.nan, 2], [3, 4]]],
    ids=["never whole", "whole at the end only"],
)
def test_refuses_a_trajectory_without_a_start(states):
    whole = np.ones((3, 2))
    data = Trajectories.from_arrays([[range(3), range(3)], [range(3)]], [[whole, states], [whole]])
    with pytest.raises(InputError, match="trajectory 1 of environment `e0` has no point with all channels observed"):
        in_own_units(data)


def test_states_and_times_are_in_standard_units_and_holes_stay_zero():
    states = np.array([[[[10.0], [np.nan], [14.0]]]])
    batch = to_batch(Trajectories.from_arrays([5.0, 6.0, 9.0], states), Units((12.0,), (2.0,), 4.0))
    assert batch.states[0, 0, :, 0].tolist() == [-1.0, 0.0, 1.0]
    assert batch.times[0, 0].tolist() == [0.0, 0.25, 1.0]
    assert batch.observed[0, 0, :, 0].tolist() == [True, False, True]
