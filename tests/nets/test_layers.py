"""Linear layers against NumPy, and their initial weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.nets.operators import convolve, inner, redraw, spectral

from leadax.nets import Convolution, Dense, SpectralConvolution
from leadax.nets.spectral import from_modes

KEY = jax.random.key(0)
dense = lambda layer, x: x @ np.asarray(layer.weight)
convolution = lambda layer, x: convolve(x, layer.weight)
LAYERS = {
    "dense": (redraw(lambda: Dense(3, 2, key=KEY)), dense),
    "dense without bias": (redraw(lambda: Dense(3, 2, use_bias=False, key=KEY)), dense),
    "convolution on a line": (redraw(lambda: Convolution((6,), 3, 2, key=KEY)), convolution),
    "convolution on a plane": (redraw(lambda: Convolution((4, 5), 3, 2, key=KEY)), convolution),
    "spectral on a line": (redraw(lambda: SpectralConvolution((7,), 3, 2, modes=3, key=KEY)), spectral),
    "spectral on an even line": (redraw(lambda: SpectralConvolution((6,), 3, 2, modes=3, key=KEY)), spectral),
    "spectral on a plane": (redraw(lambda: SpectralConvolution((6, 4), 3, 2, modes=2, key=KEY)), spectral),
    "spectral on an odd plane": (redraw(lambda: SpectralConvolution((7, 9), 3, 2, modes=3, key=KEY)), spectral),
}


def random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


@jax.jit
def evaluate(layer, x, dy):
    y, transpose = jax.vjp(layer.linear, x)
    return layer(x), y, transpose(dy)[0], jax.jvp(layer.linear, (x,), (x,))[1]


@pytest.mark.parametrize("name", LAYERS)
def test_values_and_transpose(name):
    """⟨Wx, dy⟩ = ⟨x, Wᵀdy⟩ with any x: Wx from NumPy, Wᵀdy from us. The rest is the bias."""
    layer, by_numpy = LAYERS[name]
    x, other, dy = random(*layer.in_shape), random(*layer.in_shape, seed=1), random(*layer.in_shape[:-1], 2, seed=2)
    whole, linear, transposed, derivative = map(np.asarray, evaluate(layer, x, dy))
    np.testing.assert_allclose(linear, by_numpy(layer, x), atol=1e-12)
    np.testing.assert_allclose(derivative, linear, atol=1e-12)
    np.testing.assert_allclose(inner(transposed, other), inner(by_numpy(layer, other), dy), rtol=1e-10)
    bias = getattr(layer, "bias", None)
    np.testing.assert_allclose(whole, linear if bias is None else linear + np.asarray(bias), atol=1e-12)


def test_dense_is_pointwise():
    layer, x = LAYERS["dense"][0], random(4, 5, 3)
    expected = x[2, 3] @ np.asarray(layer.matrix()).T + np.asarray(layer.bias)
    np.testing.assert_allclose(layer(jnp.asarray(x))[2, 3], expected, atol=1e-12)


def test_matrices():
    """One row per output for a convolution; one row per input and a complex column per mode and output if spectral."""
    layer, _ = LAYERS["convolution on a plane"]
    np.testing.assert_allclose(np.asarray(layer.matrix())[1], np.asarray(layer.weight)[..., 1].ravel())
    layer, _ = LAYERS["spectral on a plane"]
    matrix, (real, imaginary) = np.asarray(layer.matrix()), np.asarray(layer.weight)
    assert matrix.shape == (3, 8 * 2)
    np.testing.assert_allclose(matrix[1].reshape(8, 2)[5], real[5, 1] + 1j * imaginary[5, 1])


def test_spectral_convolution_is_the_same_on_a_finer_grid():
    layer = redraw(lambda: SpectralConvolution((8, 8), 2, 2, modes=4, key=KEY))

    def sample(ny, nx):
        y, x = np.meshgrid(*(2 * np.pi * np.arange(n) / n for n in (ny, nx)), indexing="ij")
        return np.stack([np.sin(x + 2 * y) + np.cos(3 * x), 1 + np.cos(x - 3 * y)], axis=-1)

    coarse, fine = jax.jit(lambda *fields: [layer(x) for x in fields])(sample(8, 8), sample(32, 16))
    np.testing.assert_allclose(fine[::4, ::2], coarse, atol=1e-12)


def test_initial_weights():
    """`gain` is the ratio of standard deviations, `std` the deviation of weights; `uniform` is the paper's start."""

    @jax.jit
    def build(x, field, low):
        smooth = from_modes(low, (8, 8), 4)
        pairs = [
            (Dense(200, 100, gain=1.7, key=KEY), x),
            (Convolution((8, 8), 20, 20, gain=1.7, key=KEY), field),
            (SpectralConvolution((8, 8), 20, 20, modes=4, gain=1.7, key=KEY), smooth),
        ]
        given = Dense(200, 100, std=0.05, key=KEY).weight, Convolution((8, 8), 20, 20, std=0.1, key=KEY).weight
        uniform = SpectralConvolution((8, 8), 16, 16, modes=4, uniform=True, key=KEY).weight
        return [jnp.std(layer.linear(x)) / jnp.std(x) for layer, x in pairs], [jnp.std(w) for w in given], uniform

    ratios, deviations, uniform = build(random(30, 200), random(8, 8, 20), random(2 * 4 * 4, 2 * 20))
    np.testing.assert_allclose(ratios, 1.7, rtol=0.1)
    np.testing.assert_allclose(deviations, [0.05, 0.1], rtol=0.05)
    assert uniform.shape == (2, 32, 16, 16)
    assert 0 <= uniform.min() < 0.01 < 0.24 < uniform.max() < 0.25
