"""Coefficients from noisy data: whole stretches of trajectories, from starts that are inferred along with them."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from ..nets.polynomial import feature_slopes
from .effects import Effects, Normal, Widths, effects, evidence
from .flow import AHEAD, LARGEST, WEIGHTS, Law
from .intervals import Points, with_constant
from .pace import steps_through
from .pieces import Stretches, first_states, stretches
from .regression import Coefficients

LENGTHS = (4, 8, 16, 32, 64)  # of stretches, in intervals: what a short one finds, a longer one refines
ROUNDS = 4  # at each length
INNER = 20  # rounds of expectation maximisation in each of them
HALVINGS = 3
LOOSE = 1e-3  # the precision of the prior of a start, where the noise has 1
LEAST_NOISE = 0.003  # standard units
MOST = 120  # coefficients of an environment
MEMORY = 20_000_000  # numbers: of larger data, fewer stretches are looked at
HUGE = 30.0  # standard deviations of the noise beyond which a miss counts no more
WORSE = 1.5  # how much more a longer stretch may leave, before it is given up

# Of a known part of the field, at a part of a step, states and inputs.
RatesAndSlopes = Callable[[float, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class _Guess(NamedTuple):
    """Coefficients that are common, those of each environment in all, and the start of each piece."""

    common: Float[np.ndarray, "term channel"]
    coefficients: Float[np.ndarray, "env term channel"]
    starts: Float[np.ndarray, "piece channel"]


class _Paths(NamedTuple):
    """Misses in units of the noise, and their derivatives by coefficients and by starts; zero where nothing is."""

    misses: Float[np.ndarray, "piece row"]
    by_coefficient: Float[np.ndarray, "piece row coefficient"]
    by_start: Float[np.ndarray, "piece row channel"]


class Refined(NamedTuple):
    """Coefficients, the mean square of what they leave, in units of the noise, and how long stretches became."""

    coefficients: Coefficients
    misfit: float
    length: int = 0


def refined(
    points: Points,
    law: Law,
    use: Bool[np.ndarray, "env traj time"],
    begin: Coefficients,
    noise: tuple[float, ...],
    lengths: tuple[int, ...] = LENGTHS,
) -> Refined:
    """Coefficients with which forecasts of whole stretches come as near to noisy points as they can.

    Equations from one noisy point to the next take the noise for motion. A forecast of a stretch of points from a start
    that is inferred, too, does not: its misses are those of independent noise. Stretches become longer and longer. Both
    coefficients and starts come from linearised equations, solved again and again (Gauss–Newton), under the priors of
    `leadax.trend.effects`.
    """
    best = Refined(begin, np.inf)
    if begin.common.size > MOST:
        return best
    sigma = np.maximum(np.asarray(noise), LEAST_NOISE)
    basis, channels = law.basis(points), len(sigma)
    size = basis.shape[1] * channels
    # Coefficients of all channels in a row, those of one term next to each other.
    basis = np.einsum("ctk,cd->tckd", basis, np.eye(channels)).reshape(size, size)
    wide = Widths.wide(np.repeat(law.differ(points), channels), law.present(points).ravel(), variance=1.0)
    longest = int((use & points.complete).sum(axis=2).max(initial=0)) - 1
    for length in dict.fromkeys(max(1, min(n, longest)) for n in lengths):
        numbers = (length + 1) * len(sigma) * (begin.common.size + len(sigma))  # of a piece
        pieces = stretches(points, use, length, max(1, MEMORY // numbers))
        if not len(pieces.times):
            break
        found = _at_length(pieces, law, sigma, best.coefficients, basis, wide)._replace(length=length)
        if found.misfit > WORSE * best.misfit:
            break
        best = found
    return best


def _start_inverse(by_start: Float[np.ndarray, "piece row channel"]) -> Float[np.ndarray, "piece channel channel"]:
    return np.linalg.inv(np.einsum("brc,brd->bcd", by_start, by_start) + LOOSE * np.eye(by_start.shape[-1]))


def _at_length(
    pieces: Stretches, law: Law, sigma: np.ndarray, begin: Coefficients, basis: np.ndarray, widths: Widths
) -> Refined:
    """The coefficients that forecasts of pieces of one length ask for."""
    guess = _Guess(begin.common, begin.common + begin.own, first_states(pieces.states))
    paths = _paths(pieces, law, sigma, guess)
    result = begin
    for _ in range(ROUNDS):
        step, found, sure = _step(pieces, paths, guess, widths, basis)
        better = _searched(pieces, law, sigma, guess, step, _misfit(paths))
        if better is None:
            break
        (guess, paths), widths = better, found.widths
        result = Coefficients(guess.common, guess.coefficients - guess.common, sure)
    return Refined(result, _misfit(paths))


def _searched(
    pieces: Stretches, law: Law, sigma: np.ndarray, guess: _Guess, step: _Guess, lowest: float
) -> tuple[_Guess, _Paths] | None:
    """The step, or a half, a quarter, … of it, whichever leaves less than before first; None for none of them."""
    for halving in range(HALVINGS + 1):
        tried = _Guess(*(old + 0.5**halving * (new - old) for old, new in zip(guess, step, strict=True)))
        paths = _paths(pieces, law, sigma, tried)
        if _misfit(paths) < lowest:
            return tried, paths
    return None


def _misfit(paths: _Paths) -> float:
    count = np.sum(np.any(paths.by_start != 0, axis=2))
    return float(np.sum(np.minimum(paths.misses**2, HUGE**2)) / max(count, 1))


def _step(
    pieces: Stretches, paths: _Paths, guess: _Guess, widths: Widths, basis: np.ndarray
) -> tuple[_Guess, Effects, float]:
    """Coefficients and starts that solve the equations as they are here. Starts are eliminated first."""
    environments, size = len(guess.coefficients), paths.by_coefficient.shape[-1]
    by_coefficient, by_start = paths.by_coefficient, paths.by_start
    now = guess.coefficients.reshape(environments, -1)[pieces.environment]
    # Where forecasts run away, equations say little: they count less.
    weight = 1 / np.maximum(1.0, np.abs(paths.misses) / HUGE)
    right = paths.misses + np.einsum("brd,bd->br", by_coefficient, now)
    left, starts = by_coefficient * weight[..., None], by_start * weight[..., None]
    right = right * weight
    inner = _start_inverse(starts)
    across = np.einsum("brc,brd->bcd", starts, left)
    rest = np.einsum("brc,br->bc", starts, right)
    taken = np.einsum("bcd,bce->bde", across, inner @ across)
    squares, products = np.zeros((environments, size, size)), np.zeros((environments, size))
    np.add.at(squares, pieces.environment, np.einsum("brc,brd->bcd", left, left) - taken)
    each = np.einsum("brd,br->bd", left, right) - np.einsum("bcd,bce,be->bd", across, inner, rest)
    np.add.at(products, pieces.environment, each)
    length = np.sum(right**2) - np.einsum("bc,bcd,bd->", rest, inner, rest)
    count = np.sum(np.any(by_start != 0, axis=2)) - starts.shape[0] * starts.shape[-1]
    normal = Normal(basis.T @ squares @ basis, products @ basis, float(length), max(float(count), 1.0))
    found = effects(normal, widths, INNER)
    sure = evidence(normal, found.widths)
    found = found.times(basis)
    theta = found.common + found.own
    left_over = right - np.einsum("brd,bd->br", left, theta[pieces.environment])
    moved = guess.starts + np.einsum("bcd,bd->bc", inner, np.einsum("brc,br->bc", starts, left_over))
    common, each = found.common.reshape(guess.common.shape), theta.reshape(guess.coefficients.shape)
    return _Guess(common, each, np.clip(moved, -LARGEST, LARGEST)), found, sure


def _paths(pieces: Stretches, law: Law, sigma: np.ndarray, guess: _Guess) -> _Paths:
    """Forecasts of all pieces with their sensitivities, by the method of Runge and Kutta."""
    coefficients = guess.coefficients[pieces.environment]
    count, points, channels = pieces.states.shape
    size = coefficients.shape[1] * channels
    x, sens = guess.starts, np.concatenate([np.zeros((count, channels, size)), _units(count, channels)], axis=2)
    misses, slopes = np.zeros((count, points, channels)), np.zeros((count, points, channels, size + channels))

    def compare(rows: np.ndarray, k: np.ndarray) -> None:
        seen = np.isfinite(pieces.states[rows, k])
        misses[rows, k] = np.where(seen, (np.nan_to_num(pieces.states[rows, k]) - x[rows]) / sigma, 0.0)
        slopes[rows, k] = np.where(seen[..., None], sens[rows] / sigma[:, None], 0.0)

    compare(np.arange(count), np.zeros(count, int))
    gaps, impulses = np.nan_to_num(np.diff(pieces.times, axis=1)), np.nan_to_num(pieces.impulses)
    first, last = np.nan_to_num(pieces.first), np.nan_to_num(pieces.last)
    for step in steps_through(gaps, law.longest):
        x = x + np.where(step.enters[:, None], step.at(impulses), 0.0)
        inputs, begin = step.between(first, last), step.at(pieces.times) + step.begin[:, 0] * step.at(gaps)
        x, sens = _ahead(law, coefficients, x, sens, _Interval(*inputs, step.gap, _known(pieces, begin, step.gap)))
        (rows,) = np.nonzero(step.leaves)
        compare(rows, step.interval[rows] + 1)
    flat = lambda a: a.reshape(count, points * channels, *a.shape[3:])
    slopes = flat(slopes)
    return _Paths(flat(misses), slopes[..., :size], slopes[..., size:])


def _units(count: int, channels: int) -> np.ndarray:
    return np.broadcast_to(np.eye(channels), (count, channels, channels))


class _Interval(NamedTuple):
    """What a step goes along: inputs at both ends, its length, and what is known of the field there."""

    first: Float[np.ndarray, "piece input"]
    last: Float[np.ndarray, "piece input"]
    gap: Float[np.ndarray, "piece 1"]
    known: RatesAndSlopes | None


def _known(pieces: Stretches, begin: np.ndarray, gap: np.ndarray) -> RatesAndSlopes | None:
    """Rates and slopes of the formula at a part of a step, None without one."""
    if (formula := pieces.formula) is None:
        return None

    def known(part: float, x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        at = (pieces.place, np.nan_to_num(begin + part * gap[:, 0]), x, u)
        return formula.rates(*at), formula.slopes(*at)

    return known


def _ahead(
    law: Law, coefficients: np.ndarray, x: np.ndarray, sens: np.ndarray, interval: _Interval
) -> tuple[np.ndarray, np.ndarray]:
    """States and sensitivities after a step."""
    first, last, h, known = interval
    channels, transposed = x.shape[1], coefficients[:, 1:].transpose(0, 2, 1)
    slopes, turns = np.zeros_like(x), np.zeros_like(sens)
    total, turned = np.zeros_like(x), np.zeros_like(sens)
    for ahead, weight in zip(AHEAD, WEIGHTS, strict=True):
        u = first + (last - first) * ahead
        stage, stage_sens = x + ahead * h * slopes, sens + ahead * h[..., None] * turns
        values, bends = feature_slopes(np.concatenate([stage, u], axis=1), law.degree, law.region, law.zero)
        terms = with_constant(values)
        slopes = (terms[:, None] @ coefficients)[:, 0]
        jacobian = transposed @ bends[..., :channels]
        if known is not None:
            rates, turning = known(ahead, stage, u)
            slopes, jacobian = slopes + rates, jacobian + turning
        turns = jacobian @ stage_sens
        for c in range(channels):  # ∂f_c/∂θ_pc is the term p
            turns[:, c, c : terms.shape[1] * channels : channels] += terms
        total, turned = total + weight * slopes, turned + weight * turns
    x = np.clip(x + h * total, -LARGEST, LARGEST)
    return x, np.clip(sens + h[..., None] * turned, -(LARGEST**2), LARGEST**2)
