"""f and g_e of a model at states: all members, environments and states in one program."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from ..arrays import on_device
from ..data import Trajectories
from ..methods import Levels, Method
from ..methods.prepare import numbers_as_arrays
from ..model import Model
from .style import drawable


class Parts(NamedTuple):
    """f and g_e in the units of the data, `(env, point, *space, channel)`; the mean over members."""

    shared: np.ndarray
    specific: np.ndarray


class Share(NamedTuple):
    """Root mean squares of f and g_e over the states of an environment, each channel in its standard unit."""

    environment: str
    shared: float
    specific: float

    @property
    def of_specific(self) -> float:
        """|g_e| / (|f| + |g_e|): 0 if all is shared, 1 if nothing is."""
        total = self.shared + self.specific
        return self.specific / total if total > 0 else float("nan")


def parts_at(model: Model, data: Trajectories, states: Float[np.ndarray, "env point *state"]) -> Parts:
    """f and g_e at these states, the environments in the order of the data."""
    with np.errstate(all="ignore"):  # states may be too large for the model
        standard = on_device(model.units.standard(states), model.dtype)
        found = _tangents(numbers_as_arrays(model.method, model.dtype), model.for_data(data), standard)
        raw = [model.units.raw_tangent(np.asarray(part, float).mean(axis=0)) for part in found]
    return Parts(*map(drawable, raw))


@eqx.filter_jit
def _tangents(method: Method, levels: Levels, states: Array) -> tuple[Array, Array]:
    def member(levels: Levels) -> tuple[Array, Array]:
        def environment(specific: PyTree, states: Array) -> tuple[Array, Array]:
            fields = method.split(levels.shared, specific)
            assert fields is not None, "see `Model.has_field`"
            start = jnp.zeros((), states.dtype)
            return jax.vmap(lambda x: (fields[0](start, x, None), fields[1](start, x, None)))(states)

        return jax.vmap(environment)(levels.specific, states)

    return jax.vmap(member)(levels)


def observed_states(data: Trajectories, most: int) -> Float[np.ndarray, "env point *state"]:
    """So many complete states of each environment, evenly chosen; with fewer some are repeated, without any NaN."""
    found = np.full((len(data.environments), most, *data.state_shape), np.nan)
    complete = np.asarray(data.observed.all(axis=tuple(range(3, data.states.ndim))))
    for e, states in enumerate(data.states):
        rows = states[complete[e]]
        if len(rows):
            found[e] = rows[np.linspace(0, len(rows) - 1, most).round().astype(int)]
    return found


def shares(model: Model, data: Trajectories) -> list[Share]:
    """How large f and g_e are at the states of each environment."""
    states = observed_states(data, 8 if data.space else 100)
    scale = np.asarray(model.units.scale)
    with np.errstate(all="ignore"):
        size = lambda part: np.sqrt(np.mean((part / scale) ** 2, axis=tuple(range(1, part.ndim))))
        sizes = [size(part).tolist() for part in parts_at(model, data, states)]
    return [Share(*row) for row in zip(data.environments, *sizes, strict=True)]
