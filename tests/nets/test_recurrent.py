"""Recurrent cells against their equations in NumPy, gate by gate."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.nets.operators import convolve, redraw, sigmoid

from leadax.errors import InputError
from leadax.nets import GRU, PredRNN

RNG = np.random.default_rng(0)


def plain_gru(cell, x, h):
    width = len(h)
    part = lambda a, k: np.asarray(a)[..., k * width : (k + 1) * width]
    from_x = lambda k: x @ part(cell.reading.weight, k) + part(cell.reading.bias, k)
    r = sigmoid(from_x(0) + h @ part(cell.gates.weight, 0))
    z = sigmoid(from_x(1) + h @ part(cell.gates.weight, 1))
    candidate = np.tanh(from_x(2) + (r * h) @ np.asarray(cell.candidate.weight))
    h = z * h + (1 - z) * candidate
    return h @ np.asarray(cell.readout.weight) + np.asarray(cell.readout.bias), h


def test_gru():
    cell = redraw(lambda: GRU((2,), width=3, key=jr.key(0)))
    see = jax.jit(cell.__call__)
    memory, expected = cell.empty(), np.zeros(3)
    assert memory.tolist() == [0, 0, 0]
    for x in jnp.asarray(RNG.normal(size=(3, 2))):
        rate, memory = see(x, memory)
        expected_rate, expected = plain_gru(cell, np.asarray(x), expected)
        np.testing.assert_allclose(memory, expected, rtol=1e-12)
        np.testing.assert_allclose(rate, expected_rate, rtol=1e-12)


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
    """Two layers, three times: M passes up, then from the top layer to the bottom layer of the next time."""
    cell = redraw(lambda: PredRNN((*space, 2), width=2, depth=2, key=jr.key(0)), scale=0.5)
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


def test_cells_refuse_other_states():
    with pytest.raises(InputError, match="GRU needs a vector state"):
        GRU((4, 4, 1), key=jr.key(0))
    with pytest.raises(InputError, match="PredRNN needs a field"):
        PredRNN((2,), key=jr.key(0))
    with pytest.raises(InputError, match="`kernel_size` of PredRNN must be odd"):
        PredRNN((8, 2), kernel_size=2, key=jr.key(0))
