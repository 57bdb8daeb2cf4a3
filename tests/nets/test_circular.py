import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.nets.operators import ranks

from leadax.nets.circular import by_lax, by_shifts, circular_convolution
from leadax.nets.winograd import by_tiles, fits

CASES = [((7,), 3), ((6, 5), 3), ((3, 4), 5)]
# Which channels are fewer, and how many numbers are around a point, decides how it is computed.
CHANNELS = [(3, 2), (2, 3), (3, 3), (8, 8), (8, 9)]


def random(*shape):
    return jnp.asarray(np.random.default_rng(0).normal(size=shape))


def case(space, taps, inputs=3, outputs=2):
    shapes = (*space, inputs), (*(taps,) * len(space), inputs, outputs)
    return tuple(random(*shape) for shape in shapes)


def loop(x, kernel):
    """The definition, one product at a time."""
    x, kernel = np.asarray(x), np.asarray(kernel)
    space, taps = x.shape[:-1], kernel.shape[:-2]
    y = np.zeros((*space, kernel.shape[-1]))
    for i in np.ndindex(space):
        for t in np.ndindex(taps):
            source = tuple((a + b - k // 2) % n for a, b, k, n in zip(i, t, taps, space, strict=True))
            y[i] += x[source] @ kernel[t]
    return y


@pytest.mark.parametrize("convolve", [by_shifts, by_lax])
@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize(("space", "taps"), CASES)
def test_definition(convolve, space, taps, channels):
    x, kernel = case(space, taps, *channels)
    np.testing.assert_allclose(jax.jit(convolve)(x, kernel), loop(x, kernel), atol=1e-12)


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize(("space", "taps"), CASES)
def test_gradients_agree_with_the_library(space, taps, channels):
    x, kernel = case(space, taps, *channels)

    def gradients(convolve):
        return jax.jit(jax.grad(lambda x, w: jnp.sum(jnp.tanh(convolve(x, w))), argnums=(0, 1)))(x, kernel)

    for ours, theirs in zip(gradients(by_shifts), gradients(by_lax), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


@pytest.mark.parametrize("ours", [by_shifts, by_tiles])
def test_second_derivatives_agree_with_the_library(ours):
    x, kernel = case((8, 4), 3)

    def slope(convolve):
        loss = lambda w, x: jnp.sum(jnp.tanh(convolve(x, w)) ** 2)
        return jax.jit(jax.grad(lambda w: jnp.sum(jax.grad(loss)(w, x) ** 2)))(kernel)

    np.testing.assert_allclose(slope(ours), slope(by_lax), atol=1e-9)


@pytest.mark.parametrize("space", [(4, 4), (8, 12)])
@pytest.mark.parametrize("channels", CHANNELS)
def test_tiles(space, channels):
    """Values and gradients of Winograd's algorithm are those of the library; a single tile is its own neighbour."""
    x, kernel = case(space, 3, *channels)
    np.testing.assert_allclose(jax.jit(by_tiles)(x, kernel), loop(x, kernel), atol=1e-12)
    gradients = lambda convolve: jax.jit(jax.grad(lambda x, w: jnp.sum(jnp.tanh(convolve(x, w))), argnums=(0, 1)))
    for ours, theirs in zip(gradients(by_tiles)(x, kernel), gradients(by_lax)(x, kernel), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_tiles_in_single_precision():
    """The paper's layer: the error of the transforms, which divide by 24 and multiply by 8, stays small."""
    x, kernel = (jnp.asarray(a, jnp.float32) for a in case((32, 32), 3, 64, 64))
    exact = by_shifts(*case((32, 32), 3, 64, 64))
    distance = jnp.linalg.norm(by_tiles(x, kernel).astype(float) - exact) / jnp.linalg.norm(exact)
    assert distance < 5e-6


@pytest.mark.parametrize(
    ("space", "taps", "channels", "tiles"),
    [((8, 8), 3, (16, 16), True), ((8, 6), 3, (16, 16), False), ((8, 8), 5, (16, 16), False),
     ((8, 8), 3, (16, 2), False), ((8,), 3, (16, 16), False)],
)  # fmt: skip
def test_where_tiles_are_used(space, taps, channels, tiles):
    assert fits(*case(space, taps, *channels)) == tiles


def test_one_kernel_per_environment():
    fields, kernels = random(3, 2, 6, 5, 3), random(3, 3, 3, 3, 2)

    def loss(convolve, kernels):
        batched = jax.vmap(jax.vmap(convolve, in_axes=(0, None)))
        return jnp.sum(jnp.tanh(batched(fields, kernels)))

    ours = jax.jit(jax.grad(lambda w: loss(by_shifts, w)))(kernels)
    eager = jax.grad(lambda w: loss(by_shifts, w))(kernels)
    theirs = jax.jit(jax.grad(lambda w: loss(by_lax, w)))(kernels)
    np.testing.assert_allclose(ours, eager, atol=1e-12)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_one_kernel_for_all_fields():
    fields, kernel = random(4, 6, 5, 3), random(3, 3, 3, 2)
    loss = lambda convolve, w: jnp.sum(jnp.tanh(jax.vmap(convolve, in_axes=(0, None))(fields, w)))
    ours, theirs = (jax.jit(jax.grad(lambda w, c=c: loss(c, w)))(kernel) for c in (by_shifts, by_lax))
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_platform_chooses(monkeypatch):
    x, kernel = case((6, 5), 3)
    traced = lambda: str(jax.make_jaxpr(lambda x, w: circular_convolution(x, w))(x, kernel))
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert "conv_general_dilated" in traced()
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    assert "conv_general_dilated" not in traced()


def test_tiles_have_few_axes():
    """Over seeds, environments and trajectories, forward and backward: XLA has failed at seven axes."""
    batched = lambda w, xs: jax.vmap(by_tiles, in_axes=(0, None))(xs, w)
    loss = lambda w, xs: jnp.sum(jax.vmap(jax.vmap(batched))(w, xs) ** 2)
    kernels, fields = jnp.ones((2, 3, 3, 3, 2, 2)), jnp.ones((2, 3, 2, 4, 4, 2))
    assert max(ranks(jax.grad(loss, argnums=(0, 1)), kernels, fields)) <= 6
