"""What a known formula explains by itself: where its numbers begin, how much is left to learn, which steps it needs."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ..data.batch import Batch
from .dynamics import DEFAULT_SOLVER, Flow
from .infer import levenberg_marquardt
from .known import Beside, Known
from .local import Local, forecast
from .prefit_hidden import begun, explained_whole, whole_forecasts
from .prepare import Frozen, numbers_as_arrays
from .weighing import noise_of

REFERENCES = (4, 16)  # steps so many times finer are taken for exact
SOLVER_SHARE = 1e-4  # of the rate of change: more than three digits of the formula's numbers shall be right
REST_SHARE = 1e-2  # of what the formula leaves unexplained
LEAST_SCALE = 2.0**-20
NOISE_SHARE = 0.1  # of the noise: what is left to learn may be that small and nobody could tell


class Beginning(NamedTuple):
    """How training begins beside a formula.

    - `numbers`: of the formula, shared and specific, with which it alone explains most;
    - `scale`: of what is left to learn, see `Known`; `finer`: so many times the solver's steps must be shorter;
    - `local`: what is hidden and individual, by the formula; None for what is first known of trajectories without it.
    """

    numbers: tuple[PyTree, PyTree]
    scale: tuple[float, ...]
    finer: int
    local: PyTree = None


def beginning(method: Known, prepared: Callable[[int], Batch], local: Callable[[Batch], PyTree]) -> Beginning:
    """How training begins beside a formula.

    The numbers are those with which the formula alone forecasts best, from each point of the data to the next, by the
    Levenberg–Marquardt method from their starts. Nets would otherwise learn what the formula could explain before its
    numbers have found their places. A net can make up for long steps of the solver, a formula cannot: steps are
    shortened until they matter less than 1e-4 of what there is to explain, or 1e-2 of what is left.

    Where a part of the state is hidden there is no point to forecast from but the start: whole trajectories are
    forecast, and the numbers are found together with hidden starts and individual constants.

    **Arguments**

    - `prepared`: the data, with so many times shorter steps; `local`: what is first known of their trajectories.
    """
    batch = prepared(1)
    start = jax.tree.map(lambda a: a.astype(batch.states.dtype), method.first_numbers(len(batch.times)))
    hides = _hides_something(local(batch), batch)
    arrays, static = eqx.partition(numbers_as_arrays(method, batch.states.dtype), eqx.is_array)
    about = Frozen(static), arrays
    explained = partial(_explained_hidden if hides else _explained, *about)
    forecasts: Callable[..., Array] = partial(whole_forecasts if hides else _ahead, *about)
    rate, still = _rates(batch, local(batch))
    found, own, ahead, finer, left = start, local(batch), batch.states, 1, still
    for reference in REFERENCES:
        fine = prepared(reference)
        found, own, ahead = explained(start, local(fine), fine)
        seen = ahead[..., : fine.states.shape[-1]]
        missed = rate(seen - fine.states)
        left = missed if fine.noise is None else _beyond_noise(seen - fine.states, fine, hides)
        limit = max(SOLVER_SHARE * _size(still), REST_SHARE * _size(missed))
        while finer < reference:
            coarse = prepared(finer)
            if _size(rate(forecasts(found, own, coarse)[..., : seen.shape[-1]] - seen)) <= limit:
                break
            finer *= 2
        if finer < reference:
            break
    if hides:
        own = begun(local(batch), own, ahead, batch.states.shape[-1])
    return Beginning(found, _scale(left), finer, own if hides else None)


def _explained_hidden(static: Frozen, arrays: PyTree, start: PyTree, local: Local, batch: Batch) -> tuple:
    """The numbers with which the formula alone is best, what is hidden then, and its forecasts."""
    found, own = explained_whole(static, arrays, start, local, batch)
    return found, own, whole_forecasts(static, arrays, found, own, batch)


@partial(jax.jit, static_argnums=0)
def _explained(static: Frozen, arrays: PyTree, start: PyTree, local: PyTree, batch: Batch) -> tuple:
    """The numbers with which the formula alone is best, what is known of trajectories, and its forecasts."""
    ahead = lambda numbers: _ahead(static, arrays, numbers, local, batch)
    found = levenberg_marquardt(lambda numbers: jnp.where(batch.observed, ahead(numbers) - batch.states, 0.0), start)
    return found, local, ahead(found)


@partial(jax.jit, static_argnums=0)
def _ahead(static: Frozen, arrays: PyTree, numbers: tuple[PyTree, PyTree], local: PyTree, batch: Batch) -> Array:
    """What the formula alone forecasts for each point, from the last one before it where the whole state is known."""
    method: Known = eqx.combine(arrays, static.tree)

    def environment(own: PyTree, local: PyTree, batch: Batch) -> Array:
        flow = Flow(method.known(Beside((), numbers[0]), Beside((), own)), method.solver or DEFAULT_SOLVER)
        return jax.vmap(lambda local, one: forecast(flow, local, one, one.complete))(local, batch)

    return jax.vmap(environment)(numbers[1], local, batch)


def _rates(batch: Batch, local: PyTree) -> tuple[Callable[[Any], np.ndarray], np.ndarray]:
    """From differences at the points to root mean square rates, one per channel; and those of the data themselves.

    Rates count from the last point before where the whole state is known.
    """
    observed, (last, since) = np.asarray(batch.observed), _last_known(batch)
    counts = observed & (since > 0)

    def rate(differences: Any) -> np.ndarray:
        rates = np.asarray(differences, float) / np.where(since > 0, since, 1.0)
        return np.sqrt(_mean_square(rates, counts))

    known = np.asarray(local.path if isinstance(local, Local) else batch.states)
    return rate, rate(np.take_along_axis(known, last, axis=2) - np.asarray(batch.states))


def _last_known(batch: Batch) -> tuple[np.ndarray, np.ndarray]:
    """For each point, the last one before it where the whole state is known, and how long ago that was."""
    times, complete = np.asarray(batch.times), np.asarray(batch.complete)
    places = np.maximum.accumulate(np.where(complete, np.arange(times.shape[2]), 0), axis=2)
    last = np.concatenate([np.zeros_like(places[..., :1]), places[..., :-1]], axis=2)
    like = lambda array: array.reshape(*array.shape, *(1,) * (batch.observed.ndim - 3))
    return like(last), like(times - np.take_along_axis(times, last, axis=2))


def _mean_square(values: np.ndarray, counts: np.ndarray) -> np.ndarray:
    channels = tuple(range(counts.ndim - 1))
    return np.sum(np.where(counts, values**2, 0.0), axis=channels) / np.maximum(counts.sum(axis=channels), 1)


def _beyond_noise(differences: Any, batch: Batch, whole: bool) -> np.ndarray:
    """The rate that a formula leaves unexplained, in each channel, where noise explains a part of the differences.

    - `whole`: whole trajectories were forecast. Their differences arose in the time in which states usually change by
      their spread, the unit of time; otherwise since the last point, which is noisy too.
    """
    observed, (_, since) = np.asarray(batch.observed), _last_known(batch)
    unit, counts = (1.0, observed) if whole else (np.where(since > 0, since, 1.0), observed & (since > 0))
    noise = np.asarray(noise_of(batch), float) * (1.0 if whole else np.sqrt(2.0)) / unit
    expected = _mean_square(noise, counts)
    found = _mean_square(np.asarray(differences, float) / unit, counts)
    return np.sqrt(np.maximum(found - expected, NOISE_SHARE**2 * expected))


def _size(rates: np.ndarray) -> float:
    return float(np.sqrt(np.mean(rates**2)))


def _scale(missed: np.ndarray) -> tuple[float, ...]:
    """Powers of two, so that rounding on another machine does not make another model."""
    good = np.where(np.isfinite(missed), np.maximum(missed, LEAST_SCALE), 1.0)
    return tuple(float(2.0**power) for power in np.round(np.log2(good)))


def _hides_something(local: PyTree, batch: Batch) -> bool:
    return isinstance(local, Local) and local.path.shape[-1] > batch.states.shape[-1]
