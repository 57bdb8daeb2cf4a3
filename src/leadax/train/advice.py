"""What the data or a training error call for that was not asked for: one line each, with the option to try."""

import math

import numpy as np

from ..data import Trajectories
from ..data.latent import NOTICEABLE
from ..data.layout import Layout
from ..data.noise import noise_level
from ..data.units import Units
from ..data.variogram import unexplained
from ..model import Model
from ..records import Training

# Of the variance of rates. Whole states leave less unexplained, however few and noisy they are: benchmarks/alarms.py.
TOO_MUCH = 0.2
PER_UNKNOWN = 3  # observed values that a trajectory should have for each number that is inferred of it
NOTHING_KEPT = (
    "forecasts of the validation data were not finite at any look, so what was kept has learnt nothing: try "
    "--substeps 2; a formula must be finite for all states, as `jnp.sqrt(jnp.maximum(x, 1e-6))` is"
)
FOUND_HIDDEN = (
    "a single channel that rises and falls again cannot be described by dx/dt = f(x) alone: a hidden channel beside it "
    "is inferred (--hidden 0 turns this off)"
)
MOSTLY_NOISE = 0.7  # of the spread: half of the variance of the data
FAR_BELOW = 0.5  # of the noise: smaller errors have learnt the noise by heart


def before_training(data: Trajectories, layout: Layout) -> list[str]:
    """What to say before a model is trained on these data."""
    level = 0.0 if layout.noise is None else math.sqrt(np.mean(np.square(layout.noise)))
    if level > MOSTLY_NOISE:
        return [
            f"noise is about {min(level, 1.0):.0%} of the spread of the data, as it differs from point to point: there "
            "is little to learn, and their mean may forecast as well"
        ]
    return [*_hidden_states(data, layout), *_too_many_unknowns(data, layout)]


def after_training(model: Model, data: Trajectories) -> list[str]:
    """What to say of a model that was trained on these data: whether it has learnt nothing, or their noise by heart."""
    training = model.training
    assert training is not None, "a model that was trained knows how"
    if any(step == 0 and not _was_finite(training, member) for member, step in enumerate(training.kept or ())):
        return [NOTHING_KEPT]
    if training.config.match != "trajectories" or not training.history:
        return []
    error, noise = _error(training), _noise(model.layout, data, model.units)
    if noise < NOTICEABLE or not error < FAR_BELOW * noise:
        return []
    found = f"the training error, {error:.2g} of the spread, is far below the noise, {noise:.2g}: it has learnt noise"
    return [
        f"{found}; try " + ("--noise auto" if model.layout.noise is None else "--weight-decay 0.1 or fewer --steps")
    ]


def _was_finite(training: Training, member: int) -> bool:
    """Whether forecasts of the validation data were, at any look."""
    return any(seen.validation and math.isfinite(seen.validation[member]) for seen in training.history)


def _hidden_states(data: Trajectories, layout: Layout) -> list[str]:
    # With inputs the same state may well be followed by different changes.
    if layout.hidden or layout.individual or layout.driving:
        return []
    share = unexplained(data)
    if not share > TOO_MUCH:
        return []
    return [
        f"the same state is followed by different changes ({min(share, 1.0):.0%} of their variance is unexplained): "
        "something may be hidden; try --hidden 1, --individual 1 or --inputs"
    ]


def _too_many_unknowns(data: Trajectories, layout: Layout) -> list[str]:
    unknown = layout.hidden * math.prod(data.space) + layout.individual
    values = data.observed.reshape(*data.lengths.shape, -1).sum(axis=-1)[data.lengths > 0]
    typical = int(np.median(values))
    if not unknown or PER_UNKNOWN * unknown <= typical:
        return []
    return [
        f"a trajectory has about {typical} observed values, too few to infer {unknown} hidden and individual numbers "
        "from: try fewer with --hidden and --individual"
    ]


def _error(training: Training) -> float:
    """The root mean square error in training, in standard units, of the models that were kept after some steps."""
    steps = training.kept or (training.steps,) * len(training.history[-1].error)
    at = {snapshot.step: snapshot.error for snapshot in training.history}
    last = training.history[-1].error
    learnt = [at.get(step, last)[member] for member, step in enumerate(steps) if step > 0]
    return math.sqrt(np.mean(learnt)) if learnt else math.inf


def _noise(layout: Layout, data: Trajectories, units: Units) -> float:
    """The root mean square noise of all channels, in standard units."""
    level = noise_level(data) / np.asarray(units.scale) if layout.noise is None else np.asarray(layout.noise)
    return float(np.sqrt(np.mean(level**2)))
