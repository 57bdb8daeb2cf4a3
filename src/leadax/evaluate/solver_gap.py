"""How much a model's forecasts depend on the solver's steps: the steps of training against an adaptive solver."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from ..data import Trajectories
from ..methods import Method
from ..methods.prepare import numbers_as_arrays
from ..model import Model
from ..rollout import kept_within
from .errors import forecasts

TRAJECTORIES = 4
FINER = 4
MOST_CALLS = 20_000  # of the field in one trajectory: a stiff field is not worth more


def solver_gap(model: Model, data: Trajectories) -> float | None:
    """The mean squared difference between both forecasts of a few trajectories, in standard units.

    A net learns to be right with the steps that it was trained with, also where these are too long for its field. Then
    f and g_e mean little, and forecasts at other times are wrong. None for a model without a vector field.
    """
    shared, specific, _ = jax.tree.map(lambda a: a[0], model.for_data(data))
    if model.method.split(shared, jax.tree.map(lambda a: a[0], specific)) is None:
        return None
    few = _spread_out(len(data.environments))
    inferred = model.layout.hidden or not all(_whole(data, e)[:-1].any() for e in few)
    if model.layout.seen or model.layout.inputs or inferred:
        return _against_finer_steps(model, data)
    gaps = [_gap(model, data, shared, specific, e) for e in few]
    return float(np.mean(gaps))


def _against_finer_steps(model: Model, data: Trajectories) -> float:
    """The same for a field that sees more than its state, or inferred starts: with steps four times as fine."""
    few = data.select(_spread_out(len(data.environments)), 0)
    member = model.member(0)
    finer = dataclasses.replace(member, longest_step=float(member.longest_step) / FINER)
    both = [forecasts(one.numbers, one.for_data(few), one.batch(few)) for one in (member, finer)]
    present = np.asarray(member.batch(few).complete)
    return float(np.mean((np.asarray(both[0])[0] - np.asarray(both[1])[0])[present] ** 2))


def _spread_out(environments: int) -> list[int]:
    return sorted(set(np.linspace(0, environments - 1, TRAJECTORIES).round().astype(int).tolist()))


def _whole(data: Trajectories, e: int) -> np.ndarray:
    """At which points of the first trajectory of an environment the whole state was observed."""
    return data.observed[e, 0].reshape(data.times.shape[2], -1)[: data.lengths[e, 0]].all(axis=-1)


def _gap(model: Model, data: Trajectories, shared: PyTree, specific: PyTree, e: int) -> float:
    """The first trajectory of an environment, from its first whole state."""
    first, last = int(np.argmax(_whole(data, e))), int(data.lengths[e, 0])
    times, start = data.times[e, 0, first:last], data.states[e, 0, first]
    as_trained = model.member(0).predict(start, times, environment=data.environments[e]).members[0]
    own = jax.tree.map(lambda a: a[e], specific)
    box = None if model.box is None else jnp.asarray([model.box.low, model.box.high], model.dtype)
    method = numbers_as_arrays(model.method, model.dtype)
    array = lambda value: jnp.asarray(value, model.dtype)
    field = lambda t, x: np.asarray(_tangent(method, shared, own, box, array(t), array(x)), float)
    exact = _adaptive(field, model.units.standard(start), model.units.clock(times))
    trained = model.units.standard(np.asarray(as_trained, float))
    return float(np.mean((trained - exact) ** 2))


@eqx.filter_jit
def _tangent(method: Method, shared: PyTree, specific: PyTree, box: Array | None, t: Array, x: Array) -> Array:
    fields = method.split(shared, specific)
    assert fields is not None
    field = kept_within(lambda t, x, u: fields[0](t, x, u) + fields[1](t, x, u), box)
    return field(t, x, None)


def _adaptive(field: Callable[[Any, Any], np.ndarray], start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The states at these times. A solver that gives up stays where it is, so that it does not pass for agreement."""
    from scipy.integrate import RK45

    calls = 0

    def flat(t: float, x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        return field(t, x.reshape(start.shape)).reshape(-1)

    solver = RK45(flat, float(times[0]), start.reshape(-1), float(times[-1]), rtol=1e-4, atol=1e-5)
    states = [start.reshape(-1)]
    while solver.status == "running" and calls < MOST_CALLS:
        solver.step()
        between = solver.dense_output() if solver.status != "failed" else None
        while between and len(states) < len(times) and times[len(states)] <= solver.t:
            states.append(between(times[len(states)]))
    states += [states[-1]] * (len(times) - len(states))
    return np.stack(states).reshape(-1, *start.shape)
