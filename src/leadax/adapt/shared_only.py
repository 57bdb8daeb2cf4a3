"""A model of new environments in which nothing was learnt: what is shared predicts alone."""

import dataclasses
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from ..arrays import fingerprint
from ..data import Trajectories
from ..data.forcing import covariate_rows
from ..describe import describe
from ..methods import Levels
from ..methods.base import repeated
from ..methods.population import Population
from ..model import Model
from ..records import Config, Training
from ..train import Recipe, RunFolder
from ..train.finish import finish, finished_model
from ..train.fit import Conclude


def shared_only(
    model: Model, data: Trajectories, test: Trajectories | None, recipe: Recipe, run: Path | None, conclude: Conclude
) -> Model:
    """The model with specific parameters that change nothing, for the environments of the data."""
    neutral = lambda known: repeated(model.method.without_specific(known), len(data.environments))
    specific = jax.vmap(neutral, axis_size=model.members)(model.levels.specific)
    nothing = nothing_learnt(model, match=recipe.match, look_every=recipe.look_every, protocol=recipe.protocol)
    config = dataclasses.replace(nothing, train=data.fingerprint, test=None if test is None else test.fingerprint)
    local = model.levels.local
    new = dataclasses.replace(
        model,
        levels=Levels(model.levels.shared, specific, average_population(local, len(data.environments))),
        environments=data.environments,
        training=Training(config, 0),
        covariates=covariate_rows(data, model.layout),
    )
    if run is None:
        return conclude(new)
    with RunFolder(run).locked() as folder:
        folder.agree(config)
        if folder.finished:
            return finished_model(folder, model.method)
        new = conclude(new)
        finish(folder, new, data, test)
        return new


def average_population(local: PyTree, environments: int) -> PyTree:
    """The population of trajectories of an environment of which nothing is known: that of all known ones."""
    if not isinstance(local, Population):
        return local
    mean = lambda a: jnp.broadcast_to(a.mean(axis=1, keepdims=True), (len(a), environments, *a.shape[2:]))
    return local._replace(start=mean(local.start), individual=jax.tree.map(mean, local.individual))


def nothing_learnt(
    model: Model, *, match: str = "trajectories", look_every: int = 50, protocol: str | None = None
) -> Config:
    """The record of a model whose shared parameters predict alone, but for the data."""
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
        layout=describe(model.layout),
        warmup=model.warmup,
        sampling={},
        batch_size=None,
        match=match,
        trainable=(),
        look_every=look_every,
        seeds=model.members,
        key=(),
        protocol=protocol or model.protocol,
        dtype=str(np.dtype(model.dtype)),
        train="",
        test=None,
        start=fingerprint(model.levels),
    )
