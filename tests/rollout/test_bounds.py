import jax
import jax.numpy as jnp
import numpy as np

from leadax.rollout import cut_off, kept_within, rollout, solve, steps_between

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
    # The pull balances the field held at the edge: x = high + f(high).
    np.testing.assert_allclose(kept[-1], [2.0 + 9.0, 3.0 + 28.0], rtol=1e-6)
    adaptive = solve(kept_within(runaway, BOUNDS), start, jnp.asarray(TIMES))
    assert adaptive.status == 0
    np.testing.assert_allclose(adaptive.states[-1], kept[-1], rtol=1e-5)
    np.testing.assert_array_equal(cut_off(kept, BOUNDS)[-1], BOUNDS[1])


def test_a_forecast_ends_at_bounds_or_at_its_start():
    path = jnp.array([[6.0, 0.0], [5.0, -9.0], [7.0, 2.0], [-3.0, 9.0]])
    np.testing.assert_array_equal(cut_off(path, BOUNDS), [[6.0, 0.0], [5.0, -1.0], [6.0, 2.0], [-2.0, 3.0]])
    assert cut_off(path, None) is path


def test_bounds_hold_for_every_pixel_of_a_field():
    field = jnp.full((3, 2), 5.0).at[0].set(0.0)
    found = kept_within(lambda t, x, u: 0 * x, BOUNDS)(T, field, None)
    np.testing.assert_allclose(found, [[0.0, 0.0], [-3.0, -2.0], [-3.0, -2.0]])
