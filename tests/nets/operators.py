"""Plain NumPy versions of what the library computes, and tools to compare with."""

import itertools
import re

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np


def redraw(create, *sizes, seed=0, scale=1.0):
    """The module that `create()` would make, with normal parameters (biases too) from NumPy: nothing to compile.

    `sizes` are leading axes along which to stack such modules.
    """
    draw = np.random.default_rng(seed).normal
    return jax.tree.map(lambda a: jnp.asarray(scale * draw(size=(*sizes, *a.shape))), jax.eval_shape(create))


def as_matrix(linear, shape):
    """The matrix of a linear map of arrays of the given shape: its images of the unit vectors, one per column."""
    basis = jnp.eye(int(np.prod(shape))).reshape(-1, *shape)
    return np.asarray(_images(linear, basis)).reshape(len(basis), -1).T


@eqx.filter_jit  # which takes a method of a layer apart, and so compiles once for all layers of a kind
def _images(linear, basis):
    return jax.vmap(linear)(basis)


def ranks(function, *arguments):
    """The number of axes of every array in the program that is given to the compiler."""
    program = jax.jit(function).lower(*arguments).as_text()
    return {shape.count("x") for shape in re.findall(r"tensor<((?:\d+x)*)[a-z]", program)}


def inner(a, b):
    """The inner product of two trees of arrays."""
    return sum(np.vdot(x, y) for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def swish(activation, x):
    return x * sigmoid(x * np.log1p(np.exp(np.asarray(activation.beta)))) / 1.1


def convolve(x, kernel):
    """Convolution on a periodic grid, tap by tap."""
    x, kernel = np.asarray(x), np.asarray(kernel)
    taps = kernel.shape[:-2]
    y = np.zeros((*x.shape[:-1], kernel.shape[-1]))
    for tap in itertools.product(*map(range, taps)):
        shift = [k // 2 - t for t, k in zip(tap, taps, strict=True)]
        y += np.roll(x, shift, axis=tuple(range(len(taps)))) @ kernel[tap]
    return y


def spectral(layer, x):
    """A spectral convolution by NumPy's transform and a loop over frequencies."""
    x, (real, imaginary) = np.asarray(x), np.asarray(layer.weight)
    weight = real + 1j * imaginary
    modes, axes = layer.modes, tuple(range(x.ndim - 1))
    hat = np.fft.rfftn(x, axes=axes)
    out = np.zeros((*hat.shape[:-1], weight.shape[-1]), complex)
    rows = [()] if x.ndim == 2 else [(k,) for k in [*range(modes), *range(-modes, 0)]]
    for i, row in enumerate(rows):
        for column in range(modes):
            out[(*row, column)] = hat[(*row, column)] @ weight[i * modes + column]
    return np.fft.irfftn(out, s=x.shape[:-1], axes=axes)
