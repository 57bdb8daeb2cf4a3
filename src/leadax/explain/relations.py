"""Which numbers of the environments matter: how much of what sets them apart follows from each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from ..data import Trajectories
from ..errors import InputError, expect
from ..model import Model
from .explain import field_values, numbers_of
from .points import Places, places

FEWEST = 3  # environments: a line through two says nothing
POINTS = 200


@dataclass(frozen=True)
class Relations:
    """How much of what sets environments apart is a linear function of given numbers of theirs.

    - `field`: for each number, the share of the differences between the fields f + g_e that it explains;
    - `parameters`: the same for each number of a known formula, by its name.

    Each share is that of a regression that leaves one environment out at a time and predicts it from the others: 1 if
    all are predicted, 0 or less if the mean of the others does as well.
    """

    field: dict[str, float]
    parameters: dict[str, dict[str, float]]

    def __str__(self) -> str:
        rows = {"fields": self.field, **self.parameters}
        line = lambda what, shares: f"{what}: " + ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
        return "\n".join(line(what, shares) for what, shares in rows.items())

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"field": self.field, "parameters": self.parameters}


def relations(model: Model, data: Trajectories, names: Sequence[str] = ()) -> Relations:
    """Relate what was learnt in each environment to numbers of the environments that the data give.

    **Arguments**

    - `data`: the environments, with their numbers (`data.parameters`); `names`: which of these, by default all.
    """
    expect("model", model, Model, "leadax.Model.load(FILE)")
    expect("data", data, Trajectories, "leadax.load(FILE)")
    given = _given(data, names)
    common = _common([places(model, data, name) for name in data.environments])
    fields = np.stack([field_values(model, "learnt", name, common).ravel() for name in data.environments])
    numbers = numbers_of(model)
    learnt = {
        name: np.array([[numbers[e][name].value] for e in data.environments])
        for name in next(iter(numbers.values()), {})
    }
    shares = lambda targets: {name: predicted_share(values, targets) for name, values in given.items()}
    return Relations(shares(fields), {name: shares(values) for name, values in learnt.items()})


def predicted_share(numbers: Float[np.ndarray, " env"], targets: Float[np.ndarray, "env value"]) -> float:
    """1 − (squared errors of leave-one-out regressions) / (those of leave-one-out means).

    >>> predicted_share(np.array([1.0, 2.0, 3.0, 5.0]), np.array([[2.0], [4.0], [6.0], [10.0]]))
    1.0
    """
    wrong = total = 0.0
    for out in range(len(numbers)):
        kept = np.arange(len(numbers)) != out
        line = np.stack([np.ones(kept.sum()), numbers[kept]], axis=1)
        predicted = np.array([1.0, numbers[out]]) @ np.linalg.lstsq(line, targets[kept], rcond=None)[0]
        wrong += float(np.sum((predicted - targets[out]) ** 2))
        total += float(np.sum((targets[kept].mean(axis=0) - targets[out]) ** 2))
    return round(1 - wrong / total, 6) if total > 0 else 0.0


def _given(data: Trajectories, names: Sequence[str]) -> Mapping[str, np.ndarray]:
    if len(data.environments) < FEWEST:
        raise InputError(f"to relate environments to their numbers takes at least {FEWEST} of them")
    for name in names:
        if name not in data.parameters:
            known = ", ".join(data.parameters) or "none"
            raise InputError(f"the data lack the number `{name}` of their environments, they have {known}")
    numeric = {
        name: np.asarray(values, float)
        for name, values in data.parameters.items()
        if name in (names or data.parameters)
    }
    return {name: values for name, values in numeric.items() if np.isfinite(values).all() and np.ptp(values) > 0}


def _common(spots: list[Places]) -> Places:
    """Some states of all environments: their fields are compared at the same ones."""
    states, times = (np.concatenate([getattr(spot, name) for spot in spots]) for name in ("states", "times"))
    every = max(1, len(states) // POINTS)
    inputs = None
    if spots[0].inputs is not None:
        inputs = np.concatenate([spot.inputs for spot in spots if spot.inputs is not None])[::every]
    return Places(states[::every], times[::every], inputs)
