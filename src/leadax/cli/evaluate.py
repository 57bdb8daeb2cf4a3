"""`leadax evaluate`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from .console import Json, optional, result, shown
from .names import Protocol
from .options import DataFile, RunPath, Using, open_model
from .reading import Reading
from .runtime import prepare

if TYPE_CHECKING:
    from ..data import Trajectories


def evaluate(
    run: RunPath,
    data: DataFile,
    /,
    *,
    protocol: Annotated[Protocol | None, optional("{paper,clean}")] = None,
    using: Using = None,
    reading: tyro.conf.OmitArgPrefixes[Reading] = Reading(),
    json: Json = False,
) -> None:
    """Errors of a model's forecasts: per environment, per time, per seed.

    Args:
        protocol: Whether the first point of each trajectory counts (paper) or not (clean); by default as in training.
    """
    observed = reading.load(data)
    prepare()
    model = open_model(run, using)
    from ..evaluate import evaluate as evaluate_model

    evaluation = evaluate_model(model, observed, protocol=protocol)
    simple = _yardsticks(run, observed, evaluation.protocol)
    result(evaluation.to_json() | {"baselines": simple}, f"{evaluation}{_compared(simple)}", as_json=json)


def _yardsticks(run: Path, data: "Trajectories", protocol: str) -> dict[str, float | None]:
    """The normalised errors of simple forecasts that learnt from the same data; nothing for a model without a run."""
    from ..train.run_folder import YARDSTICKS
    from ..yardsticks import Yardsticks

    file = run / YARDSTICKS
    return Yardsticks.load(file).document(data, protocol=protocol) if file.exists() else {}


def _compared(simple: dict[str, float | None]) -> str:
    if not simple:
        return ""
    lines = [f"  {name.replace('_', ' '):30} {shown(error)}" for name, error in simple.items()]
    return "\n".join(["\nsimple forecasts, as parts of the variance:", *lines])
