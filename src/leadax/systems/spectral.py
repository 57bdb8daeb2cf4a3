"""Fields on the unit torus in Fourier space, and two time-stepping schemes."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .solve import Step


@dataclass(frozen=True)
class Torus:
    """A grid of `size` × `size` points on the unit torus. Modes are those of `rfft2`: `(size, size // 2 + 1)`."""

    size: int

    @cached_property
    def wave_numbers(self) -> tuple[np.ndarray, np.ndarray]:
        """2π·k along y (the first axis) and x (the last axis), as arrays of the shape of the modes."""
        along = 2 * np.pi * np.fft.fftfreq(self.size, 1 / self.size)
        half = 2 * np.pi * np.fft.rfftfreq(self.size, 1 / self.size)
        along_y, along_x = np.broadcast_arrays(along[:, None], half[None, :])
        return along_y, along_x

    @cached_property
    def squared_wave_numbers(self) -> np.ndarray:
        """(2π)²·|k|², the eigenvalues of −Δ."""
        return self.wave_numbers[0] ** 2 + self.wave_numbers[1] ** 2

    @cached_property
    def _dealiased(self) -> np.ndarray:
        limit = 2 * np.pi * self.size / 3
        return np.all(np.abs(self.wave_numbers) <= limit, axis=0).astype(float)

    @cached_property
    def below_nyquist(self) -> np.ndarray:
        """0 for the Nyquist frequency, whose sign is ambiguous and which other grids cannot represent; 1 elsewhere."""
        highest = np.pi * self.size
        return np.all(np.abs(self.wave_numbers) < highest - 1, axis=0).astype(float)

    def to_modes(self, field: Array) -> Array:
        """The Fourier coefficients of a real field `(…, y, x)`."""
        return jnp.fft.rfft2(field)

    def to_field(self, modes: Array) -> Array:
        """The real field with these Fourier coefficients."""
        return jnp.fft.irfft2(modes, s=(self.size, self.size))

    @cached_property
    def _advection_factors(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        ky, kx = self.wave_numbers
        velocity = np.stack([ky, -kx]) / np.where(self.squared_wave_numbers == 0, 1.0, self.squared_wave_numbers)
        return velocity, (kx**2 - ky**2) * self._dealiased, kx * ky * self._dealiased

    def advection(self, modes: Array) -> Array:
        """−v·∇w of the vorticity w, dealiased by the 2/3 rule.

        Computed as −(∂xx − ∂yy)(v_x·v_y) − ∂xy(v_y² − v_x²), which needs four transforms instead of five.
        """
        velocity, of_product, of_difference = self._advection_factors
        vx, vy = self.to_field(scale(1j * modes[None], velocity))
        product, difference = self.to_modes(jnp.stack([vx * vy, vy**2 - vx**2]))
        return scale(product, of_product) + scale(difference, of_difference)

    def resample(self, state: Array, size: int) -> Array:
        """Interpolate a state `(y, x, 1)` to a grid of `size` × `size` points, at least as fine."""
        modes = scale(self.to_modes(state[..., 0]), self.below_nyquist * (size / self.size) ** 2)
        half, rows = self.size // 2, size - self.size
        wide = jnp.pad(modes, ((0, 0), (0, rows // 2)))
        middle = jnp.zeros((rows, wide.shape[1]), wide.dtype)
        tall = jnp.concatenate([wide[:half], middle, wide[half:]])
        return Torus(size).to_field(tall)[..., None]


def scale(modes: Array, factor: Array | np.ndarray) -> Array:
    """Multiply complex modes by a real factor, in half the time of a complex product."""
    return jax.lax.complex(modes.real * factor, modes.imag * factor)


Stepper: TypeAlias = Callable[[Torus, Array | float, Array, Array], Step]


def crank_nicolson_euler(torus: Torus, viscosity: Array | float, force: Array, dt: Array) -> Step:
    """First order: Crank–Nicolson for diffusion, explicit Euler for the rest."""
    half = 0.5 * dt * viscosity * torus.squared_wave_numbers
    keep, gain = (1 - half) / (1 + half), dt / (1 + half)
    return lambda modes: scale(modes, keep) + scale(torus.advection(modes) + force, gain)


def integrating_factor_rk4(torus: Torus, viscosity: Array | float, force: Array, dt: Array) -> Step:
    """Fourth order: the classical Runge–Kutta method for exp(−tνΔ)·w, so that diffusion is exact."""
    half = jnp.exp(-0.5 * dt * viscosity * torus.squared_wave_numbers)
    rate = lambda modes: torus.advection(modes) + force

    def step(modes: Array) -> Array:
        halfway = scale(modes, half)
        k1 = rate(modes)
        k2 = rate(halfway + scale(k1, 0.5 * dt * half))
        k3 = rate(halfway + scale(k2, 0.5 * dt))
        k4 = rate(scale(halfway + scale(k3, dt), half))
        slopes = scale(k1, half**2) + scale(k2 + k3, 2 * half) + k4
        return scale(halfway, half) + scale(slopes, dt / 6)

    return step
