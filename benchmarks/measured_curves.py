"""Curves that statisticians fit to such data, by maximum a posteriori: yardsticks for `benchmarks/noise.py`.

The prior of a new subject is normal, with the mean and the spread of the curves fitted to all others one by one; the
noise is what these fits leave.
"""

from collections.abc import Callable

import numpy as np
from scipy.optimize import least_squares

Curve = Callable[[np.ndarray, np.ndarray], np.ndarray]


def one_compartment(logs: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The concentration after an oral dose of one unit: absorbed at rate ka, eliminated at rate ke, clearance Cl."""
    absorbed, eliminated, clearance = np.exp(np.clip(logs, -20, 20))
    difference = absorbed - eliminated
    difference = np.where(np.abs(difference) < 1e-9, 1e-9, difference)
    fall = np.exp(-eliminated * times) - np.exp(-absorbed * times)
    return absorbed * eliminated / (clearance * difference) * fall


def gompertz(numbers: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Growth from little to exp(`numbers[0]`)."""
    return np.exp(numbers[0] - np.exp(numbers[1] - np.exp(np.clip(numbers[2], -20, 5)) * times))


def forecast_errors(
    curve: Curve, start: np.ndarray, subjects: list[tuple[np.ndarray, np.ndarray]], others: list, warmup: int
) -> np.ndarray:
    """Errors of forecasts of subjects, `(times, values)` each, from their first points; `others` make the prior."""
    fits = [_fitted(curve, start, t, x) for t, x in others]
    numbers = np.array([fit.x for fit in fits])
    noise = np.sqrt(np.mean(np.concatenate([fit.fun for fit in fits]) ** 2))
    mean, spread = np.median(numbers, axis=0), np.maximum(_robust_spread(numbers), 0.05)
    errors = []
    for t, x in subjects:
        off = lambda p, t=t, x=x: np.concatenate([(curve(p, t[:warmup]) - x[:warmup]) / noise, (p - mean) / spread])
        errors.append(curve(least_squares(off, mean).x, t[warmup:]) - x[warmup:])
    return np.concatenate(errors)


def _fitted(curve: Curve, start: np.ndarray, times: np.ndarray, values: np.ndarray):
    return least_squares(lambda p: curve(p, times) - values, start)


def _robust_spread(numbers: np.ndarray) -> np.ndarray:
    """The standard deviation by the middle half: a single fit that went astray does not decide it."""
    low, high = np.quantile(numbers, (0.25, 0.75), axis=0)
    return (high - low) / 1.349
