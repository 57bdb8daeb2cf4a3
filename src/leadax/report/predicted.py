"""Forecasts to draw: all members and environments of a model in one program."""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, PyTree

from ..data import Trajectories
from ..methods import Levels, Method
from ..methods.prepare import numbers_as_arrays, prepare
from ..model import Model
from ..rollout import Steps


def predict_first(model: Model, data: Trajectories) -> Float[np.ndarray, "env time *space channel"]:
    """Forecasts of the first trajectory of each environment from its first complete point, the mean over members.

    In the units of the data. Beyond the end of a trajectory its last forecast is repeated.
    """
    first = data.select(slice(None), 0)
    rules = {"longest": model.longest_step, "box": model.box, "dtype": model.dtype}
    with np.errstate(all="ignore"):  # states may be too large for the model, and forecasts may blow up
        batch = prepare(first, model.units, model.method, **rules)
        starts, steps = batch.states[:, 0, 0], jax.tree.map(lambda a: a[:, 0], batch.steps)
        members = _forecasts(numbers_as_arrays(model.method, model.dtype), model.for_data(first), starts, steps)
        return model.units.raw(np.asarray(members, float).mean(axis=0))


@eqx.filter_jit
def _forecasts(method: Method, levels: Levels, starts: Float[Array, "env *state"], steps: Steps) -> Array:
    def member(levels: Levels) -> Array:
        def one(specific: PyTree, start: Array, steps: Steps) -> Array:
            return method.dynamics(levels.shared, specific).forecast(start, steps)

        return jax.vmap(one)(levels.specific, starts, steps)

    return jax.vmap(member)(levels)
