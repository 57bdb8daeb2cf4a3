"""Forecasts to draw: all members and environments of a model in one program."""

import numpy as np
from jaxtyping import Float

from ..data import Trajectories
from ..evaluate.errors import chosen_warmup, forecasts, known_points
from ..model import Model


def predict_first(model: Model, data: Trajectories) -> Float[np.ndarray, "env time *space channel"]:
    """Forecasts of the first trajectory of each environment from its first complete point, the mean over members.

    In the units of the data. Beyond the end of a trajectory its last forecast is repeated.
    """
    first = data.select(slice(None), 0)
    with np.errstate(all="ignore"):  # states may be too large for the model, and forecasts may blow up
        batch = model.batch(first)
        told = chosen_warmup(None, model.warmup, first)
        members = forecasts(model.numbers, model.for_data(first), batch, known_points(batch, told))
        return model.units.raw(np.asarray(members, float).mean(axis=0)[:, 0, ..., : len(model.channels)])
