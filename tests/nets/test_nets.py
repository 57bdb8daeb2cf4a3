"""What every net must do, by registry; and what each alone must do."""

import functools
import inspect

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import TypeCheckError
from tests.nets.operators import convolve, inner, ranks, redraw, spectral, swish

from leadax.errors import InputError
from leadax.nets import FNO, MLP, NETS, ConvNet, Linear, Net, Swish
from leadax.nets._stack import with_inputs
from leadax.nets.fno import grid

KEY = jax.random.key(0)
SMALL = {
    "mlp": {"width": 8, "depth": 3},
    "conv": {"width": 4, "depth": 3},
    "fno": {"modes": 2, "width": 4, "depth": 2, "projection": 8},
    "linear": {},
}
# The net, the shape of its state, and the shape of its inputs: none, numbers, or fields on the grid.
CASES = [
    ("mlp", (2,), (3,)),
    ("conv", (5, 2), None),
    ("conv", (4, 5, 2), (2,)),
    ("fno", (4, 2), (4, 1)),
    ("fno", (6, 5, 1), None),
    ("linear", (8,), None),
    ("linear", (4, 4, 2), (4, 4, 1)),
]
every_net = pytest.mark.parametrize("case", CASES, ids=str)
every_kind = pytest.mark.parametrize("case", [CASES[0], CASES[2], CASES[4], CASES[6]], ids=str)
T = jnp.array(0.0)


def random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def builder(case, **options):
    name, shape, u = case
    inputs = {} if u is None else {"inputs": u[-1]}
    return lambda: NETS[name](shape, key=KEY, **inputs, **SMALL[name], **options)


def drawn(case, *sizes, seed=0, **options):
    """With other parameters than the initial ones."""
    return redraw(builder(case, **options), *sizes, seed=seed, scale=0.4)


def arguments(case, *sizes, seed=0):
    _, shape, u = case
    return random(*sizes, *shape, seed=seed), None if u is None else random(*sizes, *u, seed=seed + 1)


def size(net):
    return sum(a.size for a in jax.tree.leaves(net))


def count(net, shape, **options):
    return size(jax.eval_shape(lambda: net(shape, key=KEY, **options)))


together = jax.jit(jax.vmap(lambda net, x, u: jax.vmap(lambda x, u: net(T, x, u))(x, u)))


def by_hand(net, x, u):
    """The formula of each net in NumPy."""
    seen = x if u is None else np.concatenate([x, np.broadcast_to(u, (*x.shape[:-1], u.shape[-1]))], axis=-1)
    dense = lambda layer, x: x @ np.asarray(layer.weight) + (0 if layer.bias is None else np.asarray(layer.bias))
    if isinstance(net, FNO):
        ends = [np.linspace(0, 1, points) for points in x.shape[:-1]]
        h = dense(net.lift, np.concatenate([seen, np.stack(np.meshgrid(*ends, indexing="ij"), axis=-1)], axis=-1))
        first, second = net.fourier
        h = swish(net.activations[0], spectral(first.spectral, h) + dense(first.pointwise, h))
        h = dense(net.hidden, spectral(second.spectral, h) + dense(second.pointwise, h))
        return dense(net.last, swish(net.activations[1], h))
    convolution = lambda layer, x: convolve(x, layer.weight) + np.asarray(layer.bias)
    apply = convolution if isinstance(net, ConvNet) else dense
    h = apply(net.layers[0], seen)
    for layer, activation in zip(net.layers[1:], getattr(net, "activations", ()), strict=True):
        h = apply(layer, swish(activation, h))
    return h


@every_net
def test_formula_and_derivatives(case):
    """The tangent by NumPy; ⟨Jv, w⟩ = ⟨v, Jᵀw⟩ of parameters, state and inputs; both against finite differences."""
    net, (x, u) = drawn(case), arguments(case)
    at, direction = (net, x, u), (drawn(case, seed=1), *arguments(case, seed=1))
    cotangent = random(*x.shape, seed=2)

    @jax.jit
    def derivatives(at, direction, cotangent):
        evaluate = lambda net, x, u: net(T, x, u)
        tangent, transpose = jax.vjp(evaluate, *at)
        return tangent, transpose(cotangent), jax.jvp(evaluate, at, direction)[1]

    tangent, gradient, slope = derivatives(at, direction, cotangent)
    np.testing.assert_allclose(tangent, by_hand(net, x, u), atol=1e-12)
    np.testing.assert_allclose(inner(gradient, direction), inner(slope, cotangent), rtol=1e-10)
    along = lambda h: by_hand(*jax.tree.map(lambda a, b: np.asarray(a) + h * np.asarray(b), at, direction))
    np.testing.assert_allclose(slope, (along(1e-6) - along(-1e-6)) / 2e-6, rtol=1e-5, atol=1e-8)


@every_net
def test_stacked_nets_are_the_same_as_a_loop(case):
    nets, (xs, us) = drawn(case, 3), arguments(case, 3, 2)
    found = together(nets, xs, us)
    one = lambda e: jax.tree.map(lambda a: np.asarray(a)[e], nets)
    expected = [[by_hand(one(e), xs[e, i], None if us is None else us[e, i]) for i in range(2)] for e in range(3)]
    np.testing.assert_allclose(found, np.asarray(expected), atol=1e-12)


@pytest.mark.parametrize("case", [CASES[2], CASES[4]], ids=str)
def test_no_array_has_seven_axes(case):
    """Over seeds, environments and trajectories, forward and backward: XLA has failed at seven."""
    total = lambda nets, xs, us: jnp.sum(jax.vmap(together)(nets, xs, us) ** 2)
    assert max(ranks(jax.grad(total), drawn(case, 2, 3), *arguments(case, 2, 3, 4))) == 6


@every_net
def test_shapes_and_types(case):
    """Parameters are real and in the default type; the tangent has the shape and type of the state."""
    assert isinstance(drawn(case), Net)
    x, u = arguments(case)
    for single in (False, True):
        with jax.enable_x64(not single):
            net = jax.eval_shape(builder(case))
            arrays = jax.tree.map(lambda a: jnp.asarray(a, float), (x, u))
            tangent = jax.eval_shape(lambda net, x, u: net(jnp.zeros(()), x, u), net, *arrays)
        dtype = np.dtype("float32" if single else "float64")
        assert {leaf.dtype for leaf in jax.tree.leaves(net)} == {dtype}
        assert (tangent.shape, tangent.dtype) == (x.shape, dtype)


@every_kind
def test_options_that_all_nets_have(case):
    """On standardised states and inputs the initial tangent is about a tenth, so that a rollout starts calmly."""
    xs, us = arguments(case, 32)

    @jax.jit
    def build(xs, us):
        nets = builder(case)(), builder(case, init_std=0)(), drawn(case), drawn(case, factor=1e-3)
        return [jax.vmap(lambda x, u, net=net: net(T, x, u))(xs, us) for net in nets]

    initial, zero, plain, scaled = build(xs, us)
    rms = float(np.sqrt(np.mean(np.square(initial))))
    assert 0.01 < rms < 0.25, rms
    np.testing.assert_allclose(scaled, 1e-3 * np.asarray(plain), rtol=1e-9)
    assert np.all(zero == 0)
    assert jax.eval_shape(builder(case, factor=1)).factor == 1.0
    signature = inspect.signature(NETS[case[0]])
    assert list(signature.parameters)[:3] == ["state_shape", "key", "inputs"]
    assert all(p.default is not p.empty for p in list(signature.parameters.values())[2:])


@every_net
def test_layers_hold_all_parameters_but_the_slopes(case):
    net = drawn(case)
    slopes = len(getattr(net, "activations", ()))
    assert sum(size(layer) for layer in net.layers) + slopes == size(net)
    for layer in net.layers:
        assert jax.eval_shape(layer, jnp.ones(layer.in_shape)).ndim == len(layer.in_shape)


def test_inputs_are_numbers_or_fields():
    """Numbers are the same at every point; fields are joined as they are; both take the type of the state."""
    x, numbers, fields = random(3, 4, 1), random(2, seed=1), random(3, 4, 2, seed=2)
    for u in (numbers, fields):
        joined = with_inputs(jnp.asarray(x, jnp.float32), jnp.asarray(u), 2)
        assert joined.dtype == jnp.float32
        np.testing.assert_allclose(joined[2, 1], [*x[2, 1], *(u if u.ndim == 1 else u[2, 1])], rtol=1e-6)


@pytest.mark.parametrize(
    ("inputs", "u", "words"),
    [
        (0, (2,), r"built without inputs, but `u` has the shape \(2,\): build it with"),
        (2, None, r"`inputs=2` and needs `u` of shape \(2,\) or \(4, 5, 2\), but `u` is None"),
        (2, (3,), r"but `u` has the shape \(3,\)"),
        (2, (5, 2), r"but `u` has the shape \(5, 2\)"),
        (2, (), r"but `u` has the shape \(\)"),
    ],
)
def test_inputs_that_do_not_fit(inputs, u, words):
    with pytest.raises(InputError, match=words) as error:
        with_inputs(jnp.ones((4, 5, 1)), None if u is None else jnp.ones(u), inputs)
    assert "\n" not in str(error.value)


@every_net
def test_every_net_refuses_inputs_that_do_not_fit(case):
    net, (x, u) = drawn(case), arguments(case)
    with pytest.raises(InputError, match="but `u`"):
        net(T, jnp.asarray(x), jnp.ones(1) if u is None else None)


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
        *[
            (functools.partial(net, inputs=-1), (12, 12, 2)[i:], "`inputs` of .* must be at least 0, got -1")
            for net, i in ((MLP, 2), (ConvNet, 1), (FNO, 0), (Linear, 0))
        ],
    ],
)
def test_refuses_in_words(net, shape, words):
    with pytest.raises(InputError, match=words) as error:
        net(shape, key=KEY)
    assert "\n" not in str(error.value)


def test_a_state_of_the_wrong_shape_does_not_pass():
    with pytest.raises((TypeError, TypeCheckError)):
        drawn(CASES[0])(T, jnp.ones(3), jnp.ones(3))


def test_number_of_parameters():
    assert count(MLP, (2,)) == (2 * 64 + 64) + 2 * (64 * 64 + 64) + (64 * 2 + 2) + 3
    convolutions = (9 * 2 * 64 + 64) + 2 * (9 * 64 * 64 + 64) + (9 * 64 * 2 + 2)
    assert count(ConvNet, (32, 32, 2)) == convolutions + 3
    fourier = 4 * (2 * 72 * 100 + 100 + 10)
    assert count(FNO, (32, 32, 1)) == (3 * 10 + 10) + fourier + (10 * 128 + 128) + (128 + 1) + 4
    assert count(FNO, (16, 1)) == 30 + 4 * (2 * 6 * 100 + 110) + (10 * 128 + 128) + (128 + 1) + 4
    assert count(FNO, (16, 1)) - count(FNO, (16, 1), grid_input=False) == 10
    assert count(Linear, (8,)) == 64
    for net, shape, more in ((MLP, (2,), 64), (ConvNet, (8, 2), 3 * 64), (FNO, (16, 1), 10), (Linear, (8,), 8)):
        assert count(net, shape, inputs=3) - count(net, shape) == 3 * more


def test_depth_one_is_one_layer():
    assert count(MLP, (2,), depth=1) == 2 * 2 + 2
    assert count(ConvNet, (8, 2), depth=1, inputs=1) == 3 * 3 * 2 + 2
    assert len(drawn(CASES[4]).layers) == 7


def test_starts_of_the_paper():
    """Normal weights, spectral ones uniform, biases 0 and β = 0.5."""

    @jax.jit
    def build():
        mlp, fno = MLP((64,), depth=2, init_std=0.05, key=KEY), builder(CASES[4], init_std=0.1)()
        return jnp.std(mlp.denses[0].weight), [d.bias for d in mlp.denses], mlp.activations, fno.fourier[0].spectral

    deviation, biases, activations, spectral = build()
    assert abs(deviation - 0.05) < 2e-3
    assert all(np.all(bias == 0) for bias in biases)
    assert {float(a.beta) for a in activations} == {0.5}
    assert 0 <= float(spectral.weight.min()) < 0.1 < 0.4 < float(spectral.weight.max()) < 1 / np.sqrt(4)


@pytest.mark.parametrize(
    ("case", "options", "commutes"),
    [(CASES[2], {}, True), (CASES[4], {}, False), (CASES[4], {"grid_input": False}, True)],
)
def test_commutes_with_translations_unless_it_sees_the_grid(case, options, commutes):
    shift = functools.partial(np.roll, shift=(2, -1), axis=(1, 2))
    (x, u), nets = arguments(case, 3), drawn(case, 3, **options)
    twice = lambda first, second: None if first is None else np.stack([first, second], axis=1)
    before, after = np.asarray(together(nets, twice(x, shift(x)), twice(u, u))).swapaxes(0, 1)
    difference = np.max(np.abs(after - shift(before)))
    assert (difference < 1e-12) == commutes, difference
    assert np.max(np.abs(after - before)) > 1e-4


def test_grid_includes_both_ends():
    points = grid(jnp.zeros((3, 5, 1)))
    np.testing.assert_allclose(points[:, 1, 0], [0, 0.5, 1])
    np.testing.assert_allclose(points[1, :, 1], [0, 0.25, 0.5, 0.75, 1])


def test_swish_is_the_formula_and_never_steeper_than_one():
    x, activations = np.linspace(-40, 40, 4001), [Swish(beta) for beta in (0.5, -2.0, 3.0)]
    stacked = jax.tree.map(lambda *betas: np.stack(betas), *activations)
    values, slopes = jax.jit(jax.vmap(lambda swish: jax.jvp(swish, (x,), (np.ones_like(x),))))(stacked)
    np.testing.assert_allclose(values[0], swish(activations[0], x), atol=1e-12)
    steepest = np.max(slopes, axis=1)
    assert np.all(steepest > 0.99), steepest
    assert np.all(steepest <= 1), steepest


def test_a_linear_map_past_the_layers():
    """It starts near zero, learns ten times as fast as other weights, and is one of the layers that a penalty sees."""
    plain, net = (MLP((2,), inputs=1, width=4, depth=2, key=KEY, degree=degree) for degree in (0, 1))
    x, u = jnp.asarray(random(2, seed=3)), jnp.asarray(random(1, seed=4))
    np.testing.assert_allclose(net(T, x, u), plain(T, x, u), atol=1e-2)
    weight = random(3, 2, seed=5)
    net = eqx.tree_at(lambda n: n.polynomial.weight, net, jnp.asarray(weight))
    expected = np.asarray(plain(T, x, u)) + 10 * np.concatenate([x, u]) @ np.asarray(weight)
    np.testing.assert_allclose(net(T, x, u), expected, rtol=1e-12)
    assert len(net.layers) == 3
