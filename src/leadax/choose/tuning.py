"""How a group is trained and measured: candidates side by side, on one fold of the data."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .._types import PRNGKey
from ..arrays import key_numbers
from ..data import Trajectories
from ..data.holdouts import fewest_points, folds, shortened
from ..data.latent import WARMUP, Latent
from ..defaults import chosen_for
from ..describe import describe
from ..errors import InputError
from ..evaluate import Evaluation, evaluate
from ..evaluate.errors import chosen_warmup
from ..methods.settings import positive
from ..records import Snapshot
from ..train import Monitor, Recipe, Times, fit_side_by_side, usual_steps
from ..train.request import chosen_defaults
from ..yardsticks import yardsticks
from .lanes import Stop
from .rungs import Score
from .search import Measured
from .space import Candidate, Group, Space, spaces

FOLDS = 3


@dataclass(frozen=True)
class Tuning:
    """The data of a search in folds, and how a group is trained on one of them; `seconds`: what preparing it took.

    - `latent`: what all candidates infer: whether something is hidden is decided once, on all data.
    """

    train: Trajectories
    folds: list[tuple[Trajectories, Trajectories]]
    spaces: tuple[Space, ...]
    key: PRNGKey
    seeds: int
    net: Any
    monitor: Monitor
    latent: Latent
    seconds: float

    @classmethod
    def of(
        cls, train: Trajectories, key: PRNGKey, methods: Sequence[str], seeds: int, net: Any, monitor: Monitor
    ) -> "Tuning":
        """Checked, and divided into folds."""
        if not isinstance(train, Trajectories):
            raise InputError(f"`train` must be Trajectories, got {type(train).__name__}: use `leadax.load(FILE)`")
        positive("seeds", seeds)
        begun = time.perf_counter()
        defaults = chosen_for(train, net)
        latent = Latent(hidden=int(defaults.found_hidden))
        try:
            parts = folds(train, FOLDS, warmup=_usual_warmup(latent))
        except InputError as error:
            raise InputError(
                "there is nothing to validate on: tune needs two trajectories of every environment, or trajectories of "
                "three points or more"
            ) from error
        chosen = chosen_defaults(train, defaults, None, ())
        all_spaces = spaces(methods, chosen)
        return cls(train, parts, all_spaces, key, seeds, net, monitor, latent, time.perf_counter() - begun)

    def request(self, minutes: float | int) -> dict[str, Any]:
        """What a search must have been asked for to be resumed."""
        return {
            "train": self.train.fingerprint,
            "methods": [space.name for space in self.spaces],
            "minutes": float(minutes),
            "seeds": self.seeds,
            "net": describe(self.spaces[0].defaults.net),
            "key": list(key_numbers(self.key)),
        }

    def space(self, candidate: Candidate) -> Space:
        """The space that a candidate is from."""
        return next(space for space in self.spaces if space.name == candidate.shape.method)

    def __call__(self, group: Group, fold: int, steps: int, stop: Stop) -> Measured:
        """Train a group on one fold, and measure it on what that holds out."""
        train, held_out = self.folds[fold]
        history: list[Snapshot] = []

        def listen(snapshot: Snapshot, of: int) -> None:
            history.append(snapshot)
            self.monitor.listen(snapshot, of)

        models = fit_side_by_side(
            [self.space(candidate).method(candidate) for candidate in group],
            train,
            key=self.key,
            steps=steps,
            seeds=self.seeds,
            learning_rates=[rate_of(candidate) for candidate in group],
            defaults=chosen_for(train, self.net),
            latent=self.latent,
            recipe=Recipe(look_every=min(50, max(1, steps // 4))),
            monitor=Monitor(listen, should_stop=stop),
        )
        errors = [evaluate(model, held_out) for model in models]
        # The first look comes after compilation.
        taken = history[-1].step - history[0].step
        pace = (history[-1].seconds - history[0].seconds) / taken if taken else history[-1].seconds / steps
        return Measured(tuple(map(_score, errors)), pace)

    def simple_errors(self, fold: int) -> dict[str, float]:
        """The errors of simple forecasts on what a fold holds out; they are told as much as the candidates."""
        train, held_out = self.folds[fold]
        usual = shortened(_usual_warmup(self.latent), fewest_points(train))
        told = chosen_warmup(None, usual, held_out)
        return {name: found.nmse for name, found in yardsticks(train, held_out, warmup=told).items()}

    def usual_steps(self) -> int:
        """The steps that the first method takes by default on all data."""
        method = self.spaces[0].method(self.spaces[0].default)
        return usual_steps(method, self.train, key=self.key, defaults=chosen_for(self.train, self.net))


def _usual_warmup(latent: Latent) -> int:
    return WARMUP if latent.hidden else 1


def _score(errors: Evaluation) -> Score:
    return Score(errors.nmse, errors.diverged, tuple(errors.nmse_per_trajectory.mean(axis=0).tolist()))


def rate_of(candidate: Candidate) -> Times:
    """The learning rate of a candidate."""
    return Times(dict(candidate.numbers)["rate_factor"])
