"""Noise that grows with the value, and hidden states that start at zero."""

import jax
import jax.numpy as jnp
import numpy as np
from tests.latent import BATCH, DATA, LAYOUT, METHOD, random_latent

from leadax import Units
from leadax.data.batch import Growth
from leadax.data.layout import Layout
from leadax.methods.local import first_local
from leadax.methods.population import population_of
from leadax.methods.prepare import prepare
from leadax.methods.weighing import comparable, noise_of


def grown(rate=0.5, zero=-1.0):
    """The data with noise that grows."""
    each = lambda number: jnp.full((2, 3, 2), number)
    return BATCH._replace(growth=Growth(each(rate), each(zero)))


def test_without_growth_nothing_is_divided():
    found = comparable(BATCH.states + 1, BATCH)
    assert found[1] is BATCH.states
    np.testing.assert_array_equal(noise_of(BATCH), np.broadcast_to([0.1, 0.2], BATCH.states.shape))


def test_differences_count_in_units_of_the_noise():
    """In plain numbers: the noise of one value, and that of a value one spread from zero."""
    data = grown()
    predicted = data.states + 0.3
    off = np.subtract(*comparable(predicted, data))
    size = (np.abs(data.states + 1) + np.abs(predicted + 1)) / 2
    level = np.array([0.1, 0.2])
    noise = lambda size: np.sqrt(level**2 + (0.5 * size) ** 2)
    np.testing.assert_allclose(off, 0.3 * noise(1.0) / noise(size), rtol=1e-10)
    np.testing.assert_allclose(noise_of(data), noise(np.abs(data.states + 1)), rtol=1e-10)
    one = jax.tree.map(lambda a: a[1, 0], data)
    np.testing.assert_allclose(np.subtract(*comparable(predicted[1, 0], one)), off[1, 0], rtol=1e-12)


def test_what_is_found_is_hardly_too_small():
    """The number that explains values with 20 % of noise best is 2 % below their middle, 6 % by observations alone."""
    rng = np.random.default_rng(0)
    values = jnp.asarray(5 * np.exp(0.2 * rng.standard_normal((1, 1, 4000, 1))))
    flat = lambda number: jnp.full((1, 1, 1), number)
    data = BATCH._replace(states=values, noise=flat(1e-3), growth=Growth(flat(0.2), flat(0.0)))
    push = jax.grad(lambda x: jnp.sum(jnp.square(jnp.subtract(*comparable(jnp.full(values.shape, x), data)))))
    assert push(4.8) < 0 < push(5.0)


def test_hidden_channels_that_start_at_zero():
    layout = Layout(("u", "v"), hidden=1, individual=1, from_zero=True)
    batch = prepare(DATA, Units.ones(2), METHOD, dtype=jnp.float64, layout=layout)
    free = first_local(BATCH, LAYOUT, jnp.float64).path
    path = first_local(batch, layout, jnp.float64).path
    assert free[:, :, 0, 2].any()
    assert not path[:, :, 0, 2].any()
    np.testing.assert_array_equal(path[:, :, 1:], free[:, :, 1:])
    local = jax.tree.map(jnp.zeros_like, random_latent().local)
    narrow = population_of(local, batch, jnp.array([0.1, 0.2])).covariance
    np.testing.assert_allclose(np.sqrt(np.diagonal(narrow)), [0.05, 0.05, 0.01, 0.05])
