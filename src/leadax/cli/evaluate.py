"""`leadax evaluate`."""

from typing import Annotated

import tyro

from .checks import check_count
from .console import Count, Json, optional, result, shown
from .names import Protocol
from .options import DataFile, RunPath, Using, open_model
from .reading import Reading, warn_of_names
from .runtime import prepare
from .train import better_line


def evaluate(
    run: RunPath,
    data: DataFile,
    /,
    *,
    protocol: Annotated[Protocol | None, optional("{paper,clean}")] = None,
    warmup: Count = None,
    using: Using = (),
    reading: tyro.conf.OmitArgPrefixes[Reading] = Reading(),
    json: Json = False,
) -> None:
    """Errors of a model's forecasts: per environment, per time, per seed.

    Args:
        warmup: The points at the start of each trajectory that a forecast is told; errors count after them. By default
            1, or as in training where something is hidden or individual.
        protocol: Whether the first point of each trajectory counts (paper) or not (clean); by default as in training.
    """
    check_count("--warmup", warmup)
    observed = reading.load(data)
    prepare()
    model = open_model(run, using, reading)
    warn_of_names(observed.channels, model.channels)
    from ..evaluate import evaluate as evaluate_model
    from ..train.finish import yardsticks_of

    evaluation = evaluate_model(model, observed, protocol=protocol, warmup=warmup)
    simple = yardsticks_of(run, model)
    errors = simple.document(observed, protocol=evaluation.protocol, warmup=evaluation.told) if simple else {}
    document = evaluation.to_json()
    text = f"{evaluation}{_compared(errors, document['nmse'])}"
    result(document | {"baselines": errors}, text, as_json=json)


def _compared(simple: dict[str, float | None], error: float | None) -> str:
    if not simple:
        return ""
    lines = [f"  {name.replace('_', ' '):30} {shown(found)}" for name, found in simple.items()]
    return "\n".join(["\nsimple forecasts, as parts of the variance:", *lines, *better_line(simple, error)])
