"""The prior for new trajectories: the EM algorithm against plain loops, for a linear field, where it is exact."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.latent import BATCH, METHOD, plain_forecast, random_latent, trajectories

from leadax.methods.population import population_of
from leadax.methods.prepare import side_by_side
from leadax.train.populations import ROUNDS, with_population


@pytest.fixture(scope="module")
def found():
    levels = jax.tree.map(lambda a: a[None], random_latent())
    local = with_population(side_by_side([METHOD], 1, jnp.float64), levels, BATCH).local
    return jax.tree.map(lambda a: np.asarray(a[0]), local)


def plain_population():
    """Means in each environment, covariance and residual after as many rounds, by linear least squares."""
    levels = random_latent()
    f, g, path, individual = (np.asarray(leaf) for leaf in jax.tree.leaves(levels))
    places = [place for place, _, _ in trajectories()]
    z = {place: np.concatenate([path[place][0], individual[place]]) for place in places}
    weights = {e: f + g[e] for e in range(2)}
    forecast = lambda e, z, times: plain_forecast(weights[e], z[None, :3], z[3:], times)[:, :2]
    off = [states - forecast(e, z[e, i], times) for (e, i), times, states in trajectories()]
    residual = np.sqrt(np.nanmean(np.concatenate(off) ** 2, axis=0))
    first = np.asarray(population_of(levels.local, BATCH, jnp.asarray(residual)).covariance)
    covariance = first
    for _ in range(ROUNDS):
        mean = np.mean(list(z.values()), axis=0)
        scatter, squares = 2.0 * first, []
        for (e, i), times, states in trajectories():
            seen = ~np.isnan(states)
            columns = np.stack([forecast(e, unit, times) for unit in np.eye(4)], axis=-1) / residual[:, None]
            precision = np.linalg.inv(covariance) + columns[seen].T @ columns[seen]
            right = np.linalg.inv(covariance) @ mean + columns[seen].T @ (states / residual)[seen]
            z[e, i], own = np.linalg.solve(precision, right), np.linalg.inv(precision)
            spread = np.einsum("tci,ij,tcj->tc", columns, own, columns)
            squares.append(np.where(seen, (states - forecast(e, z[e, i], times)) ** 2 + spread * residual**2, np.nan))
            scatter = scatter + own
        mean = np.mean(list(z.values()), axis=0)
        scatter = scatter + sum(np.outer(each - mean, each - mean) for each in z.values())
        covariance = scatter / (len(places) + 2.0)
        residual = np.sqrt(np.nanmean(np.concatenate(squares), axis=0))
    means = np.array([np.mean([z[place] for place in places if place[0] == e], axis=0) for e in range(2)])
    return means, covariance, residual


def test_equals_plain_loops(found):
    """Up to what a few steps of the search leave."""
    means, covariance, residual = plain_population()
    scale = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(found.start / scale[:3], means[:, :3] / scale[:3], atol=0.02)
    np.testing.assert_allclose(found.individual / scale[3:], means[:, 3:] / scale[3:], atol=0.02)
    np.testing.assert_allclose(
        found.covariance / np.outer(scale, scale), covariance / np.outer(scale, scale), atol=0.03
    )
    np.testing.assert_allclose(found.residual, residual, rtol=0.02)
    assert found.covariance[1, 3] / (scale[1] * scale[3]) > 0.1, "what goes together was found"
