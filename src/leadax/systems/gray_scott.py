"""Gray–Scott: two chemicals that react and diffuse on a periodic grid.

    ∂u/∂t = D_u·Δu − u·v² + F·(1 − u)        ∂v/∂t = D_v·Δv + u·v² − (F + k)·v

Δ is the nine-point stencil with weights −3 (centre), ½ (sides) and ¼ (corners) and spacing 1. The equation discretised
in this way is the ground truth.
"""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array

from .._types import PRNGKey
from .draws import keys, published
from .solve import Parameters, adaptive, tolerances
from .system import System

SIZE = 32
SQUARES, SIDE = 3, 3
D_U, D_V = 0.2097, 0.105
BACKGROUND, SPOT = (0.95, 0.05), (0.0, 1.0)

TRAINING = [(0.037, 0.060), (0.030, 0.062), (0.039, 0.058)]
# The first is inside the triangle of the training parameters, the second outside. Both form patterns.
NOVEL = [(0.035, 0.060), (0.042, 0.061)]


def gray_scott(protocol: str = "clean") -> System:
    """The paper's three environments and two novel ones, with K = 10 points and Δt = 40."""
    paper = protocol == "paper"
    corners = lambda random: np.array([random.randint(0, SIZE - SIDE, size=2) for _ in range(SQUARES)])
    return System(
        name="gray-scott",
        channels=("u", "v"),
        times=40.0 * np.arange(10),
        environments=_environments(TRAINING),
        novel=_environments(NOVEL),
        tangent=tangent,
        draws=published(corners) if paper else keys,
        initial_state=with_squares if paper else initial_state,
        solve=adaptive(tangent, **tolerances(protocol)),
        protocol=protocol,
    )


def laplacian(field: Array) -> Array:
    """Δ of a field `(y, x)`, computed along one axis after the other: the stencil is (½ 1 ½)ᵀ(½ 1 ½) − 4·identity."""
    smooth = lambda a, axis: a + 0.5 * (jnp.roll(a, 1, axis) + jnp.roll(a, -1, axis))
    return smooth(smooth(field, 0), 1) - 4.0 * field


def tangent(state: Array, parameters: Parameters) -> Array:
    """(∂u/∂t, ∂v/∂t) of a state `(y, x, channel)`."""
    u, v = state[..., 0], state[..., 1]
    feed, kill = parameters["F"], parameters["k"]
    reaction = u * v**2
    du = parameters["D_u"] * laplacian(u) - reaction + feed * (1.0 - u)
    dv = parameters["D_v"] * laplacian(v) + reaction - (feed + kill) * v
    return jnp.stack([du, dv], axis=-1)


def initial_state(key: PRNGKey) -> Array:
    """A background of (0.95, 0.05) with three 3 × 3 squares of (0, 1), which never touch the last row or column."""
    return with_squares(jr.randint(key, (SQUARES, 2), 0, SIZE - SIDE))


def with_squares(corners: Array) -> Array:
    """The initial state with squares at the given corners `(square, axis)`."""
    offset = jnp.arange(SIZE)[None, None, :] - corners[..., None]
    inside = (offset >= 0) & (offset < SIDE)
    spot = jnp.any(inside[:, 0, :, None] & inside[:, 1, None, :], axis=0)
    return jnp.where(spot[..., None], jnp.array([[SPOT]]), jnp.array([[BACKGROUND]]))


def _environments(pairs: list[tuple[float, float]]) -> dict[str, dict[str, float]]:
    return {f"F={feed:g},k={kill:g}": {"F": feed, "k": kill, "D_u": D_U, "D_v": D_V} for feed, kill in pairs}
