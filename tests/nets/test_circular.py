"""Convolutions against NumPy, and all their derivatives against each other and against finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.nets.operators import convolve, inner, ranks

from leadax.nets.bilinear import Bilinear
from leadax.nets.circular import by_lax, by_shifts, circular_convolution
from leadax.nets.winograd import by_tiles, fits


def random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def case(space, taps, inputs, outputs, seed=0):
    return random(*space, inputs, seed=seed), random(*(taps,) * len(space), inputs, outputs, seed=seed + 1)


# How by_shifts computes depends on which channels are fewer, and on how many numbers are around a point.
SHIFTS = [((7,), 3, 3, 2), ((7,), 3, 22, 23), ((6, 5), 3, 2, 3), ((6, 5), 3, 3, 2), ((6, 5), 3, 3, 3),
          ((6, 5), 3, 8, 8), ((3, 4), 5, 3, 2), ((3, 4), 5, 2, 3), ((3, 4), 5, 3, 3)]  # fmt: skip
# A single tile is its own neighbour.
TILES = [((4, 4), 3, 3, 2), ((8, 12), 3, 2, 2)]
KERNELS = [(by_shifts, SHIFTS), (by_tiles, TILES), (by_lax, [SHIFTS[0], SHIFTS[-2]])]


@pytest.mark.parametrize(("ours", "cases"), KERNELS)
def test_values_and_both_transposes(ours, cases):
    """⟨C(x, w), dy⟩ = ⟨x, dx⟩ = ⟨w, dw⟩, with any x and w on the left: C from NumPy, gradients from us."""
    arguments = [case(*sizes) for sizes in cases]
    cotangents = [random(*x.shape[:-1], w.shape[-1], seed=2) for x, w in arguments]

    def values_and_gradients(arguments, cotangents):
        pairs = [jax.vjp(ours, x, w) for x, w in arguments]
        return [(y, *transpose(dy)) for (y, transpose), dy in zip(pairs, cotangents, strict=True)]

    found = jax.jit(values_and_gradients)(arguments, cotangents)
    for sizes, (x, w), dy, (y, dx, dw) in zip(cases, arguments, cotangents, found, strict=True):
        np.testing.assert_allclose(y, convolve(x, w), atol=1e-12)
        other_x, other_w = case(*sizes, seed=7)
        np.testing.assert_allclose(inner(dx, other_x), inner(convolve(other_x, w), dy), rtol=1e-11)
        np.testing.assert_allclose(inner(dw, other_w), inner(convolve(x, other_w), dy), rtol=1e-11)


def loss(convolve, at):
    """Of one kernel per environment, each for several fields, and of several kernels for the same field."""
    w, x = at
    own = jax.vmap(jax.vmap(convolve, in_axes=(0, None)))(x, w)
    same = jax.vmap(convolve, in_axes=(None, 0))(x[0, 0], w)
    return jnp.sum(jnp.tanh(own) ** 2) + jnp.sum(jnp.sin(same))


@pytest.mark.parametrize("ours", [by_shifts, by_tiles])
def test_derivatives_of_any_order_in_any_mixture_of_modes(ours):
    at, v, u = ((random(2, 3, 3, 2, 3, seed=seed), random(2, 2, 4, 4, 2, seed=seed)) for seed in (0, 1, 2))
    dot = lambda a, b: sum(jnp.vdot(x, y) for x, y in zip(a, b, strict=True))
    value = lambda at: loss(ours, at)
    gradient = jax.grad(value)
    along = lambda function, direction: lambda at: jax.jvp(function, (at,), (direction,))[1]
    second = {
        "reverse over reverse": lambda at: dot(u, jax.grad(lambda at: dot(v, gradient(at)))(at)),
        "forward over reverse": lambda at: dot(u, along(gradient, v)(at)),
        "reverse over forward": lambda at: dot(u, jax.grad(along(value, v))(at)),
        "forward over forward": along(along(value, v), u),
    }
    functions = [gradient, along(value, v), *second.values(), along(second["reverse over forward"], u)]
    derivatives = jax.jit(lambda at: [function(at) for function in functions])
    found, after, before = (derivatives(jax.tree.map(lambda a, b, h=h: a + h * b, at, u)) for h in (0, 1e-5, -1e-5))

    slopes, twice, thrice = [inner(v, found[0]), found[1]], found[2:6], found[6]
    np.testing.assert_allclose(slopes[0], slopes[1], rtol=1e-11)
    for name, number in zip(second, twice, strict=True):
        np.testing.assert_allclose(number, twice[0], rtol=1e-10, err_msg=name)
    np.testing.assert_allclose(twice[0], (after[1] - before[1]) / 2e-5, rtol=1e-7)
    np.testing.assert_allclose(thrice, (after[2] - before[2]) / 2e-5, rtol=1e-7)


def test_jacobians():
    """`jacfwd`, which implicit solvers use, maps over tangents; `jacrev` maps over cotangents."""
    x, w = case((4,), 3, 2, 2)
    forward, reverse = jax.jit(lambda x, w: [of(by_shifts)(x, w) for of in (jax.jacfwd, jax.jacrev)])(x, w)
    columns = [convolve(unit, w) for unit in np.eye(8).reshape(8, 4, 2)]
    for jacobian in (forward, reverse):
        np.testing.assert_allclose(np.asarray(jacobian).reshape(8, 8).T, np.reshape(columns, (8, 8)), atol=1e-12)


def test_bilinear_maps_along_any_axis_and_between_types():
    """`vmap` over other axes than the first, and arrays of different precision, as for JAX's own product."""
    ours = Bilinear(lambda a, b: a @ b.T, lambda out, b: out @ b, lambda a, out: out.T @ a)
    theirs = lambda a, b: a @ b.T.astype(a.dtype)
    a, b = random(2, 3, 4), random(4, 5, 3).astype(np.float32)

    def value_and_gradients(product):
        mapped = lambda a, b: jax.vmap(product, in_axes=(2, 0), out_axes=1)(a, b)
        return jax.value_and_grad(lambda a, b: jnp.sum(jnp.sin(mapped(a, b))), argnums=(0, 1))(a, b)

    with jax.numpy_dtype_promotion("standard"):
        found, expected = jax.jit(lambda: (value_and_gradients(ours), value_and_gradients(theirs)))()
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=1e-6)


def test_tiles_in_single_precision():
    """The transforms divide by 24 and multiply by 8. With the paper's 64 channels, their error stays small."""
    x, w = case((8, 8), 3, 64, 64)
    exact = convolve(x, w)
    found = by_tiles(jnp.asarray(x, jnp.float32), jnp.asarray(w, jnp.float32))
    assert np.linalg.norm(np.asarray(found, float) - exact) < 5e-6 * np.linalg.norm(exact)


@pytest.mark.parametrize(
    ("sizes", "tiles"),
    [(((8, 8), 3, 16, 16), True), (((8, 6), 3, 16, 16), False), (((8, 8), 5, 16, 16), False),
     (((8, 8), 3, 16, 2), False), (((8,), 3, 16, 16), False)],
)  # fmt: skip
def test_where_tiles_are_used(sizes, tiles):
    assert fits(*map(jnp.asarray, case(*sizes))) == tiles


def test_platform_chooses(monkeypatch):
    x, w = case((6, 5), 3, 3, 2)
    traced = lambda: str(jax.make_jaxpr(lambda x, w: circular_convolution(x, w))(x, w))
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert "conv_general_dilated" in traced()
    monkeypatch.setattr(jax, "default_backend", lambda: "cpu")
    assert "conv_general_dilated" not in traced()


@pytest.mark.parametrize("ours", [by_shifts, by_tiles])
def test_few_axes(ours):
    """Over seeds, environments and trajectories, forward and backward: XLA has failed at seven axes."""
    batched = lambda w, xs: jax.vmap(ours, in_axes=(0, None))(xs, w)
    total = lambda w, xs: jnp.sum(jax.vmap(jax.vmap(batched))(w, xs) ** 2)
    kernels, fields = jnp.ones((2, 3, 3, 3, 2, 2)), jnp.ones((2, 3, 2, 4, 4, 2))
    assert max(ranks(jax.grad(total, argnums=(0, 1)), kernels, fields)) == 6
