"""`fit`: from a method, data and a few choices to a training run, and from that to a model."""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import DTypeLike

from . import optimisers
from ._types import PRNGKey
from .arrays import fingerprint
from .checkpoint import RunFolder
from .data import Trajectories
from .derivatives import ESTIMATES
from .describe import describe_method
from .errors import InputError, lookup
from .experiments import Settings, complete, settings_for
from .job import Job, Look, Schedule, Stage
from .methods import Method, Parts, Phase
from .model import Model
from .objective import ScheduledSampling
from .optimisers import Decay, check_optimiser
from .training import Recipe


def fit(
    method: Method,
    train: Trajectories,
    *,
    key: PRNGKey,
    steps: int = 12_000,
    test: Trajectories | None = None,
    seeds: int = 1,
    protocol: str = "clean",
    learning_rate: float = 1e-3,
    decay: Decay = "cosine",
    optimiser: str | optax.GradientTransformation = "adam",
    sampling: ScheduledSampling = ScheduledSampling(),
    batch_size: int | None = None,
    match: str = "trajectories",
    settings: Settings | None = None,
    start: Parts | None = None,
    trainable: tuple[str, ...] | None = None,
    dtype: DTypeLike = jnp.float32,
    look_every: int = 50,
    checkpoint_every: int = 1_000,
    run: str | Path | None = None,
    on_divergence: Literal["stop", "retry"] = "stop",
    listen: Callable[[Look], None] = lambda look: None,
    warn: Callable[[str], None] = lambda text: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Model:
    """Learn a model of all environments: minimise the error of trajectories + Ω/λ.

    **Arguments**

    - `method`: `Leads()`, `OneForAll()`, …; what it leaves open is chosen from the data;
    - `key`: a `jax.random` key; the same key gives the same bits on the same machine;
    - `test`: looked at every `look_every` steps, and never used;
    - `seeds`: so many models at once, from different random weights;
    - `optimiser`: `adam`, or `muon`, with `learning_rate` and `decay`; or any of Optax in their place, of which a
      folder knows no more than that it is one: resume with the same;
    - `sampling`: how often forecasts restart from the data on the way; at first nearly always, at last hardly ever;
    - `batch_size`: trajectories per environment and step; all by default;
    - `match`: what is compared with the data: `trajectories` (forecasts, the default), or derivatives estimated by
      `finite-differences` or `spline`, without any forecast: cheaper and, where points are far apart, worse;
    - `start`, `trainable`: begin from these parts, and train only these halves of them; without `trainable` training
      goes through the phases of the method;
    - `run`: a folder for checkpoints and metrics; an unfinished run there is resumed;
    - `on_divergence`: what to do when the loss is not finite: stop, or go back with half the learning rate.

    >>> import jax.random as jr, numpy as np
    >>> t = np.linspace(0, 2, 9)
    >>> x = np.stack([np.exp(-a * t) for a in (0.5, 1.0)])[:, None, :, None]
    >>> from leadax import Leads, Trajectories
    >>> model = fit(Leads(), Trajectories.from_arrays(t, x), steps=20, key=jr.key(0))
    >>> model.environments
    ('e0', 'e1')
    """
    if not isinstance(method, Method):
        raise InputError(f"`method` must be a method, such as `Leads()`, got {method!r}")
    if not isinstance(train, Trajectories):
        raise InputError(f"`train` must be Trajectories, got {type(train).__name__}: use `leadax.load(FILE)`")
    schedule = Schedule(steps, learning_rate, decay, look_every, checkpoint_every)
    if seeds < 1:
        raise InputError(f"`seeds` must be at least 1, got {seeds}")
    check_optimiser(optimiser)
    if on_divergence not in ("stop", "retry"):
        raise InputError(f"`on_divergence` must be `stop` or `retry`, got `{on_divergence}`")
    if match != "trajectories":
        lookup("way to match derivatives", match, ESTIMATES)
        if not method.has_field:
            raise InputError(f"{type(method).__name__} has no vector field that could match derivatives")
    settings = settings or settings_for(train)
    method = complete(method, settings, protocol).sized(train.state_shape, len(train.environments))
    error_scale = np.broadcast_to(settings.error_scale, (len(train.channels),))
    phases = method.phases if trainable is None else (Phase(1.0, trainable),)
    ends = np.round(np.cumsum([phase.share for phase in phases]) * steps).astype(int)
    stages = tuple(
        Stage(
            int(end),
            Recipe(
                method=method,
                optimiser=optimisers.chosen(optimiser, learning_rate, decay, int(length)),
                sampling=sampling,
                batch_size=settings.batch_size if batch_size is None else batch_size,
                trainable=phase.trainable,
                meta=phase.meta,
                error_scale=error_scale,
            ),
        )
        for phase, end, length in zip(phases, ends, np.diff(ends, prepend=0), strict=True)
        if length > 0
    )
    config = {
        "method": describe_method(method),
        # How often a checkpoint is written changes nothing: a run may be resumed with another choice.
        "schedule": {name: value for name, value in schedule.__dict__.items() if name != "checkpoint_every"},
        "optimiser": optimiser if isinstance(optimiser, str) else "custom",
        "sampling": sampling.__dict__,
        "batch_size": stages[0].recipe.batch_size,
        "trainable": list(trainable or ("shared", "specific")),
        "seeds": seeds,
        "key": [int(k) for k in np.asarray(jax.random.key_data(key))],
        "protocol": protocol,
        "dtype": str(jnp.dtype(dtype)),
        "train": train.fingerprint,
        "test": test.fingerprint if test is not None else None,
        **({} if match == "trajectories" else {"match": match}),
        **({} if start is None else {"start": fingerprint(start)}),
    }
    job = Job(stages, schedule, train, test, config, dtype, listen, warn, should_stop, on_divergence)
    state = job.first_state(key, seeds, start)
    if run is None:
        return job.run(state, None)
    folder = RunFolder(run, warn)
    with folder.locked():
        folder.agree(config)
        return job.run(state, folder)
