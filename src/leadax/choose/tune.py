"""`tune`: the method and the settings that suit a user's own data, found by cross-validation."""

import math
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import jax

from .._atomic import checked_path
from .._locks import exclusive
from .._types import PRNGKey
from ..arrays import key_numbers
from ..data import Trajectories
from ..defaults import chosen_for
from ..errors import InputError, is_number
from ..methods.settings import positive
from ..model import Model
from ..train import Monitor, Recipe, RunFolder, fit
from .elsewhere import Elsewhere
from .journal import Journal, Winner
from .search import Search, Standing
from .tried import Tried, sentence, tried_of
from .tuning import Tuning, rate_of

METHODS = ("leads", "coda", "one-per-env", "one-for-all")


class Tuned(NamedTuple):
    """The model of the winner, trained on all data, and all that was tried: the winner first, then the best."""

    model: Model
    tried: tuple[Tried, ...]


def tune(
    train: Trajectories,
    *,
    key: PRNGKey,
    minutes: float | int = 10,
    methods: Sequence[str] | None = None,
    seeds: int = 1,
    net: Any = None,
    run: str | Path | None = None,
    executor: Executor | None = None,
    workers: int = 1,
    monitor: Monitor = Monitor(),
    watch: Callable[[Standing], None] = lambda standing: None,
) -> Tuned:
    """Search for a method and its settings by cross-validation, and train the winner on all data.

    The defaults of the first method win, unless others are clearly better.

    **Arguments**

    - `key`: a `jax.random` key, of the order in which candidates come and of their weights;
    - `minutes`: for everything, training the winner included;
    - `methods`: names to choose from, by default leads, coda, one-per-env and one-for-all;
    - `seeds`: members of each candidate and of the model;
    - `net`: the kind of net, as in `chosen_for`; its width and depth are chosen by the search;
    - `run`: a folder for the search and for the run of the winner. An unfinished search or run there is resumed;
    - `executor`: trains the candidates elsewhere, `workers` groups at a time: processes of this machine
      (`concurrent.futures.ProcessPoolExecutor`), or a cluster (`dask.distributed.Client.get_executor`). By default this
      process trains one group after the other, on all of its cores;
    - `monitor`: who is told of each training; `watch`: who is told how the search stands.

    Which candidates there was time for depends on the machine.

    >>> import jax.random as jr, numpy as np
    >>> t = np.linspace(0, 2, 9)
    >>> data = Trajectories.from_arrays(t, np.stack([np.exp(-a * t) for a in (0.5, 1.0)])[:, None, :, None])
    >>> tune(data, key=jr.key(0), minutes=0)
    Traceback (most recent call last):
    ...
    leadax.errors.InputError: `minutes` must be a positive number, got 0: tune needs time to try things
    """
    positive("workers", workers)
    if executor is None and workers > 1:
        raise InputError(f"`workers={workers}` needs an `executor` that has so many")
    task = Tuning.of(train, key, METHODS if methods is None else methods, seeds, net, monitor)
    found = search(task, minutes, run, watch, executor=executor, workers=workers)
    return Tuned(found.fit(run=run, monitor=monitor), found.tried)


@dataclass(frozen=True)
class Found:
    """What a search found: the winner, which is yet to be trained on all data, and all that was tried."""

    journal: Journal
    task: Tuning

    @property
    def winner(self) -> Winner:
        """What is to be trained, and for how long."""
        assert self.journal.winner is not None, "the search is over"
        return self.journal.winner

    @property
    def tried(self) -> tuple[Tried, ...]:
        """All that was tried, the winner first, then the best."""
        defaults = [space.default for space in self.task.spaces]
        return tried_of(self.journal.records, defaults, self.winner.candidate)

    @property
    def sentence(self) -> str:
        """The winner, how much better it is than the defaults of the first method, and what is better still."""
        return sentence(self.journal, [space.default for space in self.task.spaces]) + self._simple + self._hurried

    @property
    def _hurried(self) -> str:
        """A sentence about the steps that time is too short for, if the defaults win."""
        if self.winner.candidate != self.task.spaces[0].default:
            return ""
        steps, usual = self.winner.steps, self.task.usual_steps()
        if steps >= usual:
            return ""
        return (
            f" Time was left for {steps:,} of the {usual:,} steps that `leadax train` takes with them: expect a larger "
            "error, or give more minutes."
        )

    @property
    def _simple(self) -> str:
        """A sentence about the best simple forecast of the same held-out data, if the winner does not beat it."""
        rung, plan = self.winner.rung, self.journal.plan
        if rung is None or plan is None:
            return ""
        parts = [self.task.simple_errors(fold) for fold in range(plan.folds[rung])]
        errors = {name: fmean(part[name] for part in parts) for name in parts[0]}
        name = min(errors, key=lambda name: math.inf if math.isnan(errors[name]) else errors[name])
        if not errors[name] <= self.journal.scores(rung)[self.winner.candidate].nmse:
            return ""
        return f" But it does not beat the simple forecast `{name}`, whose error is {100 * errors[name]:.3g} %."

    def fit(self, *, run: str | Path | None = None, monitor: Monitor = Monitor()) -> Model:
        """Train the winner on all data."""
        candidate, steps, task = self.winner.candidate, self.winner.steps, self.task
        return fit(
            task.space(candidate).method(candidate),
            task.train,
            key=task.key,
            steps=steps,
            seeds=task.seeds,
            learning_rate=rate_of(candidate),
            defaults=chosen_for(task.train, task.net),
            recipe=Recipe(checkpoint_every=min(1_000, max(20, steps // 20))),
            run=run,
            monitor=monitor,
        )


def search(
    task: Tuning,
    minutes: float | int,
    run: str | Path | None,
    watch: Callable[[Standing], None] = lambda standing: None,
    *,
    executor: Executor | None = None,
    workers: int = 1,
) -> Found:
    """The first half of `tune`: everything but the last training."""
    if not is_number(minutes) or minutes <= 0:
        raise InputError(f"`minutes` must be a positive number, got {minutes!r:.60}: tune needs time to try things")
    train = task if executor is None else Elsewhere(executor, replace(task, monitor=Monitor()))
    folder = None if run is None else checked_path(run)
    with ExitStack() as stack:
        if folder is not None:
            with RunFolder(folder).locked():  # whoever trains there now
                pass
            stack.enter_context(exclusive(folder / ".search.lock"))
        journal = Journal.open(task.request(minutes), folder)
        Search(
            task.spaces,
            len(task.folds),
            60.0 * minutes,
            train,
            journal,
            task.usual_steps,
            seed=key_numbers(task.key),
            multiple=multiple_for(task.seeds),
            should_stop=task.monitor.should_stop,
            watch=watch,
            prepared=task.seconds,
            lanes=workers,
        ).run()
    return Found(journal, task)


def multiple_for(seeds: int) -> int:
    """What the number of candidates in a group should be a multiple of, so that its members use all devices.

    >>> multiple_for(jax.local_device_count())
    1
    """
    devices = jax.local_device_count()
    return devices // math.gcd(devices, seeds)
