"""Forecasts by the steps of training against an adaptive solver."""

from importlib import import_module

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.engine import LINEAR, decays, random_levels

from leadax import Leads, Linear, Model, Units
from leadax.evaluate import solver_gap
from leadax.methods import FtRnn, Levels

DATA = decays()


def model_of(method, rate: float, longest: float) -> Model:
    """dx/dt = −rate · x in the units of the data."""
    shapes = random_levels(method, 2)
    field = lambda a: jnp.asarray(-rate * np.eye(2) * np.ones(a.shape), jnp.float32)[None]
    nothing = lambda a: jnp.zeros((1, *a.shape), jnp.float32)
    levels = Levels(jax.tree.map(field, shapes.shared), jax.tree.map(nothing, shapes.specific))
    about = {"environments": DATA.environments, "channels": DATA.channels, "state_shape": (2,)}
    return Model(levels, method, Units.ones(2), **about, longest_step=longest)


@pytest.mark.parametrize("rate", [1.0, 3.0])
def test_euler_against_the_exponential(rate):
    """On a regular grid of step h, Euler's forecast is (1 − rate·h)^k x₀."""
    gap = solver_gap(model_of(LINEAR, rate, 1.0), DATA)
    h, k = 0.2, np.arange(6)[:, None]
    difference = ((1 - rate * h) ** k - np.exp(-rate * h * k)) * DATA.states[:, 0, 0][:, None]
    assert gap == pytest.approx(np.mean(difference**2), rel=1e-2)


def test_short_steps_leave_no_gap():
    method = Leads(net=Linear, solver="rk4", penalty_weight=0.0)
    assert solver_gap(model_of(method, 1.0, 0.02), DATA) < 1e-8


def test_a_solver_that_gives_up_does_not_pass_for_agreement(monkeypatch):
    """It stays at the start; the forecast by the steps of training goes on."""
    monkeypatch.setattr(import_module("leadax.evaluate.solver_gap"), "MOST_CALLS", 0)
    h, k = 0.2, np.arange(6)[:, None]
    difference = ((1 - h) ** k - 1) * DATA.states[:, 0, 0][:, None]
    assert solver_gap(model_of(LINEAR, 1.0, 1.0), DATA) == pytest.approx(np.mean(difference**2), rel=1e-2)


def test_a_recurrent_net_has_no_field_to_compare():
    method = FtRnn(rank=2)
    levels = jax.tree.map(lambda a: a[None].astype(jnp.float32), random_levels(method, 2))
    about = {"environments": DATA.environments, "channels": DATA.channels, "state_shape": (2,)}
    assert solver_gap(Model(levels, method, Units.ones(2), **about, longest_step=1.0), DATA) is None
