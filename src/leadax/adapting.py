"""`adapt`: a novel environment from as little as one trajectory. It is `fit` with what is shared held fixed."""

import dataclasses
import inspect
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ._types import PRNGKey
from .arrays import fingerprint
from .checkpoint import RunFolder
from .data import Trajectories
from .describe import describe_method, rescaled
from .errors import InputError, lookup
from .experiments import settings_for
from .fitting import fit
from .job import Schedule, checked_test
from .methods import OnePerEnv, Parts
from .methods.base import repeated
from .model import Model, check_order
from .optimisers import check_optimiser

SCHEMES = ("specific", "shared-only", "scratch")


def adapt(
    model: Model, data: Trajectories, *, key: PRNGKey, scheme: str = "specific", steps: int = 2_500, **options: Any
) -> Model:
    """A model of novel environments of the kind that `model` knows.

    **Arguments**

    - `data`: trajectories of one or more environments, as few as one of each;
    - `scheme`: `specific`: what is shared stays as it is, to the bit, and a new specific half learns, with Ω;
      `shared-only`: what is shared predicts alone, nothing is learnt; `scratch`: One-Per-Env on the new data alone,
      with the nets of the model, to compare with;
    - `steps`, and further `options`: as in `fit` (`test`, `learning_rate`, `run`, …).

    In several environments at once each learns for itself, but for one thing: the error is a mean over environments and
    Ω a sum, so that Ω weighs more the more there are. (Adam does not ask how large the gradients are.)

    What is specific, and where it starts: a new g_e for LEADS; δ = 0 for GBML and MAML; the context ξ = 0 for CoDA; the
    mean of the known codes for FT-NODE and FT-RNN. One-For-All has nothing specific, One-Per-Env nothing shared.

    >>> import jax.random as jr, numpy as np
    >>> from leadax import Leads, Trajectories, fit
    >>> t = np.linspace(0, 2, 9)
    >>> decays = lambda *rates: np.stack([np.exp(-a * t) for a in rates])[:, None, :, None]
    >>> model = fit(Leads(), Trajectories.from_arrays(t, decays(0.5, 1.0)), steps=20, key=jr.key(0))
    >>> new = adapt(model, Trajectories.from_arrays(t, decays(0.7), environments=["new"]), steps=20, key=jr.key(1))
    >>> new.environments
    ('new',)
    """
    lookup("scheme", scheme, dict.fromkeys(SCHEMES))
    if data.state_shape != model.state_shape:
        raise InputError(
            f"the data have states of shape {data.state_shape}, the model was trained on {model.state_shape}: "
            "channels and grid must agree"
        )
    check_order(data.channels, model.channels)
    settings = dataclasses.replace(settings_for(data), batch_size=None)
    if "error_scale" in model.about:
        settings = dataclasses.replace(settings, error_scale=np.asarray(model.about["error_scale"]))
    common = {
        "key": key,
        "steps": steps,
        "seeds": model.seeds,
        "protocol": model.about.get("protocol", "clean"),
        "settings": settings,
        "dtype": jax.tree.leaves(model.parts)[0].dtype,  # in another type, what is shared would not be the same
    }
    if scheme == "scratch":
        net = rescaled(model.method.net, settings.scales)
        method = OnePerEnv(net=net, solver=model.method.solver, substeps=model.method.substeps)
        return fit(method, data, **common, **options)
    if not jax.tree.leaves(model.parts.shared):
        raise InputError(
            f"{type(model.method).__name__} shares nothing between environments: a novel one can only be learnt from "
            "scratch, use the scheme `scratch`"
        )
    if not jax.tree.leaves(model.parts.specific) and scheme == "specific":
        raise InputError(
            f"{type(model.method).__name__} has nothing specific that could learn: use the scheme `shared-only`, "
            "or a model of another method"
        )
    if scheme == "shared-only":
        # What belongs to learning has no meaning here, but must make sense; so must the test data.
        known = inspect.signature(fit).parameters
        if unknown := [name for name in options if name not in known]:
            raise InputError(f"`adapt` has no option `{unknown[0]}`")
        check_optimiser(options.get("optimiser", "adam"))
        of_schedule = ("learning_rate", "decay", "look_every", "checkpoint_every")
        Schedule(steps, **{name: options[name] for name in of_schedule if name in options})
        checked_test(data, options.get("test"), common["dtype"])
        return _alone(model, data, options.get("test"), options.get("run"))
    keys = jax.random.split(jax.random.fold_in(key, 1), model.seeds)
    novel = lambda known, key: model.method.novel(model.state_shape, known, len(data.environments), key=key)
    start = Parts(model.parts.shared, jax.vmap(novel)(model.parts.specific, keys))
    return fit(model.method, data, **common, start=start, trainable=("specific",), **options)


def _alone(model: Model, data: Trajectories, test: Trajectories | None, run: str | Path | None) -> Model:
    if run is not None:
        folder = RunFolder(run)
        asked = {"scheme": "shared-only", "method": describe_method(model.method), "start": fingerprint(model.parts)}
        with folder.locked():
            folder.agree({**asked, "train": data.fingerprint, "test": test.fingerprint if test is not None else None})
    neutral = lambda known: repeated(model.method.neutral(known), len(data.environments))
    specific = jax.vmap(neutral, axis_size=model.seeds)(model.parts.specific)
    about = {**model.about, "steps": 0, "looks": []}
    return dataclasses.replace(
        model, parts=Parts(model.parts.shared, specific), environments=data.environments, about=about
    )
