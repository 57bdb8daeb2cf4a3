import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.nets.operators import as_matrix

from leadax.nets import Convolution, Dense, SpectralConvolution
from leadax.nets.spectral import from_modes

KEY = jax.random.key(0)
LAYERS = {
    "dense": Dense(3, 2, key=KEY),
    "dense without bias": Dense(3, 2, use_bias=False, key=KEY),
    "convolution on a line": Convolution((6,), 3, 2, key=KEY),
    "convolution on a plane": Convolution((4, 5), 3, 2, key=KEY),
    "spectral on a line": SpectralConvolution((7,), 3, 2, modes=3, key=KEY),
    "spectral on a plane": SpectralConvolution((6, 4), 3, 2, modes=2, key=KEY),
}


def with_bias(layer):
    """The layer with a bias that shows."""
    if getattr(layer, "bias", None) is None:
        return layer, 0.0
    object.__setattr__(layer := jax.tree.map(lambda a: a, layer), "bias", jnp.array([3.0, -5.0]))
    return layer, np.array([3.0, -5.0])


@pytest.mark.parametrize("name", LAYERS)
def test_call_is_linear_part_and_bias(name):
    layer, bias = with_bias(LAYERS[name])
    x = jax.random.normal(KEY, layer.in_shape)
    np.testing.assert_allclose(jax.jit(layer.__call__)(x), np.asarray(layer.linear(x)) + bias, atol=1e-12)
    assert layer.linear(x).shape == (*layer.in_shape[:-1], 2)


@pytest.mark.parametrize("name", LAYERS)
def test_linear_part_is_linear(name):
    layer, _ = with_bias(LAYERS[name])
    a, b = jax.random.normal(KEY, (2, *layer.in_shape))
    linear = jax.jit(layer.linear)
    np.testing.assert_allclose(linear(2 * a - b), 2 * linear(a) - linear(b), atol=1e-12)


@pytest.mark.parametrize("name", LAYERS)
def test_vjp_is_the_transpose(name):
    layer = LAYERS[name]
    image, transpose = jax.vjp(layer.linear, jnp.zeros(layer.in_shape))
    backward = as_matrix(lambda y: transpose(y)[0], image.shape)
    np.testing.assert_allclose(backward, as_matrix(layer.linear, layer.in_shape).T, atol=1e-12)


def test_dense_acts_alike_at_every_point():
    x = jax.random.normal(KEY, (4, 5, 3))
    layer = LAYERS["dense"]
    np.testing.assert_allclose(layer(x)[2, 3], layer(x[2, 3]), atol=1e-12)
    np.testing.assert_allclose(layer.matrix() @ x[2, 3], layer.linear(x[2, 3]), atol=1e-12)


def test_matrix_of_a_convolution_has_one_row_per_output():
    layer = LAYERS["convolution on a plane"]
    np.testing.assert_allclose(layer.matrix()[1], layer.weight[..., 1].ravel())


def test_matrix_of_a_spectral_convolution():
    layer = LAYERS["spectral on a plane"]
    matrix, (real, imaginary) = np.asarray(layer.matrix()), np.asarray(layer.weight)
    assert matrix.shape == (3, 8 * 2)
    np.testing.assert_allclose(matrix[1].reshape(8, 2)[5], real[5, 1] + 1j * imaginary[5, 1])


def explicit(layer, x):
    """The layer as NumPy's transform and a loop over frequencies."""
    x, (real, imaginary) = np.asarray(x), np.asarray(layer.weight)
    weight = real + 1j * imaginary
    m, axes = layer.modes, tuple(range(x.ndim - 1))
    hat = np.fft.rfftn(x, axes=axes)
    out = np.zeros((*hat.shape[:-1], weight.shape[-1]), complex)
    rows = [()] if x.ndim == 2 else [(k,) for k in [*range(m), *range(-m, 0)]]
    for i, row in enumerate(rows):
        for column in range(m):
            out[(*row, column)] = hat[(*row, column)] @ weight[i * m + column]
    return np.fft.irfftn(out, s=x.shape[:-1], axes=axes)


@pytest.mark.parametrize("space", [(6,), (7,), (16,), (6, 6), (7, 9), (12, 8)])
def test_spectral_convolution_against_a_loop_over_frequencies(space):
    layer = SpectralConvolution(space, 3, 2, modes=3, key=KEY)
    x = jax.random.normal(jax.random.key(1), layer.in_shape)
    np.testing.assert_allclose(eqx.filter_jit(layer)(x), explicit(layer, x), atol=1e-12)


def test_spectral_convolution_does_not_depend_on_the_resolution():
    layer = SpectralConvolution((16, 16), 2, 2, modes=4, key=KEY)

    def sample(ny, nx):
        y, x = np.meshgrid(*(2 * np.pi * np.arange(n) / n for n in (ny, nx)), indexing="ij")
        return jnp.asarray(np.stack([np.sin(x + 2 * y) + np.cos(3 * x), 1 + np.cos(x - 3 * y)], axis=-1))

    coarse, fine = (jax.jit(layer.linear)(sample(*space)) for space in ((16, 16), (64, 32)))
    np.testing.assert_allclose(fine[::4, ::2], coarse, atol=1e-12)


@pytest.mark.parametrize("gain", [1.0, 1.7])
def test_gain_is_the_ratio_of_deviations(gain):
    keys = jax.random.split(KEY, 4)
    smooth = from_modes(jax.random.normal(keys[0], (2 * 8 * 8, 2 * 200)), (16, 16), 8)
    cases = [
        (Dense(500, 400, gain=gain, key=keys[1]), jax.random.normal(keys[0], (20, 500))),
        (Convolution((16, 16), 50, 60, gain=gain, key=keys[2]), jax.random.normal(keys[0], (16, 16, 50))),
        (SpectralConvolution((16, 16), 200, 200, modes=8, gain=gain, key=keys[3]), smooth),
    ]
    for layer, x in cases:
        measured = float(jnp.std(layer(x)) / jnp.std(x))
        assert abs(measured / gain - 1) < 0.05, (type(layer).__name__, measured)


def test_given_deviation_and_uniform_start():
    assert abs(float(jnp.std(Dense(200, 200, std=0.05, key=KEY).weight)) - 0.05) < 1e-3
    assert abs(float(jnp.std(Convolution((9, 9), 60, 60, std=0.1, key=KEY).weight)) - 0.1) < 1e-3
    weight = SpectralConvolution((12, 12), 16, 16, modes=6, uniform=True, key=KEY).weight
    assert weight.shape == (2, 72, 16, 16)
    assert 0 <= float(weight.min()) < 0.01 < 0.24 < float(weight.max()) < 0.25
