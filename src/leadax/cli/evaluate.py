"""`leadax evaluate`."""

from typing import Literal

from .console import Json, result
from .options import DataFile, RunPath, open_model
from .runtime import prepare


def evaluate(
    run: RunPath,
    data: DataFile,
    /,
    *,
    protocol: Literal["paper", "clean"] | None = None,
    json: Json = False,
) -> None:
    """Errors of a model's forecasts: per environment, per time, per seed.

    Args:
        protocol: Whether the first point of each trajectory counts (paper) or not (clean); as trained by default.
    """
    from ..data import load

    prepare()
    observed = load(data)
    model = open_model(run)
    from ..evaluation import evaluate as evaluate_model

    evaluation = evaluate_model(model, observed, protocol=protocol)
    result(evaluation.to_json(), str(evaluation), as_json=json)
