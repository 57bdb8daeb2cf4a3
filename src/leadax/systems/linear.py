"""The linear system of the paper's theory section, in eight dimensions: du/dt = Q·Λ_e·Qᵀ·u.

In environment i, the eigenvalue of the i-th column of Q is 0 and all others are −0.5.
"""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array, Float

from .._types import PRNGKey
from .draws import keys, published
from .solve import Parameters, adaptive, tolerances
from .system import System, identity

DIMENSION = 8


def rotation() -> Float[np.ndarray, "8 8"]:
    """Q, a fixed orthogonal matrix drawn from the uniform distribution."""
    normal = np.random.default_rng(2021).normal(size=(DIMENSION, DIMENSION))
    q, r = np.linalg.qr(normal)
    return q * np.sign(np.diag(r))  # without the signs, the distribution would not be uniform


def linear(protocol: str = "clean") -> System:
    """Eight environments and two novel ones, with K = 20 points and Δt = 0.08.

    Decaying directions shrink to about half over a trajectory. The paper does not give Δt: docs/theory.md explains the
    choice. One novel environment has two zero eigenvalues (it interpolates the training environments), the other none
    (it extrapolates).
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
        initial_state=identity if paper else initial_state,
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
    """Standard normal distribution."""
    return jr.normal(key, (DIMENSION,))


def _spectrum(zeros: list[int]) -> dict[str, float]:
    return {f"eigenvalue{j + 1}": 0.0 if j in zeros else -0.5 for j in range(DIMENSION)}
