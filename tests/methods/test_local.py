"""What is local to a trajectory: where inference begins, what a population remembers, and inference itself."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import least_squares
from tests.latent import BATCH, DATA, LAYOUT, METHOD, plain_forecast, random_latent, trajectories

from leadax import Trajectories, Units
from leadax.data.layout import Layout
from leadax.evaluate.errors import first_points, known_points
from leadax.methods.infer import inferred, levenberg_marquardt
from leadax.methods.local import first_local
from leadax.methods.population import Population, blank_population, population_of, widened
from leadax.methods.prepare import prepare, side_by_side

POPULATION = Population(
    start=jnp.array([[0.9, 1.1, 0.3], [1.2, 0.8, -0.4]]),
    individual=jnp.array([[0.2], [-0.1]]),
    # The first channel starts at nearly the same place in all: some of the data start elsewhere.
    covariance=jnp.array(
        [[0.01, 0.02, 0.0, 0.02], [0.02, 0.6, 0.2, 0.0], [0.0, 0.2, 0.7, -0.3], [0.02, 0.0, -0.3, 0.4]]
    ),
    residual=jnp.array([0.05, 0.08]),
)


def test_starts_at_the_observations_and_between_them():
    local = first_local(BATCH, LAYOUT, jnp.float64)
    assert local.path.shape == (2, 3, 6, 3)
    assert local.individual.shape == (2, 3, 1)
    assert not local.individual.any()
    for (e, i), times, states in trajectories():
        for c in range(2):
            seen = ~np.isnan(states[:, c])
            expected = np.interp(times, times[seen], states[seen, c])
            np.testing.assert_allclose(local.path[e, i, : len(times), c], expected, rtol=1e-12)


def test_hidden_channels_start_as_derivatives():
    """Of a sine they are a cosine and another sine, whatever the times and lengths, around zero with variance 1."""
    rng = np.random.default_rng(0)
    times = [[0.1 * np.arange(n) + rng.uniform(0, 0.08, n) for n in (120, 90)]]
    data = Trajectories.from_arrays(times, [[np.sin(t)[:, None] for t in row] for row in times])
    layout = Layout(("x",), hidden=2)
    batch = prepare(data, Units.ones(1), METHOD, dtype=jnp.float64, layout=layout)
    path = np.asarray(first_local(batch, layout, jnp.float64).path)
    for i, t in enumerate(times[0]):
        for hidden, truth in ((1, np.cos(t)), (2, -np.sin(t))):
            assert np.corrcoef(path[0, i, : len(t), hidden], truth)[0, 1] > 0.97
    real = path[np.asarray(batch.complete)]
    np.testing.assert_allclose(real[:, 1:].mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(real[:, 1:].std(axis=0), 1, rtol=1e-9)


def test_nothing_to_infer_is_an_empty_level():
    assert first_local(BATCH, Layout(("u", "v")), jnp.float64) == ()
    assert blank_population(Layout(("u", "v")), 2) == ()


def test_population():
    local = random_latent().local
    found = population_of(local, BATCH, jnp.array([0.1, 0.2]))
    places = [place for place, _, _ in trajectories()]
    starts = np.array([local.path[place][0] for place in places])
    constants = np.array([local.individual[place] for place in places])
    own = lambda values, e: np.mean([v for v, place in zip(values, places, strict=True) if place[0] == e], axis=0)
    np.testing.assert_allclose(found.start, [own(starts, e) for e in range(2)], rtol=1e-12)
    variances = [*starts.var(axis=0), *np.mean(constants**2, axis=0)]
    np.testing.assert_allclose(found.covariance, np.diag(variances), rtol=1e-12)
    np.testing.assert_allclose(found.individual, [own(constants, e) for e in range(2)], rtol=1e-12)
    narrow = population_of(jax.tree.map(jnp.zeros_like, local), BATCH, jnp.array([0.1, 0.2]))
    np.testing.assert_allclose(narrow.covariance, 0.05**2 * np.eye(4))
    blank = blank_population(LAYOUT, 2)
    assert jax.tree.map(jnp.shape, blank) == jax.tree.map(jnp.shape, found)


@pytest.fixture(scope="module")
def found():
    """What is inferred from three points, and from the first alone."""
    levels = jax.tree.map(lambda a: a[None], random_latent()._replace(local=POPULATION))
    method = side_by_side([METHOD], 1, jnp.float64)
    return {k: inferred(method, levels, BATCH, known_points(BATCH, k)) for k in (1, 3)}


def test_inference_is_linear_least_squares_for_a_linear_field(found):
    f, g = (np.asarray(leaf) for leaf in jax.tree.leaves(random_latent())[:2])
    known, wider = np.asarray(first_points(BATCH, 3)), []
    for (e, i), times, states in trajectories():
        forecast = lambda z, t=times, e=e: plain_forecast(f + g[e], z[None, :3], z[3:], t)[:, :2]
        columns = np.stack([forecast(unit) for unit in np.eye(4)], axis=-1)
        seen = ~np.isnan(states) & known[e, i, : len(times), None]
        sigma = np.broadcast_to(np.asarray(POPULATION.residual), states.shape)
        mean = np.concatenate([POPULATION.start[e], POPULATION.individual[e]])
        # Where a first point is more than three standard deviations off, the prior is wider.
        covariance = np.array(POPULATION.covariance)
        for c in np.flatnonzero(~np.isnan(states[0])):
            more = (states[0, c] - mean[c]) ** 2 - 9 * (covariance[c, c] + POPULATION.residual[c] ** 2)
            covariance[c, c] += max(0.0, more)
            wider.append(bool(more > 0))
        root = np.linalg.inv(np.linalg.cholesky(covariance))
        rows = np.concatenate([columns[seen] / sigma[seen][:, None], root])
        right = np.concatenate([states[seen] / sigma[seen], root @ mean])
        expected = np.linalg.lstsq(rows, right, rcond=None)[0]
        np.testing.assert_allclose(found[3].path[0, e, i, 0], expected[:3], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found[3].individual[0, e, i], expected[3:], rtol=1e-4, atol=1e-5)
    assert set(wider) == {True, False}


def test_a_start_elsewhere_widens_the_prior():
    """Up to three standard deviations, noise included, nothing changes; nor for what was not observed."""
    covariance, sigma, seen = jnp.diag(jnp.array([1.0, 3.0, 0.2])), jnp.array([0.0, 1.0]), jnp.array([True, True])
    same = widened(covariance, jnp.array([3.0, -6.0]), sigma, seen)
    np.testing.assert_array_equal(same, covariance)
    wider = widened(covariance, jnp.array([5.0, 8.0]), sigma, jnp.array([True, False]))
    np.testing.assert_allclose(wider, np.diag([17.0, 3.0, 0.2]))


def test_the_first_point_alone_is_believed(found):
    for (e, i), _, states in trajectories():
        expected = np.where(np.isnan(states[0]), POPULATION.start[e, :2], states[0])
        np.testing.assert_array_equal(found[1].path[0, e, i, 0], [*expected, POPULATION.start[e, 2]])
        np.testing.assert_array_equal(found[1].individual[0, e, i], POPULATION.individual[e])


def test_known_points_are_observations_not_rows():
    """The fifth row of the first trajectory is a hole: four points end before it, the fifth is the sixth row."""
    assert np.isnan(DATA.states[0, 0, 4]).all()
    known = np.asarray(known_points(BATCH, 5))
    assert known[0, 0].tolist() == [True] * 6
    assert np.asarray(known_points(BATCH, 4))[0, 0].tolist() == [True] * 5 + [False]
    assert not known[1, 2].any(), "padding"
    assert known_points(BATCH, 1) is None


def test_levenberg_marquardt_against_scipy():
    t = jnp.linspace(0, 3, 12)
    y = 2.0 * jnp.exp(-0.7 * t) + 0.3 + 0.05 * jnp.cos(9 * t)
    residuals = lambda p: p[0] * jnp.exp(-p[1] * t) + p[2] - y
    start = jnp.array([1.0, 2.0, 0.0])
    expected = least_squares(lambda p: np.asarray(residuals(p)), start, xtol=1e-14, ftol=1e-14, gtol=1e-14).x
    np.testing.assert_allclose(jax.jit(lambda s: levenberg_marquardt(residuals, s, 40))(start), expected, rtol=1e-6)


def test_levenberg_marquardt_with_many_unknowns():
    """More than are worth a Jacobian: by conjugate gradients."""
    rng = np.random.default_rng(0)
    matrix, right = rng.standard_normal((120, 80)) + 4 * np.eye(120, 80), rng.standard_normal(120)
    found = jax.jit(lambda s: levenberg_marquardt(lambda x: jnp.asarray(matrix) @ x - right, s, 30))(jnp.zeros(80))
    np.testing.assert_allclose(found, np.linalg.lstsq(matrix, right, rcond=None)[0], atol=1e-4)


def test_levenberg_marquardt_stays_where_nothing_is_better():
    """Steps into what is not a number are not taken."""
    found = levenberg_marquardt(lambda x: jnp.where(x > 0.5, jnp.nan, 2.0 - x), jnp.array([0.0]), 8)
    assert 0 <= float(found[0]) <= 0.5
