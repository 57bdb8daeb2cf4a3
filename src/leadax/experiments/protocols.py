"""What a protocol of the experiments stands for: whose data and errors, which error is reported, how it is trained.

`fit`, `simulate` and `evaluate` know two sets of rules, `paper` and `clean`. A protocol of the experiments is one of
them together with a way to train, the same for every method.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..data import Trajectories
from ..objective import ScheduledSampling
from .presets import Settings, settings_for, standardised


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
        "learning_rate": settings_for(data).fast.rate,
        "decay": "one-cycle",
        "batch_size": 1,
        "sampling": ScheduledSampling.falling_to(0.05, steps),
    }


def in_good_units(data: Trajectories) -> Settings:
    """The paper's settings, or those of standardised states where the preset has a net for them."""
    settings = settings_for(data)
    fast = settings.fast
    return settings if fast.net is None else standardised(data, fast.net, fast.solver, fast.alpha)


PROTOCOLS = {
    "paper": Protocol("paper", reports_minimum=True),
    "clean": Protocol("clean", reports_minimum=False),
    "fast": Protocol("paper", reports_minimum=True, training=in_few_steps, settings=in_good_units),
}
