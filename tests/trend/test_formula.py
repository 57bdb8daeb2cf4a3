"""Polynomials of what a known formula leaves unexplained."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import leadax as lx
from leadax.data.layout import Layout
from leadax.data.units import Units
from leadax.defaults import chosen_for
from leadax.methods import Sizes
from leadax.methods.prefit_rest import FormulaAt, rest_of
from leadax.nets.polynomial import features
from leadax.train.request import Request, chosen_defaults
from leadax.train.trainer import Trainer
from leadax.trend import trend_of

LAYOUT, NOISY = Layout(("x",)), Layout(("x",), noise=(0.02,))
RATES = (0.5, 1.5)


class Sine:
    """A known part of the field, a e sin(x + t), other in each environment."""

    left = 1.0

    def rates(self, environments, t, x, u):
        return np.asarray(RATES)[environments][:, None] * np.sin(x + t[:, None])

    def slopes(self, environments, t, x, u):
        return (np.asarray(RATES)[environments][:, None] * np.cos(x + t[:, None]))[..., None]


@pytest.fixture(scope="module")
def driven():
    """dx/dt = a sin(x + t) + 0.4 − x + 0.3 x²."""
    times, starts = np.linspace(0, 3, 31), np.linspace(-1, 1.5, 6)

    def solved(a, start):
        field = lambda t, x: a * np.sin(x + t) + 0.4 - x + 0.3 * x**2
        return solve_ivp(field, (0, 3), [start], t_eval=times, rtol=1e-10, atol=1e-12).y.T

    states = np.array([[solved(a, start) for start in starts] for a in RATES])
    return lx.Trajectories.from_arrays(times, states)


def rest_at(trend, e, x):
    terms = np.concatenate([np.ones((len(x), 1)), features(x[:, None], 2)], axis=1)
    whole = trend.alone[e] if trend.alone is not None else trend.common + trend.own[e]
    return (terms @ whole)[:, 0]


@pytest.mark.parametrize("parts", [("common", "own"), ("alone",)])
@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_a_polynomial_is_fitted_to_what_a_formula_leaves(driven, parts, noise):
    states = driven.states + noise * np.random.default_rng(0).normal(size=driven.states.shape)
    data = lx.Trajectories.from_arrays(driven.times, states)
    trend = trend_of(data, Units.ones(1), NOISY if noise else LAYOUT, 2, None, None, None, parts, Sine())
    x = np.linspace(-0.5, 1, 7)
    for e in range(2):
        np.testing.assert_allclose(rest_at(trend, e, x), 0.4 - x + 0.3 * x**2, atol=2e-3 if not noise else 0.1)


def test_a_formula_counts_environments_when_all_are_one(driven):
    trend = trend_of(driven, Units.ones(1), LAYOUT, 2, None, None, None, ("pooled",), Sine())
    x = np.linspace(-0.5, 1, 7)
    np.testing.assert_allclose(rest_at(trend._replace(alone=trend.pooled[None]), 0, x), 0.4 - x + 0.3 * x**2, atol=2e-3)


def swing(t, x, u, p):
    return jnp.stack([x[1], -p.stiffness * jnp.sin(x[0]) + 0.1 * t])


@pytest.fixture(scope="module")
def swings():
    """Pendulums of two stiffnesses, with friction and a force that a formula knows."""
    times, starts = np.linspace(2, 6, 41), [(-1.5, 0.5), (1.0, -1.0), (0.3, 1.4)]

    def solved(k, start):
        field = lambda t, x: (x[1], -k * np.sin(x[0]) + 0.1 * t - 0.3 * x[1])
        return solve_ivp(field, (2, 6), start, t_eval=times, rtol=1e-10, atol=1e-12).y.T

    return lx.Trajectories.from_arrays(times, np.array([[solved(k, s) for s in starts] for k in (4.0, 6.0)]))


@pytest.fixture(scope="module")
def method(swings):
    defaults = chosen_for(swings).laid_out(swings, None)
    given = lx.Leads(known=swing, parameters={"stiffness": lx.Parameter(5.0, low=0.0)})
    return defaults.complete(given, Sizes((2,), 2))


def numbers_for(method, values):
    (parameter,) = method.parameters
    search = np.linspace(-3, 3, 60_001)
    nearest = [search[np.argmin(abs(np.asarray(parameter.value(jnp.asarray(search))) - v))] for v in values]
    return (), jnp.asarray(nearest, jnp.float32)[:, None]


def test_a_formula_at_many_points_is_the_formula(method):
    formula = FormulaAt(method, numbers_for(method, (4.0, 6.0)), jnp.float32)
    rng, units = np.random.default_rng(0), method.units
    environments, raw, times = rng.integers(0, 2, 70), rng.normal(size=(70, 2)), rng.uniform(2, 6, 70)
    at = (environments, times / units.time, units.standard(raw), np.zeros((70, 0)))
    stiffness = np.asarray((4.0, 6.0))[environments]
    expected = np.stack([raw[:, 1], -stiffness * np.sin(raw[:, 0]) + 0.1 * times], axis=1)
    np.testing.assert_allclose(formula.rates(*at), units.standard_tangent(expected), rtol=2e-3, atol=1e-3)
    for k in range(2):
        ahead = np.eye(2)[k] * 1e-2
        beside = [formula.rates(*at[:2], at[2] + side * ahead, at[3]) for side in (1, -1)]
        np.testing.assert_allclose(formula.slopes(*at)[..., k], (beside[0] - beside[1]) / 2e-2, atol=2e-3)
    rates, slopes = formula.by_numbers(*at)
    step = 1e-2
    moved = [
        FormulaAt(method, jax.tree.map(lambda a, s=side: a + s * step, formula._about[2]), jnp.float32)
        for side in (1, -1)
    ]
    between = lambda of: (of(moved[0]) - of(moved[1])) / (2 * step)
    near = {"rtol": 5e-3, "atol": 5e-3}
    np.testing.assert_allclose(rates[..., 0], between(lambda formula: formula.rates(*at)), **near)
    np.testing.assert_allclose(slopes[..., 0], between(lambda formula: formula.slopes(*at)), **near)


def test_nets_beside_a_formula_begin_at_the_rest_and_its_numbers_at_the_truth(method, swings):
    off = numbers_for(method, (4.4, 5.7))
    scaled = dataclasses.replace(method, scale=(2.0**-6, 2.0**-2))
    rest = rest_of(scaled, swings, Layout(swings.channels), off, None, jnp.float32)
    assert rest is not None
    found = np.asarray(method.parameters[0].value(rest.numbers[1]))[:, 0]
    np.testing.assert_allclose(found, (4.0, 6.0), rtol=1e-2)
    raw = np.random.default_rng(0).uniform(-1, 1, (20, 2))
    seen = features(method.units.standard(raw), rest.polynomial.degree, rest.polynomial.region)
    for e in range(2):
        whole = np.asarray(rest.trend.common + rest.trend.own[e])
        tangent = method.units.raw_tangent(whole[0] + seen @ whole[1:])
        np.testing.assert_allclose(tangent, np.stack([0 * raw[:, 1], -0.3 * raw[:, 1]], axis=1), atol=0.03)


def test_training_begins_at_the_rest_unless_a_net_is_asked_for(swings):
    asked = lambda **given: Trainer.of(
        Request(swings, jax.random.key(0), None, 1, None, None, "adam", chosen_defaults(swings, None, None, ()),
                lx.Recipe(), None),
        [lx.Leads(known=swing, parameters={"stiffness": lx.Parameter(5.0, low=0.0)}, **given)],
        [None],
    )  # fmt: skip
    trainer = asked()
    shared, specific = trainer._first_state().levels[:2]
    x = np.array([0.3, -0.8])
    own = jax.tree.map(lambda a: a[0, 1], specific)
    field = trainer.methods[0].dynamics(jax.tree.map(lambda a: a[0], shared), own).field
    units = trainer.request.defaults.units
    at = (jnp.float32(units.clock(3.0)), jnp.asarray(units.standard(x), jnp.float32), None)
    tangent = units.raw_tangent(np.asarray(field(*at), float))
    np.testing.assert_allclose(tangent, [-0.8, -6 * np.sin(0.3) + 0.3 + 0.3 * 0.8], atol=0.02)
    assert trainer.request.steps == 1_000  # hardly anything is left to learn
    plain = asked(net=lx.MLP)
    assert plain.trend is None
    assert plain.request.steps == 12_000
