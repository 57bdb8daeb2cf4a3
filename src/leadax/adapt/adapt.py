"""`adapt`: new environments from as little as one trajectory of each. It is `fit` with shared parameters fixed."""

import dataclasses
from pathlib import Path

import optax

from .._types import PRNGKey
from ..data import Trajectories
from ..errors import lookup
from ..methods.settings import positive
from ..model import Model, check_fits
from ..train import Monitor, Recipe, RunFolder, fit
from ..train.finish import finish
from ..train.trainer import check_held_out
from .reliability import examine
from .shared_only import shared_only
from .trial import best_way, candidates
from .ways import check_scheme, defaults_of, way

# The few numbers of a mixture are of size one; Adam moves them by at most this much in a step.
MIXTURE_RATE = 0.03
SCHEMES = ("auto", "mixture", "specific", "shared-only", "scratch")


def adapt(
    model: Model,
    data: Trajectories,
    *,
    key: PRNGKey,
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
    check_fits(data, model.state_shape, model.channels)
    if test is not None:
        check_held_out(data, test, "test")
    # In another type, shared parameters would not be the same.
    recipe = dataclasses.replace(recipe or Recipe(protocol=model.protocol), dtype=model.dtype)
    shared = {"optimiser": optimiser, "recipe": recipe, "monitor": monitor}
    folder = None if run is None else Path(run)

    def learn(scheme: str, train: Trajectories, steps: int, folder: Path | None, **held: Trajectories | None) -> Model:
        if scheme == "shared-only":
            check_scheme(scheme, model)
            return shared_only(model, train, held.get("test"), recipe, folder)
        method, start = way(scheme, model, train, key)
        mixed = scheme == "mixture" and learning_rate is None and isinstance(optimiser, str)
        rate = MIXTURE_RATE if mixed else learning_rate
        own = {"steps": steps, "start": start, "run": folder, "defaults": defaults_of(model, data), **held}
        return fit(method, train, key=key, seeds=model.members, learning_rate=rate, **own, **shared)

    held_out: float | str = f"nothing is held out with the scheme `{scheme}`"
    if scheme == "auto":
        tried = lambda scheme, past, future, folder: learn(scheme, past, steps, folder, validation=future)
        outcome = best_way(model, data, tried, folder, monitor)
        held_out = outcome.error if outcome else "there were too few points to hold any out"
        steps = max(outcome.step, recipe.look_every) if outcome else steps
        scheme = outcome.scheme if outcome else candidates(model)[0]
    new = learn(scheme, data, steps, folder, test=test)
    return _examined(new, model, data, test, held_out, folder)


def _examined(
    new: Model, known: Model, data: Trajectories, test: Trajectories | None, held_out: float | str, run: Path | None
) -> Model:
    """The model with the verdict on its reliability, in its file too."""
    assert new.training is not None, "it was adapted just now"
    if new.training.reliability is not None:
        return new
    training = dataclasses.replace(new.training, reliability=examine(new, known, data, held_out))
    new = dataclasses.replace(new, training=training)
    if run is not None:
        folder = RunFolder(run)
        with folder.locked():
            finish(folder, new, data, test)
    return new
