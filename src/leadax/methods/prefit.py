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
from .mixed import Effects, begun, forecast_whole, numbers_alone, with_effects
from .prepare import Frozen, numbers_as_arrays

REFERENCES = (4, 16)  # steps so many times finer are taken for exact
SOLVER_SHARE = 1e-4  # of the rate of change: more than three digits of the formula's numbers shall be right
REST_SHARE = 1e-2  # of what the formula leaves unexplained
LEAST_SCALE = 2.0**-20


class Beginning(NamedTuple):
    """How training begins beside a formula.

    - `numbers`: of the formula, shared and specific, with which it alone explains most;
    - `scale`: of what is left to learn, see `Known`; `finer`: so many times the solver's steps must be shorter;
    - `local`: what the formula alone says of trajectories; None where it says nothing that data do not show.
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

    Where a part of the state is hidden, or the formula has individual constants, whole trajectories are forecast
    instead (`leadax.methods.mixed`).

    **Arguments**

    - `prepared`: the data, with so many times shorter steps; `local`: what is first known of their trajectories.
    """
    batch = prepared(1)
    start = jax.tree.map(lambda a: a.astype(batch.states.dtype), method.first_numbers(len(batch.times)))
    arrays, static = eqx.partition(numbers_as_arrays(method, batch.states.dtype), eqx.is_array)
    about = Frozen(static), arrays
    if _whole_only(local(batch), batch):
        return _from_starts(about, start, prepared, local)
    rate, still = _rates(batch, local(batch))
    found, missed, finer = start, still, 1
    for reference in REFERENCES:
        fine = prepared(reference)
        found, ahead = _explained(*about, start, local(fine), fine)
        missed = rate(ahead - fine.states)
        limit = max(SOLVER_SHARE * _size(still), REST_SHARE * _size(missed))
        while finer < reference:
            coarse = prepared(finer)
            if _size(rate(_ahead(*about, found, local(coarse), coarse) - ahead)) <= limit:
                return Beginning(found, _scale(missed), finer)
            finer *= 2
    return Beginning(found, _scale(missed), finer)


def _from_starts(
    about: tuple[Frozen, PyTree],
    numbers: tuple[PyTree, PyTree],
    prepared: Callable[[int], Batch],
    local: Callable[[Batch], PyTree],
) -> Beginning:
    """The same by forecasts of whole trajectories, with steps that are shortened until they matter little."""
    finer, begin = 1, Effects(numbers, local(prepared(1)).individual)
    while True:
        batch = prepared(finer)
        known = local(batch), batch
        begin = numbers_alone(*about, begin, *known)
        left, found = forecast_whole(*about, begin, *known)
        fine = prepared(2 * finer)
        _, better = forecast_whole(*about, begin, local(fine), fine)
        off = np.where(np.asarray(batch.observed), np.asarray(found - better)[..., : batch.states.shape[-1]], 0.0)
        matters = np.sqrt(np.sum(off**2) / np.sum(np.asarray(batch.observed)))
        if matters <= max(SOLVER_SHARE, REST_SHARE * _size(np.asarray(left))) or 2 * finer > max(REFERENCES):
            break
        finer *= 2
    if begin.individual is not None:
        begin = with_effects(*about, begin, *known)
        left, found = forecast_whole(*about, begin, *known)
    scale = _scale(np.asarray(left, float))
    return Beginning(begin.numbers, scale, finer, begun(known[0], begin, found, batch.states.shape[-1]))


@partial(jax.jit, static_argnums=0)
def _explained(static: Frozen, arrays: PyTree, start: PyTree, local: PyTree, batch: Batch) -> tuple[PyTree, Array]:
    """The numbers with which the formula alone is best, and its forecasts."""
    ahead = lambda numbers: _ahead(static, arrays, numbers, local, batch)
    found = levenberg_marquardt(lambda numbers: jnp.where(batch.observed, ahead(numbers) - batch.states, 0.0), start)
    return found, ahead(found)


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
    times, observed, complete = (np.asarray(a) for a in (batch.times, batch.observed, batch.complete))
    places = np.maximum.accumulate(np.where(complete, np.arange(times.shape[2]), 0), axis=2)
    last = np.concatenate([np.zeros_like(places[..., :1]), places[..., :-1]], axis=2)
    like = lambda array: array.reshape(*array.shape, *(1,) * (observed.ndim - 3))
    since = like(times - np.take_along_axis(times, last, axis=2))
    counts = observed & (since > 0)

    def rate(differences: Any) -> np.ndarray:
        rates = np.where(counts, np.asarray(differences, float) / np.where(since > 0, since, 1.0), 0.0)
        channels = tuple(range(observed.ndim - 1))
        return np.sqrt(np.sum(rates**2, axis=channels) / np.maximum(counts.sum(axis=channels), 1))

    known = np.asarray(local.path if isinstance(local, Local) else batch.states)
    return rate, rate(np.take_along_axis(known, like(last), axis=2) - np.asarray(batch.states))


def _size(rates: np.ndarray) -> float:
    return float(np.sqrt(np.mean(rates**2)))


def _scale(missed: np.ndarray) -> tuple[float, ...]:
    """Powers of two, so that rounding on another machine does not make another model."""
    good = np.where(np.isfinite(missed), np.maximum(missed, LEAST_SCALE), 1.0)
    return tuple(float(2.0**power) for power in np.round(np.log2(good)))


def _whole_only(local: PyTree, batch: Batch) -> bool:
    """Whether something is hidden or individual: then no point shows the whole state, or what comes next."""
    return isinstance(local, Local) and (local.individual is not None or local.path.shape[-1] > batch.states.shape[-1])
