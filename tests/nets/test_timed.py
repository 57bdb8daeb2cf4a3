"""Time as an input: seasons and trends."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import leadax as lx
from leadax.describe import describe, restore
from leadax.nets import MLP, Architecture, Timed

STATE = jnp.array([0.3, -0.2])


@pytest.mark.parametrize("inputs", [None, jnp.array([0.5])])
def test_a_period_and_a_trend(inputs):
    count = 0 if inputs is None else 1
    seasons = Timed((2,), of=Architecture(MLP), inputs=count, period=3.0, key=jr.key(0))
    trend = Timed((2,), of=Architecture(MLP), inputs=count, begin=1.0, length=2.0, key=jr.key(0))
    at = lambda net, t: np.asarray(net(jnp.array(t), STATE, inputs))
    np.testing.assert_allclose(at(seasons, 0.4), at(seasons, 6.4), rtol=1e-9)
    assert np.abs(at(seasons, 0.4) - at(seasons, 1.9)).max() > 1e-3
    more = jnp.array([1.5]) if inputs is None else jnp.concatenate([inputs, jnp.array([1.5])])
    np.testing.assert_allclose(at(trend, 4.0), trend.of(0.0, STATE, more))
    assert trend.layers == trend.of.layers
    assert trend.factor == trend.of.factor


def test_the_clock_of_data():
    """Periods are in the units of the data, whatever the unit of time of the model; a file says which net it is."""
    times = np.arange(100.0, 110.0, 0.5)
    states = np.sin(2 * np.pi * times / 4)[None, None, :, None] * np.array([1.0, 2.0])
    data = lx.Trajectories.from_arrays(times, states)
    defaults = lx.chosen_for(data, clock=lx.Clock(period=4.0))
    method = defaults.complete(lx.Leads(), lx.Sizes((2,), 1))
    options = dict(method.net.options)
    assert options["period"] * defaults.units.time == pytest.approx(4.0)
    assert restore(describe(method)) == method
    trend = dict(lx.chosen_for(data, clock=lx.Clock()).complete(lx.Leads(), lx.Sizes((2,), 1)).net.options)
    assert [(defaults.units.clock(t) - trend["begin"]) / trend["length"] for t in (100.0, 109.5)] == [
        pytest.approx(-1),
        pytest.approx(1),
    ]
    with pytest.raises(lx.InputError, match="FtRnn has no net that could see the time"):
        defaults.complete(lx.FtRnn(), lx.Sizes((2,), 1))
    with pytest.raises(lx.InputError, match="`period` must be a positive number"):
        lx.Clock(period=0.0)


def test_a_season_is_learnt():
    """dx/dt = cos(2πt/4), which no field of the state alone can follow; forecast beyond the times trained on."""
    times = np.arange(0.0, 8.0, 0.25)
    wave = lambda t, x0: x0 + np.sin(np.pi / 2 * t) / (np.pi / 2)
    starts = np.array([-0.5, 0.0, 0.5])
    states = np.stack([wave(times, x0) for x0 in starts])[None, :, :, None]
    data = lx.Trajectories.from_arrays(times, states)
    seen = lx.chosen_for(data, net=lx.Linear, clock=lx.Clock(period=4.0))
    model = lx.fit(lx.OneForAll(), data, steps=150, key=jr.key(0), learning_rate=0.02, defaults=seen)
    later = np.arange(9.0, 14.0, 0.25)
    found = model.predict(np.array([wave(9.0, 0.2)]), later, environment=0)
    np.testing.assert_allclose(found[:, 0], wave(later, 0.2), atol=0.1)
