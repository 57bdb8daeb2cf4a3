"""What every net must do, by registry; and what each alone must do."""

import functools
import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from jaxtyping import TypeCheckError
from tests.nets.operators import ranks

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


@functools.cache
def build(name, shape, **options):
    return eqx.filter_jit(NETS[name])(shape, key=KEY, **SMALL[name], **options)


@functools.cache
def stack(name, shape, *sizes):
    create = lambda key: NETS[name](shape, key=key, **SMALL[name])
    for _ in sizes:
        create = eqx.filter_vmap(create)
    return eqx.filter_jit(create)(jax.random.split(KEY, sizes))


def size(net):
    return sum(a.size for a in jax.tree.leaves(net))


def count(net, shape, **options):
    return size(jax.eval_shape(lambda: net(shape, key=KEY, **options)))


@every_net
def test_tangent_has_the_shape_and_type_of_the_state(name, shape):
    net = build(name, shape)
    assert isinstance(net, Net)
    assert jax.eval_shape(net, jnp.ones(shape)).dtype == jnp.float64
    single = jax.tree.map(lambda a: a.astype(jnp.float32), net)
    tangent = jax.eval_shape(single, jnp.ones(shape, jnp.float32))
    assert (tangent.shape, tangent.dtype) == (shape, jnp.float32)


@every_net
def test_parameters_are_real_arrays_in_the_default_type(name, shape):
    create = lambda: NETS[name](shape, key=KEY, **SMALL[name])
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(build(name, shape)))
    assert {leaf.dtype for leaf in jax.tree.leaves(jax.eval_shape(create))} == {np.dtype("float64")}
    with jax.enable_x64(False):
        assert {leaf.dtype for leaf in jax.tree.leaves(jax.eval_shape(create))} == {np.dtype("float32")}


@every_net
def test_compiled_is_the_same_as_eager(name, shape):
    net, x = build(name, shape), jax.random.normal(KEY, shape)
    np.testing.assert_allclose(eqx.filter_jit(net)(x), net(x), atol=1e-12)


@every_net
def test_stacked_nets_are_the_same_as_a_loop(name, shape):
    nets, states = stack(name, shape, 3), jax.random.normal(KEY, (3, 2, *shape))
    together = jax.jit(jax.vmap(lambda net, xs: jax.vmap(net)(xs)))(nets, states)
    one = jax.jit(lambda net, x: net(x))
    alone = [[one(jax.tree.map(lambda a, e=e: a[e], nets), x) for x in xs] for e, xs in enumerate(states)]
    np.testing.assert_allclose(together, np.asarray(alone), atol=1e-12)


@every_net
def test_no_array_has_seven_axes(name, shape):
    """Over seeds, environments and trajectories, forward and backward: XLA has failed at seven."""
    nets = stack(name, shape, 2, 3)
    batched = lambda net, xs: jax.vmap(net)(xs)
    loss = lambda nets, xs: jnp.sum(jax.vmap(jax.vmap(batched))(nets, xs) ** 2)
    assert max(ranks(jax.grad(loss), nets, jnp.ones((2, 3, 4, *shape)))) <= 6


@every_net
def test_gradient_against_finite_differences(name, shape):
    net, x = build(name, shape, init_std=0.3), jax.random.normal(KEY, shape)
    vector, unravel = ravel_pytree(net)
    loss = jax.jit(lambda vector: jnp.sum(jnp.sin(unravel(vector)(x))))
    direction = jax.random.normal(jax.random.key(1), vector.shape)
    direction /= jnp.linalg.norm(direction)
    measured = (loss(vector + 1e-5 * direction) - loss(vector - 1e-5 * direction)) / 2e-5
    np.testing.assert_allclose(jnp.vdot(jax.jit(jax.grad(loss))(vector), direction), measured, rtol=1e-6)


@every_net
def test_options_that_all_nets_have(name, shape):
    x = jax.random.normal(KEY, shape)
    plain, scaled = build(name, shape), build(name, shape, factor=1e-3)
    np.testing.assert_allclose(eqx.filter_jit(scaled)(x), 1e-3 * eqx.filter_jit(plain)(x), rtol=1e-12)
    assert (plain.factor, scaled.factor) == (1.0, 1e-3)
    assert np.all(build(name, shape, init_std=0)(x) == 0)
    signature = inspect.signature(NETS[name])
    assert list(signature.parameters)[:2] == ["state_shape", "key"]
    assert all(p.default is not p.empty for p in list(signature.parameters.values())[2:])


@every_net
def test_layers_hold_all_parameters_but_the_slopes(name, shape):
    net = build(name, shape)
    slopes = len(getattr(net, "activations", ()))
    assert sum(size(layer) for layer in net.layers) + slopes == size(net)
    for layer in net.layers:
        assert jax.eval_shape(layer, jnp.ones(layer.in_shape)).ndim == len(layer.in_shape)


@every_net
def test_starts_small_but_alive(name, shape):
    """Whatever the key: on standardised states the tangent is about a tenth, so a rollout begins calmly."""
    x = jax.random.normal(KEY, (64, *shape))
    apply = jax.jit(jax.vmap(lambda net: jax.vmap(net)(x)))
    rms = np.sqrt(np.mean(np.asarray(apply(stack(name, shape, 20))) ** 2))
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
    assert len(build("fno", (4, 2)).layers) == 7


def test_starts_of_the_paper():
    net = MLP((2,), init_std=0.05, key=KEY)
    assert abs(float(jnp.std(net.denses[1].weight)) - 0.05) < 2e-3
    assert all(np.all(layer.bias == 0) for layer in net.denses)
    assert {float(a.beta) for a in net.activations} == {0.5}
    spectral = build("fno", (6, 5, 1), init_std=0.1).fourier[0].spectral.weight
    assert 0 <= float(spectral.min()) < 0.1 < 0.4 < float(spectral.max()) < 1 / np.sqrt(4)


@pytest.mark.parametrize(
    ("name", "options", "commutes"), [("conv", {}, True), ("fno", {"grid_input": False}, True), ("fno", {}, False)]
)
def test_commutes_with_translations_unless_it_sees_the_grid(name, options, commutes):
    shape = SHAPES[name][1]
    net, x = eqx.filter_jit(build(name, shape, **options)), jax.random.normal(KEY, shape)
    shift = functools.partial(jnp.roll, shift=(2, -1), axis=(0, 1))
    difference = float(jnp.max(jnp.abs(net(shift(x)) - shift(net(x)))))
    assert (difference < 1e-12) == commutes, difference
    assert float(jnp.max(jnp.abs(net(shift(x)) - net(x)))) > 1e-4


def test_fno_by_hand():
    """Lift, then Fourier layers with no activation after the last, then the projection."""
    net, x = build("fno", (6, 5, 1)), jax.random.normal(KEY, (6, 5, 1))
    first, second = net.fourier
    after_first, after_hidden = net.activations

    def by_hand(x):
        h = net.lift(jnp.concatenate([x, grid(x)], axis=-1))
        h = after_first(first.spectral(h) + first.pointwise(h))
        h = second.spectral(h) + second.pointwise(h)
        return net.last(after_hidden(net.hidden(h)))

    np.testing.assert_allclose(eqx.filter_jit(net)(x), jax.jit(by_hand)(x), atol=1e-12)


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
