"""How new environments are learnt by one scheme: `fit` with the model's shared parameters, units and steps."""

from dataclasses import dataclass
from pathlib import Path

import optax

from .._types import PRNGKey
from ..data import Trajectories
from ..model import Model
from ..train import Monitor, Recipe
from ..train.fit import Conclude, carry_out
from ..train.request import Request
from .schemes import check_scheme, defaults_of, set_up
from .shared_only import shared_only

# The few numbers of a mixture are of size one; Adam moves them by at most this much in a step.
MIXTURE_RATE = 0.03


@dataclass(frozen=True)
class Learner:
    """A model, the data of new environments, and how to learn from them; see `adapt`."""

    model: Model
    data: Trajectories
    key: PRNGKey
    learning_rate: float | None
    optimiser: str | optax.GradientTransformation
    recipe: Recipe
    monitor: Monitor

    def learn(
        self,
        scheme: str,
        train: Trajectories,
        steps: int,
        run: Path | None,
        *,
        test: Trajectories | None = None,
        validation: Trajectories | None = None,
        conclude: Conclude = lambda model: model,
    ) -> Model:
        """A model by one scheme, from all data or a part of them.

        - `conclude`: what is added to the model once it has learnt, before it is saved.
        """
        if scheme == "shared-only":
            check_scheme(scheme, self.model)
            return shared_only(self.model, train, test, self.recipe, run, conclude)
        method, start = set_up(scheme, self.model, train, self.key)
        defaults, members = defaults_of(self.model, self.data), self.model.members
        chosen = (self.optimiser, defaults, self.recipe, start)
        request = Request(train, self.key, steps, members, test, validation, *chosen)
        return carry_out(request, method, self._rate(scheme), run, self.monitor, conclude)

    def _rate(self, scheme: str) -> float | None:
        usual = self.learning_rate is None and isinstance(self.optimiser, str)
        return MIXTURE_RATE if scheme == "mixture" and usual else self.learning_rate
