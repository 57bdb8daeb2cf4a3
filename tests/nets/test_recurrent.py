"""Each gate of the recurrent cells, and the way of their memories, in plain NumPy."""

import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.engine import at, drawn

from leadax.errors import InputError
from leadax.methods import FtRnn, Observed
from leadax.methods.ft_rnn import ScaledCell
from leadax.nets import GRU, PredRNN, Scales

RNG = np.random.default_rng(0)
sigmoid = lambda a: 1 / (1 + np.exp(-a))


def plain_gru(cell, x, h):
    width = len(h)
    part = lambda a, k: np.asarray(a)[..., k * width : (k + 1) * width]
    from_x = lambda k: x @ part(cell.inputs.weight, k) + part(cell.inputs.bias, k)
    r = sigmoid(from_x(0) + h @ part(cell.gates.weight, 0))
    z = sigmoid(from_x(1) + h @ part(cell.gates.weight, 1))
    candidate = np.tanh(from_x(2) + (r * h) @ np.asarray(cell.candidate.weight))
    h = z * h + (1 - z) * candidate
    return h @ np.asarray(cell.readout.weight) + np.asarray(cell.readout.bias), h


def test_gru():
    cell = drawn(lambda key: GRU((2,), width=3, key=key))
    see = jax.jit(cell.__call__)
    memory, expected = cell.empty(), np.zeros(3)
    assert memory.tolist() == [0, 0, 0]
    for x in jnp.asarray(RNG.normal(size=(3, 2))):
        rate, memory = see(x, memory)
        expected_rate, expected = plain_gru(cell, np.asarray(x), expected)
        np.testing.assert_allclose(memory, expected, rtol=1e-12)
        np.testing.assert_allclose(rate, expected_rate, rtol=1e-12)


def convolve(x, weight):
    """Around the edges, tap by tap."""
    taps = weight.shape[:-2]
    y = 0.0
    for place in itertools.product(*map(range, taps)):
        shift = [k // 2 - t for t, k in zip(place, taps, strict=True)]
        y = y + np.roll(x, shift, axis=tuple(range(len(taps)))) @ weight[place]
    return y


def plain_level(level, x, h, c, m):
    """The equations of the paper, one convolution for each input of each gate."""
    w = h.shape[-1]

    def from_(layer, gate, field, inputs=slice(None)):
        own = slice(gate * w, (gate + 1) * w)
        return convolve(field, np.asarray(layer.weight)[..., inputs, own]) + np.asarray(layer.bias)[own]

    g = np.tanh(from_(level.from_input, 0, x) + from_(level.from_hidden, 0, h))
    i = sigmoid(from_(level.from_input, 1, x) + from_(level.from_hidden, 1, h))
    f = sigmoid(from_(level.from_input, 2, x) + from_(level.from_hidden, 2, h))
    c = f * c + i * g
    g = np.tanh(from_(level.from_input, 3, x) + from_(level.from_memory, 0, m))
    i = sigmoid(from_(level.from_input, 4, x) + from_(level.from_memory, 1, m))
    f = sigmoid(from_(level.from_input, 5, x) + from_(level.from_memory, 2, m))
    m = f * m + i * g
    bias = np.asarray(level.from_both.bias)
    of_c = from_(level.from_both, 0, c, slice(None, w)) - bias
    of_m = from_(level.from_both, 0, m, slice(w, None)) - bias
    o = sigmoid(from_(level.from_input, 6, x) + from_(level.from_hidden, 3, h) + of_c + of_m + bias)
    mixed = c @ np.asarray(level.mixed.weight)[:w] + m @ np.asarray(level.mixed.weight)[w:]
    return o * np.tanh(mixed + np.asarray(level.mixed.bias)), c, m


@pytest.mark.parametrize("space", [(4, 3), (5,)], ids=["plane", "line"])
def test_predrnn(space):
    """Two layers, three times: M goes up, then from the top to the lowest layer of the next time."""
    cell = drawn(lambda key: PredRNN((*space, 2), width=2, depth=2, key=key))
    see = jax.jit(cell.__call__)
    memory = cell.empty()
    zeros = np.zeros((*space, 2))
    assert all(a.shape == zeros.shape and not a.any() for a in jax.tree.leaves(memory))
    (h1, c1), (h2, c2), top = (zeros, zeros), (zeros, zeros), zeros
    for x in jnp.asarray(RNG.normal(size=(3, *space, 2))):
        rate, memory = see(x, memory)
        h1, c1, between = plain_level(cell.levels[0], np.asarray(x), h1, c1, top)
        h2, c2, top = plain_level(cell.levels[1], h1, h2, c2, between)
        for found, expected in zip(jax.tree.leaves(memory), (h1, c1, h2, c2, top), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-13)
        expected = h2 @ np.asarray(cell.readout.weight) + np.asarray(cell.readout.bias)
        np.testing.assert_allclose(rate, expected, rtol=1e-11, atol=1e-13)


def test_cells_say_what_they_cannot_do():
    with pytest.raises(InputError, match="GRU"):
        GRU((4, 4, 1), key=jr.key(0))
    with pytest.raises(InputError, match="PredRNN"):
        PredRNN((2,), key=jr.key(0))


@pytest.mark.parametrize("restart", [None, [True, False, True, False, True]], ids=["free", "restarts"])
def test_ft_rnn_forecasts(restart):
    """Step by step at irregular times, in units of the data; a restart also empties the memory."""
    scales = Scales(np.array([1.0, -2.0]), np.array([0.5, 3.0]), np.array([2.0, 0.1]))
    method = FtRnn(width=3, rank=2, scales=scales)
    shared, specific = drawn(lambda key: method.init((2,), 2, key=key))
    shared = ScaledCell(shared.factored, *map(jnp.asarray, scales))
    states, times = RNG.normal(size=(5, 2)), np.array([0.0, 0.1, 0.5, 0.6, 1.1])
    asked = Observed(jnp.asarray(states), jnp.asarray(times), None if restart is None else jnp.asarray(restart))
    found = jax.jit(method.predict)(shared, at(specific, 1), asked)
    cell = shared.factored.at(at(specific, 1))
    x, h, expected = states[0], np.zeros(3), [states[0]]
    for k, duration in enumerate(np.diff(times)):
        if restart is not None and restart[k]:
            x, h = states[k], np.zeros(3)
        change, h = plain_gru(cell, (x - scales.mean) / scales.scale, h)
        x = x + duration * scales.rate * change
        expected.append(x)
    np.testing.assert_allclose(found, expected, rtol=1e-11)
