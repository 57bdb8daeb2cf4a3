"""Which scheme to learn a new environment by: tried on a part of its data, judged by the rest."""

import dataclasses
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from ..data import Trajectories, hold_out
from ..data.latent import WARMUP
from ..errors import InputError, RunError
from ..evaluate import evaluate
from ..model import Model
from .learner import Learner
from .schemes import can_mix

FRACTION = 0.3
TRIED = "tried"  # the folder, in that of a run, with the schemes that were tried
FEWEST_POINTS = 8
# A scheme with more parameters must be so much better to be chosen: one held-out end says little about others.
MUCH_BETTER = 0.5
GOOD_ENOUGH = 1e-3  # of the variance: no other scheme is tried then


class Outcome(NamedTuple):
    """A scheme that was tried, its error on the held-out data in standard units, and the step where it was best."""

    scheme: str
    error: float
    step: int


class Choice(NamedTuple):
    """A scheme, how many steps to learn by it, and its error on the held-out data, or why there is none."""

    scheme: str
    steps: int
    held_out: float | str


def chosen_scheme(learner: Learner, steps: int, run: Path | None) -> Choice:
    """The scheme that suits the data, with as many steps as it was best after."""
    best = best_scheme(learner, steps, run)
    if best is None:
        return Choice(candidates(learner.model)[0], steps, "there were too few points to hold any out")
    return Choice(best.scheme, min(steps, max(best.step, learner.recipe.look_every)), best.error)


def candidates(model: Model) -> list[str]:
    """The schemes that suit a model, those with the fewest parameters first."""
    shares = bool(jax.tree.leaves(model.levels.shared))
    own = sum(leaf[0, 0].size for leaf in jax.tree.leaves(model.levels.specific))
    found = ["mixture"] if can_mix(model) else []
    if shares and own:
        few = own <= 100 or bool(model.estimates(0))  # the numbers of a formula must not be lost in a mixture
        found = ["specific", *found] if few else [*found, "specific"]
    return found or ["shared-only"]


def divided(data: Trajectories, warmup: int = 1) -> tuple[Trajectories, Trajectories] | None:
    """A part to learn from and a part to judge by; None where there are too few points."""
    if data.counts.min() < 2 and data.lengths[data.lengths > 0].min() < FEWEST_POINTS:
        return None
    try:
        past, future = hold_out(data, FRACTION, warmup=warmup)
    except InputError:
        return None
    assert future is not None, "a fraction was asked for"
    if data.counts.min() >= 2:
        return past, future
    # All times are kept, without states at the end: training on all data later has the same shapes, and is not compiled
    # again.
    place = np.arange(data.times.shape[2]).reshape(-1, *(1,) * len(data.state_shape))
    cut = past.lengths.reshape(*past.lengths.shape, *(1,) * place.ndim)
    return dataclasses.replace(data, states=np.where(place < cut, data.states, np.nan)), future


def best_scheme(learner: Learner, steps: int, run: Path | None) -> Outcome | None:
    """Try all schemes on a part of the data; None where there are too few points to hold any out."""
    told = learner.recipe.warmup or (WARMUP if learner.model.warmup > 1 else 1)
    parts = divided(learner.data, told)
    if parts is None:
        return None
    if run is not None and (run / "config.json").exists() and not (run / TRIED).exists():
        raise InputError(f"{run} holds another run: choose another folder")  # before anything is learnt in vain
    best: Outcome | None = None
    for scheme in candidates(learner.model):
        outcome = _tried(scheme, learner, steps, parts, run)
        if outcome and (best is None or outcome.error < MUCH_BETTER * best.error):
            best = outcome
        if best and best.error < GOOD_ENOUGH:
            break
    if best is None:
        raise RunError("every scheme failed to learn the new environments: try a smaller learning rate")
    return best


def _tried(
    scheme: str, learner: Learner, steps: int, parts: tuple[Trajectories, Trajectories], run: Path | None
) -> Outcome | None:
    past, future = parts
    folder = None if run is None else run / TRIED / scheme
    try:
        tried = learner.learn(scheme, past, steps, folder, validation=future)
    except RunError as error:
        learner.monitor.warn(f"the scheme `{scheme}` failed: {error}")
        return None
    evaluation = evaluate(tried, future, protocol="clean")
    counts, squares = evaluation.channel_counts.sum(axis=(0, 1, 2)), np.square(learner.model.units.scale)
    error = float(np.mean(evaluation.channel_sums.sum(axis=(1, 2, 3)) / np.maximum(counts, 1) / squares))
    kept = tried.training.kept if tried.training else None
    return Outcome(scheme, error, round(float(np.mean(kept))) if kept else 0)
