"""What every net must do, by registry; and what each alone must do."""

import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import TypeCheckError
from tests.nets.operators import ranks, redraw

from leadax.errors import InputError
from leadax.nets import FNO, MLP, NETS, ConvNet, Linear, Net, Swish
from leadax.nets.fno import grid

KEY = jax.random.key(0)
SHAPES = {"mlp": [(2,)], "conv": [(5, 2), (4, 5, 2)], "fno": [(4, 2), (6, 5, 1)], "linear": [(8,), (4, 4, 2)]}
SMALL = {
    "mlp": {"width": 8, "depth": 3},
    "conv": {"width": 4, "depth": 3},
    "fno": {"modes": 2, "width": 4, "depth": 2, "projection": 8},
    "linear": {},
}
CASES = [(name, shape) for name in NETS for shape in SHAPES[name]]
every_net = pytest.mark.parametrize(("name", "shape"), CASES)


call = jax.jit(lambda net, x: net(x))


def random(*shape):
    return np.random.default_rng(0).normal(size=shape)


@functools.cache
def create(name, shape, **options):
    return NETS[name](shape, key=KEY, **SMALL[name], **options)


def drawn(name, shape, *sizes, **options):
    """With parameters that are not those of the start."""
    return redraw(lambda: NETS[name](shape, key=KEY, **SMALL[name], **options), *sizes, scale=0.4)


def size(net):
    return sum(a.size for a in jax.tree.leaves(net))


def count(net, shape, **options):
    return size(jax.eval_shape(lambda: net(shape, key=KEY, **options)))


@every_net
def test_tangent_has_the_shape_and_type_of_the_state(name, shape):
    net = drawn(name, shape)
    assert isinstance(net, Net)
    for dtype in (jnp.float32, jnp.float64):
        as_dtype = jax.tree.map(lambda a, dtype=dtype: jax.ShapeDtypeStruct(a.shape, dtype), net)
        tangent = jax.eval_shape(lambda net, x: net(x), as_dtype, jax.ShapeDtypeStruct(shape, dtype))
        assert (tangent.shape, tangent.dtype) == (shape, dtype)


@every_net
def test_parameters_are_real_arrays_in_the_default_type(name, shape):
    build = lambda: NETS[name](shape, key=KEY, **SMALL[name])
    assert {leaf.dtype for leaf in jax.tree.leaves(jax.eval_shape(build))} == {np.dtype("float64")}
    with jax.enable_x64(False):
        assert {leaf.dtype for leaf in jax.tree.leaves(jax.eval_shape(build))} == {np.dtype("float32")}


@pytest.mark.parametrize(("name", "shape"), [(name, shapes[-1]) for name, shapes in SHAPES.items()])
def test_compiled_is_the_same_as_eager(name, shape):
    net, x = drawn(name, shape), jnp.asarray(random(*shape))
    np.testing.assert_allclose(call(net, x), net(x), atol=1e-12)


@every_net
def test_stacked_nets_are_the_same_as_a_loop(name, shape):
    nets, states = jax.tree.map(np.asarray, drawn(name, shape, 3)), random(3, 2, *shape)
    together = jax.jit(jax.vmap(lambda net, xs: jax.vmap(net)(xs)))(nets, states)
    alone = [[call(jax.tree.map(lambda a, e=e: a[e], nets), x) for x in xs] for e, xs in enumerate(states)]
    np.testing.assert_allclose(together, np.asarray(alone), atol=1e-12)


@every_net
def test_no_array_has_seven_axes(name, shape):
    """Over seeds, environments and trajectories, forward and backward: XLA has failed at seven."""
    nets = drawn(name, shape, 2, 3)
    batched = lambda net, xs: jax.vmap(net)(xs)
    loss = lambda nets, xs: jnp.sum(jax.vmap(jax.vmap(batched))(nets, xs) ** 2)
    assert max(ranks(jax.grad(loss), nets, jnp.ones((2, 3, 4, *shape)))) <= 6


@every_net
def test_gradient_against_finite_differences(name, shape):
    net, x = jax.tree.map(np.asarray, drawn(name, shape)), random(*shape)
    gradient = jax.jit(jax.grad(lambda net: jnp.sum(jnp.sin(net(jnp.asarray(x))))))(net)
    direction = jax.tree.map(lambda a: np.random.default_rng(a.size).normal(size=a.shape), net)
    loss = lambda h: np.sum(np.sin(call(jax.tree.map(lambda a, d: a + h * d, net, direction), x)))
    slope = sum(np.vdot(a, b) for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(direction), strict=True))
    np.testing.assert_allclose(slope, (loss(1e-6) - loss(-1e-6)) / 2e-6, rtol=1e-5)


@every_net
def test_options_that_all_nets_have(name, shape):
    x = random(*shape)
    plain, scaled = drawn(name, shape), drawn(name, shape, factor=1e-3)
    np.testing.assert_allclose(call(scaled, x), 1e-3 * np.asarray(call(plain, x)), rtol=1e-9)
    assert (plain.factor, scaled.factor) == (1.0, 1e-3)
    assert np.all(call(create(name, shape, init_std=0), x) == 0)
    signature = inspect.signature(NETS[name])
    assert list(signature.parameters)[:2] == ["state_shape", "key"]
    assert all(p.default is not p.empty for p in list(signature.parameters.values())[2:])


@every_net
def test_layers_hold_all_parameters_but_the_slopes(name, shape):
    net = drawn(name, shape)
    slopes = len(getattr(net, "activations", ()))
    assert sum(size(layer) for layer in net.layers) + slopes == size(net)
    for layer in net.layers:
        assert jax.eval_shape(layer, jnp.ones(layer.in_shape)).ndim == len(layer.in_shape)


@every_net
def test_starts_small_but_alive(name, shape):
    """On standardised states the tangent is about a tenth, so a rollout begins calmly."""
    rms = np.sqrt(np.mean([np.asarray(call(create(name, shape), x)) ** 2 for x in random(32, *shape)]))
    assert 0.01 < rms < 0.25, rms


@pytest.mark.parametrize(
    ("net", "shape", "words"),
    [
        (
            ConvNet,
            (2,),
            r"ConvNet needs a field `\(\*space, channel\)` with 1 or 2 space axes, got a state of shape \(2,\)",
        ),
        (ConvNet, (2,), r"use the MLP \(`--net mlp`\)"),
        (FNO, (4, 4, 4, 1), "FNO needs a field"),
        (FNO, (8, 16, 1), "modes=6 needs at least 12 points .* use `modes` of at most 4"),
        (MLP, (8, 8, 2), r"MLP needs a vector state .*`--net conv`"),
        (Linear, (), "Linear needs a state"),
        (MLP, (0,), "`channels` of MLP must be at least 1, got 0"),
        (functools.partial(MLP, depth=0), (2,), "`depth` of MLP must be at least 1, got 0"),
        (functools.partial(ConvNet, kernel_size=4), (8, 2), "`kernel_size` of ConvNet must be odd, got 4: use 5"),
    ],
)
def test_refuses_in_words(net, shape, words):
    with pytest.raises(InputError, match=words) as error:
        net(shape, key=KEY)
    assert "\n" not in str(error.value)


def test_a_state_of_the_wrong_shape_does_not_pass():
    with pytest.raises((TypeError, TypeCheckError)):
        MLP((2,), key=KEY)(jnp.ones(3))


def test_number_of_parameters():
    assert count(MLP, (2,)) == (2 * 64 + 64) + 2 * (64 * 64 + 64) + (64 * 2 + 2) + 3
    convolutions = (9 * 2 * 64 + 64) + 2 * (9 * 64 * 64 + 64) + (9 * 64 * 2 + 2)
    assert count(ConvNet, (32, 32, 2)) == convolutions + 3
    fourier = 4 * (2 * 72 * 100 + 100 + 10)
    assert count(FNO, (32, 32, 1)) == (3 * 10 + 10) + fourier + (10 * 128 + 128) + (128 + 1) + 4
    assert count(FNO, (16, 1)) == 30 + 4 * (2 * 6 * 100 + 110) + (10 * 128 + 128) + (128 + 1) + 4
    assert count(FNO, (16, 1)) - count(FNO, (16, 1), grid_input=False) == 10
    assert count(Linear, (8,)) == 64


def test_depth_one_is_one_layer():
    assert count(MLP, (2,), depth=1) == 2 * 2 + 2
    assert count(ConvNet, (8, 2), depth=1) == 3 * 2 * 2 + 2
    assert len(drawn("fno", (4, 2)).layers) == 7


def test_starts_of_the_paper():
    net = MLP((2,), init_std=0.05, key=KEY)
    assert abs(np.std(net.denses[1].weight) - 0.05) < 2e-3
    assert all(np.all(layer.bias == 0) for layer in net.denses)
    assert {float(a.beta) for a in net.activations} == {0.5}
    spectral = create("fno", (6, 5, 1), init_std=0.1).fourier[0].spectral.weight
    assert 0 <= float(spectral.min()) < 0.1 < 0.4 < float(spectral.max()) < 1 / np.sqrt(4)


@pytest.mark.parametrize(
    ("name", "options", "commutes"), [("conv", {}, True), ("fno", {"grid_input": False}, True), ("fno", {}, False)]
)
def test_commutes_with_translations_unless_it_sees_the_grid(name, options, commutes):
    shape = SHAPES[name][1]
    net, x = drawn(name, shape, **options), random(*shape)
    shift = functools.partial(np.roll, shift=(2, -1), axis=(0, 1))
    before, after = np.asarray(call(net, x)), np.asarray(call(net, shift(x)))
    difference = np.max(np.abs(after - shift(before)))
    assert (difference < 1e-12) == commutes, difference
    assert np.max(np.abs(after - before)) > 1e-4


def test_fno_by_hand():
    """Lift, then Fourier layers with no activation after the last, then the projection."""
    net, x = drawn("fno", (6, 5, 1)), random(6, 5, 1)
    first, second = net.fourier
    after_first, after_hidden = net.activations

    def by_hand(x):
        h = net.lift(jnp.concatenate([x, grid(x)], axis=-1))
        h = after_first(first.spectral(h) + first.pointwise(h))
        h = second.spectral(h) + second.pointwise(h)
        return net.last(after_hidden(net.hidden(h)))

    np.testing.assert_allclose(call(net, x), jax.jit(by_hand)(x), atol=1e-12)


def test_grid_includes_both_ends():
    points = grid(jnp.zeros((3, 5, 1)))
    np.testing.assert_allclose(points[:, 1, 0], [0, 0.5, 1])
    np.testing.assert_allclose(points[1, :, 1], [0, 0.25, 0.5, 0.75, 1])


def test_swish_is_the_formula_and_never_steeper_than_one():
    x = np.linspace(-40, 40, 4001)
    slope = np.log1p(np.exp(0.5))
    np.testing.assert_allclose(Swish()(jnp.asarray(x)), x / (1 + np.exp(-x * slope)) / 1.1, atol=1e-12)
    for beta in (-2.0, 0.5, 3.0):
        steepest = float(jnp.max(jax.vmap(jax.grad(Swish(beta)))(jnp.asarray(x))))
        assert 0.99 < steepest <= 1, steepest
