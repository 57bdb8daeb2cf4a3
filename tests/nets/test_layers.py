import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.nets.operators import as_matrix, redraw

from leadax.nets import Convolution, Dense, SpectralConvolution
from leadax.nets.spectral import from_modes

KEY = jax.random.key(0)
LAYERS = {
    "dense": redraw(lambda: Dense(3, 2, key=KEY)),
    "dense without bias": redraw(lambda: Dense(3, 2, use_bias=False, key=KEY)),
    "convolution on a line": redraw(lambda: Convolution((6,), 3, 2, key=KEY)),
    "convolution on a plane": redraw(lambda: Convolution((4, 5), 3, 2, key=KEY)),
    "spectral on a line": redraw(lambda: SpectralConvolution((7,), 3, 2, modes=3, key=KEY)),
    "spectral on a plane": redraw(lambda: SpectralConvolution((6, 4), 3, 2, modes=2, key=KEY)),
}


def random(*shape):
    return np.random.default_rng(0).normal(size=shape)


@eqx.filter_jit
def linear_part(layer, x):
    return layer.linear(x)


@pytest.mark.parametrize("name", LAYERS)
def test_linear_part_is_linear_and_the_rest_is_the_bias(name):
    layer = LAYERS[name]
    a, b = random(2, *layer.in_shape)
    of_sum, of_a, of_b = (np.asarray(linear_part(layer, jnp.asarray(x))) for x in (2 * a - b, a, b))
    np.testing.assert_allclose(of_sum, 2 * of_a - of_b, atol=1e-12)
    assert of_a.shape == (*layer.in_shape[:-1], 2)
    bias = getattr(layer, "bias", None)
    whole = eqx.filter_jit(layer)(jnp.asarray(a))
    np.testing.assert_allclose(whole, of_a if bias is None else of_a + np.asarray(bias), atol=1e-12)


@pytest.mark.parametrize("name", LAYERS)
def test_vjp_is_the_transpose(name):
    layer = LAYERS[name]
    zero = jnp.zeros(layer.in_shape)
    backward = as_matrix(lambda y: jax.vjp(layer.linear, zero)[1](y)[0], (*layer.in_shape[:-1], 2))
    np.testing.assert_allclose(backward, as_matrix(layer.linear, layer.in_shape).T, atol=1e-12)


def test_dense_acts_alike_at_every_point():
    x, layer = random(4, 5, 3), LAYERS["dense"]
    y = np.asarray(eqx.filter_jit(layer)(jnp.asarray(x)))
    expected = np.asarray(layer.matrix()) @ x[2, 3] + np.asarray(layer.bias)
    np.testing.assert_allclose(y[2, 3], expected, atol=1e-12)


def test_matrix_of_a_convolution_has_one_row_per_output():
    layer = LAYERS["convolution on a plane"]
    np.testing.assert_allclose(np.asarray(layer.matrix())[1], np.asarray(layer.weight)[..., 1].ravel())


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


@pytest.mark.parametrize("space", [(6,), (9,), (6, 6), (7, 9)])
def test_spectral_convolution_against_a_loop_over_frequencies(space):
    layer = redraw(lambda: SpectralConvolution(space, 3, 2, modes=3, key=KEY))
    x = jnp.asarray(random(*layer.in_shape))
    np.testing.assert_allclose(eqx.filter_jit(layer)(x), explicit(layer, x), atol=1e-12)


def test_spectral_convolution_does_not_depend_on_the_resolution():
    layer = redraw(lambda: SpectralConvolution((16, 16), 2, 2, modes=4, key=KEY))

    def sample(ny, nx):
        y, x = np.meshgrid(*(2 * np.pi * np.arange(n) / n for n in (ny, nx)), indexing="ij")
        return jnp.asarray(np.stack([np.sin(x + 2 * y) + np.cos(3 * x), 1 + np.cos(x - 3 * y)], axis=-1))

    coarse, fine = (linear_part(layer, sample(*space)) for space in ((16, 16), (64, 32)))
    np.testing.assert_allclose(fine[::4, ::2], coarse, atol=1e-12)


def test_gain_is_the_ratio_of_deviations():
    smooth = jax.jit(lambda low: from_modes(low, (8, 8), 4))(random(2 * 4 * 4, 2 * 100))
    cases = [
        (Dense(500, 400, gain=1.7, key=KEY), random(20, 500)),
        (Convolution((8, 8), 50, 60, gain=1.7, key=KEY), random(8, 8, 50)),
        (SpectralConvolution((8, 8), 100, 100, modes=4, gain=1.7, key=KEY), smooth),
    ]
    for layer, x in cases:
        measured = float(np.std(linear_part(layer, jnp.asarray(x))) / np.std(x))
        assert abs(measured / 1.7 - 1) < 0.1, (type(layer).__name__, measured)


def test_given_deviation_and_uniform_start():
    assert abs(np.std(Dense(200, 200, std=0.05, key=KEY).weight) - 0.05) < 1e-3
    assert abs(np.std(Convolution((8, 8), 50, 60, std=0.1, key=KEY).weight) - 0.1) < 2e-3
    weight = np.asarray(SpectralConvolution((8, 8), 16, 16, modes=4, uniform=True, key=KEY).weight)
    assert weight.shape == (2, 32, 16, 16)
    assert 0 <= weight.min() < 0.01 < 0.24 < weight.max() < 0.25
