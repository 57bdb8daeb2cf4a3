"""The linear system of the paper's theory: du/dt = Q·Λ_e·Qᵀ·u in eight dimensions.

Environment i has eigenvalue 0 along the i-th column of Q and −0.5 along all others.
"""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from .._types import PRNGKey
from .draws import keys, published
from .solve import Parameters, adaptive, tolerances
from .system import System, same

DIMENSION = 8


def rotation() -> Float[np.ndarray, "8 8"]:
    """Q: one orthogonal matrix, drawn uniformly once and for all."""
    normal = np.random.default_rng(2021).normal(size=(DIMENSION, DIMENSION))
    q, r = np.linalg.qr(normal)
    return q * np.sign(np.diag(r))  # without the signs, QR does not give the uniform distribution


def linear(protocol: str = "clean") -> System:
    """Eight spectra; K = 20 points with Δt = 0.08, over which a decaying direction shrinks to a half.

    The paper does not say which Δt: docs/theory.md says how this one was chosen.

    The novel environments have two zero eigenvalues (between the training ones) and none (outside of them).
    """
    paper = protocol == "paper"
    return System(
        name="linear",
        channels=tuple(f"u{j + 1}" for j in range(DIMENSION)),
        times=0.08 * np.arange(20),
        environments={f"zero={i + 1}": _spectrum([i]) for i in range(DIMENSION)},
        novel={"zero=1,2": _spectrum([0, 1]), "zero=none": _spectrum([])},
        trajectories={"train": 4, "test": 32, "novel": 1, "novel-test": 32},
        tangent=tangent,
        draws=published(lambda random: random.randn(DIMENSION)) if paper else keys,
        initial_state=same if paper else initial_state,
        solve=adaptive(tangent, **tolerances(protocol, clean=1e-12)),
        protocol=protocol,
    )


def matrix(parameters: Parameters) -> Array:
    """F_e = Q·Λ_e·Qᵀ."""
    q = jnp.asarray(rotation())
    eigenvalues = jnp.stack([jnp.asarray(parameters[f"eigenvalue{j + 1}"]) for j in range(DIMENSION)])
    return (q * eigenvalues[None, :]) @ q.T


def tangent(state: Array, parameters: Parameters) -> Array:
    """F_e·u."""
    return matrix(parameters) @ state


def initial_state(key: PRNGKey) -> Array:
    """Standard normal."""
    return jr.normal(key, (DIMENSION,))


def _spectrum(zeros: list[int]) -> dict[str, float]:
    return {f"eigenvalue{j + 1}": 0.0 if j in zeros else -0.5 for j in range(DIMENSION)}
