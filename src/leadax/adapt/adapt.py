"""`adapt`: new environments from as little as one trajectory of each. It is `fit` with shared parameters fixed."""

import dataclasses
from pathlib import Path

import optax

from .._atomic import checked_path
from .._types import PRNGKey
from ..arrays import key_numbers
from ..data import Trajectories
from ..data.forcing import check_inputs
from ..errors import InputError, expect, lookup
from ..methods.settings import positive
from ..model import Model, check_fits
from ..records import Reliability
from ..train import Monitor, Recipe
from ..train.request import check_held_out, check_learnable
from .learner import Learner
from .reliability import examine
from .trial import Choice, chosen_scheme
from .unseen import Covariates, unseen

SCHEMES = ("auto", "mixture", "specific", "shared-only", "scratch")


def adapt(
    model: Model,
    data: Trajectories | None = None,
    *,
    key: PRNGKey,
    covariates: Covariates | None = None,
    scheme: str = "auto",
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
    - `covariates`: in place of data, those of environments that nothing was observed of, such as
      `{"new": {"weight": 70.0}}`, for a model trained with covariates. Nothing is learnt then;
    - `scheme`: what learns, while shared parameters stay as they are, to the bit. `mixture`: a few numbers that mix
      the known environments, see `leadax.methods.mixture.Mixture`; `specific`: new specific parameters, with Ω;
      `auto`: both are tried with a part of the data held out, and the one with fewer parameters is preferred;
      `shared-only`: nothing is learnt, shared parameters predict alone; `scratch`: One-Per-Env on the new data alone,
      with the nets of the model, to compare with;
    - the others as in `fit`. `recipe` is that of the model's protocol by default.

    `new.training.reliability` says whether forecasts can be trusted, and why: by the error on what was held out, by how
    unlike the known environments this one is, and by whether forecasts from states near the data run away.

    In several environments at once each learns for itself, with one exception: the error is a mean over environments
    and Ω a sum, so that Ω weighs more the more there are. (Adam does not care how large gradients are.)

    What is specific, and where it starts: a new g_e for LEADS; δ = 0 for GBML and MAML; the context ξ = 0 for CoDA; the
    mean of the known codes for FT-NODE and FT-RNN. One-For-All has nothing specific, One-Per-Env nothing shared.

    >>> import jax.random as jr, numpy as np
    >>> from leadax import Leads, Linear, Trajectories, fit
    >>> t = np.linspace(0, 2, 9)
    >>> decays = lambda *rates: np.stack([np.exp(-a * t) for a in rates])[:, None, :, None]
    >>> model = fit(Leads(net=Linear), Trajectories.from_arrays(t, decays(0.5, 1.0)), steps=20, key=jr.key(0))
    >>> new = adapt(model, Trajectories.from_arrays(t, decays(0.7), environments=["new"]), steps=20, key=jr.key(1))
    >>> new.environments
    ('new',)
    """
    lookup("scheme", scheme, dict.fromkeys(SCHEMES))
    positive("steps", steps)
    expect("model", model, Model, "leadax.Model.load(FILE)")
    key_numbers(key)
    folder = None if run is None else checked_path(run)
    if data is None or covariates is not None:
        if data is not None or test is not None or scheme not in ("auto", "shared-only"):
            raise InputError("`covariates` stand in place of data: leave out `data`, `test` and `scheme`")
        return unseen(model, covariates or {}, folder)
    expect("data", data, Trajectories, "leadax.load(FILE)")
    check_fits(data, model.state_shape, model.channels)
    check_inputs(data, model.layout)
    if scheme != "shared-only":
        check_learnable(data)
    if test is not None:
        check_held_out(data, test, "test")
    if known := [name for name in data.environments if name in model.environments]:
        monitor.warn(f"the model knows {', '.join(known)} already: here they are learnt anew, from these data alone")
    # In another type, shared parameters would not be the same.
    recipe = dataclasses.replace(recipe or Recipe(protocol=model.protocol), dtype=model.dtype)
    learner = Learner(model, data, key, learning_rate, optimiser, recipe, monitor)
    if scheme == "auto":
        choice = chosen_scheme(learner, steps, folder)
    else:
        choice = Choice(scheme, steps, f"nothing is held out with the scheme `{scheme}`")
    examined = lambda new: _with_verdict(new, examine(new, model, data, choice.held_out))
    return learner.learn(choice.scheme, data, choice.steps, folder, test=test, conclude=examined)


def _with_verdict(model: Model, verdict: Reliability) -> Model:
    assert model.training is not None, "it was adapted just now"
    return dataclasses.replace(model, training=dataclasses.replace(model.training, reliability=verdict))
