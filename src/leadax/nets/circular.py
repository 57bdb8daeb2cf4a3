"""Convolution on a periodic grid, by whichever way is fastest on the platform."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from . import winograd
from .bilinear import convolution


def circular_convolution(
    x: Float[Array, "*space in"], kernel: Float[Array, "*taps in out"]
) -> Float[Array, "*space out"]:
    """Convolve a field on a periodic line or plane with a kernel of odd size.

    $$y_i = \\sum_t x_{i + t - \\lfloor k/2 \\rfloor} \\, w_t$$

    It can be differentiated in forward and in reverse mode, to any order.

    **Arguments:**

    - `x`: the field; `kernel`: the weights $w$, with one axis of taps for each axis of space.

    >>> import jax.numpy as jnp
    >>> from leadax.nets.circular import circular_convolution
    >>> left = jnp.array([1.0, 0.0, 0.0])[:, None, None]
    >>> circular_convolution(jnp.arange(4.0)[:, None], left)[:, 0].tolist()
    [3.0, 0.0, 1.0, 2.0]
    """
    # The default backend is known while tracing, the device is not: on a machine with a GPU, a net placed on the CPU
    # gives the right result, only slower. `lax.platform_dependent` would know the device, but it traces and
    # differentiates both versions and keeps the residuals of both.
    if jax.default_backend() != "cpu":
        return by_lax(x, kernel)
    return winograd.by_tiles(x, kernel) if winograd.fits(x, kernel) else by_shifts(x, kernel)


def by_lax(x: Float[Array, "*space in"], kernel: Float[Array, "*taps in out"]) -> Float[Array, "*space out"]:
    """The convolution by `jax.lax`, on a field padded with its opposite edges."""
    axes = "XY"[: x.ndim - 1]
    halves = [(taps // 2, taps // 2) for taps in kernel.shape[:-2]]
    padded = jnp.pad(x, [*halves, (0, 0)], mode="wrap")
    layout = (f"N{axes}C", f"{axes}IO", f"N{axes}C")
    return jax.lax.conv_general_dilated(padded[None], kernel, (1,) * len(axes), "VALID", dimension_numbers=layout)[0]


def by_shifts(x: Float[Array, "*space in"], kernel: Float[Array, "*taps in out"]) -> Float[Array, "*space out"]:
    """The convolution by shifts and matrix products.

    Forward and backward, with one kernel per environment (3 environments of 4 fields, 32 × 32 × 64, 3 × 3 taps, two
    cores, float32, 2026), it takes 28 ms; with automatic derivatives 55 ms; by full im2col 74 ms; and by `lax.conv`
    under `vmap` twelve times as long. It keeps only `x` for the backward pass: 306 MB for three Runge-Kutta steps of
    two ConvNets, against 870 MB by im2col. docs/performance.md lists what else was tried.
    """
    *taps, channels, outputs = kernel.shape
    # A line is a plane with one row.
    rows, columns = (1, *taps) if len(taps) == 1 else taps
    plane = x if x.ndim == 3 else x[None]
    y = _convolve(plane, kernel.reshape(rows * columns, channels, outputs), rows, columns)
    return y if x.ndim == 3 else y[0]


# With at most this many numbers around a point, one gather and one product beat one product per row.
_FEW = 64

Plane = Float[Array, "_y _x _channel"]
# All taps are on one axis: with an axis each for rows and columns, a batch would have seven axes in the backward pass,
# and some versions of XLA fail at seven.
Kernel = Float[Array, "_taps _in _out"]


def _correlate(x: Plane, kernel: Kernel, rows: int, columns: int) -> Plane:
    taps, channels, outputs = kernel.shape
    if outputs < channels:
        # Fewer channels come out than go in, so shift the products rather than the field.
        of_rows = jnp.split(x @ kernel.swapaxes(0, 1).reshape(channels, -1), rows, axis=-1)
        return _shifted_sum([_shifted_sum(jnp.split(of, columns, axis=-1), axis=1) for of in of_rows], axis=0)
    if taps * channels <= _FEW:
        return _neighbours(x, rows, columns) @ kernel.reshape(-1, outputs)
    in_row = _neighbours(x, 1, columns)
    by_row = kernel.reshape(rows, columns * channels, outputs)
    return _shifted_sum([in_row @ by_row[row] for row in range(rows)], axis=0)


def _kernel_gradient(x: Plane, dy: Plane, rows: int, columns: int) -> Kernel:
    # This gathers again. The automatic transpose of a gather is a scatter, which takes twice as long.
    channels, outputs = x.shape[-1], dy.shape[-1]
    over_points = partial(jnp.tensordot, axes=((0, 1), (0, 1)))
    if channels < outputs:
        return over_points(_neighbours(x, rows, columns), dy).reshape(rows * columns, channels, outputs)
    if outputs < channels:
        around = over_points(x, _neighbours(dy, rows, columns)).reshape(channels, rows * columns, outputs)
        return jnp.flip(around, axis=1).swapaxes(0, 1)
    # Taps of rows on one side and of columns on the other: one product of large matrices.
    around = over_points(_neighbours(x, rows, 1), _neighbours(dy, 1, columns))
    by_column = [part.reshape(rows, channels, outputs) for part in jnp.split(around, columns, axis=1)]
    return jnp.concatenate(by_column[::-1], axis=1).reshape(rows * columns, channels, outputs)


_convolve = convolution(_correlate, _kernel_gradient)


def _neighbours(x: Plane, rows: int, columns: int) -> Plane:
    """All channels of the points around each point. (A gather takes half the time of concatenated rolls.)"""
    around = lambda points, taps: (np.arange(points)[:, None] + np.arange(taps) - taps // 2) % points
    place = around(x.shape[0], rows)[:, None, :, None] * x.shape[1] + around(x.shape[1], columns)[None, :, None, :]
    gathered = jnp.take(x.reshape(-1, x.shape[-1]), place.reshape(-1), axis=0, mode="clip")
    return gathered.reshape(*x.shape[:2], rows * columns * x.shape[-1])


def _shifted_sum(products: list[Plane], axis: int) -> Plane:
    """The sum over the taps of a row or column, each product shifted to the point that it contributes to."""
    shifted = [jnp.roll(product, len(products) // 2 - tap, axis) for tap, product in enumerate(products)]
    return sum(shifted[1:], shifted[0])
