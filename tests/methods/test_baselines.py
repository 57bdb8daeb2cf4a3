"""What the baselines are made of, against plain NumPy: factored tensors, contexts, steps of meta-learning."""

import re
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.engine import at, drawn, same_bits, tiny

from leadax import Coda, Gbml, InputError, Linear, Maml, Sizes
from leadax.methods import ContextPenalty, Recurrence
from leadax.methods.factored import Factored
from leadax.nets import FNO, GRU, MLP, ConvNet, LinearLayer, PredRNN
from leadax.penalties import Points
from leadax.rollout import Restart, steps_between

NOWHERE = Points(jnp.zeros(1), jnp.ones((1, 2)))
RNG = np.random.default_rng(0)


# Factored tensors


@pytest.mark.parametrize(
    ("module", "layers"),
    [
        (partial(MLP, (3,), width=4, depth=2), 2),
        (partial(ConvNet, (6, 5, 2), width=3, depth=2), 2),
        (partial(FNO, (8, 8, 1), modes=2, width=3, depth=1, projection=4), 5),
        (partial(GRU, (3,), width=4), 4),
        (partial(PredRNN, (4, 2), width=3), 11),
    ],
    ids=["dense", "convolution", "Fourier", "GRU", "PredRNN"],
)
def test_factored_weights(module, layers):
    """W_e = A diag(b) C in each linear map; all else as it was."""
    plain = drawn(lambda key: module(key=key))
    factored = drawn(lambda key: Factored(module(key=key), 3, key=key))
    codes = drawn(lambda key: factored.first_codes(2, key=key))
    is_layer = lambda node: isinstance(node, LinearLayer)
    linear = lambda net: [node for node in jax.tree.leaves(net, is_leaf=is_layer) if is_layer(node)]
    for e in range(2):
        found = factored.at(at(codes, e))
        assert jax.tree.structure(found) == jax.tree.structure(plain)
        shapes = [layer.weight.shape for layer in linear(plain)]
        assert len(shapes) == layers
        for layer, shape, a, b, c in zip(linear(found), shapes, factored.left, codes, factored.right, strict=True):
            expected = np.zeros((np.prod(shape[:-1]), shape[-1]))
            for r in range(3):
                expected += b[e, r] * np.outer(a[:, r], c[r])
            np.testing.assert_allclose(layer.weight, expected.reshape(shape), rtol=1e-12, atol=1e-14)
        biases = lambda net: [layer.bias for layer in linear(net) if getattr(layer, "bias", None) is not None]
        assert same_bits(biases(found), biases(factored.frame))


def test_factored_weights_start_as_large_as_plain_ones():
    net = Linear((60,), key=jr.key(0))
    factored = Factored(net, 40, key=jr.key(1))
    found, plain = (float(jnp.std(n.dense.weight)) for n in (factored.at(factored.ones()), net))
    assert found == pytest.approx(plain, rel=0.1)
    # A single weight has no deviation: it must not start at zero, where it would stay.
    single = Factored(Linear((1,), key=jr.key(0)), 1, key=jr.key(1))
    assert np.all(np.asarray(single.at(single.ones()).dense.weight) != 0)


def test_codes_start_near_one():
    factored = drawn(lambda key: Factored(tiny((2,), key=key), 50, key=key))
    codes = np.concatenate([np.asarray(b).ravel() for b in factored.first_codes(20, key=jr.key(0))])
    assert codes.mean() == pytest.approx(1, abs=0.02)
    assert codes.std() == pytest.approx(0.1, rel=0.1)


# CoDA


def test_coda_moves_the_weights_along_its_directions():
    method = Coda(net=tiny, dimension=3)
    shared, contexts = drawn(lambda key: method.init(Sizes((2,), 2), key=key))
    move = lambda theta, w: np.asarray(theta) + sum(np.asarray(w)[..., k] * float(contexts[1, k]) for k in range(3))
    found = jax.jit(lambda context: shared.at(context))(contexts[1])
    for theta, w, moved in zip(*map(jax.tree.leaves, (shared.net, shared.directions, found)), strict=True):
        np.testing.assert_allclose(moved, move(theta, w), rtol=1e-12)
    # At zero all is as in the centre, and what is added by the decomposition is nothing.
    x, (f, g) = jnp.ones(2), method.split(shared, jnp.zeros(3))
    np.testing.assert_allclose(f(0.0, x), shared.net(0.0, x), rtol=1e-12)
    np.testing.assert_allclose(g(0.0, x, None), 0.0, atol=1e-12)


def test_context_penalty():
    directions = {"weight": RNG.normal(size=(2, 4, 3)), "bias": RNG.normal(size=(4, 3))}
    context = RNG.normal(size=3)
    value, carry = ContextPenalty(0.5, 0.25, 0.125)(
        jax.tree.map(jnp.asarray, (directions, context)), NOWHERE, jnp.ones(1), ()
    )
    rows = np.concatenate([w.reshape(-1, 3) for w in directions.values()])
    expected = 0.5 * np.sum(context**2) + 0.25 * sum(map(np.linalg.norm, rows)) + 0.125 * np.sum(rows**2)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    assert carry == ()


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_context_penalty_has_a_slope_at_zero(dtype):
    value = lambda net: ContextPenalty(1.0, 1.0, 1.0)(net, NOWHERE, jnp.ones(1), ())[0]
    zero = (jnp.zeros((4, 2), dtype), jnp.zeros(2, dtype))
    for slope in jax.grad(value)(zero):
        np.testing.assert_array_equal(slope, 0)
    (slope, _) = jax.grad(value)((jnp.full((4, 2), 1e-12, dtype), zero[1]))
    np.testing.assert_allclose(slope, 0.5**0.5, rtol=1e-5)


# Phases and steps ahead


def test_phases():
    """First what is common, then what is not; MAML looks ahead first."""
    for method, meta in ((Gbml(first_share=0.3), False), (Maml(first_share=0.3), True)):
        first, second = method.phases()
        assert (first.share, first.trainable, first.meta) == (0.3, ("shared",), meta)
        assert (second.share, second.trainable, second.meta) == (0.7, ("specific",), False)


@pytest.mark.parametrize("first_order", [False, True])
def test_steps_ahead_are_gradient_descent(first_order):
    """Of a·x²/2, from x to (1 - η·a)ⁿ x; without second derivatives it is differentiated as if it were the identity."""
    method, curvature = Maml(inner_steps=3, inner_rate=0.2, first_order=first_order), jnp.array([1.0, 3.0])
    ahead = lambda x: method.look_ahead(x, lambda x: jnp.sum(curvature * x**2) / 2)
    x = jnp.array([0.5, -2.0])
    np.testing.assert_allclose(ahead(x), (1 - 0.2 * curvature) ** 3 * x, rtol=1e-12)
    slopes = jax.jacobian(ahead)(x)
    expected = jnp.eye(2) if first_order else jnp.diag((1 - 0.2 * curvature) ** 3)
    np.testing.assert_allclose(slopes, expected, atol=1e-12)


# Recurrent nets


@pytest.mark.parametrize("substeps", [1, 2])
def test_a_recurrent_net_steps_from_state_to_state(substeps):
    """x + h·v with (v, memory) of the cell; a restart also empties the memory; a forecast is kept in its box."""
    cell, times = drawn(lambda key: GRU((2,), width=3, key=key)), np.array([0.0, 0.2, 0.5, 0.6])
    states = RNG.uniform(0.5, 1.5, (4, 2))
    step = jax.jit(lambda x, memory: cell(x, memory))
    some = np.array([False, True, False, True])
    for restart, bounds in ((None, None), (some, None), (None, [[0.5, 0.5], [1.1, 1.4]])):
        steps = steps_between(times, substeps=substeps, dtype=jnp.float64)
        steps = steps._replace(bounds=None if bounds is None else jnp.asarray(bounds))
        anew = None if restart is None else Restart(jnp.asarray(restart), jnp.asarray(states))
        found = Recurrence(cell).forecast(jnp.asarray(states[0]), steps, anew)
        x, memory, expected = states[0], cell.empty(), [states[0]]
        for k, gap in enumerate(np.diff(times)):
            if restart is not None and restart[k]:
                x, memory = states[k], cell.empty()
            for _ in range(substeps):
                change, memory = step(jnp.asarray(x), memory)
                x = x + gap / substeps * np.asarray(change)
                x = x if bounds is None else np.clip(x, *bounds)
            expected.append(x)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_settings_that_make_no_sense():
    for wrong, words in (
        (lambda: Coda(dimension=0), "`dimension` must be a whole number from 1"),
        (lambda: Gbml(first_share=1.0), "`first_share` must be between 0 and 1, got 1.0"),
        (lambda: Maml(first_share=0.0), "`first_share` must be between 0 and 1, got 0.0"),
        (lambda: Maml(inner_steps=0), "`inner_steps` must be a whole number from 1"),
        (lambda: Maml(inner_rate=0.0), "`inner_rate` must be positive, got 0.0: use 0.01"),
    ):
        with pytest.raises(InputError, match=re.escape(words)):
            wrong()
