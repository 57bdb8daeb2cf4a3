import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadax.nets import MLP, ConvNet, Scaled, measure

KEY = jax.random.key(0)


def wave(points=41):
    """Two channels with known mean, deviation and derivative, over one period."""
    times = np.linspace(0, 2 * np.pi, points)[:-1][None, None]
    return np.stack([7 + 3 * np.sin(times), -1 + 0.01 * np.cos(4 * times)], axis=-1), times


def test_measures_what_is_known():
    scales = measure(*wave(4001))
    np.testing.assert_allclose(scales.mean, [7, -1], rtol=1e-6)
    np.testing.assert_allclose(scales.scale, np.array([3, 0.01]) / np.sqrt(2), rtol=1e-6)
    np.testing.assert_allclose(scales.rate, np.array([3, 0.04]) / np.sqrt(2), rtol=1e-3)


def test_padding_and_gaps_change_nothing():
    states, times = wave()
    padded = np.full((1, 2, 50, 2), np.nan)
    padded_times = np.full((1, 2, 50), np.nan)
    padded[:, :1, :40], padded_times[:, :1, :40] = states, times
    for ours, expected in zip(measure(padded, padded_times), measure(states, times), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-12)

    padded[0, 0, 50 - 1] = 1e9  # a value without a time is not a point
    np.testing.assert_allclose(measure(padded, padded_times).mean, measure(states, times).mean)


def test_missing_values_are_left_out():
    times = np.array([[[0.0, 1.0, 2.0, 4.0]]])
    states = np.array([[[[0.0, 1.0], [2.0, np.nan], [np.nan, 3.0], [6.0, 7.0]]]])
    scales = measure(states, times)
    np.testing.assert_allclose(scales.mean, [8 / 3, 11 / 3])
    np.testing.assert_allclose(scales.rate, [2, 2])  # one pair each: (2 - 0)/1 and (7 - 3)/2


def test_constant_and_unseen_channels_are_harmless():
    times = np.array([[[0.0, 5.0, 10.0]]])
    states = np.stack([np.full((1, 1, 3), 4.0), np.full((1, 1, 3), np.nan), times], axis=-1)
    scales = measure(states, times)
    np.testing.assert_allclose(scales.scale[:2], [1, 1])
    np.testing.assert_allclose(scales.rate, [0.1, 0.1, 1])
    assert np.all(np.isfinite(np.concatenate(scales)))


def test_fields_are_measured_per_channel():
    field = np.random.default_rng(0).normal(size=(2, 3, 4, 5, 6, 2)) * np.array([1.0, 100.0])
    scales = measure(field, np.tile(np.arange(4.0), (2, 3, 1)))
    np.testing.assert_allclose(scales.scale, field.reshape(-1, 2).std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(scales.rate, np.sqrt(np.mean(np.diff(field, axis=2) ** 2, axis=(0, 1, 2, 3, 4))))


@pytest.mark.parametrize("net", [MLP((2,), depth=2, key=KEY, factor=0.5), ConvNet((4, 5, 2), depth=2, key=KEY)])
def test_is_a_change_of_units(net):
    mean, scale, rate = np.array([1.0, 2.0]), np.array([3.0, 0.1]), np.array([10.0, 20.0])
    scaled = Scaled(net, mean, scale, rate)
    x = np.random.default_rng(0).normal(size=net.layers[0].in_shape)
    expected = rate * np.asarray(eqx.filter_jit(net)(jnp.asarray((x - mean) / scale)))
    np.testing.assert_allclose(eqx.filter_jit(scaled)(jnp.asarray(x)), expected, rtol=1e-9)
    assert (scaled.layers, scaled.factor) == (net.layers, net.factor)


def test_units_are_saved_but_not_learnt():
    scaled = Scaled(MLP((2,), depth=2, key=KEY), *measure(*wave()))
    gradient = jax.jit(jax.grad(lambda net: jnp.sum(net(jnp.ones(2)) ** 2)))(scaled)
    for name in ("mean", "scale", "rate"):
        assert isinstance(getattr(scaled, name), jax.Array)
        assert np.all(getattr(gradient, name) == 0)
    assert float(jnp.max(jnp.abs(gradient.net.denses[0].weight))) > 0


def test_single_precision_stays_single():
    scaled = jax.tree.map(lambda a: a.astype(jnp.float32), Scaled(MLP((2,), depth=2, key=KEY), *measure(*wave())))
    assert jax.eval_shape(scaled, jnp.ones(2, jnp.float32)).dtype == jnp.float32


def test_points_at_the_same_time_say_nothing_about_the_rate():
    times = np.array([[[0.0, 1.0, 1.0, 2.0]]])
    states = np.array([[[[0.0], [2.0], [2.5], [4.5]]]])
    np.testing.assert_allclose(measure(states, times).rate, [2])
