"""Simple baselines on a page: what they are, and which is the best."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from .style import short
from .tables import finite_or_inf

if TYPE_CHECKING:
    from ..evaluate import Evaluation

# As `leadax.yardsticks` names them; others are shown without an explanation.
MEANINGS = {
    "persistence": "nothing changes after the start",
    "mean": "the mean of the environment's training data",
    "mean curve": "the mean training trajectory of the environment",
    "linear": "dx/dt = Ax + b, fitted to the environment",
    "sindy": "a sparse formula, fitted to the environment",
}


def best_of(evaluations: "Mapping[str, Evaluation]") -> str:
    """The name of the smallest error."""
    return min(evaluations, key=lambda name: finite_or_inf(evaluations[name].nmse))


def meanings(baselines: "Mapping[str, Evaluation]") -> str:
    """What the baselines are, in one sentence."""
    known = [f"{short(name)} ({MEANINGS[name]})" if name in MEANINGS else short(name) for name in baselines]
    return f"Rows in grey are baselines, which need no training: {', '.join(known)}."
