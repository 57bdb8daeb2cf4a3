"""Whether polynomial fields keep their forecasts near the data, where there are only a few curves to learn from."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import leadax as lx
from leadax.data.layout import Layout
from leadax.data.units import Units
from leadax.trend import best_polynomial
from leadax.trend.fitting import CERTAIN, fitted_for
from leadax.trend.flow import Law, fitted
from leadax.trend.intervals import Points
from leadax.trend.stability import share_that_runs_away


def grazing(x, capacity):
    """Predators that eat no more than they can: no polynomial."""
    eaten = x[0] * x[1] / (0.4 + x[0])
    return x[0] * (1 - x[0] / capacity) - eaten, eaten - 0.4 * x[1]


def from_two_starts(noise, seed=0):
    times = np.linspace(0, 15, 21)
    solve = lambda k, x: solve_ivp(lambda t, x: grazing(x, k), (0, 15), x, t_eval=times, rtol=1e-8, atol=1e-9).y.T
    states = np.array([[solve(k, x) for x in ((0.5, 0.4), (1.4, 0.9))] for k in (1.2, 1.8, 2.4)])
    states = states + noise * states.std(axis=(0, 1, 2)) * np.random.default_rng(seed).normal(size=states.shape)
    return lx.Trajectories.from_arrays(times, states)


@pytest.mark.parametrize(("rate", "low", "high"), [(-1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (2.0, 0.8, 1.0)])
def test_forecasts_that_run_away_are_counted(rate, low, high):
    data = from_two_starts(0.0)
    points = Points.of(data, Units.measured(data), Layout(data.channels))
    law = Law(1, points.region, points.median_gap)
    coefficients = np.zeros((3, 3, 2))
    coefficients[:, 1:] = rate * np.eye(2)
    assert low <= share_that_runs_away(points, law, coefficients) <= high


def test_how_far_is_far():
    """A drift by 0.7 of the range, from at most a quarter of it beyond the data: by more than 0.5 of it, never by 1."""
    data = from_two_starts(0.0)
    points = Points.of(data, Units.measured(data), Layout(data.channels))
    low, high = (np.asarray(side) for side in points.region)
    drift = np.zeros((3, 3, 2))
    drift[:, 0] = 0.7 * (high - low) / (points.times[0, 0, -1] - points.times[0, 0, 0])
    law = Law(1, points.region, points.median_gap)
    assert share_that_runs_away(points, law, drift) == 0.0
    assert share_that_runs_away(points, law, drift, far=0.5) > 0.1


def test_amounts_do_not_start_below_zero():
    """Where a logistic law would run away, and rightly so."""
    t = np.linspace(0, 6, 25)
    growth = np.stack([1 / (1 + a * np.exp(-t)) for a in (20.0, 3.0, 0.5)])
    data = lx.Trajectories.from_arrays(t, growth[None, ..., None])
    points = Points.of(data, Units.ones(1), Layout(("x",)))
    law = Law(2, ((-1.0,), (2.0,)), points.median_gap)
    found = fitted(points, law, points.complete).coefficients
    assert share_that_runs_away(points, law, found.common + found.own) == 0.0
    moved = points._replace(states=points.states - 1, zero=np.array([-9.0]))  # as if 0 were far away
    law = Law(2, ((-2.0,), (1.0,)), points.median_gap)
    found = fitted(moved, law, points.complete).coefficients
    assert share_that_runs_away(moved, law, found.common + found.own) > 0.05


def test_trajectories_without_points_tell_nothing():
    data = lx.Trajectories.from_arrays(range(3), np.ones((1, 1, 3, 1)))
    points = Points.of(data, Units.ones(1), Layout(("x",)))
    assert share_that_runs_away(points, Law(1, points.region, 1.0), np.zeros((1, 2, 1))) == 0.0


def test_what_would_run_away_is_curved_only_where_the_data_are():
    data = from_two_starts(0.03)
    units, layout = Units.measured(data), Layout(data.channels, noise=(0.03, 0.03))
    best = best_polynomial(data, units, layout)
    assert best.degree > 2
    points = Points.of(data, units, layout)
    low, high = points.region
    assert best.region[1] == high
    # What grows in proportion to itself is curved down to 0.
    assert all(a in (b, min(b, none)) for a, b, none in zip(best.region[0], low, points.zero, strict=True))


def test_forecasts_start_where_trajectories_do():
    """A decay passes small states and does not begin there. What would happen from there on is not asked."""
    t = np.linspace(0, 3, 13)
    falling = lambda *begins: lx.Trajectories.from_arrays(
        t, np.stack([a * np.exp(-t) for a in begins])[None, ..., None]
    )
    coefficients = np.array([[[0.0], [1.0]]])  # dx/dt = x: only what starts near 0 stays

    def share(data):
        points = Points.of(data, Units.ones(1), Layout(("x",)))
        return share_that_runs_away(points, Law(1, points.region, points.median_gap), coefficients)

    assert share(falling(1.0, 1.2)) == 1
    assert 0.5 < share(falling(0.0, 1.2)) < 0.98


def test_environments_differ_in_low_terms_where_high_ones_run_away():
    """A law that is no polynomial, without noise: what each environment has seen of it is no difference."""
    data = from_two_starts(0.0)
    units, layout = Units.measured(data), Layout(data.channels)
    points = Points.of(data, units, layout)
    law = Law(5, points.region, points.median_gap / 2)
    free = fitted(points, law, points.complete).coefficients
    found = fitted_for(points, law, points.complete, None)
    assert share_that_runs_away(points, law, free.whole) > 0
    assert found.law.own in (1, 2)
    assert found.strays < share_that_runs_away(points, law, free.whole)


def test_a_law_that_is_certain_may_run_away():
    """dx/dt = a x² - 1 does, from above 1 / √a: a polynomial, and environments differ in its highest term."""
    times, rates = np.linspace(0, 3, 13), (0.5, 1.0, 2.0)
    solve = lambda a, x: solve_ivp(lambda t, x: a * x**2 - 1, (0, 3), [x], t_eval=times, rtol=1e-10, atol=1e-12).y.T
    states = np.array([[solve(a, x) for x in (-1.0, 0.9 / np.sqrt(a))] for a in rates])
    data = lx.Trajectories.from_arrays(times, states)
    points = Points.of(data, Units.measured(data), Layout(data.channels))
    law = Law(2, points.region, points.median_gap / 2)
    found = fitted_for(points, law, points.complete, None)
    assert found.rest < CERTAIN
    assert share_that_runs_away(points, law, found.coefficients.whole) > 0.1
    assert (found.law.own, found.strays) == (None, 0.0)
