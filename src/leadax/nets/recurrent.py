"""Recurrent cells: they read one state after another and return its rate of change.

A cell is not a vector field, because the rate depends on all the states read so far. `leadax.methods.FtRnn` uses cells.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .._types import Inputs, PRNGKey, State, Tangent
from . import _checks, _stack
from .layers import Convolution, Dense


class Cell(eqx.Module):
    """Interface of recurrent cells: `(state, memory, inputs) -> (rate of change, memory)`."""

    @abc.abstractmethod
    def empty(self) -> PyTree:
        """The initial memory: zeros."""

    @abc.abstractmethod
    def __call__(self, x: State, memory: PyTree, u: Inputs = None) -> tuple[Tangent, PyTree]:
        """Read the state `x` and the inputs `u`; return the state's rate of change and the new memory."""


class GRU(Cell):
    """Gated recurrent unit (Cho et al., 2014) with a linear readout.

    $$r = \\sigma(W_r x + U_r h), \\quad z = \\sigma(W_z x + U_z h), \\quad
    \\tilde h = \\tanh(W x + U (r \\odot h)), \\quad h' = z \\odot h + (1 - z) \\odot \\tilde h$$

    each with a bias. The rate of change is $V h' + c$.

    >>> import jax, jax.numpy as jnp
    >>> from leadax.nets import GRU
    >>> cell = GRU((2,), width=16, key=jax.random.key(0))
    >>> rate, memory = cell(jnp.ones(2), cell.empty())
    >>> rate.shape, memory.shape
    ((2,), (16,))
    """

    reading: Dense
    gates: Dense
    candidate: Dense
    readout: Dense
    inputs: int = eqx.field(static=True)

    def __init__(self, state_shape: tuple[int, ...], *, key: PRNGKey, inputs: int = 0, width: int = 64):
        channels = _checks.vector("GRU", state_shape)
        keys = jax.random.split(key, 4)
        self.inputs = _checks.at_least(0, "GRU", "inputs", inputs)
        self.reading = Dense(channels + inputs, 3 * width, key=keys[0])
        self.gates = Dense(width, 2 * width, key=keys[1], use_bias=False)
        self.candidate = Dense(width, width, key=keys[2], use_bias=False)
        self.readout = Dense(width, channels, key=keys[3])

    def empty(self) -> Float[Array, " width"]:
        """h = 0."""
        return jnp.zeros(self.gates.weight.shape[-2], self.gates.weight.dtype)

    def __call__(
        self, x: State, memory: Float[Array, " width"], u: Inputs = None
    ) -> tuple[Tangent, Float[Array, " width"]]:
        """Read the state `x` and the inputs `u`."""
        for_r, for_z, for_candidate = jnp.split(self.reading(_stack.with_inputs(x, u, self.inputs)), 3)
        r, z = jax.nn.sigmoid(jnp.stack([for_r, for_z]) + self.gates(memory).reshape(2, -1))
        candidate = jnp.tanh(for_candidate + self.candidate(r * memory))
        memory = z * memory + (1 - z) * candidate
        return self.readout(memory), memory


class SpatioTemporalLSTM(eqx.Module):
    """One layer of PredRNN (Wang et al., 2017), with a memory C of its own and a memory M passed between layers.

    $$C' = f \\odot C + i \\odot g, \\qquad M' = f' \\odot M + i' \\odot g', \\qquad
    H' = o \\odot \\tanh(W_{1 \\times 1} [C', M'])$$

    where $g, i, f$ are convolutions of the input and $H$; $g', i', f'$ of the input and $M$; and the output gate $o$ of
    the input, $H$, $C'$ and $M'$.
    """

    from_input: Convolution
    from_hidden: Convolution
    from_memory: Convolution
    from_both: Convolution
    mixed: Dense

    def __init__(self, space: tuple[int, ...], inputs: int, width: int, kernel_size: int, *, key: PRNGKey):
        keys = jax.random.split(key, 5)
        convolution = lambda i, o, k: Convolution(space, i, o, kernel_size=kernel_size, key=k)
        self.from_input = convolution(inputs, 7 * width, keys[0])
        self.from_hidden = convolution(width, 4 * width, keys[1])
        self.from_memory = convolution(width, 3 * width, keys[2])
        self.from_both = convolution(2 * width, width, keys[3])
        self.mixed = Dense(2 * width, width, key=keys[4])

    def __call__(self, x: Array, h: Array, c: Array, m: Array) -> tuple[Array, Array, Array]:
        """The new H, C and M."""
        from_x = jnp.split(self.from_input(x), 7, axis=-1)
        from_h = jnp.split(self.from_hidden(h), 4, axis=-1)
        from_m = jnp.split(self.from_memory(m), 3, axis=-1)
        g, i, f = (a + b for a, b in zip(from_x[:3], from_h[:3], strict=True))
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        g, i, f = (a + b for a, b in zip(from_x[3:6], from_m, strict=True))
        m = jax.nn.sigmoid(f) * m + jax.nn.sigmoid(i) * jnp.tanh(g)
        both = jnp.concatenate([c, m], axis=-1)
        o = jax.nn.sigmoid(from_x[6] + from_h[3] + self.from_both(both))
        return o * jnp.tanh(self.mixed(both)), c, m


class PredRNN(Cell):
    """Spatio-temporal LSTM layers with a zigzag memory (Wang et al., 2017), for periodic fields.

    At each time M passes up through the layers, and then from the top layer to the bottom layer of the next time. H and
    C stay in their layer. The rate of change is a pointwise map of the top H.

    >>> import jax, jax.numpy as jnp
    >>> from leadax.nets import PredRNN
    >>> cell = PredRNN((8, 2), width=4, depth=1, key=jax.random.key(0))
    >>> rate, memory = cell(jnp.ones((8, 2)), cell.empty())
    >>> rate.shape
    (8, 2)
    """

    levels: tuple[SpatioTemporalLSTM, ...]
    readout: Dense
    space: tuple[int, ...] = eqx.field(static=True)
    inputs: int = eqx.field(static=True)

    def __init__(
        self,
        state_shape: tuple[int, ...],
        *,
        key: PRNGKey,
        inputs: int = 0,
        width: int = 16,
        depth: int = 2,
        kernel_size: int = 3,
    ):
        space, channels = _checks.field("PredRNN", state_shape)
        _checks.odd("PredRNN", "kernel_size", kernel_size)
        keys = jax.random.split(key, depth + 1)
        self.inputs = _checks.at_least(0, "PredRNN", "inputs", inputs)
        sizes = [channels + inputs, *[width] * (depth - 1)]
        self.levels = tuple(
            SpatioTemporalLSTM(space, size, width, kernel_size, key=k) for size, k in zip(sizes, keys[:-1], strict=True)
        )
        self.readout = Dense(width, channels, key=keys[-1])
        self.space = space

    def empty(self) -> PyTree:
        """H and C of each layer, and M: all zero."""
        weight = self.readout.weight
        zeros = jnp.zeros((*self.space, weight.shape[-2]), weight.dtype)
        return tuple((zeros, zeros) for _ in self.levels), zeros

    def __call__(self, x: State, memory: PyTree, u: Inputs = None) -> tuple[Tangent, PyTree]:
        """Read the state `x` and the inputs `u`."""
        own, m = memory
        kept, signal = [], _stack.with_inputs(x, u, self.inputs)
        for level, (h, c) in zip(self.levels, own, strict=True):
            signal, c, m = level(signal, h, c, m)
            kept.append((signal, c))
        return self.readout(signal), (tuple(kept), m)
