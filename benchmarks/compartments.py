"""Compartment models of a drug with a prior from other patients, the yardstick of `benchmarks/remifentanil.py`.

The logarithms of a patient's numbers are normal around a mean that may depend on covariates. Mean, covariance and the
size of the noise come from patients in rounds: all are fitted by maximum a posteriori, then the population follows from
what was found and how sure it is (the iterated two-stage method). A new patient is fitted with that prior.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

# Volume and clearance; then the volume and the flow of each tissue.
STARTS = {1: np.log([10.0, 2.6]), 2: np.log([6.0, 2.6, 10.0, 1.5]), 3: np.log([5.0, 2.6, 9.0, 2.0, 5.0, 0.08])}
ROUNDS, ITERATIONS = 15, 30
SHARE = 0.18  # of a value; together with a floor it is the noise, times a number that is found


class Patients(NamedTuple):
    """Padded rows: times, concentrations (0 where none), rates, which were measured; the least noise of each patient;
    and covariates with a 1 first."""

    times: np.ndarray
    conc: np.ndarray
    rates: np.ndarray
    seen: np.ndarray
    floor: np.ndarray
    about: np.ndarray

    def some(self, places: list[int]) -> "Patients":
        """Only these."""
        return Patients(*(array[places] for array in self))


class Prior(NamedTuple):
    """Coefficients of the mean, the covariance, and the noise."""

    slopes: np.ndarray
    covariance: np.ndarray
    noise: float

    @property
    def root(self) -> np.ndarray:
        """What makes deviations from the mean independent and of size 1."""
        return np.linalg.cholesky(np.linalg.inv(self.covariance)).T


def curve(logs: jax.Array, times: jax.Array, rates: jax.Array) -> jax.Array:
    """The concentration in the first of some compartments under a rate that is held, in closed form."""
    numbers = jnp.exp(logs)
    volumes, flows = numbers[0::2], numbers[1::2]
    exchange = jnp.diag(flows.at[0].set(jnp.sum(flows)))
    exchange = exchange.at[0, 1:].set(-flows[1:]).at[1:, 0].set(-flows[1:])
    # In units of the roots of volumes it is symmetric.
    rates_out, modes = jnp.linalg.eigh(exchange / jnp.sqrt(volumes[:, None] * volumes[None]))
    first = modes[0] / jnp.sqrt(volumes[0])
    decay = jnp.exp(-rates_out * jnp.diff(times)[:, None])
    added = (1 - decay) / rates_out * first * rates[:-1, None]
    step = lambda x, row: (row[0] * x + row[1],) * 2
    return jnp.concatenate([jnp.zeros(1), jax.lax.scan(step, jnp.zeros(len(volumes)), (decay, added))[1] @ first])


def misses(logs: jax.Array, patient: tuple) -> jax.Array:
    """Differences from what was measured in units of the noise, which grows with the value."""
    found, scale = curve(logs, patient[0], patient[2]), noise_of(logs, patient)
    return jnp.where(patient[3], (found - patient[1]) / scale, 0.0)


def noise_of(logs: jax.Array, patient: tuple) -> jax.Array:
    """Of each value: a share of the mean of what was measured and what is forecast, and at least a floor."""
    times, conc, rates, _, floor = patient
    size = (jnp.abs(curve(logs, times, rates)) + conc) / 2
    return jnp.sqrt(floor**2 + (SHARE * size) ** 2)


@partial(jax.jit, static_argnums=0)
@partial(jax.vmap, in_axes=(None, 0, 0, None, None, 0))
def fitted(iterations: int, patient: tuple, mean: jax.Array, root: jax.Array, noise: jax.Array, start: jax.Array):
    """The most likely logarithms of a patient's numbers, their covariance, and the misses there."""
    residuals = lambda z: jnp.concatenate([misses(z, patient) / noise, root @ (z - mean)])

    def step(loop, _):
        z, damping = loop
        off, slope = residuals(z), jax.jacfwd(residuals)(z)
        move = jnp.linalg.solve(slope.T @ slope + damping * jnp.eye(len(z)), -slope.T @ off)
        new = z + jnp.clip(move, -1, 1)
        better = jnp.sum(residuals(new) ** 2) < jnp.sum(off**2)
        return (jnp.where(better, new, z), jnp.clip(jnp.where(better, damping / 4, damping * 8), 1e-8, 1e8)), None

    (z, _), _ = jax.lax.scan(step, (start, jnp.asarray(1.0)), None, iterations)
    slope = jax.jacfwd(residuals)(z)
    return z, jnp.linalg.inv(slope.T @ slope), misses(z, patient)


def population(compartments: int, patients: Patients) -> Prior:
    """The prior that these patients make most likely."""
    about, count = patients.about, len(patients.times)
    slopes = np.zeros((about.shape[1], 2 * compartments))
    slopes[0] = STARTS[compartments]
    prior, z = Prior(slopes, 0.25 * np.eye(2 * compartments), 1.0), about @ slopes
    keep = np.diag([0.0, *[1.0] * (about.shape[1] - 1)])  # slopes are kept small by one patient's worth
    for _ in range(ROUNDS):
        z, spread, off = map(
            np.array, fitted(ITERATIONS, patients[:5], about @ prior.slopes, prior.root, prior.noise, z)
        )
        slopes = np.linalg.solve(about.T @ about + keep, about.T @ z)
        apart = z - about @ slopes
        free = patients.seen.sum() - 0.7 * z.size  # numbers that the prior leaves free
        prior = Prior(slopes, apart.T @ apart / count + spread.mean(axis=0), float(np.sqrt(np.sum(off**2) / free)))
    return prior


def likelihood(prior: Prior, patients: Patients) -> float:
    """The logarithm of the likelihood of a population, all numbers of patients integrated out (Laplace)."""
    mean = patients.about @ prior.slopes
    z, spread, off = map(np.array, fitted(ITERATIONS, patients[:5], mean, prior.root, prior.noise, mean))
    scale = prior.noise * np.array(jax.vmap(noise_of)(z, patients[:5]))
    observed = -0.5 * np.sum((off / prior.noise) ** 2) - np.sum(np.log(np.sqrt(2 * np.pi) * scale[patients.seen]))
    of_prior = -0.5 * np.sum(((z - mean) @ prior.root.T) ** 2)
    widths = np.linalg.slogdet(spread)[1] - np.linalg.slogdet(prior.covariance)[1]
    return float(observed + of_prior + 0.5 * np.sum(widths))


def forecasts(prior: Prior, patients: Patients, told: np.ndarray) -> np.ndarray:
    """Concentrations of new patients from the points that are told."""
    mean = patients.about @ prior.slopes
    known = (*patients[:3], patients.seen & told, patients.floor)
    z, *_ = fitted(ITERATIONS, known, mean, prior.root, prior.noise, mean)
    return np.array(jax.vmap(curve)(z, patients.times, patients.rates))
