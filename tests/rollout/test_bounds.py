import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadax.rollout import kept_within, rollout, solve, steps_between

BOUNDS = jnp.array([[-2.0, -1.0], [2.0, 3.0]])
T = jnp.array(0.0)
TIMES = np.linspace(0, 40, 81)


def runaway(t, x, u):
    return x**3 + 1


def test_within_the_bounds_nothing_changes():
    bounded = kept_within(runaway, BOUNDS)
    for x in (jnp.array([0.5, 2.9]), jnp.array([-2.0, 3.0])):
        np.testing.assert_array_equal(bounded(T, x, None), runaway(T, x, None))
    inside = jnp.array([1.0, -0.5])
    jacobian = lambda field: jax.jacfwd(lambda x: field(T, x, None))(inside)
    np.testing.assert_array_equal(jacobian(bounded), jacobian(runaway))


def test_outside_the_field_is_held_and_pulls_back():
    found = kept_within(runaway, BOUNDS)(T, jnp.array([-7.0, 10.0]), None)
    np.testing.assert_allclose(found, [(-8 + 1) + 5.0, (27 + 1) - 7.0])


def test_forecasts_that_run_away_stay_finite():
    start = jnp.array([1.5, 0.5])
    steps = steps_between(TIMES, dtype=jnp.float64)
    assert not np.isfinite(rollout(runaway, start, steps)).all()
    kept = rollout(runaway, start, steps._replace(bounds=BOUNDS))
    np.testing.assert_array_equal(kept[-1], BOUNDS[1])
    # An adaptive solver ends where the pull balances the field held at the edge: x = high + f(high).
    adaptive = solve(kept_within(runaway, BOUNDS), start, jnp.asarray(TIMES))
    assert adaptive.status == 0
    np.testing.assert_allclose(adaptive.states[-1], [2.0 + 9.0, 3.0 + 28.0], rtol=1e-5)


@pytest.mark.parametrize("tableau", ["euler", "rk4-38"])
def test_no_step_leads_out_however_steep_the_field(tableau):
    steep = lambda t, x, u: 1e4 * x**3
    steps = steps_between(TIMES, dtype=jnp.float64)._replace(bounds=BOUNDS)
    path = rollout(steep, jnp.array([1.5, -0.5]), steps, tableau=tableau)
    np.testing.assert_array_less(np.abs(np.asarray(path) - np.array([0.0, 1.0])), 2 + 1e-12)


def test_a_start_outside_comes_back_and_does_not_jump():
    steps = steps_between(TIMES[:9], dtype=jnp.float64)._replace(bounds=BOUNDS)
    path = rollout(lambda t, x, u: 0 * x, jnp.array([6.0, 0.0]), steps)
    np.testing.assert_allclose(path[:, 0], 2 + 4 * np.exp(-TIMES[:9]), rtol=1e-2)
    held = rollout(lambda t, x, u: 0 * x + 9.0, jnp.array([6.0, 0.0]), steps)
    np.testing.assert_array_equal(held[:, 0], 6.0)


def test_bounds_hold_for_every_pixel_of_a_field():
    field = jnp.full((3, 2), 5.0).at[0].set(0.0)
    found = kept_within(lambda t, x, u: 0 * x, BOUNDS)(T, field, None)
    np.testing.assert_allclose(found, [[0.0, 0.0], [-3.0, -2.0], [-3.0, -2.0]])
