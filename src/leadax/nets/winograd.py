"""Convolution with 3 × 3 kernels by fewer multiplications (Winograd, 1980; Lavin & Gray, 2016).

The plane is cut into tiles of 4 × 4 points. With the points around it that a kernel sees, each is a 6 × 6 square d, and

$$y = A \\, [(G w G^\\top) \\odot (B \\, d \\, B^\\top)] \\, A^\\top$$

takes 36 multiplications for each pair of channels where the definition takes 144. All of it is matrix products: those
with A, B, G over the places of a square, and in the middle one over the channels at each place. In float32, with
64 channels, it differs from the exact result by 2e-6 of its length, where `by_shifts` differs by 3e-7.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

TILE = 4

# From the points 0, ±1, ±2 and infinity at which polynomials are multiplied.
_B = [[4, 0, -5, 0, 1, 0], [0, -4, -4, 1, 1, 0], [0, 4, -4, -1, 1, 0], [0, -2, -1, 2, 1, 0], [0, 2, -1, -2, 1, 0],
      [0, 4, 0, -5, 0, 1]]  # fmt: skip
_G = [
    [1 / 4, 0, 0],
    [-1 / 6] * 3,
    [-1 / 6, 1 / 6, -1 / 6],
    [1 / 24, 1 / 12, 1 / 6],
    [1 / 24, -1 / 12, 1 / 6],
    [0, 0, 1],
]
_A = [[1, 1, 1, 1, 1, 0], [0, 1, -1, 2, -2, 0], [0, 1, 1, 4, 4, 0], [0, 1, -1, 8, -8, 1]]
# On both axes of a tile at once.
OF_STATE, OF_KERNEL, OF_RESULT = (np.kron(matrix, matrix) for matrix in (np.array(_B), np.array(_G), np.array(_A)))

Plane = Float[Array, "_y _x _channel"]
Kernel = Float[Array, "9 _in _out"]
Places = Float[Array, "36 _rows _columns"]


def fits(x: Float[Array, "*space channel"], kernel: Float[Array, "*taps in out"]) -> bool:
    """Whether it can be used and pays: for few channels, the transforms cost more than they save."""
    whole_tiles = all(points % TILE == 0 for points in x.shape[:-1])
    return kernel.shape[:-2] == (3, 3) and whole_tiles and min(kernel.shape[-2:]) >= 16


def by_tiles(x: Plane, kernel: Float[Array, "3 3 in out"]) -> Plane:
    """What `leadax.nets.circular.by_shifts` computes, where `fits` says so."""
    return _convolve(x, kernel.reshape(9, *kernel.shape[2:]))


@jax.custom_vjp
def _convolve(x: Plane, kernel: Kernel) -> Plane:
    products = _squares(x) @ _times(OF_KERNEL, kernel.reshape(9, -1)).reshape(36, *kernel.shape[1:])
    tiles = _times(OF_RESULT, products.reshape(36, -1)).reshape(-1, kernel.shape[-1])
    return _rows(tiles, np.argsort(_in_tiles(x.shape[:2], TILE, 0).reshape(-1))).reshape(*x.shape[:2], -1)


def _forward(x: Plane, kernel: Kernel) -> tuple[Plane, tuple[Plane, Kernel]]:
    return _convolve(x, kernel), (x, kernel)


def _backward(residuals: tuple[Plane, Kernel], dy: Plane) -> tuple[Plane, Kernel]:
    x, kernel = residuals
    tiles = _rows(dy.reshape(-1, dy.shape[-1]), _in_tiles(dy.shape[:2], TILE, 0))
    dproducts = _times(OF_RESULT.T, tiles.reshape(TILE**2, -1)).reshape(36, -1, dy.shape[-1])
    dkernel = _times(OF_KERNEL.T, jnp.einsum("pti,pto->pio", _squares(x), dproducts).reshape(36, -1))
    mirrored = jnp.flip(kernel, axis=0).swapaxes(1, 2)
    return _convolve(dy, mirrored), dkernel.reshape(kernel.shape)


_convolve.defvjp(_forward, _backward)


def _squares(x: Plane) -> Places:
    """B d Bᵀ of all tiles: (place, tile, channel)."""
    seen = _rows(x.reshape(-1, x.shape[-1]), _in_tiles(x.shape[:2], TILE + 2, -1))
    return _times(OF_STATE, seen.reshape(36, -1)).reshape(36, -1, x.shape[-1])


def _in_tiles(space: tuple[int, ...], size: int, first: int) -> np.ndarray:
    """Which point of the plane is at each place of each tile: `size` places on each axis, from `first` on."""
    down, across = ((TILE * np.arange(points // TILE) + first + np.arange(size)[:, None]) % points for points in space)
    return (down[:, None, :, None] * space[1] + across[None, :, None, :]).reshape(size**2, -1)


def _rows(x: Float[Array, "_points _channel"], places: np.ndarray) -> Float[Array, "_places _channel"]:
    # As rows of a matrix: with an axis for each of tile and place, a batch would have more axes than XLA bears.
    return jnp.take(x, places.reshape(-1), axis=0, mode="clip")


def _times(matrix: np.ndarray, x: Float[Array, "_places _rest"]) -> Float[Array, "_new _rest"]:
    # In full precision also where products are cut by default.
    return jnp.matmul(jnp.asarray(matrix, x.dtype), x, precision="highest")
