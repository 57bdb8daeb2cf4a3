"""`leadax train`."""

import math
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from .console import Json, message, result, shown, training_bar
from .options import DataFile, Training
from .runtime import prepare, stoppable

if TYPE_CHECKING:
    from ..data import Trajectories
    from ..model import Model

RunFolderOption = Annotated[Path, tyro.conf.arg(metavar="RUN", help="The folder of the run; resumed if it is there.")]


def train(
    data: DataFile,
    /,
    *,
    out: RunFolderOption,
    method: str = "leads",
    test: Path | None = None,
    training: tyro.conf.OmitArgPrefixes[Training] = Training(),
    json: Json = False,
) -> None:
    """Learn a model of all environments. Run again on an unfinished RUN it resumes; on a finished one it does nothing.

    Args:
        method: leads, leads-no-min, one-for-all, one-per-env, ft-rnn, ft-node, gbml, maml or coda.
        test: A data file with the same environments, looked at on the way and never learnt from.
    """
    from ..data import load

    testing = load(test) if test else None
    document = train_run(method, load(data), testing, out, training)
    text = [f"{out}: {method}, {document['steps']} steps, {document['parameters']} parameters per seed"]
    text += [f"mean squared error {shown(document['mse'])} on the training data"]
    if testing is not None:
        text += [f"mean squared error {shown(document['test']['last'])} on the test data (minimum on the way "
                 f"{shown(document['test']['minimum'])})"]  # fmt: skip
    result(document, "\n".join(text), as_json=json)


def train_run(
    method: str, training: "Trajectories", testing: "Trajectories | None", out: Path, options: Training
) -> dict[str, Any]:
    """Train into a run folder, or find it finished; returns the document that describes the result."""
    prepare(options.seeds)
    from ..fitting import fit

    learn = partial(fit, train=training, **options.arguments(method, training))
    return recorded(learn, training, testing, out, title=method)


def recorded(
    learn: "Callable[..., Model]", training: "Trajectories", testing: "Trajectories | None", out: Path, title: str
) -> dict[str, Any]:
    """What `learn` gives, saved in a run folder; returns the document that describes it."""
    from ..checkpoint import RunFolder

    folder = RunFolder(out, warn=message)
    begin = time.perf_counter()
    with stoppable() as should_stop, training_bar(title) as listen:
        model = learn(test=testing, run=out, listen=listen, warn=message, should_stop=should_stop)
    if folder.finished:
        message(f"{out} is finished: nothing to do")
        return folder.read_json("result.json")
    document = _document(model, training, testing, time.perf_counter() - begin) | {"run": str(out)}
    model.save(out / "model.safetensors")
    folder.write_json("result.json", document)
    return document


def _document(
    model: "Model", training: "Trajectories", testing: "Trajectories | None", seconds: float
) -> dict[str, Any]:
    import numpy as np

    from ..evaluation import evaluate

    looks = model.about["looks"]
    document = evaluate(model, training).to_json()
    if testing is not None:
        last = evaluate(model, testing)
        # A look that is not a number is passed over.
        smallest = np.fmin.reduce(np.array([look["test"] for look in looks] or [last.mse_per_seed], float), axis=0)
        document["test"] = {
            **last.to_json(),
            "last": _number(last.mse),
            "minimum": _number(float(smallest.mean())),
            "minimum_per_seed": [_number(float(value)) for value in smallest],
            "mse_std_over_seeds": _number(last.std_over_seeds),
            "mse_std_over_trajectories": _number(last.std_over_trajectories),
        }
    trained = looks[-1]["seconds"] if looks else seconds
    return document | {
        "steps": model.about["steps"],
        "seconds": trained,
        "steps_per_second": model.about["steps"] / max(trained, 1e-9),
        "seeds": model.seeds,
        "parameters": model.parameters,
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None  # NaN and infinity are not JSON
