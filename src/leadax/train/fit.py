"""`fit`: from a method, data and a few choices to a training run, and from that to a model."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import optax

from .._types import PRNGKey
from ..data import Trajectories
from ..data.latent import Latent
from ..defaults import Defaults
from ..errors import InputError
from ..methods import Method
from ..model import Model
from .advice import FOUND_HIDDEN, after_training, before_training
from .finish import finish, finished_model
from .optimisers import Times
from .recipe import Monitor, Recipe, Start
from .request import Request, chosen_defaults
from .run_folder import RunFolder
from .trainer import Trainer

Conclude: TypeAlias = Callable[[Model], Model]


def fit(
    method: Method,
    train: Trajectories,
    *,
    key: PRNGKey,
    steps: int | None = None,
    seeds: int = 1,
    test: Trajectories | None = None,
    validation: Trajectories | None = None,
    learning_rate: float | Times | None = None,
    optimiser: str | optax.GradientTransformation | None = None,
    defaults: Defaults | None = None,
    latent: Latent | None = None,
    covariates: Sequence[str] = (),
    recipe: Recipe = Recipe(),
    start: Start | None = None,
    run: str | Path | None = None,
    monitor: Monitor = Monitor(),
) -> Model:
    """Learn a model of all environments: minimise the error of trajectories + Ω/λ.

    **Arguments**

    - `method`: `Leads()`, `OneForAll()`, …; what it leaves open is chosen from the data;
    - `key`: a `jax.random` key; the same key gives the same bits on the same machine;
    - `steps`: gradient steps, by default 12 000, or 1 000 for fields and where data are noisy or a polynomial leaves
      little to learn;
      `seeds`: the number of members, trained at once from different random weights;
    - `test`: evaluated during training, never learnt from; `validation`: the model kept is the best on these data (see
      `leadax.hold_out`), not the last one;
    - `learning_rate`: the highest during training, by default 1e-3, less where a polynomial explains nearly all of the
      data (`leadax.trend`), `leadax.train.Times(3)` for three times that; `optimiser`: `adam`, or `muon`, by default
      for fields, then with 1e-2; or an Optax
      optimiser, which has a learning rate of its own and is recorded as `custom`: resume with the same;
    - `defaults`: what the method leaves open; `leadax.preset("lotka-volterra", train)` has the paper's;
    - `latent`: what is to be inferred of each trajectory, see `Latent`: by default its start, if the data are noisy,
      and a hidden channel, if a single one rises and falls as no field of it could (`leadax.trend.needs_hidden`);
      `covariates`: the parameters of environments that the vector field is to see;
    - `recipe`: further choices, see `Recipe`; `start`: begin from these parameters instead of random ones;
    - `run`: a folder for checkpoints, metrics, the model and its errors. An unfinished run there is resumed, the model
      of a finished one is returned;
    - `monitor`: who is told of progress.

    >>> import jax.random as jr, numpy as np
    >>> from leadax import Leads, Linear, Trajectories
    >>> t = np.linspace(0, 2, 9)
    >>> x = np.stack([np.exp(-a * t) for a in (0.5, 1.0)])[:, None, :, None]
    >>> model = fit(Leads(net=Linear), Trajectories.from_arrays(t, x), steps=20, key=jr.key(0))
    >>> model.environments
    ('e0', 'e1')
    """
    chosen = chosen_defaults(train, defaults, latent, covariates, may_hide=may_hide(method, recipe))
    request = Request(train, key, steps, seeds, test, validation, optimiser, chosen, recipe, start)
    return carry_out(request, method, learning_rate, run, monitor)


def may_hide(method: Method, recipe: Recipe) -> bool:
    """Whether a hidden channel may be added that nobody asked for."""
    return getattr(method, "known", None) is None and recipe.match == "trajectories"


def usual_steps(method: Method, train: Trajectories, *, key: PRNGKey, defaults: Defaults | None = None) -> int:
    """The number of gradient steps that `fit` takes if none is given."""
    chosen = chosen_defaults(train, defaults, None, (), may_hide=may_hide(method, Recipe()))
    request = Request(train, key, None, 1, None, None, None, chosen, Recipe(), None)
    return Trainer.of(request, [method], [None]).request.number_of_steps


def carry_out(
    request: Request,
    method: Method,
    learning_rate: float | Times | None,
    run: str | Path | None,
    monitor: Monitor,
    conclude: Conclude = lambda model: model,
) -> Model:
    """Train what was asked for, and leave everything in the run's folder.

    **Arguments**

    - `conclude`: what is added to the model once it is trained, before it is saved.
    """
    trainer = Trainer.of(request, [method], [learning_rate])
    if run is None:
        return conclude(_advised(trainer, monitor, None))
    with RunFolder(run, monitor.warn).locked() as folder:
        folder.agree(trainer.configs[0])
        if folder.finished:
            return finished_model(folder, trainer.methods[0])
        model = conclude(_advised(trainer, monitor, folder))
        finish(folder, model, request.train, request.test, request.validation)
        return model


def _advised(trainer: Trainer, monitor: Monitor, folder: RunFolder | None) -> Model:
    """The trained model; whoever listens hears what the data call for that was not asked for."""
    data, layout = trainer.request.train, trainer.request.layout
    # Who starts from a trained model has been told before.
    told = monitor.warns and trainer.request.start is None
    if told and trainer.request.defaults.found_hidden:
        monitor.warn(FOUND_HIDDEN)
    for text in before_training(data, layout) if told else ():
        monitor.warn(f"warning: {text}")
    model = trainer.trained(monitor, folder)[0]
    for text in after_training(model, data) if told else ():
        monitor.warn(f"warning: {text}")
    return model


def fit_side_by_side(
    methods: Sequence[Method],
    train: Trajectories,
    *,
    key: PRNGKey,
    steps: int | None = None,
    seeds: int = 1,
    test: Trajectories | None = None,
    validation: Trajectories | None = None,
    learning_rates: Sequence[float | Times] | None = None,
    optimiser: str | optax.GradientTransformation | None = None,
    defaults: Defaults | None = None,
    latent: Latent | None = None,
    covariates: Sequence[str] = (),
    recipe: Recipe = Recipe(),
    monitor: Monitor = Monitor(),
) -> list[Model]:
    """Train candidates that differ in numbers only (λ, α, learning rate) in one program, as seeds are; a model of each.

    **Arguments**

    - `methods`: one per candidate; `learning_rates`: one per candidate too, by default as in `fit`;
    - the others as in `fit`.

    >>> import jax.random as jr, numpy as np
    >>> from leadax import Leads, Linear, Trajectories
    >>> t = np.linspace(0, 2, 9)
    >>> data = Trajectories.from_arrays(t, np.stack([np.exp(-a * t) for a in (0.5, 1.0)])[:, None, :, None])
    >>> candidates = [Leads(net=Linear, penalty_weight=w) for w in (1e-5, 1e-3)]
    >>> [model.method.penalty_weight for model in fit_side_by_side(candidates, data, steps=20, key=jr.key(0))]
    [1e-05, 0.001]
    """
    if not isinstance(methods, Sequence) or not methods:
        raise InputError("there is nothing to train: `methods` must be a list of at least one method")
    if learning_rates is not None and np.shape(learning_rates)[:1] != (len(methods),):
        count = np.size(learning_rates)
        raise InputError(f"`learning_rates` must have one number per method, got {count} for {len(methods)}")
    rates = [None] * len(methods) if learning_rates is None else list(learning_rates)
    chosen = chosen_defaults(train, defaults, latent, covariates, may_hide=may_hide(methods[0], recipe))
    request = Request(train, key, steps, seeds, test, validation, optimiser, chosen, recipe, None)
    trainer = Trainer.of(request, methods, rates)
    return trainer.trained(monitor, None)
