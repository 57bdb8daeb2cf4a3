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

    - `part`: 0 for f, 1 for g_e.
    """

    levels: Levels
    method: Method = eqx.field(static=True)
    units: Units = eqx.field(static=True)
    environment: int = eqx.field(static=True)
    part: int = eqx.field(static=True)

    def __call__(self, x: Float[Any, "*state"], t: float | Array = 0.0, u: Array | None = None) -> Float[Array, "..."]:
        """The tangent at a state; at a time and with inputs where they matter."""
        dtype = jax.tree.leaves(self.levels)[0].dtype
        x = x if isinstance(x, jax.Array) else np.asarray(x, float)
        standard = jnp.asarray(self.units.standard(x), dtype)
        time = jnp.asarray(self.units.clock(t), dtype)
        tangents = jax.vmap(lambda levels: self._field(levels)(time, standard, u))(self.levels)
        return self.units.raw_tangent(jnp.mean(tangents, axis=0))

    def _field(self, levels: Levels) -> VectorField:
        specific = jax.tree.map(lambda a: a[self.environment], levels.specific)
        fields = self.method.split(levels.shared, specific)
        if fields is None:
            raise InputError(f"{type(self.method).__name__} has no vector field: there is no f and no g_e")
        return fields[self.part]
