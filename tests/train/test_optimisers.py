"""How long steps are, in which direction, and which arrays are matrices."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from tests.engine import decays

from leadax import Leads, fit
from leadax.errors import InputError
from leadax.experiments.presets import PRESETS, complete
from leadax.methods import METHODS
from leadax.nets import Dense, SpectralConvolution
from leadax.optimisers import check_optimiser, matrix_axes, optimiser


def rates(decay: str, steps: int) -> np.ndarray:
    """With the same gradient again and again, a step of Adam is as long as the rate."""
    adam = optimiser("adam", 0.1, decay, steps)
    state, found = adam.init(jnp.zeros(())), []
    with jax.numpy_dtype_promotion("standard"):
        for _ in range(steps + 1):
            update, state = adam.update(jnp.ones(()), state)
            found.append(-float(update))
    return np.array(found)


def test_cosine():
    np.testing.assert_allclose(rates("cosine", 10), 0.05 * (1 + np.cos(np.pi * np.arange(11) / 10)), atol=1e-8)


def test_one_cycle_goes_up_then_down():
    found = rates("one-cycle", 40)
    np.testing.assert_allclose(found[:3], [0.005, 0.0525, 0.1], atol=1e-8)
    np.testing.assert_allclose(found[2:], 0.05 * (1 + np.cos(np.pi * np.arange(39) / 38)), atol=1e-8)


def test_muon_takes_steps_of_like_singular_values_and_adams_length():
    layer = Dense(6, 4, key=jr.key(0))
    muon = optimiser("muon", 0.1, "constant", 10)
    sizes = jnp.diag(jnp.array([4.0, 2.0, 1.0, 0.5]))
    gradient = eqx.tree_at(lambda layer: layer.weight, layer, jnp.linalg.qr(layer.weight)[0] @ sizes)
    with jax.numpy_dtype_promotion("standard"):
        update, _ = muon.update(gradient, muon.init(layer), layer)
    singular = np.linalg.svd(update.weight, compute_uv=False)
    assert singular.max() < 2 * singular.min()
    # A fifth of the rate in the root mean square, which is what Adam's steps have on the way.
    assert np.sqrt(np.mean(np.square(update.weight))) == pytest.approx(0.02, rel=0.3)
    assert np.sum(update.weight * gradient.weight) < 0


def test_an_environment_does_not_touch_the_steps_of_another():
    """Environments are an axis of the weights, and not one of the matrix."""
    layers = jax.vmap(lambda key: Dense(6, 4, key=key))(jr.split(jr.key(0), 3))
    alone = jax.tree.map(lambda a: a[1], layers)
    muon = optimiser("muon", 0.1, "constant", 10)
    with jax.numpy_dtype_promotion("standard"):
        together, _ = muon.update(layers, muon.init(layers), layers)
        one, _ = muon.update(alone, muon.init(alone), alone)
    np.testing.assert_allclose(together.weight[1], one.weight, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("system", "shape"), [("gray-scott", (8, 8, 2)), ("navier-stokes", (16, 16, 1))])
def test_which_arrays_are_matrices(system, shape):
    """Outputs, and for each of them all that is summed: taps and channels. The matrices of waves are too small."""
    net = PRESETS[system].net(shape, key=jr.key(0))
    for layer, axes in zip(net.layers, matrix_axes(net).layers, strict=True):
        assert getattr(axes, "bias", None) is None
        if isinstance(layer, SpectralConvolution):
            assert axes.weight is None
            continue
        assert axes.weight.output_axis == (layer.weight.ndim - 1,)
        assert np.prod([layer.weight.shape[i] for i in axes.weight.reduction_axis]) == layer.matrix().shape[1]


@pytest.mark.parametrize("name", METHODS)
def test_only_layers_of_nets_are_matrices(name):
    """Of one environment's net: whatever else a method has (codes, factors, directions, contexts) is left to Adam."""
    method = complete(METHODS[name](), PRESETS["lotka-volterra"], "clean").sized((2,), 3)
    parts = jax.eval_shape(lambda key: method.init((2,), 3, key=key), jr.key(0))
    shapes = {
        tuple(array.shape[axis] for axis in (*axes.reduction_axis, *axes.output_axis))
        for array, axes in zip(_flat(parts), _flat(matrix_axes(parts)), strict=True)
        if axes is not None
    }
    factored = "ft" in name
    assert shapes == (set() if factored else {(2, 64), (64, 64), (64, 2)})


def _flat(tree):
    is_leaf = lambda node: node is None or isinstance(node, optax.contrib.MuonDimensionNumbers)
    return jax.tree.leaves(tree, is_leaf=is_leaf)


def test_fit_by_muon_learns():
    begin, end = (
        fit(Leads(), decays(), key=jr.key(0), steps=steps, optimiser="muon", learning_rate=0.02, decay="one-cycle")
        for steps in (1, 60)
    )
    first, last = (model.about["looks"][-1]["loss"][0] for model in (begin, end))
    assert last < 0.1 * first


def test_unknown_ones():
    with pytest.raises(InputError, match="unknown optimiser `moun`: did you mean `muon`"):
        fit(Leads(), decays(), key=jr.key(0), optimiser="moun")
    with pytest.raises(InputError, match=r"`optimiser` must be `adam` or `muon`, or an optimiser of Optax, got 0\.1"):
        check_optimiser(0.1)
