"""Lotka–Volterra: prey u and predator v.

    du/dt = α·u − β·u·v        dv/dt = δ·u·v − γ·v

The quantity δ·u − γ·ln u + β·v − α·ln v is constant along trajectories.
"""

import dataclasses

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array

from .._types import PRNGKey
from .draws import keys, published
from .solve import Parameters, adaptive, tolerances
from .system import System, identity

# (α, γ) with β = δ = 0.5, in the paper's order.
TRAINING = [
    (0.5, 0.5),
    (0.25, 0.5),
    (0.75, 0.5),
    (1.0, 0.5),
    (0.5, 0.25),
    (0.5, 0.75),
    (0.5, 1.0),
    (0.25, 0.25),
    (0.75, 0.75),
    (1.0, 1.0),
]
# The paper lists α/β, γ/δ ∈ {1.44, 1.86} but does not train on them, so the novel environments have these.
NOVEL = [(0.72, 0.93), (0.93, 0.72)]
# The benchmark of Kirchmeyer et al. (2022): β and δ vary, α = γ = 0.5.
CODA_TRAINING, CODA_NOVEL = (0.5, 0.75, 1.0), (0.625, 1.125)


def lotka_volterra(protocol: str = "clean") -> System:
    """The paper's ten environments and two novel ones, with K = 20 points and Δt = 0.5."""
    paper = protocol == "paper"
    return System(
        name="lotka-volterra",
        channels=("u", "v"),
        times=0.5 * np.arange(20),
        environments=_environments(TRAINING),
        novel=_environments(NOVEL),
        tangent=tangent,
        draws=published(lambda random: random.random_sample(2) + 1) if paper else keys,
        initial_state=identity if paper else initial_state,
        solve=adaptive(tangent, **tolerances(protocol)),
        protocol=protocol,
    )


def lotka_volterra_coda(protocol: str = "clean") -> System:
    """The nine environments and four novel ones of CoDA, with 4 trajectories from [1, 2]², K = 20 and Δt = 0.5."""
    grid = lambda values: {
        f"beta={beta:g},delta={delta:g}": {"alpha": 0.5, "beta": beta, "gamma": 0.5, "delta": delta}
        for beta in values
        for delta in values
    }
    return dataclasses.replace(
        lotka_volterra(protocol),
        name="lotka-volterra-coda",
        environments=grid(CODA_TRAINING),
        novel=grid(CODA_NOVEL),
        trajectories={"train": 4, "test": 32, "novel": 1, "novel-test": 32},
        draws=keys,
        initial_state=initial_state,
    )


def tangent(state: Array, parameters: Parameters) -> Array:
    """(du/dt, dv/dt)."""
    u, v = state
    p = parameters
    return jnp.stack([p["alpha"] * u - p["beta"] * u * v, p["delta"] * u * v - p["gamma"] * v])


def initial_state(key: PRNGKey) -> Array:
    """Uniform in [1, 2]²."""
    return jr.uniform(key, (2,), minval=1.0, maxval=2.0)


def _environments(pairs: list[tuple[float, float]]) -> dict[str, dict[str, float]]:
    return {
        f"alpha={alpha:g},gamma={gamma:g}": {"alpha": alpha, "beta": 0.5, "gamma": gamma, "delta": 0.5}
        for alpha, gamma in pairs
    }
