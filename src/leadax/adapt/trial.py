"""Which way to learn a new environment: tried on a part of its data, judged by the rest."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

from ..data import Trajectories, hold_out
from ..errors import InputError, RunError
from ..model import Model
from ..train import Monitor
from .ways import can_mix

FRACTION = 0.3
TRIED = "tried"  # the folder, in that of a run, with the ways that were tried
FEWEST_POINTS = 8
# A way with more parameters must be so much better to be chosen: one held-out end says little about other trajectories.
MUCH_BETTER = 0.5


class Outcome(NamedTuple):
    """A way that was tried, its error on the held-out data in standard units, and the step where it was best."""

    scheme: str
    error: float
    step: int


# (scheme, training data, held-out data, folder) -> the model.
Learn = Callable[[str, Trajectories, Trajectories, Path | None], Model]


def candidates(model: Model) -> list[str]:
    """The ways that suit a model, those with the fewest parameters first."""
    shares = bool(jax.tree.leaves(model.levels.shared))
    own = sum(leaf[0, 0].size for leaf in jax.tree.leaves(model.levels.specific))
    found = ["mixture"] if can_mix(model) else []
    if shares and own:
        found = [*found, "specific"] if own > 100 else ["specific", *found]
    return found or ["shared-only"]


def divided(data: Trajectories) -> tuple[Trajectories, Trajectories] | None:
    """A part to learn from and a part to judge by; None where there are too few points."""
    if data.counts.min() < 2 and data.lengths[data.lengths > 0].min() < FEWEST_POINTS:
        return None
    try:
        past, future = hold_out(data, FRACTION)
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


def best_way(model: Model, data: Trajectories, learn: Learn, run: Path | None, monitor: Monitor) -> Outcome | None:
    """Try all ways on a part of the data; None where there are too few points to hold any out."""
    parts = divided(data)
    if parts is None:
        return None
    if run is not None and (run / "config.json").exists() and not (run / TRIED).exists():
        raise InputError(f"{run} holds another run: choose another folder")  # before anything is learnt in vain
    best: Outcome | None = None
    for scheme in candidates(model):
        outcome = _tried(scheme, model, parts, learn, run, monitor)
        if outcome and (best is None or outcome.error < MUCH_BETTER * best.error):
            best = outcome
    if best is None:
        raise RunError("every way to learn the new environments failed: try a smaller learning rate")
    return best


def _tried(
    scheme: str,
    model: Model,
    parts: tuple[Trajectories, Trajectories],
    learn: Learn,
    run: Path | None,
    monitor: Monitor,
) -> Outcome | None:
    from ..evaluate import evaluate

    try:
        tried = learn(scheme, *parts, None if run is None else run / TRIED / scheme)
    except RunError as error:
        monitor.warn(f"the scheme `{scheme}` failed: {error}")
        return None
    evaluation = evaluate(tried, parts[1], protocol="clean")
    counts, squares = evaluation.channel_counts.sum(axis=(0, 1, 2)), np.square(model.units.scale)
    error = float(np.mean(evaluation.channel_sums.sum(axis=(1, 2, 3)) / np.maximum(counts, 1) / squares))
    kept = tried.training.kept if tried.training else None
    return Outcome(scheme, error, round(float(np.mean(kept))) if kept else 0)
