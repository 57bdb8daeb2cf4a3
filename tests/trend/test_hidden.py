"""Single channels that rise and fall: when they need a hidden one, and the linear laws that both begin at."""

import math

import jax.random as jr
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import leadax as lx
from leadax.data.latent import layout_for
from leadax.data.layout import Layout
from leadax.data.units import Units
from leadax.train.fit import may_hide
from leadax.train.request import chosen_defaults
from leadax.trend import needs_hidden, trend_of
from leadax.trend.hidden import hidden_law
from leadax.trend.intervals import Points
from leadax.trend.second_order import derivative, forecast, responses, second_order, series_of

TIMES = np.linspace(0, 8, 17)
RATES = ((1.5, 0.3), (1.0, 0.2), (2.0, 0.25), (1.2, 0.4))


def intermediate(rates=RATES, times=TIMES, noise=0.0, trajectories=2, seed=0):
    """B in A → B → C, of which there is none at the start: j A₀ (e^{−kt} − e^{−jt})/(j − k)."""
    rng = np.random.default_rng(seed)
    amounts = rng.uniform(1, 3, (len(rates), trajectories))
    curves = np.array([j / (j - k) * (np.exp(-k * times) - np.exp(-j * times)) for j, k in rates])
    states = amounts[..., None] * curves[:, None]
    return lx.Trajectories.from_arrays(
        times, (states + noise * states.std() * rng.normal(size=states.shape))[..., None]
    )


def growth(noise, seed):
    rng = np.random.default_rng(seed)
    rate, most, first = rng.uniform(0.4, 1.6, 12), rng.uniform(4, 12, 12), rng.uniform(0.2, 6, 12)
    states = (most / (1 + (most / first - 1) * np.exp(-rate * TIMES[:, None]))).T
    return lx.Trajectories.from_arrays(TIMES, (states + noise * rng.normal(size=states.shape))[:, None, :, None])


def call_for_hidden(data):
    units = Units.measured(data)
    return needs_hidden(data, units, layout_for(data, units, lx.Latent()))


@pytest.mark.parametrize("numbers", [(0.3, 1.5, 0.4), (1.0, -2.0, -1.0), (2 * np.log(1.5), np.log(3.0), 0.0)])
def test_curves_solve_the_equation(numbers):
    """Two rates, a swing, and the case between them: x'' = a (x* − x) − c x'."""
    numbers, start = np.array(numbers), np.array([1.2, -0.7])
    a, c = np.exp(numbers[:2])
    field = lambda _, z: (z[1], a * (numbers[2] - z[0]) - c * z[1])
    truth = solve_ivp(field, (0, TIMES[-1]), start, t_eval=TIMES, rtol=1e-10, atol=1e-12).y
    np.testing.assert_allclose(forecast(numbers, start, TIMES), truth[0], atol=1e-5)
    np.testing.assert_allclose(derivative(numbers, start, TIMES), truth[1], atol=1e-5)
    assert responses(numbers, np.array([0.0])).round(6).tolist() == [[1.0, 0.0]]


def test_rates_of_all_environments_are_found():
    data = intermediate()
    units = Units.ones(1)
    points = Points.of(data, units, Layout(("x0",)))
    law = second_order(series_of(points, points.complete), len(RATES), rest=0.0)
    found = np.array([np.exp(law.of(e)[:2]) for e in range(len(RATES))])
    np.testing.assert_allclose(found, [(j * k, j + k) for j, k in RATES], rtol=2e-3)
    assert not law.swings


@pytest.mark.parametrize("noise", [0.0, 0.05, 0.15])
def test_what_rises_and_falls_needs_a_hidden_channel(noise):
    assert call_for_hidden(intermediate(noise=noise))
    phases = np.arange(5)[:, None]
    swings = np.sin(1.3 * TIMES + phases) + noise * np.random.default_rng(1).normal(size=(5, len(TIMES)))
    assert call_for_hidden(lx.Trajectories.from_arrays(TIMES, swings[:, None, :, None]))


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_growth_and_decay_do_not(noise, seed):
    assert not call_for_hidden(growth(noise, seed))
    rng = np.random.default_rng(seed)
    decay = 3 * np.exp(-2 * TIMES) + rng.uniform(1, 2, (6, 1)) * np.exp(-0.3 * TIMES)
    noisy = decay + 0.1 * noise * rng.normal(size=decay.shape)
    assert not call_for_hidden(lx.Trajectories.from_arrays(TIMES, noisy[:, None, :, None]))


def test_chance_does_not():
    """White noise, and few points."""
    rng = np.random.default_rng(0)
    assert not call_for_hidden(lx.Trajectories.from_arrays(TIMES, rng.normal(size=(4, 3, len(TIMES), 1))))
    assert not call_for_hidden(intermediate(times=TIMES[:3]))


def relaxing(environments, trajectories, points, noise, seed):
    """To a level of each environment."""
    rng, times = np.random.default_rng(seed), np.linspace(0, 6, points)
    rates = 0.4 + 0.2 * np.arange(environments)[:, None, None]
    states = rates + rng.uniform(0.5, 2, (environments, trajectories, 1)) * np.exp(-rates * times)
    states += noise * states.std() * rng.normal(size=states.shape)
    return lx.Trajectories.from_arrays(times, states[..., None])


@pytest.mark.parametrize("shape", [(3, 1, 8), (4, 1, 6), (2, 2, 6), (1, 1, 12)])
@pytest.mark.parametrize("noise", [0.2, 0.5])
def test_nor_do_few_points_whose_noise_is_not_known(shape, noise):
    assert layout_for(relaxing(*shape, noise, 0), Units.ones(1), lx.Latent()).noise is None
    assert not any(call_for_hidden(relaxing(*shape, noise, seed)) for seed in range(3))


def test_nor_does_an_outlier_nor_what_is_constant():
    data = relaxing(3, 3, 20, 0.0, 0)
    states = np.array(data.states)
    states[1, 0, 10] += 5 * states.std()
    assert not call_for_hidden(lx.Trajectories.from_arrays(np.linspace(0, 6, 20), states))
    levels = np.random.default_rng(0).uniform(1, 5, (1, 4, 1, 1))
    assert not call_for_hidden(lx.Trajectories.from_arrays(TIMES, np.repeat(levels, len(TIMES), axis=2)))


def test_of_several_channels_and_of_inputs_nothing_is_said():
    data = intermediate()
    both = np.concatenate([data.states, data.states**2], axis=-1)
    assert not call_for_hidden(lx.Trajectories.from_arrays(TIMES, both))
    driven = lx.Trajectories.from_arrays(TIMES, data.states, inputs=np.sin(data.states), input_names=("u",))
    assert not call_for_hidden(driven)


def test_nets_begin_at_the_law():
    """x and h along the trend's linear field are the states that it was found with, in every environment."""
    data = intermediate()
    units = Units.measured(data)
    trend = trend_of(data, units, Layout(("x0",), hidden=1), 1, None)
    assert trend is not None
    times = TIMES / units.time
    for e in range(len(RATES)):
        constant, matrix = (trend.common + trend.own[e])[0], (trend.common + trend.own[e])[1:]
        field = lambda _, z, constant=constant, matrix=matrix: constant + z @ matrix
        start = trend.states[e, 1, 0]
        found = solve_ivp(field, (0, times[-1]), start, t_eval=times, rtol=1e-9, atol=1e-10).y.T
        np.testing.assert_allclose(found, trend.states[e, 1], atol=1e-5)
        np.testing.assert_allclose(found[:, 0], units.standard(data.states[e, 1])[:, 0], atol=5e-3)
    # The hidden channel stays within its bounds, half of the way to where forecasts are cut off.
    assert np.abs(trend.states[..., 1]).max() == pytest.approx(3.0)


def test_steps_follow_the_fastest_part_of_the_law():
    """Points are far apart for the rise. A step from point to point would not be stable."""
    times = np.linspace(0, 60, 40)
    rates = np.array([(1.5, 0.3), (2.0, 0.4), (3.0, 0.5)])
    curves = np.array([np.exp(-k * (times + 0.25)) - np.exp(-j * (times + 0.25)) for j, k in rates])
    data = lx.Trajectories.from_arrays(times, (np.array([1, 2, 3])[:, None] * curves[:, None])[..., None])
    chosen, gap = chosen_defaults(data, None, None, ()), times[1]
    assert chosen.layout.hidden == 1
    assert chosen.longest_step <= 1 / rates.max() < gap
    law = hidden_law(data, chosen.units, chosen.layout)
    steps, z = round(gap / chosen.longest_step), law.states[2, 0, 0]
    matrix = gap / chosen.units.time / steps * (law.common + law.own[2])[1:].T
    once = sum(np.linalg.matrix_power(matrix, k) / math.factorial(k) for k in range(5))  # of Runge and Kutta, rest at 0
    rest = np.array([chosen.units.standard(np.zeros(1))[0], 0.0])
    for state in law.states[2, 0]:
        np.testing.assert_allclose(z, state, atol=0.02)
        z = rest + np.linalg.matrix_power(once, steps) @ (z - rest)


def test_nothing_runs_back_to_where_nothing_was_seen():
    data = intermediate()
    data = lx.Trajectories.from_arrays(TIMES, np.where(np.arange(17)[:, None] < 9, np.nan, data.states))
    law = hidden_law(data, Units.measured(data), Layout(("x0",), hidden=1))
    assert np.abs(law.states).max() < 4
    np.testing.assert_array_equal(law.states[:, :, :9], np.repeat(law.states[:, :, 9:10], 9, axis=2))


@pytest.fixture(scope="module")
def model():
    """What defaults learn, hardly trained."""
    return lx.fit(lx.Leads(), intermediate(noise=0.02), steps=1, key=jr.key(0))


def test_a_hidden_channel_is_added_by_default_and_forecasts(model):
    assert model.layout.hidden == 1
    assert lx.evaluate(model, intermediate(seed=1), warmup=4).nmse < 0.02


def test_it_is_not_added_where_it_cannot_be():
    """A formula knows its own channels, derivatives of hidden ones cannot be matched, and a clock explains turns."""
    data = intermediate()
    hidden = lambda **options: chosen_defaults(data, None, None, (), **options).layout.hidden
    assert hidden() == 1
    assert hidden(may_hide=False) == 0
    formula = lx.Leads(known=lambda t, x, u, p: -p.k * x, parameters={"k": lx.Parameter(1.0)})
    assert may_hide(lx.Leads(), lx.Recipe())
    assert not may_hide(formula, lx.Recipe())
    assert not may_hide(lx.Leads(), lx.Recipe(match="spline"))
    assert lx.chosen_for(data, clock=lx.Clock()).layout.hidden == 0
    latent = lambda *noise, **options: chosen_defaults(data, None, lx.Latent(*noise, **options), ()).layout.hidden
    assert latent() == latent("none") == latent(0.01) == 1  # as with the option --noise
    assert latent(hidden=0) == latent(individual=1) == 0


def test_methods_begin_at_their_part_of_it():
    """If environments do not differ, each alone and all together have the same law."""
    data = intermediate(rates=RATES[:1] * 3)
    law = hidden_law(data, Units.measured(data), Layout(("x0",), hidden=1))
    assert np.abs(law.own).max() < 1e-6
    for part in (*law.alone, law.pooled):
        np.testing.assert_allclose(part, law.common, rtol=1e-3, atol=1e-6)


def test_noise_is_no_larger_than_what_the_law_leaves():
    """Of few points at uneven times the noise is hard to tell: the rise is taken for some."""
    data = intermediate(noise=0.05, times=np.array([0, 0.2, 0.5, 1, 2, 4, 7, 9.0]), trajectories=1)
    guessed = layout_for(data, Units.measured(data), lx.Latent()).noise[0]
    auto, given = (chosen_defaults(data, None, latent, ()) for latent in (None, lx.Latent(noise=0.9, hidden=1)))
    law = hidden_law(data, auto.units, auto.layout)
    assert auto.layout.noise[0] == pytest.approx(min(law.left, guessed))
    assert given.layout.noise == (0.9,)


def test_a_short_trajectory_shortens_the_usual_warm_up(model):
    short = intermediate(times=TIMES[:4])
    assert model.warmup == 5
    assert lx.evaluate(model, short).nmse == lx.evaluate(model, short, warmup=3).nmse
    only_start = np.where(np.arange(4)[:, None] > 0, np.nan, short.states)
    assert np.isfinite(lx.forecast(model, lx.Trajectories.from_arrays(TIMES[:4], only_start)).states).all()
    with pytest.raises(lx.InputError, match="warm-up of 5"):
        lx.evaluate(model, short, warmup=5)
