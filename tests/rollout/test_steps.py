"""Steps between observations, against a plain loop."""

import math
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leadax.errors import InputError
from leadax.rollout import Restart, Steps, departures, steps_between


def plain_steps(times, longest, substeps):
    """For one trajectory: (start, size, departure) of each step, and after how many steps each time is reached."""
    rows, landing = [], [0]
    for k, (first, last) in enumerate(pairwise(times)):
        gap = last - first
        count = 0 if gap == 0 else max(substeps, math.ceil(gap / longest - 1e-6) if longest else 1)
        rows += [(first + j * gap / count, gap / count, k if j == 0 else -1) for j in range(count)]
        landing.append(len(rows))
    return rows, landing


@st.composite
def trajectories(draw):
    """Two trajectories of up to four points, the second padded."""
    gaps = st.lists(st.sampled_from([0.1, 0.3, 1.0, 1.7]), min_size=3, max_size=3)
    length = draw(st.integers(0, 3))
    gaps = np.array([draw(gaps), draw(gaps)]) * [[1.0] * 3, np.arange(3) < length]
    return np.insert(np.cumsum(gaps, axis=-1), 0, 0.0, axis=-1)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(trajectories(), st.sampled_from([None, 0.1, 0.5]), st.integers(1, 3))
def test_steps_as_in_a_plain_loop(times, longest, substeps):
    begin = np.array([7.0, -2.0])
    steps = steps_between(times, longest=longest, substeps=substeps, dtype=np.float64, begin=begin)
    steps = jax.tree.map(np.asarray, steps)
    plain = [plain_steps(row, longest, substeps) for row in times]
    if steps.landing is None:
        assert all(np.diff(landing).max() <= 1 for _, landing in plain)
        np.testing.assert_allclose(steps.times, times[:, :-1] + begin[:, None], rtol=0, atol=1e-14)
        np.testing.assert_allclose(steps.sizes, np.diff(times), rtol=0, atol=1e-14)
        assert steps.departure is None
        return
    length = max(landing[-1] for _, landing in plain)
    assert any(np.diff(landing).max() > 1 for _, landing in plain)
    for e, (rows, landing) in enumerate(plain):
        padded = rows + [(times[e, -1], 0.0, -1)] * (length - len(rows))
        starts, sizes, departure = (np.array(column) for column in zip(*padded, strict=True))
        np.testing.assert_allclose(steps.times[e], starts + begin[e], rtol=0, atol=1e-14)
        np.testing.assert_allclose(steps.sizes[e], sizes, rtol=0, atol=1e-14)
        np.testing.assert_array_equal(steps.departure[e], departure)
        np.testing.assert_array_equal(steps.landing[e], landing)


def test_sizes_keep_the_digits_of_dates_in_float32():
    days = 2_460_000.5 + 0.1 * np.arange(5)
    steps = steps_between(days, dtype=np.float32)
    assert steps.times.dtype == steps.sizes.dtype == np.float32
    np.testing.assert_allclose(steps.sizes, 0.1, rtol=1e-7)


def test_one_point_needs_no_step():
    assert steps_between(np.zeros((3, 1)), longest=0.1, dtype=np.float32).sizes.shape == (3, 0)


@pytest.mark.parametrize(
    ("times", "settings", "message"),
    [
        (np.zeros(0), {}, "at least the time of the start"),
        (np.array([0.0, 2.0, 1.0]), {}, "finite and not decrease"),
        (np.array([0.0, np.nan]), {}, "finite and not decrease"),
        (np.arange(3.0), {"longest": 0.0}, "`longest` must be positive; got 0"),
        (np.arange(3.0), {"longest": math.nan}, "`longest` must be positive; got nan"),
        (np.arange(3.0), {"substeps": 0}, "`substeps` must be at least 1; got 0"),
    ],
)
def test_wrong_steps_are_refused(times, settings, message):
    with pytest.raises(InputError, match=message):
        steps_between(times, **settings, dtype=np.float32)


def test_restarts_must_fit_the_steps():
    steps = Steps(jnp.zeros(4), jnp.ones(4), landing=jnp.array([0, 2, 4]))
    restart = lambda count: Restart(jnp.ones(count, bool), jnp.ones((count, 1)))
    with pytest.raises(InputError, match=r"one row per observation, 3 for these steps; got 5 in `where` and 5 in"):
        departures(steps, restart(5))
    with pytest.raises(InputError, match="also need their `departure` to restart"):
        departures(steps, restart(3))
    with pytest.raises(InputError, match="one row per observation, 5 for these steps; got 3"):
        departures(steps._replace(landing=None), restart(3))
