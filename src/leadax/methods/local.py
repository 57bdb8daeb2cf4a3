"""The third level: what belongs to one trajectory alone, its states and its individual constants."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float

from ..arrays import on_device
from ..data.batch import Batch
from ..data.layout import Layout
from ..rollout import Restart, Steps
from .dynamics import Dynamics

SMALLEST_WIDTH = 0.05  # of a prior, in standard units: a narrower one would never widen again


class Local(NamedTuple):
    """What is inferred of trajectories, in standard units.

    - `path`: whole states at the points, the start first; only the start where nothing else is needed;
    - `individual`: constants that enter the field; None for none.
    """

    path: Float[Array, "..."]
    individual: Float[Array, "*batch constant"] | None = None


def forecast(
    dynamics: Dynamics, local: "Local | tuple[()]", trajectory: Batch, restart: Bool[Array, " time"] | None = None
) -> Float[Array, "time *space channel"]:
    """Whole states of one trajectory at its points, from its inferred start, or from its first observation.

    - `restart`: where the forecast starts anew, from inferred states or from the data.
    """
    known, steps = trajectory.states, trajectory.steps
    if isinstance(local, Local):
        known, steps = local.path, with_constants(steps, local.individual)
    return dynamics.forecast(known[0], steps, None if restart is None else Restart(restart, known))


def with_constants(steps: Steps, constants: Float[Array, " constant"] | None) -> Steps:
    """The steps with individual constants after the inputs."""
    if constants is None:
        return steps
    before = steps.inputs
    shape = (len(steps.sizes), 2) if before is None else before.shape[:-1]
    added = jnp.broadcast_to(constants, (*shape, len(constants)))
    return steps._replace(inputs=added if before is None else jnp.concatenate([before, added], axis=-1))


def points_seen(
    batch: Batch, individual: Float[Array, "traj constant"] | None
) -> Float[Array, "traj time *input"] | None:
    """What a field sees beside time and state at the points of one environment's trajectories."""
    if individual is None:
        return batch.inputs
    shape = batch.times.shape if batch.inputs is None else batch.inputs.shape[:-1]
    spare = (1,) * (len(shape) - 1)
    added = jnp.broadcast_to(individual.reshape(len(individual), *spare, -1), (*shape, individual.shape[-1]))
    return added if batch.inputs is None else jnp.concatenate([batch.inputs, added], axis=-1)


def first_local(batch: Batch, layout: Layout, dtype: DTypeLike) -> "Local | tuple[()]":
    """Where inference begins: at the observations, interpolated where there are none.

    Hidden channels begin as the first, second, … derivatives of the observed ones, scaled to variance 1: with those a
    state determines its future if enough of them are taken (Takens).
    """
    if not layout.inferred:
        return ()
    times, states, observed = (np.asarray(a, float) for a in batch[:3])
    path = np.zeros_like(states)
    for place in np.ndindex(times.shape[:2]):
        path[place] = _interpolated(times[place], states[place], observed[place] > 0)
    present = np.asarray(batch.complete)
    layers, derivative = [path], path
    while sum(layer.shape[-1] for layer in layers[1:]) < layout.hidden:
        derivative = _standardised(_slopes(times, derivative, present), present)
        layers.append(derivative)
    whole = np.concatenate(layers, axis=-1)[..., : states.shape[-1] + layout.hidden]
    if layout.from_zero:
        whole[:, :, 0, ..., states.shape[-1] :] = 0.0
    constants = on_device(np.zeros((*times.shape[:2], layout.individual)), dtype) if layout.individual else None
    return Local(on_device(whole, dtype), constants)


def _interpolated(times: np.ndarray, states: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """The states of one trajectory, linear in time where nothing was observed; 0, the mean, where nothing ever was."""
    if observed.all():
        return states
    values, seen = states.reshape(len(times), -1), observed.reshape(len(times), -1)
    filled = np.zeros_like(values)
    for k in np.flatnonzero(seen.any(axis=0)):
        filled[:, k] = np.interp(times, times[seen[:, k]], values[seen[:, k], k])
    return filled.reshape(states.shape)


def _slopes(times: np.ndarray, states: np.ndarray, present: np.ndarray, reach: int = 2) -> np.ndarray:
    """Slopes of straight lines through each point and its neighbours, which smooths noise; padding is no neighbour."""
    found = np.zeros_like(states)
    count = times.shape[2]
    shaped = lambda array: array.reshape(*array.shape, *(1,) * (states.ndim - 3))
    for k in range(count):
        window = slice(max(0, k - reach), min(count, k + reach + 1))
        real = present[:, :, window]
        middle = np.sum(times[:, :, window] * real, axis=2, keepdims=True) / np.maximum(real.sum(axis=2), 1)[..., None]
        t = shaped(np.where(real, times[:, :, window] - middle, 0.0))
        total = np.sum(t**2, axis=2)
        found[:, :, k] = np.sum(t * states[:, :, window], axis=2) / np.where(total > 0, total, 1.0)
    return found


def _standardised(values: np.ndarray, present: np.ndarray) -> np.ndarray:
    seen = values[present].reshape(-1, values.shape[-1])
    spread = seen.std(axis=0)
    standard = (values - seen.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.where(present.reshape(*present.shape, *(1,) * (values.ndim - 3)), standard, 0.0)
