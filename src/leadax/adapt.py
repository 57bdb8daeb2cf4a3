"""`adapt`: new environments from as little as one trajectory of each. It is `fit` with shared parameters fixed."""

import dataclasses
from pathlib import Path

import jax
import numpy as np
import optax

from ._types import PRNGKey
from .arrays import fingerprint
from .data import Trajectories
from .data.units import Box
from .defaults import CLIP, Defaults, chosen_for
from .describe import describe
from .errors import InputError, lookup
from .methods import Levels, OnePerEnv, Sizes
from .methods.base import repeated
from .methods.settings import positive
from .model import Model, check_fits
from .records import Config, Training
from .train import Monitor, Recipe, RunFolder, Start, fit
from .train.finish import finish
from .train.run_folder import MODEL
from .train.trainer import check_held_out

SCHEMES = ("specific", "shared-only", "scratch")


def adapt(
    model: Model,
    data: Trajectories,
    *,
    key: PRNGKey,
    scheme: str = "specific",
    steps: int = 2_500,
    test: Trajectories | None = None,
    learning_rate: float | None = None,
    optimiser: str | optax.GradientTransformation = "adam",
    recipe: Recipe | None = None,
    run: str | Path | None = None,
    monitor: Monitor = Monitor(),
) -> Model:
    """A model of new environments of the kind that `model` knows.

    **Arguments**

    - `data`: trajectories of one or more environments, as few as one of each;
    - `scheme`: `specific`: shared parameters stay as they are, to the bit, and new specific ones learn, with Ω;
      `shared-only`: shared parameters predict alone, nothing is learnt; `scratch`: One-Per-Env on the new data alone,
      with the nets of the model, to compare with;
    - the others as in `fit`. `recipe` is that of the model's protocol by default.

    In several environments at once each learns for itself, with one exception: the error is a mean over environments
    and Ω a sum, so that Ω weighs more the more there are. (Adam does not care how large gradients are.)

    What is specific, and where it starts: a new g_e for LEADS; δ = 0 for GBML and MAML; the context ξ = 0 for CoDA; the
    mean of the known codes for FT-NODE and FT-RNN. One-For-All has nothing specific, One-Per-Env nothing shared.

    >>> import jax.random as jr, numpy as np
    >>> from leadax import Leads, Trajectories, fit
    >>> t = np.linspace(0, 2, 9)
    >>> decays = lambda *rates: np.stack([np.exp(-a * t) for a in rates])[:, None, :, None]
    >>> model = fit(Leads(), Trajectories.from_arrays(t, decays(0.5, 1.0)), steps=20, key=jr.key(0))
    >>> new = adapt(model, Trajectories.from_arrays(t, decays(0.7), environments=["new"]), steps=20, key=jr.key(1))
    >>> new.environments
    ('new',)
    """
    lookup("scheme", scheme, dict.fromkeys(SCHEMES))
    positive("steps", steps)
    check_fits(data, model.state_shape, model.channels)
    if test is not None:
        check_held_out(data, test, "test")
    # In another type, shared parameters would not be the same.
    recipe = dataclasses.replace(recipe or Recipe(protocol=model.protocol), dtype=model.dtype)
    _check_levels(model, scheme)
    if scheme == "shared-only":
        return _shared_only(model, data, test, recipe, run)
    method, start, defaults = model.method, None, _defaults(model, data)
    if scheme == "scratch":
        method = _one_per_env(model)
    else:
        start = Start(_new_levels(model, data, key), ("specific",))
    return fit(
        method,
        data,
        key=key,
        steps=steps,
        seeds=model.members,
        test=test,
        learning_rate=learning_rate,
        optimiser=optimiser,
        defaults=defaults,
        recipe=recipe,
        start=start,
        run=run,
        monitor=monitor,
    )


def _check_levels(model: Model, scheme: str) -> None:
    name = type(model.method).__name__
    if scheme != "scratch" and not jax.tree.leaves(model.levels.shared):
        raise InputError(
            f"{name} shares nothing between environments: a new one can only be learnt from scratch, "
            "use the scheme `scratch`"
        )
    if scheme == "specific" and not jax.tree.leaves(model.levels.specific):
        raise InputError(
            f"{name} has nothing specific that could learn: use the scheme `shared-only`, or a model of another method"
        )


def _defaults(model: Model, data: Trajectories) -> Defaults:
    """The model's own units and steps: its shared parameters know no others."""
    longest = model.longest_step * model.units.time
    clip = model.training.config.clip if model.training else CLIP
    box = None if model.box is None else model.box.union(Box.around(data, model.units))
    return dataclasses.replace(chosen_for(data), units=model.units, longest_step=longest, clip=clip, box=box)


def _one_per_env(model: Model) -> OnePerEnv:
    """One-Per-Env with the nets of the model; a method without an architecture leaves it to the data."""
    same = {name: getattr(model.method, name) for name in ("net", "solver", "substeps") if hasattr(model.method, name)}
    return OnePerEnv(**same)


def _new_levels(model: Model, data: Trajectories, key: PRNGKey) -> Levels:
    keys = jax.random.split(jax.random.fold_in(key, 1), model.members)
    sizes = Sizes(model.state_shape, len(data.environments))
    new = lambda known, key: model.method.new_environments(known, sizes, key=key)
    return Levels(model.levels.shared, jax.vmap(new)(model.levels.specific, keys))


def _shared_only(
    model: Model, data: Trajectories, test: Trajectories | None, recipe: Recipe, run: str | Path | None
) -> Model:
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
