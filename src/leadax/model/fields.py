"""The learnt f and g_e, callable on states in the units of the data."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import VectorField
from ..data.units import Units
from ..errors import InputError
from ..methods import Levels, Method


class LearntField(eqx.Module):
    """f or g_e of a model in the units of the data, the mean over members: `f(x)`, or `f(x, t, u)`.

    `x` is one state, or an array of states with any axes before those of a state: `f(x)` has the shape of `x`. `t` is
    one time, or one for each state. `u` are inputs `(…, input)`, the same for all states or given for each.

    - `part`: 0 for f, 1 for g_e, None for all that makes a state move;
    - `constants`: what it sees beside the inputs `u` of the data, in standard units.
    """

    levels: Levels
    method: Method = eqx.field(static=True)
    units: Units = eqx.field(static=True)
    environment: int = eqx.field(static=True)
    part: int | None = eqx.field(static=True)
    state_shape: tuple[int, ...] = eqx.field(static=True)
    constants: Float[Array, "member constant"] | None = None

    def __call__(self, x: Float[Any, "*state"], t: Any = 0.0, u: Any = None) -> Float[Array, "*state"]:
        """The tangent at a whole state, or at each of many; at a time and with inputs where they matter."""
        dtype = jax.tree.leaves(self.levels)[0].dtype
        x = x if isinstance(x, jax.Array) else np.asarray(x, float)
        many = self._axes_of_many(x, np.shape(t))
        standard = jnp.asarray(self.units.standard(x), dtype)
        time = jnp.asarray(self.units.clock(t), dtype)
        each = None if u is None or np.ndim(u) <= len(many) or np.shape(u)[: len(many)] != many else 1
        tangents = self._at
        for _ in many:
            tangents = jax.vmap(tangents, in_axes=(0, 0 if time.ndim else None, each))
        return self.units.raw_tangent(tangents(standard, time, self._seen(u, dtype)))

    def _axes_of_many(self, x: Any, times: tuple[int, ...]) -> tuple[int, ...]:
        """The axes before those of a state. A grid may be another than in training."""
        axes = len(self.state_shape)
        if x.ndim < axes or x.shape[-1] != self.state_shape[-1]:
            raise InputError(f"a state has the shape {self.state_shape}, after axes for many; got {x.shape}")
        many = x.shape[: x.ndim - axes]
        if times not in ((), many):
            raise InputError(f"`t` must be one time, or one for each of the states {many}; got {times}")
        return many

    def _at(self, x: Float[Array, "*state"], t: Array, u: Array | None) -> Float[Array, "*state"]:
        """The tangent at one state, the mean over members; all in standard units, `u` for each member."""
        levels = self.levels._replace(local=())
        return jnp.mean(jax.vmap(lambda levels, u: self._field(levels)(t, x, u))(levels, u), axis=0)

    def _seen(self, u: Any, dtype: Any) -> Float[Array, "member ..."] | None:
        """Inputs and constants in standard units, for each member."""
        if u is None:
            return self.constants
        u = u if isinstance(u, jax.Array) else np.asarray(u, float)
        count = u.shape[-1]
        sides = (np.asarray(side[:count]) for side in (self.units.input_mean, self.units.input_scale))
        mean, scale = (jnp.asarray(side, dtype).reshape(*(1,) * (u.ndim - 1), count) for side in sides)
        standard = (jnp.asarray(u, dtype) - mean) / scale
        members = jax.tree.leaves(self.levels)[0].shape[0]
        standard = jnp.broadcast_to(standard, (members, *standard.shape))
        if self.constants is None:
            return standard
        shape = (*standard.shape[:-1], self.constants.shape[-1])
        spare = (1,) * (standard.ndim - 2)
        constants = jnp.broadcast_to(self.constants.reshape(members, *spare, -1), shape)
        return jnp.concatenate([standard, constants], axis=-1)

    def _field(self, levels: Levels) -> VectorField:
        specific = jax.tree.map(lambda a: a[self.environment], levels.specific)
        division = self.method.split if self.part is None else self.method.learnt
        fields = division(levels.shared, specific)
        if fields is None:
            raise InputError(f"{type(self.method).__name__} has no vector field: there is no f and no g_e")
        if self.part is None:
            return lambda t, x, u: fields[0](t, x, u) + fields[1](t, x, u)
        return fields[self.part]
