"""`leadax evaluate`."""

from typing import Annotated

from .console import Json, optional, result
from .names import Protocol
from .options import DataFile, RunPath, Using, open_model, read_data
from .runtime import prepare


def evaluate(
    run: RunPath,
    data: DataFile,
    /,
    *,
    protocol: Annotated[Protocol | None, optional("{paper,clean}")] = None,
    using: Using = None,
    json: Json = False,
) -> None:
    """Errors of a model's forecasts: per environment, per time, per seed.

    Args:
        protocol: Whether the first point of each trajectory counts (paper) or not (clean); by default as in training.
    """
    observed = read_data(data)
    prepare()
    model = open_model(run, using)
    from ..evaluate import evaluate as evaluate_model

    evaluation = evaluate_model(model, observed, protocol=protocol)
    result(evaluation.to_json(), str(evaluation), as_json=json)
