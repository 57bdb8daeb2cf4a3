"""Convolution on a periodic grid: the one place that knows which platform it runs on."""

import jax
import jax.numpy as jnp
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
    """
    *taps, channels, outputs = kernel.shape
    rows = 1 if len(taps) == 1 else taps[0]
    # A line is a plane with one row. The kernel goes in with its columns and channels merged, because its derivative
    # is batched over everything that the caller batches over, and some versions of XLA fail at seven axes.
    plane = x if x.ndim == 3 else x[None]
    y = _correlate(plane, kernel.reshape(rows, taps[-1] * channels, outputs))
    return y if x.ndim == 3 else y[0]


@jax.custom_vjp
def _correlate(x: Float[Array, "y x in"], kernel: Float[Array, "rows merged out"]) -> Float[Array, "y x out"]:
    patches, rows = _patches(x, kernel), kernel.shape[0]
    products = [jnp.roll(patches @ kernel[row], rows // 2 - row, axis=0) for row in range(rows)]
    return sum(products[1:], products[0])


def _patches(x: Float[Array, "y x in"], kernel: Float[Array, "rows merged out"]) -> Float[Array, "y x merged"]:
    """Beside each point its neighbours in the same row: a third of the memory of full im2col for a 3 × 3 kernel."""
    columns = kernel.shape[1] // x.shape[-1]
    return jnp.concatenate([jnp.roll(x, columns // 2 - column, axis=1) for column in range(columns)], axis=-1)


def _forward(x, kernel):
    return _correlate(x, kernel), (x, kernel)


def _backward(residuals, dy):
    # Both derivatives gather shifted copies again; the automatic transpose scatters them, which is twice as slow.
    x, kernel = residuals
    rows, _, outputs = kernel.shape
    patches = _patches(x, kernel)
    shifted = [jnp.roll(dy, row - rows // 2, axis=0) for row in range(rows)]
    dkernel = jnp.stack([jnp.tensordot(patches, rolled, axes=((0, 1), (0, 1))) for rolled in shifted])
    mirrored = jnp.flip(kernel.reshape(rows, -1, x.shape[-1], outputs), axis=(0, 1)).swapaxes(2, 3)
    return _correlate(dy, mirrored.reshape(rows, -1, x.shape[-1])), dkernel


_correlate.defvjp(_forward, _backward)
