"""`forecast`: all trajectories of a data set."""

from collections.abc import Iterator, Sequence

import numpy as np

from ..arrays import numbers
from ..data import Trajectories
from ..data.input_series import check_ends, filled
from ..errors import InputError, expect
from ..model import Model
from .errors import chosen_warmup, forecasts, known_points

MOST_STEPS = 10_000_000


def forecast(
    model: Model,
    data: Trajectories,
    *,
    times: Sequence[float] | None = None,
    solver: str | None = None,
    warmup: int | None = None,
) -> Trajectories:
    """Forecasts of all trajectories of a data set, from the first points of each; the mean over members.

    **Arguments**

    - `times`: when, by default at each trajectory's own times;
    - `solver`: an adaptive one, from the first whole state; by default the steps of training;
    - `warmup`: how many of the first points a forecast is told; by default 1, or as in training where something is
      hidden or individual.

    The result is a data set with the same names: save it, draw it, or take it elsewhere with `to_pandas`.

    >>> import jax.random as jr, numpy as np
    >>> from leadax import Leads, Linear, Trajectories, fit
    >>> t = np.linspace(0, 2, 9)
    >>> data = Trajectories.from_arrays(t, np.stack([np.exp(-a * t) for a in (0.5, 1.0)])[:, None, :, None])
    >>> model = fit(Leads(net=Linear), data, steps=20, key=jr.key(0))
    >>> forecast(model, data)
    Trajectories(2 environments, 1 trajectory each, 9 times, channels x0)
    """
    expect("model", model, Model, "leadax.Model.load(FILE)")
    expect("data", data, Trajectories, "leadax.load(FILE)")
    told = chosen_warmup(warmup, model.warmup, data)
    model.for_data(data)  # refuses what does not fit, before any work
    moments = None if times is None else _moments(times, float(np.nanmin(data.times)))
    if solver is not None:
        if told > 1:
            raise InputError("an adaptive `solver` forecasts from one point: leave it out")
        queries = data if moments is None else _at(data, moments, told, inferred=False)
        return _packed(data, *_adaptively(model, queries, moments, solver))
    queries = data if moments is None else _at(data, moments, told, model.layout.inferred)
    _check_steps(model, float(np.nanmax(queries.times - queries.times[:, :, :1])))
    batch = model.batch(queries)
    members = forecasts(model.numbers, model.for_data(queries), batch, known_points(batch, told))
    states = model.units.raw(np.asarray(members, float).mean(axis=0)[..., : len(model.channels)])
    return _packed(data, *_own_points(queries, states, model.layout.inferred, moments))


def _moments(times: Sequence[float], begin: float) -> np.ndarray:
    """The times asked for; `begin`: when the first trajectory does."""
    found = numbers("times", times)
    if found.ndim != 1 or not np.all(np.isfinite(found)):
        raise InputError(f"`times` must be a list of finite numbers, got {times!r:.60}")
    if early := int(np.sum(found < begin)):
        raise InputError(f"{early} of the {len(found)} `times` asked for are before any trajectory begins")
    return found


def _at(data: Trajectories, times: np.ndarray, told: int, inferred: bool) -> Trajectories:
    """The known points of each trajectory, and points at the times asked for, at which nothing was observed."""
    places = [[(e, i) for i in range(int(count))] for e, count in enumerate(data.counts)]
    rows = [[_one_at(data, e, i, times, told, inferred) for e, i in own] for own in places]
    column = lambda k: [[row[k] for row in own] for own in rows]
    driven = {} if data.inputs is None else {"inputs": column(2), "input_names": data.input_names}
    return Trajectories.from_arrays(
        column(0),
        column(1),
        environments=data.environments,
        channels=data.channels,
        parameters=data.parameters,
        trajectory_names=data.trajectory_names,
        input_kinds=data.input_kinds or None,
        **driven,
    )


def _one_at(
    data: Trajectories, e: int, i: int, times: np.ndarray, told: int, inferred: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Times, states and inputs; inputs keep all times of their own."""
    own, observed = data.times[e, i], data.observed[e, i].reshape(data.times.shape[2], -1)
    # Without inference a forecast needs a whole state to start from.
    seen = np.flatnonzero(observed.any(axis=1) if inferred else observed.all(axis=1))[:told]
    asked = np.union1d(own[seen], times[times > own[seen[0]]] if len(seen) else [])
    if len(asked) < 2:
        raise InputError(f"{data.place(e, i)} has no whole state before the times asked for")
    driven = np.zeros(0, int) if data.inputs is None else _given(data.inputs[e, i])
    union = np.union1d(asked, own[driven])

    def placed(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
        found = np.full((len(union), *values.shape[1:]), np.nan)
        found[np.searchsorted(union, own[rows])] = values[rows]
        return found

    return union, placed(data.states[e, i], seen), None if data.inputs is None else placed(data.inputs[e, i], driven)


def _given(inputs: np.ndarray) -> np.ndarray:
    """The points of a trajectory at which any input has a value."""
    return np.flatnonzero(np.isfinite(inputs).reshape(len(inputs), -1).any(axis=1))


def _own_points(
    queries: Trajectories, states: np.ndarray, inferred: bool, times: np.ndarray | None
) -> tuple[list[list[np.ndarray]], list[list[np.ndarray]]]:
    """Times and forecasts of each trajectory, from the point that its forecast starts at."""
    whole = queries.observed.reshape(*queries.times.shape, -1).all(axis=-1)
    first = np.zeros(queries.lengths.shape, int) if inferred else np.argmax(whole, axis=2)
    all_times, all_states = [], []
    for e in range(len(queries.environments)):
        places = [(i, int(first[e, i]), int(queries.lengths[e, i])) for i in range(int(queries.counts[e]))]
        own = [queries.times[e, i, begin:end] for i, begin, end in places]
        keep = [_asked(t, times) for t in own]
        all_times.append([t[k] for t, k in zip(own, keep, strict=True)])
        parts = zip(places, keep, strict=True)
        all_states.append([states[e, i, : end - begin][k] for (i, begin, end), k in parts])
    return all_times, all_states


def _asked(own: np.ndarray, times: np.ndarray | None) -> np.ndarray:
    """Which points of a forecast are told: the first, and those asked for; others are there for their inputs."""
    return np.ones(len(own), bool) if times is None else np.isin(own, [own[0], *times])


def _packed(data: Trajectories, times: list[list[np.ndarray]], states: list[list[np.ndarray]]) -> Trajectories:
    return Trajectories.from_arrays(
        times,
        states,
        environments=data.environments,
        channels=data.channels,
        parameters=data.parameters,
        attributes={**data.attributes, "forecast_of": data.fingerprint},
        trajectory_names=data.trajectory_names,
    )


def _adaptively(
    model: Model, queries: Trajectories, times: np.ndarray | None, solver: str
) -> tuple[list[list[np.ndarray]], list[list[np.ndarray]]]:
    """Times and forecasts of each trajectory by an adaptive solver, those at the same times in one call."""
    check_ends(queries)
    all_times, all_states = [], []
    for e, name in enumerate(queries.environments):
        tasks = list(_tasks(queries, e))
        groups: dict[tuple, list[int]] = {}
        for i, (_, when, driven) in enumerate(tasks):
            groups.setdefault((when.tobytes(), driven is not None and driven.tobytes()), []).append(i)
        found: dict[int, np.ndarray] = {}
        for members in groups.values():
            starts, (_, when, driven) = np.stack([tasks[i][0] for i in members]), tasks[members[0]]
            forecast = model.predict(starts, when, environment=name, inputs=driven, solver=solver)
            found |= dict(zip(members, np.asarray(forecast), strict=True))
        keep = [_asked(when, times) for _, when, _ in tasks]
        all_times.append([when[k] for (_, when, _), k in zip(tasks, keep, strict=True)])
        all_states.append([found[i][k] for i, k in enumerate(keep)])
    return all_times, all_states


def _tasks(queries: Trajectories, e: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray | None]]:
    """For each trajectory of an environment, the state to start from, and the times and inputs of the forecast."""
    inputs = None if queries.inputs is None else filled(queries)
    for i in range(queries.counts[e]):
        whole = queries.observed[e, i].reshape(queries.observed.shape[2], -1).all(axis=1)
        ahead = slice(int(np.argmax(whole)), int(queries.lengths[e, i]))
        when = queries.times[e, i, ahead]
        if len(when) < 2 or not whole[ahead.start]:
            raise InputError(f"{queries.place(e, i)} has no whole state before the times asked for")
        yield queries.states[e, i, ahead.start], when, None if inputs is None else inputs[e, i, ahead]


def _check_steps(model: Model, length: float) -> None:
    steps = length / (model.longest_step * model.units.time)
    if steps > MOST_STEPS:
        raise InputError(
            f"a forecast of length {length:g} takes {steps:.1e} steps as long as those of training, at most "
            f"{MOST_STEPS} are allowed: stop earlier, or give an adaptive `solver`"
        )
