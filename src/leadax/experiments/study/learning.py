"""What every target trains and measures: a method on some data in a folder, and the rows about it."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax.random as jr
import optax

from ..._locks import waiting as waiting_lock
from ..._types import PRNGKey
from ...data import Trajectories
from ...data.units import Units
from ...describe import describe
from ...evaluate import evaluate
from ...methods import Method
from ...model import Model
from ...train import ScheduledSampling, fit
from ..results.rows import Row
from ..results.summary import error_rows
from .mirrored import with_mirror_images
from .options import Options
from .protocols import PROTOCOLS


class Contender(NamedTuple):
    """A method that takes part in an experiment.

    - `standardised`: whether it is given states in units of their spread even where the paper's settings have the
      units of the data;
    - `learning_rate`: another one than the protocol's; `weight_decay`: γ of `leadax.train.loss.loss`;
    - `last_restart`: the chance of a restart to which scheduled sampling falls at the last step, in place of the
      protocol's schedule;
    - `mirrored`: whether it also learns from mirror images of its training data;
    - `system`: the only one that these settings are meant for; None for all.
    """

    method: Method
    standardised: bool = False
    learning_rate: float | None = None
    weight_decay: float | None = None
    last_restart: float | None = None
    mirrored: bool = False
    system: str | None = None

    def changes(self) -> dict[str, Any]:
        """What it changes in the way to train."""
        names = ("learning_rate", "weight_decay", "last_restart")
        changes = {name: value for name in names if (value := getattr(self, name)) is not None}
        return changes | ({"mirrored": True} if self.mirrored else {})


class Data(NamedTuple):
    """What is learnt from and tested on, and the system that it comes from."""

    system: str
    train: Trajectories
    test: Trajectories


def learn(
    contender: Contender,
    data: Data,
    options: Options,
    folder: Path,
    *,
    optimiser: optax.GradientTransformation | None = None,
    look_at_test: bool = True,
    validation: Trajectories | None = None,
) -> Model:
    """The model of a run: trained, resumed, or found finished in its folder.

    Several targets may want the same model at once: one process trains it, the others wait.

    **Arguments**

    - `optimiser`: another one than the protocol's;
    - `look_at_test`: whether to measure the test error during training, not only afterwards;
    - `validation`: the model kept is the best on these data, not the last one.
    """
    protocol = PROTOCOLS[options.protocol]
    defaults = protocol.defaults(data.system, data.train)
    if contender.standardised:
        defaults = dataclasses.replace(defaults, units=Units.measured(data.train))
    how = training(data.system, options, look_every=50 if look_at_test else options.steps)
    how = _changed(how, contender, options.steps)
    if optimiser is not None:
        how["optimiser"] = optimiser
    folder.mkdir(parents=True, exist_ok=True)
    with waiting_lock(folder / ".model.lock"):
        return fit(
            contender.method,
            with_mirror_images(data.train) if contender.mirrored else data.train,
            test=data.test if look_at_test else None,
            validation=validation,
            key=_key(options),
            steps=options.steps,
            seeds=options.seeds,
            defaults=defaults,
            run=folder,
            **how,
        )


def _key(options: Options) -> PRNGKey:
    """Of the weights: further seeds have one of their own."""
    key = jr.key(options.seed)
    return jr.fold_in(key, options.first_seed) if options.first_seed else key


def training(system: str, options: Options, **recipe: Any) -> dict[str, Any]:
    """How the protocol trains on a system: arguments of `fit` and `adapt`."""
    recipe = {"checkpoint_every": checkpoint_every(options.steps), **recipe}
    return PROTOCOLS[options.protocol].training(system, options.steps, **recipe)


def _changed(how: dict[str, Any], contender: Contender, steps: int) -> dict[str, Any]:
    """The protocol's way to train with what a contender changes in it."""
    changes: dict[str, Any] = {}
    if contender.weight_decay is not None:
        changes["weight_decay"] = contender.weight_decay
    if contender.last_restart is not None:
        changes["sampling"] = ScheduledSampling.falling_to(contender.last_restart, steps)
    rate = {} if contender.learning_rate is None else {"learning_rate": contender.learning_rate}
    return how | rate | {"recipe": dataclasses.replace(how["recipe"], **changes)}


def checkpoint_every(steps: int) -> int:
    """Few steps are steps that take long: a run that was killed should not lose hours.

    >>> checkpoint_every(120_000), checkpoint_every(600)
    (1000, 30)
    """
    return min(1_000, max(20, steps // 20))


def settings_of(contender: Contender, system: str, options: Options) -> dict[str, Any]:
    """What `learn` is asked for, as JSON, as far as it does not depend on data."""
    return {
        "method": describe(contender.method),
        "standardised": contender.standardised,
        "protocol": PROTOCOLS[options.protocol].describe(system),
        "steps": options.steps,
        "seeds": options.seeds,
        "seed": options.seed,
        **({"first_seed": options.first_seed} if options.first_seed else {}),
        **contender.changes(),
    }


def result_rows(columns: Row, model: Model, data: Data, first_seed: int = 0) -> Sequence[Row]:
    """A row for each environment and seed: last errors, their cost, and the smallest test error during training."""
    assert model.training is not None, "a model that was trained knows how"
    done = model.training
    cost = {"steps": done.steps, "parameters": model.parameter_count, "seconds": done.seconds}
    rows = error_rows({**columns, **cost}, evaluate(model, data.train), evaluate(model, data.test))
    smallest = done.smallest_test_errors
    minimum = lambda seed: {} if smallest is None else {"mse_minimum": smallest[seed]}
    return [{**row, "seed": first_seed + row["seed"], **minimum(row["seed"])} for row in rows]


def columns_of(system: str, method: str, train: Trajectories, protocol: str) -> dict[str, Any]:
    """What a row is about; n counts points per environment."""
    m, n = len(train.environments), train.states.shape[1] * train.states.shape[2]
    return {"system": system, "method": method, "m": m, "n": n, "protocol": protocol}
