"""Fields that depend on time: the time of the data, wherever a trajectory starts."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from leadax import Flow, Method, Trajectories, Units, evaluate, fit
from leadax.defaults import chosen_for
from leadax.evaluate import solver_gap


class Ramp(Method):
    """dx/dt = w t."""

    solver: str = eqx.field(static=True, default="rk4")

    def init(self, sizes, *, key):
        return jnp.full((1,), 0.2), jnp.zeros((sizes.environments, 0))

    def dynamics(self, shared, specific):
        return Flow(lambda t, x, u: shared * t, self.solver)

    def split(self, shared, specific):
        return lambda t, x, u: shared * t, lambda t, x, u: jnp.zeros_like(x)


def test_the_clock_is_that_of_the_data():
    """x = w t²/2 from two starts: only one w fits both, if both have the same clock."""
    times = [np.linspace(0.0, 1.0, 6), np.linspace(1.5, 2.5, 6)]
    data = Trajectories.from_arrays([times], [[(0.7 * t**2 / 2)[:, None] for t in times]])
    units = Units((0.0,), (1.0,), 0.5)
    defaults = dataclasses.replace(chosen_for(data), units=units, box=None)
    model = fit(Ramp(), data, steps=300, learning_rate=0.05, defaults=defaults, key=jr.key(0))
    assert evaluate(model, data).mse < 1e-6
    assert float(model.shared(np.array([0.0]), 2.0)[0]) == pytest.approx(1.4, rel=1e-2)
    whole = model.predict(np.array([0.0]), np.array([0.0, 1.0, 2.0]), environment=0).mean
    later = model.predict(whole[1], np.array([1.0, 2.0]), environment=0).mean
    np.testing.assert_allclose(later[1], whole[2], rtol=1e-5)
    adaptive = model.predict(np.array([0.0]), np.array([1.0, 2.0]), environment=0, solver="tsit5").mean
    np.testing.assert_allclose(adaptive[1], [0.7 * 1.5], rtol=1e-2)
    assert solver_gap(model, data) < 1e-8


def test_dates_keep_their_digits():
    """The origin of time is that of the data: days since 1970 would lose them in single precision."""
    times = 19_000 + np.linspace(0, 1, 5)
    units = Units.measured(Trajectories.from_arrays(times, times[None, None, :, None]))
    assert units.origin == 19_000
    np.testing.assert_allclose(units.clock(times), np.linspace(0, 1, 5) / units.time, atol=1e-9)
