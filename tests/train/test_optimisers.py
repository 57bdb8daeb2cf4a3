"""How long steps are, in which direction, and which arrays are matrices."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from tests.engine import LINEAR, decays, drawn, request_of

from leadax import InputError, Sizes, Units, chosen_for, fit
from leadax.defaults import PRESETS
from leadax.methods import METHODS
from leadax.nets import Dense, SpectralConvolution
from leadax.nets.architecture import architecture
from leadax.train.loop import Span, advance
from leadax.train.optimisers import Optimiser, matrix_axes, rate_for
from leadax.train.trainer import Trainer

DATA = decays()


def shares(decay: str, steps: int) -> np.ndarray:
    share = Optimiser("adam", decay).share_of_rate
    return np.asarray(jax.vmap(lambda step: share(step, jnp.array(steps)))(jnp.arange(steps + 1)))


def test_how_the_rate_changes():
    np.testing.assert_allclose(shares("cosine", 10), 0.5 * (1 + np.cos(np.pi * np.arange(11) / 10)), atol=1e-12)
    cycle = shares("one-cycle", 40)
    np.testing.assert_allclose(cycle[:3], [0.05, 0.525, 1.0], atol=1e-12)
    np.testing.assert_allclose(cycle[2:], 0.5 * (1 + np.cos(np.pi * np.arange(39) / 38)), atol=1e-12)
    np.testing.assert_array_equal(shares("constant", 5), 1.0)
    assert np.all(np.isfinite(shares("one-cycle", 1)))
    # An optimiser of one's own has a schedule of its own.
    assert Optimiser(optax.sgd(0.1)).share_of_rate(jnp.array(5), jnp.array(10)) == 1.0


def test_steps_follow_the_rate_of_their_phase():
    """The first step of Adam is as long as the rate, wherever in a phase it is taken."""
    request = request_of(DATA, steps=10)
    trainer = Trainer.of(request, [LINEAR], [0.02])
    task, state = trainer.task, trainer._first_state()
    for begin, length, step in ((0, 10, 0), (0, 10, 5), (4, 8, 6)):
        now = jax.tree.map(jnp.array, state._replace(step=jnp.full(1, step, jnp.int32)))
        span = Span(jnp.asarray(begin, jnp.int32), jnp.asarray(length, jnp.int32))
        after, _ = advance(task.stages[0].plan, task.method, now, task.batch, task.sampling, span, 1)
        moved = np.asarray(after.levels.shared.dense.weight) - np.asarray(state.levels.shared.dense.weight)
        expected = 0.02 * 0.5 * (1 + np.cos(np.pi * (step - begin) / length))
        np.testing.assert_allclose(np.abs(moved), expected, rtol=1e-3)


def updates(optimiser: Optimiser, gradients):
    """What a transformation makes of gradients one after the other."""
    rule = optimiser.transformation()
    state, found = rule.init(jnp.asarray(gradients[0])), []
    with jax.numpy_dtype_promotion("standard"):
        for gradient in gradients:
            update, state = rule.update(jnp.asarray(gradient), state)
            found.append(np.asarray(update))
    return np.array(found)


@pytest.mark.parametrize("decay", ["cosine", "one-cycle"])
def test_adam_on_clipped_gradients_against_plain_numbers(decay):
    gradients = np.array([[3.0, 4.0], [0.3, -0.4], [30.0, 0.0]])
    clipped = [g / max(1.0, np.linalg.norm(g) / 2) for g in gradients]
    mean = square = np.zeros(2)
    b2 = 0.99 if decay == "one-cycle" else 0.999
    for step, (g, found) in enumerate(zip(clipped, updates(Optimiser("adam", decay, 2.0), gradients), strict=True), 1):
        mean, square = 0.9 * mean + 0.1 * g, b2 * square + (1 - b2) * g**2
        expected = -mean / (1 - 0.9**step) / (np.sqrt(square / (1 - b2**step)) + 1e-8)
        np.testing.assert_allclose(found, expected, rtol=1e-9)
    assert not np.allclose(
        updates(Optimiser("adam", decay), gradients)[1:], updates(Optimiser(clip=2.0), gradients)[1:]
    )


def test_muon_takes_steps_of_like_singular_values_and_adams_length():
    layer = drawn(lambda key: Dense(6, 4, key=key))
    muon = Optimiser("muon", "constant").transformation()
    sizes = jnp.diag(jnp.array([4.0, 2.0, 1.0, 0.5]))
    gradient = eqx.tree_at(lambda layer: layer.weight, layer, jnp.linalg.qr(layer.weight)[0] @ sizes)
    with jax.numpy_dtype_promotion("standard"):
        update, _ = jax.jit(lambda g: muon.update(g, muon.init(layer), layer))(gradient)
    singular = np.linalg.svd(update.weight, compute_uv=False)
    assert singular.max() < 2 * singular.min()
    # A fifth of the rate in the root mean square, which is what Adam's steps have on the way.
    assert np.sqrt(np.mean(np.square(update.weight))) == pytest.approx(0.2, rel=0.3)
    assert np.sum(update.weight * gradient.weight) < 0
    # Environments are an axis of the weights, and not one of the matrix: they do not touch each other's steps.
    layers = jax.tree.map(lambda a: jnp.stack([a, 3 * a[::-1], a**2]), gradient)
    with jax.numpy_dtype_promotion("standard"):
        together, _ = jax.jit(lambda g: muon.update(g, muon.init(g), g))(layers)
    np.testing.assert_allclose(together.weight[0], update.weight, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("system", "shape"), [("gray-scott", (8, 8, 2)), ("navier-stokes", (16, 16, 1))])
def test_which_arrays_are_matrices(system, shape):
    """Outputs, and for each of them all that is summed: taps and channels. A spectral convolution is not one matrix."""
    net = jax.eval_shape(lambda key: architecture(PRESETS[system].net)(shape, key=key), jr.key(0))
    kinds = set()
    for layer, axes in zip(net.layers, matrix_axes(net).layers, strict=True):
        kinds.add(type(layer))
        assert getattr(axes, "bias", None) is None
        if isinstance(layer, SpectralConvolution):
            assert axes.weight is None
            continue
        rows = jax.eval_shape(lambda layer: layer.matrix(), layer).shape[1]
        assert axes.weight.output_axis == (layer.weight.ndim - 1,)
        assert np.prod([layer.weight.shape[i] for i in axes.weight.reduction_axis]) == rows
    assert len(kinds) == (1 if system == "gray-scott" else 2)


@pytest.mark.parametrize("name", METHODS)
def test_only_layers_of_nets_are_matrices(name):
    """Of one environment's net: whatever else a method has (codes, factors, directions, contexts) is left to Adam."""
    sizes = Sizes((2,), 3)
    method = chosen_for(DATA).complete(METHODS[name](), sizes)
    levels = jax.eval_shape(lambda key: method.init(sizes, key=key), jr.key(0))
    shapes = {
        tuple(array.shape[axis] for axis in (*axes.reduction_axis, *axes.output_axis))
        for array, axes in zip(_flat(levels), _flat(matrix_axes(levels)), strict=True)
        if axes is not None
    }
    assert shapes == (set() if "ft" in name else {(2, 2), (2, 64), (64, 64), (64, 2)})


def _flat(tree):
    is_leaf = lambda node: node is None or isinstance(node, optax.contrib.MuonDimensionNumbers)
    return jax.tree.leaves(tree, is_leaf=is_leaf)


def test_fit_by_muon_learns():
    """In the units of the data, where a net without biases can."""
    raw = dataclasses.replace(chosen_for(DATA), units=Units.ones(2))
    settings = {"optimiser": "muon", "learning_rate": 0.1, "defaults": raw, "key": jr.key(0)}
    first, last = (fit(LINEAR, DATA, steps=steps, **settings).training.history[-1].error[0] for steps in (1, 60))
    assert last < 0.1 * first


def test_equal_optimisers_are_one():
    """Optax makes closures, of which no two are equal; programs are compiled for what is in them."""
    adam = lambda rate, **more: optax.chain(optax.clip(1.0), optax.adam(optax.cosine_decay_schedule(rate, 9), **more))
    tree = lambda label: optax.multi_transform({"a": optax.sgd(0.1)}, lambda tree: jax.tree.map(lambda _: label, tree))
    made = [lambda: adam(0.1), lambda: adam(0.2), lambda: adam(0.1, b2=0.9), lambda: tree("a"), lambda: tree("b")]
    for i, one in enumerate(made):
        for j, other in enumerate(made):
            a, b = Optimiser(one(), clip=1.0), Optimiser(other(), clip=1.0)
            assert (a == b, hash(a) == hash(b)) == (i == j, i == j)
    again = lambda n: again(n - 1) if n else 0.1  # encloses itself
    array = np.array(0.1)  # is compared by identity
    for schedule in (again, lambda step: array * step):
        assert Optimiser(optax.sgd(schedule)) == Optimiser(optax.sgd(schedule)) != Optimiser(optax.sgd(0.1))
    assert Optimiser(optax.sgd(1.0)) != Optimiser(optax.sgd(1))


def test_unknown_ones():
    with pytest.raises(InputError, match="unknown optimiser `moun`: did you mean `muon`"):
        Optimiser("moun")
    with pytest.raises(InputError, match="unknown decay `cosin`: did you mean `cosine`"):
        dataclasses.replace(Optimiser(), decay="cosin")
    assert (rate_for(Optimiser(), None), rate_for(Optimiser(optax.sgd(0.3)), None)) == (1e-3, 1.0)
