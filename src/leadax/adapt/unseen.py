"""A model of environments of which only covariates are known: what is shared forecasts with them, nothing is learnt."""

import dataclasses
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ..arrays import fingerprint
from ..errors import InputError
from ..methods import Levels
from ..methods.base import repeated
from ..model import Model
from ..records import Reliability, Training
from ..train import RunFolder
from ..train.run_folder import MODEL
from .shared_only import average_population, nothing_learnt

Covariates = Mapping[str, Mapping[str, float]]


def unseen(model: Model, covariates: Covariates, run: Path | None) -> Model:
    """The model for environments that nothing was observed of.

    - `covariates`: by environment and name, in the units of the data.
    """
    rows = {name: _row(model, name, given) for name, given in covariates.items()}
    if not rows:
        raise InputError("there is no environment to adapt to: give data, or the covariates of at least one")
    count = len(rows)
    neutral = lambda known: repeated(model.method.without_specific(known), count)
    specific = jax.vmap(neutral, axis_size=model.members)(model.levels.specific)
    config = dataclasses.replace(nothing_learnt(model), train=fingerprint({k: np.array(v) for k, v in rows.items()}))
    verdict = Reliability(
        False, "nothing was observed there: forecasts follow from covariates alone" + _beyond(model, rows)
    )
    new = dataclasses.replace(
        model,
        levels=Levels(model.levels.shared, specific, average_population(model.levels.local, count)),
        environments=tuple(rows),
        training=Training(config, 0, reliability=verdict),
        covariates=tuple(rows.values()),
    )
    if run is not None:
        _leave(run, new)
    return new


def _leave(run: Path, model: Model) -> None:
    """Save a model that there are no errors of."""
    assert model.training is not None
    assert model.training.reliability is not None
    document = {"steps": 0, "seeds": model.members, "parameters": model.parameter_count, "run": str(run)}
    with RunFolder(run).locked() as folder:
        folder.agree(model.training.config)
        if not folder.finished:
            model.save(folder.path / MODEL)
            folder.write_result(document | dataclasses.asdict(model.training.reliability))


def _row(model: Model, environment: str, given: Mapping[str, Any]) -> tuple[float, ...]:
    """The covariates of one environment in the model's order."""
    wanted = model.layout.covariates
    if not wanted:
        raise InputError("the model was trained without covariates: a new environment needs a trajectory of its own")
    if set(given) != set(wanted):
        raise InputError(
            f"environment `{environment}` needs the covariates {', '.join(wanted)}, got {', '.join(given) or 'none'}"
        )
    for name, value in given.items():
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise InputError(f"the covariate `{name}` of environment `{environment}` must be a number, got {value!r}")
    return tuple(float(given[name]) for name in wanted)


def _beyond(model: Model, rows: Mapping[str, tuple[float, ...]]) -> str:
    """A warning where a covariate is beyond those trained with."""
    known = np.array(model.covariates)
    low, high = known.min(axis=0), known.max(axis=0)
    for environment, row in rows.items():
        for name, value, least, most in zip(model.layout.covariates, row, low, high, strict=True):
            if not least <= value <= most:
                return f"; `{name}` = {value:g} of `{environment}` is beyond those trained with, {least:g} to {most:g}"
    return ""
