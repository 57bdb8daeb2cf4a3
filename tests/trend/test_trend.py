"""Polynomial fields in closed form: exact where they can be, shared where environments are alike."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.stats import multivariate_normal
from tests.engine import request_of

import leadax as lx
from leadax.data.layout import Layout
from leadax.data.units import Units
from leadax.defaults import chosen_for
from leadax.methods import METHODS
from leadax.nets.architecture import Architecture
from leadax.nets.polynomial import degrees_of, features
from leadax.train.trainer import Trainer
from leadax.trend import Polynomial, best_polynomial, shooting, trend_of
from leadax.trend.basis import monomials, multiples
from leadax.trend.effects import Normal, Widths, effects, evidence
from leadax.trend.fitting import fitted_for
from leadax.trend.flow import Law, fitted
from leadax.trend.held_out import held_out_error
from leadax.trend.intervals import Equations, Points, equations
from leadax.trend.pieces import first_states, stretches
from leadax.trend.regression import regression
from leadax.trend.shooting import refined

LAYOUT = Layout(("x", "y"))
TIMES = np.linspace(0, 6, 31)


def simulated(field, environments, starts=((1.0, 0.5), (-0.6, 1.2), (1.4, -0.9)), times=TIMES):
    """Trajectories of `field(x, parameter)`."""
    solve = lambda p, x: solve_ivp(lambda t, x: field(x, p), (0, times[-1]), x, t_eval=times, rtol=1e-9, atol=1e-9).y.T
    return lx.Trajectories.from_arrays(times, np.array([[solve(p, x) for x in starts] for p in environments]))


def anything(terms, channels):
    """A regression in which each of these terms may be in each channel, and differ between environments."""
    return np.tile(np.eye(terms), (channels, 1, 1)), np.ones(terms, bool), np.ones((terms, channels), bool)


def duffing(x, a):
    return x[1], -0.2 * x[1] - a * x[0] - 0.5 * x[0] ** 3


def in_units(data):
    return data, Units.measured(data), LAYOUT


def test_a_polynomial_field_is_found():
    """dx/dt = c + Ax + a product, from its trajectories alone."""
    data = simulated(lambda x, a: (x[1] - 0.1, -a * x[0] + 0.3 * x[0] * x[1]), (0.8, 1.2))
    trend = trend_of(data, Units.ones(2), LAYOUT, 2, None)
    found = trend.common + trend.own
    # Terms: 1, x, y, x², xy, y²; the product has the weight 1/4 there.
    expected = [[[-0.1, 0], [0, -a], [1, 0], [0, 0], [0, 1.2], [0, 0]] for a in (0.8, 1.2)]
    np.testing.assert_allclose(found, expected, atol=4e-3)
    np.testing.assert_allclose(trend.alone, expected, atol=4e-3)
    # What differs is where the environments differ: in one coefficient.
    assert np.abs(trend.own[:, 1, 1]).min() > 0.1
    assert np.abs(np.delete(trend.own.reshape(2, -1), 3, axis=1)).max() < 0.05


def test_environments_that_are_alike_learn_from_each_other():
    rng = np.random.default_rng(0)
    terms = [rng.normal(size=(6, 4)) for _ in range(20)]
    truth = rng.normal(size=(4, 1))
    noisy = [Equations(p, p @ truth + 0.5 * rng.normal(size=(6, 1))) for p in terms]
    common, own, *_ = regression(noisy, *anything(4, 1))
    assert np.abs(common - truth).max() < 0.25
    assert np.abs(own).max() < 0.1
    alone = np.array([np.linalg.lstsq(p, y, rcond=None)[0] for p, y in noisy])
    assert np.sqrt(np.mean((common + own - truth) ** 2)) < 0.3 * np.sqrt(np.mean((alone - truth) ** 2))


def test_effects_are_the_posterior_mean():
    """Against one dense solve with the same widths, and the widths against the diagonal of its inverse."""
    rng = np.random.default_rng(1)
    data = [(p := rng.normal(size=(5, 3)), p @ rng.normal(size=3) + 0.1 * rng.normal(size=5)) for _ in range(4)]
    squares, products = np.stack([p.T @ p for p, _ in data]), np.stack([p.T @ y for p, y in data])
    normal = Normal(squares, products, sum(float(y @ y) for _, y in data), 20.0)
    a, b = np.array([0.7, 0.2, 1.1]), np.array([0.4, 0.9, 0.1])
    found = effects(normal, Widths(0.04, a, b, *2 * [np.ones(3, bool)]), rounds=1)
    rows = [np.hstack([p, *[p if k == e else np.zeros_like(p) for k in range(4)]]) for e, (p, _) in enumerate(data)]
    stacked, right = np.vstack(rows), np.concatenate([y for _, y in data])
    covariance = np.linalg.inv(stacked.T @ stacked / 0.04 + np.diag(np.concatenate([a, b, b, b, b]) ** -2.0))
    expected = covariance @ stacked.T @ right / 0.04
    np.testing.assert_allclose(np.concatenate([found.common, *found.own]), expected, atol=1e-10)
    sure = 1 - np.diag(covariance) / np.concatenate([a, b, b, b, b]) ** 2
    np.testing.assert_allclose(found.widths.common**2, expected[:3] ** 2 / sure[:3], rtol=1e-9)
    squared, known = (part[3:].reshape(4, 3).sum(axis=0) for part in (expected**2, sure))
    np.testing.assert_allclose(found.widths.own**2, squared / known, rtol=1e-9)
    left = np.sum((right - stacked @ expected) ** 2) + np.trace(stacked @ covariance @ stacked.T)
    np.testing.assert_allclose(found.widths.variance, left / 20, rtol=1e-9)


def test_evidence_is_the_density_of_the_data():
    """Against the dense normal distribution of all that was observed."""
    rng = np.random.default_rng(3)
    terms = [rng.normal(size=(5, 2)) for _ in range(3)]
    seen = [p @ rng.normal(size=2) for p in terms]
    normal = Normal(np.stack([p.T @ p for p in terms]), np.stack([p.T @ y for p, y in zip(terms, seen, strict=True)]),
                    sum(float(y @ y) for y in seen), 15.0)  # fmt: skip
    every = np.vstack(terms)
    same = np.kron(np.eye(3), np.ones((5, 5)))

    def density(widths):
        covariance = every @ np.diag(widths.common**2) @ every.T + same * (every @ np.diag(widths.own**2) @ every.T)
        return multivariate_normal(cov=covariance + widths.variance * np.eye(15)).logpdf(np.concatenate(seen))

    one = Widths(0.3, np.array([0.7, 0.2]), np.array([0.4, 0.9]), *2 * [np.ones(2, bool)])
    other = Widths(0.1, np.array([1.7, 0.4]), np.array([0.1, 0.3]), *2 * [np.ones(2, bool)])
    np.testing.assert_allclose(evidence(normal, one) - evidence(normal, other), density(one) - density(other))


def test_monomials_and_the_terms_of_a_net_are_the_same_field():
    """x²y and 3 in the units of the data, as a polynomial of standard variables."""
    region, zero = ((-1.0, -0.5), (2.0, 1.5)), np.array([-2.0, 0.5])
    size = np.array([4.0, 1.0])
    z = np.random.default_rng(0).uniform(*region, size=(20, 2))
    x = (z - zero) / size
    coefficients = np.zeros(10)
    coefficients[[0, 7]] = 3.0, 1.0  # 1, x, y, x², xy, y², x³, x²y, …
    values = np.hstack([np.ones((20, 1)), features(z, 3)]) @ monomials(region, zero, 3) @ coefficients
    np.testing.assert_allclose(values, 3 + x[:, 0] ** 2 * x[:, 1], atol=1e-10)


def test_noisy_positive_data_are_short_in_their_own_units():
    """Infections go with the product of two numbers: seen far from zero, that is short in raw units only."""
    contagion = lambda x, b: (-b * x[0] * x[1], b * x[0] * x[1] - 0.4 * x[1])
    starts = np.array([[0.9, 0.05], [0.7, 0.2], [0.8, 0.1]])
    data = simulated(contagion, (0.8, 1.2, 1.6), times=np.linspace(0, 8, 21), starts=starts)
    rng = np.random.default_rng(0)
    noisy = lx.Trajectories.from_arrays(data.times, data.states + 0.02 * rng.normal(size=data.states.shape))
    units = Units.measured(noisy)
    points = Points.of(noisy, units, LAYOUT)
    law = Law(2, points.region, points.median_gap)
    noise = tuple(0.02 / s for s in units.scale)
    fits = {raw: refined(points, each, points.complete, fitted(points, each, points.complete).coefficients, noise)
            for raw in (False, True) for each in (law._replace(raw=raw),)}  # fmt: skip
    assert fits[True].coefficients.evidence > fits[False].coefficients.evidence + 3
    chosen = fitted_for(points, law, points.complete, noise)
    # That those who can be infected become fewer in proportion to themselves needs fewer terms, and is preferred.
    assert chosen.law.vanishing[0]


@pytest.mark.parametrize("level", [0.0, 0.05])
def test_channels_that_never_change(level):
    """One that is always 0, and one that is always 5, beside one that decays."""
    states = np.stack([[[np.exp(-a * TIMES) * s, 0 * TIMES, 0 * TIMES + 5] for s in (1, 2)] for a in (0.5, 1.0)])
    noise = level * np.random.default_rng(0).normal(size=TIMES.shape)
    data = lx.Trajectories.from_arrays(TIMES, np.moveaxis(states, 2, 3) + noise[:, None] * np.array([1, 0, 0]))
    units, layout = Units.measured(data), Layout(("x", "y", "z"), noise=(level, 0.0, 0.0) if level else None)
    best = best_polynomial(data, units, layout)
    trend = trend_of(data, units, layout, max(best.degree, 1), best.region)
    for part in jax.tree.leaves(trend):
        assert np.isfinite(part).all()


def test_only_what_differs_is_an_environments_own():
    """One coefficient differs, one is the same everywhere, one explains nothing."""
    rng = np.random.default_rng(2)
    rates = np.linspace(-1, 1, 8)
    terms = [rng.normal(size=(12, 3)) for _ in rates]
    noisy = [Equations(p, p @ np.array([[1.0 + r], [2.0], [0.0]]) + 0.3 * rng.normal(size=(12, 1)))
             for p, r in zip(terms, rates, strict=True)]  # fmt: skip
    common, own, *_ = regression(noisy, *anything(3, 1))
    np.testing.assert_allclose(common[:, 0], [1, 2, 0], atol=0.15)
    np.testing.assert_allclose(own[:, 0, 0], rates, atol=0.35)
    assert np.sqrt(np.mean(own[:, 1:, 0] ** 2)) < 0.1 < 0.5 < np.sqrt(np.mean(own[:, 0, 0] ** 2))


def stiffening(x, a):
    return x[1], -0.2 * x[1] - 0.5 * x[0] - a * x[0] ** 3


def noisy_duffing(level, seed=0, law=duffing):
    data = simulated(law, (0.5, 0.8, 1.1))
    scale = data.states.std(axis=(0, 1, 2))
    states = data.states + level * scale * np.random.default_rng(seed).normal(size=data.states.shape)
    return lx.Trajectories.from_arrays(TIMES, states)


def test_stretches_see_through_noise():
    """From one noisy point to the next, noise is taken for motion; along whole stretches it is not."""
    data = noisy_duffing(0.1)
    units = Units.measured(data)
    points = Points.of(data, units, LAYOUT)
    law = Law(3, points.region, points.median_gap)
    truth = [np.stack([duffing(x, a) for x in data.states[0, 0]]) for a in (0.5, 0.8, 1.1)]
    terms = law.terms(points.states[0, 0], np.zeros((len(TIMES), 0)))
    off = lambda c: np.sqrt(np.mean([(units.raw_tangent(terms @ c.of(e)) - truth[e]) ** 2 for e in range(3)]))
    first = fitted(points, law, points.complete).coefficients
    found = refined(points, law, points.complete, first, (0.1, 0.1))
    assert off(found.coefficients) < 0.6 * off(first), (off(found.coefficients), off(first))
    assert 0.7 < found.misfit < 1.1
    best = best_polynomial(data, units, dataclasses.replace(LAYOUT, noise=(0.1, 0.1)))
    assert best.degree == 3
    # The level of noise is an estimate: if it is a little low, nothing more is left to learn for it.
    rest = [fitted_for(points, law, points.complete, (level, level), quick=True).rest for level in (0.1, 0.085, 0.05)]
    assert rest[0] == rest[1] == 0 < rest[2]
    # Higher degrees explain nothing more: it is curved beyond the data, too.
    assert np.all(np.array(best.region[1]) > 1.2 * np.array(points.region[1]))


@pytest.mark.parametrize(("law", "differing"), [(duffing, 1), (stiffening, 3)])
def test_environments_differ_in_terms_of_as_low_a_degree_as_they_can(law, differing):
    """What each of them has seen of the noise does not become a difference."""
    data = noisy_duffing(0.1, law=law)
    points = Points.of(data, Units.measured(data), LAYOUT)
    found = fitted_for(points, Law(3, points.region, points.median_gap), points.complete, (0.1, 0.1), quick=True)
    own = np.abs(found.coefficients.own).max(axis=(0, 2))
    highest = max(degree for degree, size in zip((0, *degrees_of(2, 3)), own, strict=True) if size > 1e-3)
    assert highest == differing


def amounts(law, level):
    """Two amounts with starts far from and near to 0, and noise."""
    data = simulated(law, (0.8, 1.0, 1.2), starts=((0.05, 0.6), (1.8, 0.3), (0.6, 1.7)), times=np.linspace(0, 6, 19))
    noise = level * np.random.default_rng(5).normal(size=data.states.shape)
    data = dataclasses.replace(data, states=data.states + noise)
    units = Units.measured(data)
    points = Points.of(data, units, LAYOUT)
    law = Law(2, points.region, points.median_gap)
    return points, fitted_for(points, law, points.complete, tuple(level / np.array(units.scale)), quick=True)


def test_what_grows_in_proportion_to_itself_stays_at_nothing():
    """Logistic growth; and what flows in, beside it, which does not."""
    logistic = lambda x, a: (a * x[0] * (1 - x[0]), 0.5 - x[1] * x[0])
    points, found = amounts(logistic, 0.02)
    assert points.amounts.all()
    assert found.law.vanishing == (True, False)
    # Nothing comes from nothing, at any amount of the other.
    nothing = np.stack([np.full(5, points.zero[0]), np.linspace(*(side[1] for side in points.region), 5)], axis=1)
    terms = found.law._replace(region=(tuple(points.zero), points.region[1])).terms(nothing, np.zeros((5, 0)))
    rates = terms @ found.coefficients.whole
    assert np.abs(rates[..., 0]).max() < 1e-4 < 0.1 < np.abs(rates[..., 1]).min()


def test_signed_states_are_no_amounts():
    points, found = amounts(lambda x, a: (x[1], -a * x[0]), 0.02)
    assert not points.amounts.any()
    assert not found.law.vanishing


def test_a_polynomial_reaches_down_to_nothing():
    """The law of what grows in proportion to itself holds between 0 and the data, too."""
    starts = ((0.2, 1.0), (0.3, 0.7), (1.6, 0.4))
    data = simulated(lambda x, a: (a * x[0] * (1 - x[0]), -0.3 * x[1]), (0.8, 1.2), starts)
    noise = 0.01 * np.random.default_rng(0).normal(size=data.states.shape)
    data = dataclasses.replace(data, states=data.states + noise)
    units = Units.measured(data)
    layout = dataclasses.replace(LAYOUT, noise=tuple(0.01 / np.array(units.scale)))
    found = best_polynomial(data, units, layout)
    nothing = Points.of(data, units, layout).zero
    assert found.degree == 2
    assert found.region[0][0] <= nothing[0] < units.standard(data.states)[..., 0].min()


def test_sensitivities_against_differences():
    data = noisy_duffing(0.05).select(trajectories=slice(1))
    points = Points.of(data, Units.measured(data), LAYOUT)
    law, sigma = Law(3, points.region, points.median_gap), np.array([0.05, 0.1])
    coefficients = fitted(points, law, points.complete).coefficients
    pieces = stretches(points, points.complete, 5, 100)
    both = coefficients.common + coefficients.own
    guess = shooting._Guess(coefficients.common, both, first_states(pieces.states))
    misses, by_coefficient, by_start = shooting._paths(pieces, law, sigma, guess)
    step = 1e-6
    for term, channel in ((0, 0), (2, 0), (6, 1)):
        moved = guess.coefficients.copy()
        moved[:, term, channel] += step
        slope = (shooting._paths(pieces, law, sigma, guess._replace(coefficients=moved)).misses - misses) / step
        np.testing.assert_allclose(slope, -by_coefficient[..., 2 * term + channel], atol=1e-3)
    moved = guess.starts.copy()
    moved[:, 1] += step
    slope = (shooting._paths(pieces, law, sigma, guess._replace(starts=moved)).misses - misses) / step
    np.testing.assert_allclose(slope, -by_start[..., 1], atol=1e-3)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_drag_is_a_signed_square(noise):
    """Bodies that fall and rise in air: no polynomial is x|x|, and none of higher degree is taken for it."""
    falling = lambda x, drag: (x[1], -1 - drag * x[1] * abs(x[1]))
    starts = np.array([[0.0, 2.0], [1.0, -1.5], [0.5, 1.0], [2.0, 0.3]])
    data = simulated(falling, (0.5, 1.1), times=np.linspace(0, 3, 21), starts=starts)
    states = data.states + noise * data.states.std((0, 1, 2)) * np.random.default_rng(0).normal(size=data.states.shape)
    data = lx.Trajectories.from_arrays(data.times, states)
    layout = dataclasses.replace(LAYOUT, noise=(noise, noise) if noise else None)
    best = best_polynomial(data, Units.measured(data), layout)
    assert best.degree == 2
    np.testing.assert_allclose(best.zero, Points.of(data, Units.measured(data), layout).zero)


def test_what_is_left_out_is_what_is_forecast():
    """Two trajectories with laws of their own: each is fitted perfectly, and says nothing of the other."""
    t = np.linspace(0, 2, 15)
    data = lx.Trajectories.from_arrays(t, np.stack([np.exp(-t), 2 - np.exp(-t)])[None, ..., None])
    points = Points.of(data, Units.measured(data), Layout(("x",)))
    law = Law(1, points.region, points.median_gap)
    assert held_out_error(points, law, None) > 0.1


def test_integrals_along_a_spline_are_exact_for_cubics():
    """x = t³ and a field that is a constant and x: ∫ x dt = t⁴/4."""
    times = np.array([0.0, 0.4, 1.0, 1.3, 2.0])
    data = lx.Trajectories.from_arrays(times, (times**3)[None, None, :, None])
    points = Points.of(data, Units.ones(1), Layout(("x",)))
    (found,) = equations(points, Law(1, points.region, 1.0).terms, points.region, points.complete)
    root = np.sqrt(np.diff(times))
    np.testing.assert_allclose(found.terms[:, 0], root)
    np.testing.assert_allclose(found.terms[:, 1] * root, np.diff(times**4 / 4), atol=1e-12)
    np.testing.assert_allclose(found.changes[:, 0] * root, np.diff(times**3), atol=1e-12)


def test_the_flow_itself_makes_coefficients_exact():
    """Far between points a spline is wrong; steps of the solver, fine enough, are not."""
    oscillator = lambda x, mu: (x[1], mu * (1 - x[0] ** 2) * x[1] - x[0])
    data = simulated(oscillator, (0.5, 1.0), times=np.linspace(0, 6, 16))
    points = Points.of(data, Units.ones(2), LAYOUT)
    terms = Law(3, points.region, 0.4).terms
    along_spline = regression(equations(points, terms, points.region, points.complete), *anything(10, 2))
    along_flow = [fitted(points, Law(3, points.region, h), points.complete) for h in (0.4, 0.1)]
    # The terms 1, x, y, x², xy, y², x³, x²y, …: μ(1 − x²)y has −μ √2 / FALL² of the product of Hermite polynomials.
    wrong = [np.abs((c.common + c.own)[:, 7, 1] + np.array([0.5, 1.0]) * np.sqrt(2) * 16).max()
             for c in (along_spline, *(found.coefficients for found in along_flow))]  # fmt: skip
    assert wrong[2] < 0.1 * wrong[0], wrong
    assert along_flow[1].rest < 0.1 * along_flow[0].rest
    assert best_polynomial(data, Units.ones(2), LAYOUT).finer > 1


@pytest.mark.parametrize(("method", "steps"), [("leads", 1_000), ("one-per-env", 1_000), ("one-for-all", 12_000)])
def test_few_steps_where_nets_begin_at_the_law(method, steps):
    """One field for all environments is not the law of each."""
    data = simulated(lambda x, a: (x[1], -a * x[0]), (0.8, 1.2))
    assert Trainer.of(request_of(data, steps=None), [METHODS[method]()], [None]).configs[0].steps == steps
    net = METHODS[method](net=lx.MLP)
    assert Trainer.of(request_of(data, steps=None), [net], [None]).configs[0].steps == 12_000
    noisy = lx.Trajectories.from_arrays(
        TIMES, data.states + 0.1 * np.random.default_rng(0).normal(size=data.states.shape)
    )
    assert Trainer.of(request_of(noisy, steps=None, latent=lx.Latent()), [net], [None]).configs[0].steps == 1_000


def test_holes_are_left_out():
    data = simulated(duffing, (0.5, 1.0))
    states = data.states.copy()
    states[0, 0, 3:9] = np.nan
    states[1, 2, 20:, 1] = np.nan
    holed = lx.Trajectories.from_arrays(TIMES, states)
    trend, whole = (trend_of(d, Units.ones(2), LAYOUT, 3, None) for d in (holed, data))
    np.testing.assert_allclose(trend.common + trend.own, whole.common + whole.own, atol=0.1)


def test_inputs_and_impulses_act():
    """dx/dt = −x + 2u with a held input, and a dose that adds to x."""
    times = np.linspace(0, 4, 41)
    rate, dose = np.where(times < 2, 1.0, 0.0), np.where(np.arange(41) == 10, 3.0, 0.0)
    x = [0.0]
    for k in range(40):
        start = x[-1] + dose[k]
        x.append(2 * rate[k] + (start - 2 * rate[k]) * np.exp(-0.1))
    data = lx.Trajectories.from_arrays(
        times,
        np.array(x)[None, None, :, None],
        channels=["x"],
        inputs=np.stack([rate, dose], axis=-1)[None, None],
        input_names=["rate", "dose"],
        input_kinds=["held", "impulse:x"],
    )
    layout = Layout(("x",), inputs=("rate", "dose"), kinds=("held", "impulse:x"))
    units = dataclasses.replace(Units.ones(1), input_mean=(0.0,), input_scale=(1.0,))
    trend = trend_of(data, units, layout, 1, None)
    np.testing.assert_allclose((trend.common + trend.own)[0, :, 0], [0, -1, 2], atol=0.02)


@pytest.mark.parametrize(
    ("field", "degree"),
    [
        (lambda x, a: (x[1], -a * x[0] - 0.1 * x[1]), 1),
        (lambda x, a: (0.4 * x[0] * x[1] - 0.3 * x[0], -a * x[0] ** 2 - 0.1 * x[1]), 2),
        (duffing, 3),
    ],
    ids=["linear", "quadratic", "cubic"],
)
def test_the_degree_is_that_of_the_law(field, degree):
    data = simulated(field, (0.6, 1.0))
    assert best_polynomial(*in_units(data)).degree == degree
    one_each = data.select(trajectories=slice(1))
    assert best_polynomial(*in_units(one_each)).degree <= degree


def test_no_polynomial_where_none_is_of_use():
    """What rises and falls by the clock is no field of x: no polynomial forecasts better than the mean."""
    x = np.sin(1.7 * TIMES + np.arange(6)[:, None])[:, None, :, None]
    data = lx.Trajectories.from_arrays(TIMES, x)
    assert best_polynomial(data, Units.measured(data), Layout(("x",))).degree == 0
    assert chosen_for(data).laid_out(data, lx.Latent()).net == Architecture(lx.MLP)


def test_no_curve_where_something_acts_or_is_hidden():
    data = simulated(duffing, (0.6, 1.0))
    for layout in (Layout(("x", "y"), hidden=1), Layout(("x", "y"), individual=1)):
        assert best_polynomial(data, Units.measured(data), layout) == Polynomial()
        assert trend_of(data, Units.measured(data), layout, 1, None) is None


@pytest.mark.parametrize("name", ["leads", "one-per-env", "one-for-all", "coda"])
def test_training_begins_at_the_trend(name):
    """Fields are the law, without any learning; where environments cannot differ yet, a law in their midst."""
    data = simulated(duffing, (0.5, 1.0))
    trainer = Trainer.of(request_of(data, steps=1), [METHODS[name]()], [None])
    method, units = trainer.methods[0], trainer.request.defaults.units
    shared, specific, _ = jax.tree.map(lambda a: a[0], trainer._first_state().levels)
    assert dict(method.net.options)["degree"] == 3
    states = data.states[0, 0, ::6]
    found = []
    for e in range(2):
        own = jax.tree.map(lambda a, e=e: a[e], specific)
        f, g = method.split(shared, own)
        tangents = [f(0.0, x, None) + g(0.0, x, None) for x in jnp.asarray(units.standard(states), jnp.float32)]
        found.append(units.raw_tangent(np.asarray(tangents)))
    truth = [np.stack([duffing(x, a) for x in states]) for a in (0.5, 1.0)]
    if name != "one-for-all":
        np.testing.assert_allclose(found, truth, atol=0.02)
    else:
        np.testing.assert_array_equal(*found)
        np.testing.assert_allclose(found[0], np.mean(truth, axis=0), atol=0.2)


@pytest.mark.parametrize("channel", [0, 1])
def test_multiples_of_a_channel(channel):
    """What grows in proportion to itself: the channel, as a part of its largest size, times a polynomial."""
    region, zero = ((-1.0, -2.0), (3.0, 2.0)), np.array([-1.5, -2.0])
    coefficients = multiples(region, zero, 2, channel)
    z = np.random.default_rng(0).uniform(*region, (20, 2))
    size = np.array([4.5, 4.0])  # from 0 to the largest value
    expected = ((z - zero) / size)[:, [channel]] * np.concatenate([np.ones((20, 1)), z], axis=1)
    found = np.concatenate([np.ones((20, 1)), features(z, 2)], axis=1) @ coefficients
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_an_environment_without_whole_states_stands_still_by_itself():
    t = np.linspace(0, 3, 16)
    states = np.stack([np.stack([np.exp(-a * t), np.exp(a * t / 4)], axis=-1) for a in (0.4, 0.8)])[:, None]
    states[0, 0, ::2, 0] = states[0, 0, 1::2, 1] = np.nan
    data = lx.Trajectories.from_arrays(t, states)
    about = lx.Units.ones(2), Layout(data.channels), 1, None
    found = trend_of(data, *about)
    assert found is not None
    assert found.alone[0].tolist() == [[0.0, 0.0]] * 3
    assert np.diag(found.alone[1][1:]) == pytest.approx([-0.8, 0.2], abs=1e-3)
    nothing = lx.Trajectories.from_arrays(t, states[:1])
    assert trend_of(nothing, *about) is None
