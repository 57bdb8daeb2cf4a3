"""Navier–Stokes on the unit torus: the vorticity w of an incompressible flow with a constant forcing.

    ∂w/∂t = −v·∇w + ν·Δw + ξ        ∇·v = 0, w = ∇ × v
    ξ(x, y) = A·[sin 2π(a·x + b·y) + cos 2π(c·x + d·y)]

Environments differ in their forcing: the wave numbers (a, b) and (c, d). The axes of a field are `(y, x)`.

There are two pseudo-spectral schemes. The protocol `paper` uses the 32 × 32 grid of the data, Crank–Nicolson for
diffusion and explicit Euler for the rest, with steps of 1e-3. The protocol `clean` uses a grid twice as fine, of which
every second point is observed, and a fourth-order method with exact diffusion (see `spectral.py`). The errors of both
are in `docs/systems.md`.
"""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jaxtyping import Array

from .._types import PRNGKey
from .solve import Parameters, Solve, fixed_steps
from .spectral import Stepper, Torus, crank_nicolson_euler, integrating_factor_rk4, scale
from .system import System

SIZE = 32
VISCOSITY = 1e-3
AMPLITUDE = 0.1
SPIN_UP = 28.5
FIELD_ALPHA, FIELD_TAU = 2.5, 7.0

Waves = tuple[tuple[int, int], tuple[int, int]]  # (a, b) of the sine, (c, d) of the cosine
COMMON: list[Waves] = [((1, 1), (1, 1)), ((1, 1), (1, 2)), ((1, 1), (2, 1))]
FOURTH_IN_CODE: Waves = ((1, 2), (2, 1))  # used for the published numbers
FOURTH_IN_TEXT: Waves = ((2, 1), (2, 1))
# The first combines two waves that are in the training environments, but not together. The second has a new wave.
NOVEL: list[Waves] = [((1, 2), (1, 1)), ((2, 2), (1, 2))]


def navier_stokes(protocol: str = "clean") -> System:
    """The four forcings used for the paper's results and two novel ones, with K = 10 points and Δt = 1."""
    return _system("navier-stokes", protocol, FOURTH_IN_CODE)


def navier_stokes_text(protocol: str = "clean") -> System:
    """As `navier_stokes`, but with the fourth forcing as in the text of the paper."""
    return _system("navier-stokes-text", protocol, FOURTH_IN_TEXT)


def _system(name: str, protocol: str, fourth: Waves) -> System:
    scheme = {"paper": (1, crank_nicolson_euler, 1e-3), "clean": (2, integrating_factor_rk4, 0.04)}
    refinement, stepper, max_step = scheme[protocol]
    solve = solver(Torus(refinement * SIZE), stepper, max_step)
    environments = _environments([*COMMON, fourth])
    first = next(iter(environments.values()))
    spin_up_times = np.array([0.0, SPIN_UP])

    def initial_state(key: PRNGKey) -> Array:
        """A Gaussian random field after a spin-up with the first forcing."""
        rough = Torus(SIZE).resample(random_field(key), refinement * SIZE)
        return solve(rough, {k: jnp.asarray(v) for k, v in first.items()}, spin_up_times)[-1]

    return System(
        name=name,
        channels=("w",),
        times=1.0 * np.arange(10),
        environments=environments,
        novel=_environments(NOVEL),
        trajectories={"train": 8, "test": 32, "novel": 8, "novel-test": 32},
        tangent=tangent,
        initial_state=initial_state,
        solve=solve,
        observe=lambda state: state[::refinement, ::refinement],
        protocol=protocol,
    )


def solver(torus: Torus, stepper: Stepper, max_step: float) -> Solve:
    """A solver on the given grid with the given scheme, which stays in Fourier space between observations."""

    def solve(state: Array, parameters: Parameters, times: np.ndarray) -> Array:
        force = torus.to_modes(forcing(parameters, torus.size))
        step = lambda dt: stepper(torus, parameters["viscosity"], force, dt)
        modes = fixed_steps(step, torus.to_modes(state[..., 0]), times, max_step)
        return torus.to_field(modes)[..., None]

    return solve


def tangent(state: Array, parameters: Parameters) -> Array:
    """∂w/∂t of a state `(y, x, 1)`, dealiased."""
    torus = Torus(state.shape[0])
    modes = torus.to_modes(state[..., 0])
    force = torus.to_modes(forcing(parameters, torus.size))
    diffusion = scale(modes, -parameters["viscosity"] * torus.squared_wave_numbers)
    return torus.to_field(torus.advection(modes) + diffusion + force)[..., None]


def forcing(parameters: Parameters, size: int) -> Array:
    """ξ on a grid of `size` × `size` points."""
    along = jnp.arange(size) / size
    phase = lambda a, b: 2 * jnp.pi * (a * along[None, :] + b * along[:, None])
    p = parameters
    return p["amplitude"] * (jnp.sin(phase(p["sin_x"], p["sin_y"])) + jnp.cos(phase(p["cos_x"], p["cos_y"])))


def random_field(key: PRNGKey) -> Array:
    """A Gaussian random field with mean zero and covariance σ²·(−Δ + τ²)^(−α), σ = τ^(α−1), on the data's grid."""
    torus = Torus(SIZE)
    white = torus.to_modes(jr.normal(key, (SIZE, SIZE)))
    deviation = FIELD_TAU ** (FIELD_ALPHA - 1) * (torus.squared_wave_numbers + FIELD_TAU**2) ** (-FIELD_ALPHA / 2)
    kept = torus.below_nyquist * (torus.squared_wave_numbers > 0)
    return torus.to_field(scale(white, SIZE * deviation * kept))[..., None]


def _environments(waves: list[Waves]) -> dict[str, dict[str, float]]:
    return {
        f"sin({a},{b})+cos({c},{d})": {
            "sin_x": float(a),
            "sin_y": float(b),
            "cos_x": float(c),
            "cos_y": float(d),
            "amplitude": AMPLITUDE,
            "viscosity": VISCOSITY,
        }
        for (a, b), (c, d) in waves
    }
