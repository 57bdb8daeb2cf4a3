"""The loss where states are inferred, against plain loops over ragged data; its gradient against their differences."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.engine import random_like, same_bits
from tests.latent import BATCH, METHOD, plain_sums, plain_value, random_latent

from leadax.data.batch import Growth
from leadax.train.loss import loss

DECAY = 0.3
DRAWN = {
    "nowhere": np.zeros(6, bool),
    "everywhere": np.ones(6, bool),
    "random": np.array([False, True, False, False, True, True]),
}
MASKS = {where: jnp.asarray(row & np.asarray(BATCH.complete)) for where, row in DRAWN.items()}


@pytest.fixture(scope="module")
def found_by():
    """Compiled once: `(levels, batch, restart) -> ((loss, (terms, carry)), gradient)`."""
    whole = lambda levels, batch, restart: loss(METHOD, levels, (), batch, restart, DECAY)
    return jax.jit(jax.value_and_grad(whole, has_aux=True))


@pytest.mark.parametrize("where", MASKS)
def test_equals_a_plain_loop(where, found_by):
    levels = random_latent()
    (found, (terms, _)), _ = found_by(levels, BATCH, MASKS[where])
    np.testing.assert_allclose(found, plain_value(levels, DRAWN[where], DECAY), rtol=1e-12)
    error, count, tie, prior, _ = plain_sums(levels, DRAWN[where])
    # All terms matter in this test, and the error has nothing else in it.
    assert min(error, prior) > 1
    assert (tie > 1) == (where != "nowhere")
    seen = np.asarray(BATCH.observed).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(np.sum(np.asarray(terms.error) * seen) / count, error / count, rtol=1e-12)


def test_without_restarts_is_with_none_drawn(found_by):
    levels = random_latent()
    expected, _ = found_by(levels, BATCH, MASKS["nowhere"])
    found, _ = jax.jit(partial(loss, METHOD, restart=None, weight_decay=DECAY))(levels, (), BATCH)
    np.testing.assert_allclose(found, expected[0], rtol=1e-13)


@pytest.mark.parametrize("where", ["nowhere", "random"])
def test_gradient_against_differences(where, found_by):
    """Of the loss whose weight, the present error, is a number."""
    levels = random_latent()
    _, gradient = found_by(levels, BATCH, MASKS[where])
    for seed in range(3):
        direction = random_like(levels, seed)
        at = lambda h, d=direction: jax.tree.map(lambda a, b: a + h * b, levels, d)
        value = lambda h: plain_value(at(h), DRAWN[where], DECAY, frozen=levels)  # noqa: B023
        slope = sum(map(np.vdot, jax.tree.leaves(gradient), jax.tree.leaves(direction)))
        np.testing.assert_allclose(slope, (value(1e-5) - value(-1e-5)) / 2e-5, rtol=1e-6)


def test_only_inferred_states_that_are_used_have_a_gradient(found_by):
    (_, gradient) = found_by(random_latent(), BATCH, MASKS["nowhere"])
    path = np.abs(np.asarray(gradient.local.path)).sum(axis=-1)
    real = np.asarray(BATCH.complete[:, :, 0])
    assert np.all(path[real][:, 0] > 0)
    assert np.all(path[:, :, 1:] == 0)
    assert np.all(path[~real] == 0)
    assert np.all(np.asarray(gradient.local.individual)[~real] == 0)


def test_noise_that_grows_divides_errors():
    """As if the data, and forecasts of them, were in other units at every point."""
    levels = random_latent()
    each = lambda number: jnp.full((2, 3, 2), number)
    data = BATCH._replace(growth=Growth(each(1.0), each(-9.0)))
    terms = [jax.jit(partial(loss, METHOD, restart=None))(levels, (), batch)[1][0] for batch in (BATCH, data)]
    # Nine spreads from zero, noise is about nine times that of one spread.
    np.testing.assert_allclose(terms[1].error, terms[0].error / 81, rtol=0.4)


def test_what_was_not_observed_has_no_influence(found_by):
    garbage = 1e3 * np.random.default_rng(5).standard_normal(BATCH.states.shape)
    dirty = BATCH._replace(states=jnp.asarray(np.where(BATCH.observed, BATCH.states, garbage)))
    for mask in MASKS.values():
        assert same_bits(found_by(random_latent(), BATCH, mask), found_by(random_latent(), dirty, mask))
