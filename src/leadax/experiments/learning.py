"""What every table trains and measures: a method on some data in a folder, and the rows about it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax.random as jr
import numpy as np

from ..data import Trajectories
from ..evaluation import evaluate
from ..fitting import fit
from ..methods import Method
from ..model import Model
from .errors import error_rows
from .protocols import PROTOCOLS
from .rows import Row
from .study import Options, waiting_lock

MODEL = "model.safetensors"


def learn(
    method: Method, train: Trajectories, test: Trajectories | None, options: Options, folder: Path, **how: Any
) -> Model:
    """The model of a run: found finished in its folder, resumed or trained.

    Several targets may want the same model at once: one process trains it, the others wait.

    **Arguments**

    - `how`: further options of `fit`.
    """
    protocol = PROTOCOLS[options.protocol]
    folder.mkdir(parents=True, exist_ok=True)
    with waiting_lock(folder / ".model.lock"):
        if (folder / MODEL).exists():
            return Model.load(folder / MODEL)
        model = fit(
            method,
            train,
            test=test,
            key=jr.key(options.seed),
            steps=options.steps,
            seeds=options.seeds,
            protocol=protocol.rules,
            run=folder,
            checkpoint_every=checkpoint_every(options.steps),
            **{"settings": protocol.settings(train), **protocol.training(train, options.steps), **how},
        )
        model.save(folder / MODEL)
    return model


def checkpoint_every(steps: int) -> int:
    """Few steps are steps that take long: who goes on after a kill should not lose hours.

    >>> checkpoint_every(120_000), checkpoint_every(600)
    (1000, 30)
    """
    return min(1_000, max(20, steps // 20))


def result_rows(setting: Row, model: Model, train: Trajectories, test: Trajectories) -> Sequence[Row]:
    """A row for each environment and seed: last errors, what they cost, and the smallest test error on the way."""
    looks = model.about["looks"]
    cost = {"steps": model.about["steps"], "parameters": model.parameters, "seconds": looks[-1]["seconds"]}
    rows = error_rows({**setting, **cost}, evaluate(model, train), evaluate(model, test))
    seen = [look["test"] for look in looks if look["test"] is not None]
    if not seen:
        return rows
    smallest = np.fmin.reduce(seen).tolist()  # a look that is not a number is passed over
    return [{**row, "mse_minimum": smallest[row["seed"]]} for row in rows]


def setting_of(system: str, method: str, train: Trajectories, protocol: str) -> dict[str, Any]:
    """What a row is about; n is in points per environment."""
    m, n = len(train.environments), train.states.shape[1] * train.states.shape[2]
    return {"system": system, "method": method, "m": m, "n": n, "protocol": protocol}
