"""Convolution on a periodic grid: the one place that knows which platform it runs on."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def circular_convolution(
    x: Float[Array, "*space in"], kernel: Float[Array, "*taps in out"]
) -> Float[Array, "*space out"]:
    """Convolve a field on a line or a plane with a kernel of odd size, around the edges.

    $$y_i = \\sum_t x_{i + t - \\lfloor k/2 \\rfloor} \\, w_t$$

    On the CPU this has derivatives in reverse mode of any order, but none in forward mode (`jvp`, `jacfwd`): see
    `by_shifts`.

    **Arguments:**

    - `x`: the field; `kernel`: the weights $w$, with one axis of taps for each axis of space.

    >>> import jax.numpy as jnp
    >>> from leadax.nets.circular import circular_convolution
    >>> left = jnp.array([1.0, 0.0, 0.0])[:, None, None]
    >>> circular_convolution(jnp.arange(4.0)[:, None], left)[:, 0].tolist()
    [3.0, 0.0, 1.0, 2.0]
    """
    # Known while tracing, unlike the device: on a machine with a GPU, a net sent to the CPU is right but slower.
    # `lax.platform_dependent` would know, but it traces and differentiates both versions and keeps both's residuals.
    return by_shifts(x, kernel) if jax.default_backend() == "cpu" else by_lax(x, kernel)


def by_lax(x: Float[Array, "*space in"], kernel: Float[Array, "*taps in out"]) -> Float[Array, "*space out"]:
    """The library's convolution on a field padded with its own opposite edges."""
    axes = "XY"[: x.ndim - 1]
    halves = [(taps // 2, taps // 2) for taps in kernel.shape[:-2]]
    padded = jnp.pad(x, [*halves, (0, 0)], mode="wrap")
    layout = (f"N{axes}C", f"{axes}IO", f"N{axes}C")
    return jax.lax.conv_general_dilated(padded[None], kernel, (1,) * len(axes), "VALID", dimension_numbers=layout)[0]


def by_shifts(x: Float[Array, "*space in"], kernel: Float[Array, "*taps in out"]) -> Float[Array, "*space out"]:
    """The same by shifts and matrix products.

    Where each environment has its own kernel, a convolution costs, forward and backward (3 environments, 4 fields of
    32 × 32 × 64 in each, 3 × 3, two cores, float32, 2026): 28 ms like this; 55 ms like this with automatic
    derivatives; 74 ms by full im2col; twelve times as much as this by `lax.conv` under `vmap`. It also keeps only `x`
    for the backward pass: 306 MB for three Runge-Kutta steps of two ConvNets, against 870 MB by im2col.
    See docs/performance.md for what else was tried.
    """
    *taps, channels, outputs = kernel.shape
    rows = 1 if len(taps) == 1 else taps[0]
    # A line is a plane with one row. The kernel goes in with its columns and channels merged, because its derivative
    # is batched over everything that the caller batches over, and some versions of XLA fail at seven axes.
    plane = x if x.ndim == 3 else x[None]
    y = _correlate(plane, kernel.reshape(rows, taps[-1] * channels, outputs))
    return y if x.ndim == 3 else y[0]


# Up to so many numbers around a point, in all channels, one gather and one product are faster than one for each row.
_FEW = 64

Plane = Float[Array, "_y _x _channel"]
Kernel = Float[Array, "_rows _merged _out"]


@jax.custom_vjp
def _correlate(x: Plane, kernel: Kernel) -> Plane:
    rows, merged, outputs = kernel.shape
    columns = merged // x.shape[-1]
    if outputs < x.shape[-1]:
        # Fewer channels come out than go in: the product first, and the shifts of what is left.
        by_tap = kernel.reshape(rows * columns, -1, outputs).swapaxes(0, 1).reshape(x.shape[-1], -1)
        of_rows = jnp.split(x @ by_tap, rows, axis=-1)
        return _shifted_sum([_shifted_sum(jnp.split(of, columns, axis=-1), axis=1) for of in of_rows], axis=0)
    if rows * merged <= _FEW:
        return _neighbours(x, rows, columns) @ kernel.reshape(-1, outputs)
    in_row = _neighbours(x, 1, columns)
    return _shifted_sum([in_row @ kernel[row] for row in range(rows)], axis=0)


def _neighbours(x: Plane, rows: int, columns: int) -> Plane:
    """All channels of the points around each point. (A gather takes half the time of rolled copies side by side.)"""
    around = lambda points, taps: (np.arange(points)[:, None] + np.arange(taps) - taps // 2) % points
    place = around(x.shape[0], rows)[:, None, :, None] * x.shape[1] + around(x.shape[1], columns)[None, :, None, :]
    gathered = jnp.take(x.reshape(-1, x.shape[-1]), place.reshape(-1), axis=0, mode="clip")
    return gathered.reshape(*x.shape[:2], rows * columns * x.shape[-1])


def _shifted_sum(products: list[Plane], axis: int) -> Plane:
    """The sum of what each tap of a row or column gives, at the point that it belongs to."""
    shifted = [jnp.roll(product, len(products) // 2 - tap, axis) for tap, product in enumerate(products)]
    return sum(shifted[1:], shifted[0])


def _forward(x: Plane, kernel: Kernel) -> tuple[Plane, tuple[Plane, Kernel]]:
    return _correlate(x, kernel), (x, kernel)


def _backward(residuals: tuple[Plane, Kernel], dy: Plane) -> tuple[Plane, Kernel]:
    # Both derivatives gather again; the automatic transpose scatters, which is twice as slow.
    x, kernel = residuals
    (rows, merged, outputs), channels = kernel.shape, x.shape[-1]
    columns = merged // channels
    over_points = partial(jnp.tensordot, axes=((0, 1), (0, 1)))
    if channels < outputs:
        dkernel = over_points(_neighbours(x, rows, columns), dy).reshape(rows, columns, channels, outputs)
    elif outputs < channels:
        around = over_points(x, _neighbours(dy, rows, columns)).reshape(channels, rows, columns, outputs)
        dkernel = jnp.moveaxis(jnp.flip(around, axis=(1, 2)), 0, 2)
    else:
        # Taps of rows on one side and of columns on the other: one product of large matrices.
        around = over_points(_neighbours(x, rows, 1), _neighbours(dy, 1, columns))
        dkernel = jnp.flip(around.reshape(rows, channels, columns, outputs), axis=2).swapaxes(1, 2)
    mirrored = jnp.flip(kernel.reshape(rows, columns, channels, outputs), axis=(0, 1)).swapaxes(2, 3)
    return _correlate(dy, mirrored.reshape(rows, columns * outputs, channels)), dkernel.reshape(kernel.shape)


_correlate.defvjp(_forward, _backward)
