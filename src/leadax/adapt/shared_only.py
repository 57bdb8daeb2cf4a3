"""A model of new environments in which nothing was learnt: what is shared predicts alone."""

from pathlib import Path

import jax
import numpy as np

from ..arrays import fingerprint
from ..data import Trajectories
from ..describe import describe
from ..methods import Levels
from ..methods.base import repeated
from ..model import Model
from ..records import Config, Training
from ..train import Recipe, RunFolder
from ..train.finish import finish
from ..train.run_folder import MODEL


def shared_only(
    model: Model, data: Trajectories, test: Trajectories | None, recipe: Recipe, run: str | Path | None
) -> Model:
    """The model with specific parameters that change nothing, for the environments of the data."""
    neutral = lambda known: repeated(model.method.without_specific(known), len(data.environments))
    specific = jax.vmap(neutral, axis_size=model.members)(model.levels.specific)
    config = _nothing_learnt(model, data, test, recipe)
    new = Model(
        levels=Levels(model.levels.shared, specific),
        method=model.method,
        units=model.units,
        environments=data.environments,
        channels=model.channels,
        state_shape=model.state_shape,
        longest_step=model.longest_step,
        box=model.box,
        training=Training(config, 0),
    )
    if run is None:
        return new
    folder = RunFolder(run)
    with folder.locked():
        folder.agree(config)
        if folder.finished:
            folder.result()  # refuses a damaged one
            return Model.load(folder.path / MODEL, method=model.method)
        finish(folder, new, data, test)
    return new


def _nothing_learnt(model: Model, data: Trajectories, test: Trajectories | None, recipe: Recipe) -> Config:
    """The record of a model whose shared parameters predict alone."""
    return Config(
        method=describe(model.method),
        units=describe(model.units),
        steps=0,
        learning_rate=0.0,
        decay="constant",
        optimiser="none",
        clip=None,
        longest_step=None,
        box=describe(model.box),
        sampling={},
        batch_size=None,
        match=recipe.match,
        trainable=(),
        look_every=recipe.look_every,
        seeds=model.members,
        key=(),
        protocol=recipe.protocol,
        dtype=str(np.dtype(model.dtype)),
        train=data.fingerprint,
        test=None if test is None else test.fingerprint,
        start=fingerprint(model.levels),
    )
