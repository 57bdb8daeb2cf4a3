"""A mixed-effects model of a curve, as a statistician would fit it: what can be known of a new subject at best.

Numbers of subjects are normal, with a full covariance; the noise is normal. Both are those under which what was
observed is most likely, by the EM algorithm with normal posteriors (as in Lindstrom and Bates, 1990).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import least_squares

Curve = Callable[[np.ndarray, np.ndarray], np.ndarray]
Subject = tuple[np.ndarray, np.ndarray]  # times, values


class Mixed(NamedTuple):
    """The mean and the covariance of a population's numbers, and the standard deviation of the noise."""

    mean: np.ndarray
    covariance: np.ndarray
    noise: float


def fitted(curve: Curve, start: np.ndarray, subjects: list[Subject], rounds: int = 25) -> Mixed:
    """The most likely population."""
    found = Mixed(
        start, np.diag(np.full(len(start), 0.2)), 0.7 * float(np.std(np.concatenate([x for _, x in subjects])))
    )
    numbers = [start] * len(subjects)
    for _ in range(rounds):
        fits = [_posterior(curve, found, t, x, z) for (t, x), z in zip(subjects, numbers, strict=True)]
        numbers = [fit.x for fit in fits]
        own = [np.linalg.inv(fit.jac.T @ fit.jac) for fit in fits]
        mean = np.mean(numbers, axis=0)
        off = np.array(numbers) - mean
        covariance = (off.T @ off + sum(own)) / len(numbers) + 1e-4 * np.eye(len(mean))
        squares = [_expected(fit, c, len(x), found.noise) for fit, c, (_, x) in zip(fits, own, subjects, strict=True)]
        found = Mixed(mean, covariance, float(np.sqrt(np.mean(np.concatenate(squares)))))
    return found


def most_likely(curve: Curve, population: Mixed, subject: Subject) -> np.ndarray:
    """The numbers of a new subject, from what is known of it."""
    return _posterior(curve, population, *subject, population.mean).x


def simulated(curve: Curve, population: Mixed, times: list[np.ndarray], count: int) -> list[Subject]:
    """Subjects of a population, at these times in turn."""
    rng = np.random.default_rng(0)
    draw = lambda: rng.multivariate_normal(population.mean, population.covariance)
    at = [times[k % len(times)] for k in range(count)]
    exact = [(t, curve(draw(), t)) for t in at]
    return [(t, x + population.noise * rng.normal(size=len(x))) for t, x in exact]


def _posterior(curve: Curve, population: Mixed, times: np.ndarray, values: np.ndarray, start: np.ndarray):
    root = np.linalg.inv(np.linalg.cholesky(population.covariance))
    off = lambda z: np.concatenate([(curve(z, times) - values) / population.noise, root @ (z - population.mean)])
    return least_squares(off, start)


def _expected(fit, covariance: np.ndarray, count: int, noise: float) -> np.ndarray:
    """Squared errors, as is to be expected of all numbers that are likely."""
    rows = fit.jac[:count]
    return noise**2 * (fit.fun[:count] ** 2 + np.einsum("ij,jk,ik->i", rows, covariance, rows))
