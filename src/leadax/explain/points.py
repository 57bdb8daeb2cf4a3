"""Where a learnt field is looked at: the states of data, or the region that a model was trained in."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from ..data import Trajectories
from ..data.forcing import raw_inputs
from ..errors import InputError
from ..model import Model

MOST = 2_000


class Places(NamedTuple):
    """States of one environment in the units of the data, when they were, and the inputs there; None for none."""

    states: Float[np.ndarray, "point channel"]
    times: Float[np.ndarray, " point"]
    inputs: Float[np.ndarray, "point input"] | None


def places(model: Model, data: Trajectories | None, environment: str) -> Places:
    """The complete states of an environment; without data, states evenly drawn from the region of training."""
    if len(model.state_shape) > 1:
        raise InputError("`explain` looks for formulas of a few numbers: it does not work for fields on a grid")
    if model.layout.hidden or model.layout.individual:
        raise InputError("`explain` needs states that were observed: it does not work with hidden states or constants")
    return _within(model) if data is None else _observed(model, data, environment)


def _observed(model: Model, data: Trajectories, environment: str) -> Places:
    own = data.select(environment)
    whole = own.observed.all(axis=-1)
    driving = len(model.layout.driving)
    values = raw_inputs(model.with_covariates(own), model.layout)
    every = max(1, int(np.ceil(whole.sum() / MOST)))
    inputs = None if values is None or not driving else values[whole][::every, :driving]
    return Places(own.states[whole][::every], own.times[whole][::every], inputs)


def _within(model: Model) -> Places:
    if model.box is None:
        raise InputError("the model does not know the region of its data: give the data too, with `--data FILE`")
    if model.layout.driving:
        raise InputError("the model has inputs, whose range it does not know: give the data too, with `--data FILE`")
    low, high = np.array(model.box.low), np.array(model.box.high)
    third = (high - low) / 3  # the box is three times as wide as the range of the data
    drawn = np.random.default_rng(0).uniform(low + third, high - third, (MOST, len(low)))
    return Places(model.units.raw(drawn), np.full(MOST, model.units.origin), None)
