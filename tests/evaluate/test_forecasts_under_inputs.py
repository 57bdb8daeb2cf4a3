"""Forecasts at times of one's own and by adaptive solvers, where inputs have times of their own too."""

import jax.random as jr
import numpy as np
import pytest

import leadax as lx

GIVEN = np.array([0.0, 0.5, 1.3, 2.0])  # at 1.3 there is a dose, and nothing was measured


def data(times: np.ndarray) -> lx.Trajectories:
    """Two trajectories under a force and a dose; at times that are not given there is neither state nor input."""
    place = np.searchsorted(times, GIVEN)
    states = np.full((1, 2, len(times), 1), np.nan)
    states[0, :, place[[0, 1, 3]], 0] = [[1.0, 2.0], [0.6, 1.2], [1.1, 1.2]]
    inputs = np.full((1, 2, len(times), 2), np.nan)
    inputs[0, :, place[:3], 0] = [[0.0, 0.3], [0.2, 0.3], [1.0, -1.0]]
    inputs[0, :, place[2], 1] = 0.7
    names = {"input_names": ["force", "dose"], "input_kinds": ["linear", "impulse:x0"]}
    return lx.Trajectories.from_arrays(times, states, inputs=inputs, **names)


@pytest.fixture(scope="module")
def model() -> lx.Model:
    return lx.fit(lx.OneForAll(net=lx.Linear), data(GIVEN), steps=1, latent=lx.Latent("none"), key=jr.key(0))


def test_at_times_of_ones_own(model):
    """As if the data had empty rows at these times; a dose acts though nobody asked for its time."""
    asked = [0.25, 1.4, 2.0]
    found = lx.forecast(model, data(GIVEN), times=asked)
    whole = lx.forecast(model, data(np.union1d(GIVEN, asked)))
    np.testing.assert_array_equal(found.times[0, 0], [0.0, *asked])
    np.testing.assert_array_equal(found.states, whole.states[:, :, np.isin(whole.times[0, 0], [0.0, *asked])])
    assert found.states[0, 0, 2, 0] - found.states[0, 0, 1, 0] > 0.3


@pytest.mark.parametrize("times", [None, [0.25, 1.4, 2.0]])
def test_an_adaptive_solver(model, times):
    usual, adaptive = (lx.forecast(model, data(GIVEN), times=times, solver=name) for name in (None, "tsit5"))
    np.testing.assert_array_equal(adaptive.times, usual.times)
    np.testing.assert_allclose(adaptive.states, usual.states, atol=2e-3)


@pytest.mark.parametrize("solver", [None, "tsit5"])
def test_an_input_that_ends_before_the_forecast(model, solver):
    with pytest.raises(lx.InputError, match=r"`force` of trajectory 0 .* ends at 1\.3, before .* does at 9: give"):
        lx.forecast(model, data(GIVEN), times=[1.0, 9.0], solver=solver)
