"""Schemes to learn a new environment by: which parameters learn, and where they start."""

import dataclasses

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, PyTree

from .._types import PRNGKey
from ..arrays import on_device
from ..data import Trajectories
from ..data.layout import Layout
from ..data.units import Box
from ..defaults import Defaults, chosen_for
from ..describe import describe
from ..errors import InputError
from ..methods import Known, Levels, Method, OnePerEnv, Sizes
from ..methods.mixture import MOST_DIRECTIONS, Mixture, family_of
from ..methods.prepare import numbers_as_arrays
from ..model import Model
from ..train import ScheduledSampling, Start

POINTS = 256  # at which the fields of known environments are compared


def set_up(scheme: str, model: Model, data: Trajectories, key: PRNGKey) -> tuple[Method, Start | None]:
    """The method of a scheme and where it starts: with what is shared fixed, or anew."""
    check_scheme(scheme, model)
    if scheme == "scratch":
        return _one_per_env(model), None
    if scheme == "mixture":
        return _mixture(model, data, key)
    return model.method, Start(_new_levels(model, data, key), ("specific",))


def check_scheme(scheme: str, model: Model) -> None:
    """An `InputError` if a model has nothing that the scheme could use."""
    name = type(model.method).__name__
    if scheme in ("specific", "shared-only") and not jax.tree.leaves(model.levels.shared):
        raise InputError(
            f"{name} shares nothing between environments: a new one can only be learnt as a mixture of known ones or "
            "from scratch, use the scheme `mixture` or `scratch`"
        )
    if scheme == "specific" and not jax.tree.leaves(model.levels.specific):
        raise InputError(
            f"{name} has nothing specific that could learn: use the scheme `shared-only`, or a model of another method"
        )
    if scheme == "mixture" and not can_mix(model):
        raise InputError(f"{name} of {len(model.environments)} environments cannot be mixed: use another scheme")


def can_mix(model: Model) -> bool:
    """Whether there are several environments, with vector fields that differ."""
    several = len(model.environments) > 1 and bool(jax.tree.leaves(model.levels.specific))
    return several and model.has_field


def defaults_of(model: Model, data: Trajectories) -> Defaults:
    """The model's own units and steps: its shared parameters know no others."""
    longest = model.longest_step * model.units.time
    chosen, config = chosen_for(data), model.training.config if model.training else None
    if config is not None:
        as_in_the_paper = config.sampling == describe(ScheduledSampling())
        restarts = None if as_in_the_paper else chosen.restart_share
        chosen = dataclasses.replace(chosen, clip=config.clip, weight_decay=config.weight_decay, restart_share=restarts)
    box = None if model.box is None else model.box.union(Box.around(data, model.units))
    same = {"units": model.units, "layout": model.layout}
    return dataclasses.replace(chosen, **same, longest_step=longest, box=box)


def states_of(model: Model, data: Trajectories) -> np.ndarray:
    """All states that were observed whole, in standard units, one per row."""
    whole = data.observed.reshape(*data.times.shape, -1).all(axis=-1)
    return model.units.standard(data.states[whole])


def _one_per_env(model: Model) -> Method:
    """One-Per-Env with the nets of the model; a method without an architecture leaves it to the data."""
    same = {name: getattr(model.method, name) for name in ("net", "solver", "substeps") if hasattr(model.method, name)}
    alone = OnePerEnv(**same)
    return dataclasses.replace(model.method, of=alone) if isinstance(model.method, Known) else alone


def _new_levels(model: Model, data: Trajectories, key: PRNGKey) -> Levels:
    keys = jax.random.split(jax.random.fold_in(key, 1), model.members)
    layout = model.layout
    sizes = Sizes(layout.state_shape(model.state_shape), len(data.environments), layout.seen)
    method = numbers_as_arrays(model.method, model.dtype)
    return Levels(model.levels.shared, _first_specific(method, sizes, model.levels.specific, keys))


@eqx.filter_jit
def _first_specific(method: Method, sizes: Sizes, known: PyTree, keys: PRNGKey) -> PyTree:
    """The specific level that new environments start from, for each member."""
    return jax.vmap(lambda known, key: method.new_environments(known, sizes, key=key))(known, keys)


def _mixture(model: Model, data: Trajectories, key: PRNGKey) -> tuple[Mixture, Start]:
    """At most a quarter as many numbers as values were observed in an environment."""
    known = len(model.environments)
    fewest = int(data.observed.sum(axis=tuple(range(1, data.states.ndim))).min())
    mixture = Mixture(model.method, known, max(1, min(MOST_DIRECTIONS, known - 1, fewest // 4)))
    states, inputs = points_around(states_of(model, data), model.layout, key)
    points = on_device(states, model.dtype), None if inputs is None else on_device(inputs, model.dtype)
    numbers = on_device(np.zeros((model.members, len(data.environments), mixture.count)), model.dtype)
    families = _families(numbers_as_arrays(mixture, model.dtype), model.levels, *points)
    return mixture, Start(Levels(families, numbers), ("specific",))


@eqx.filter_jit
def _families(mixture: Mixture, levels: Levels, states: Array, inputs: Array | None) -> PyTree:
    """What is mixed, for each member."""
    return jax.vmap(lambda levels: family_of(mixture, levels.shared, levels.specific, states, inputs))(levels)


def points_around(states: np.ndarray, layout: Layout, key: PRNGKey) -> tuple[np.ndarray, np.ndarray | None]:
    """Some of the states, and others near them: fields are to be compared in a region, not along one curve.

    What is hidden, and what acts from outside, is of size one: it is drawn at random.
    """
    draw = lambda number, *shape: np.asarray(jax.random.normal(jax.random.fold_in(key, number), shape))
    picked = np.asarray(jax.random.randint(jax.random.fold_in(key, 2), (POINTS,), 0, len(states)))
    near = states[picked] + (0.5 * draw(3, POINTS, *states.shape[1:]) if states.ndim == 2 else 0.0)
    hidden = draw(4, POINTS, *states.shape[1:-1], layout.hidden)
    inputs = draw(5, POINTS, layout.seen) if layout.seen else None
    return np.concatenate([near, hidden], axis=-1), inputs
