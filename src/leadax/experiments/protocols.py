"""What a protocol of the experiments stands for: whose data and errors, which error is reported, how it is trained.

`fit`, `simulate` and `evaluate` know two sets of rules, `paper` and `clean`. A protocol of the experiments is one of
them together with a way to train, the same for every method.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from ..data import Trajectories
from ..nets import ConvNet
from ..objective import ScheduledSampling
from .presets import Settings, absolute, settings_for, standardised


@dataclass(frozen=True)
class Protocol:
    """One way to do an experiment.

    - `rules`: those of `fit`, `simulate` and `evaluate`;
    - `reports_minimum`: whether the error beside the paper's is the smallest on the way, as there, or the last one;
    - `training`: from the data and the number of steps to further options of `fit`;
    - `settings`: from the data to their net and Ω.
    """

    rules: str
    reports_minimum: bool
    training: Callable[[Trajectories, int], Mapping[str, Any]] = lambda data, steps: {}
    settings: Callable[[Trajectories], Settings] = settings_for


def in_few_steps(data: Trajectories, steps: int) -> Mapping[str, Any]:
    """Muon at a higher rate, one trajectory of each environment at a time, and forecasts that are long sooner.

    The paper's ε falls at its own pace: after a thousand steps every third point still restarts the forecast. All this
    is for fields: vectors have steps that cost nothing, and learn better from many small ones.
    """
    if not data.space:
        return {}
    return {
        "optimiser": "muon",
        "learning_rate": _own_way(data).rate,
        "decay": "one-cycle",
        "batch_size": 1,
        "sampling": ScheduledSampling.falling_to(0.05, steps),
    }


def settings_for_few_steps(data: Trajectories) -> Settings:
    """The paper's settings, or those with which a field learns in few steps."""
    return _own_way(data).settings(data)


def _gray_scott(data: Trajectories) -> Settings:
    """Standardised, for all that happens is a small part of u = 0.95, and with half the stages.

    A step then costs half as much: 40 units of time are too long for either solver, so that the net learns what suits
    its solver anyway. How α was chosen: docs/training.md.
    """
    return standardised(data, ConvNet, solver="midpoint", alpha=1.0)


def _navier_stokes(data: Trajectories) -> Settings:
    """With an Ω that is not divided by the vorticity, which crosses zero. How 1/λ and α were chosen: docs/training.md.

    Not standardised: the vorticity has a spread of about one anyway, and is learnt better as it is.
    """
    return replace(settings_for(data), penalty=absolute(1e-3), penalty_weight=1e-3)


class Way(NamedTuple):
    """How `fast` learns a field: the highest learning rate, and from data to their settings."""

    rate: float = 1e-2
    settings: Callable[[Trajectories], Settings] = settings_for


# Gray–Scott: at a rate of 1e-2 one of two seeds went astray.
WAYS = {"gray-scott": Way(3e-3, _gray_scott), "navier-stokes": Way(settings=_navier_stokes)}


def _own_way(data: Trajectories) -> Way:
    return WAYS.get(data.attributes.get("system", ""), Way())


PROTOCOLS = {
    "paper": Protocol("paper", reports_minimum=True),
    "clean": Protocol("clean", reports_minimum=False),
    "fast": Protocol("paper", reports_minimum=True, training=in_few_steps, settings=settings_for_few_steps),
}
