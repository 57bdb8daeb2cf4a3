"""How a run ends: its model and its result, saved the same way whoever asked for it."""

import dataclasses
import math
from pathlib import Path
from typing import Any

from ..data import Trajectories
from ..errors import InputError
from ..evaluate import evaluate, solver_gap
from ..methods import Method
from ..model import Model
from ..yardsticks import Yardsticks
from .run_folder import CONFIG, MODEL, RESULT, YARDSTICKS, RunFolder, read_json


def finish(
    folder: RunFolder,
    model: Model,
    train: Trajectories,
    test: Trajectories | None,
    validation: Trajectories | None = None,
) -> None:
    """Save a trained model and its errors in the run's folder."""
    model.save(folder.path / MODEL)
    simple = Yardsticks.learnt(train)
    if simple.learnt_numbers:
        simple.save(folder.path / YARDSTICKS)
    document = _result(model, simple, train, test)
    if validation is not None:
        assert model.training is not None
        last = model.training.history[-1].validation if model.training.history else None
        document["validation"] = {
            **evaluate(model, validation).to_json(),
            "kept": list(model.training.kept or ()),
            "mse_of_last_step": None if last is None else _number(sum(last) / len(last)),
        }
    folder.write_result({**document, "run": str(folder.path)})


def finished_model(folder: RunFolder, method: Method) -> Model:
    """The model of a finished run; an `InputError` if the folder is damaged, or has files of another run."""
    folder.result()  # refuses a damaged one
    folder.check_yardsticks()
    model = Model.load(folder.path / MODEL, method=method)
    check_belongs(model, folder.path)
    return model


def check_belongs(model: Model, run: Path) -> None:
    """An `InputError` if the model in a run's folder is not the one that this run ended with.

    Its seal cannot tell that a file was copied from elsewhere; the files beside it can.
    """
    if (run / RESULT).exists():
        RunFolder(run).result()
    if model.training is None or not (run / CONFIG).exists():
        return
    found, own = read_json(run / CONFIG), model.training.config.to_json()
    for key in sorted(set(found) & set(own)):
        if found[key] != own[key]:
            raise InputError(
                f"{run / MODEL} belongs to another run, or {CONFIG} beside it was changed: they differ in `{key}`; "
                "to use the model all the same, name its file"
            )


def yardsticks_of(run: Path, model: Model) -> Yardsticks | None:
    """The yardsticks of a finished run, None if it has none; an `InputError` if they learnt from other data."""
    RunFolder(run).check_yardsticks()
    file = run / YARDSTICKS
    if not file.exists():
        return None
    simple = Yardsticks.load(file)
    if simple.train is not None and model.training is not None and simple.train != model.training.config.train:
        raise InputError(f"{file} belongs to another run, with other data: remove it, or put the right one there")
    return simple


def _result(model: Model, simple: Yardsticks, train: Trajectories, test: Trajectories | None) -> dict[str, Any]:
    """The document that `leadax train --json` prints, but for the folder's name."""
    training = model.training
    assert training is not None, "a model that was trained knows how"
    document = evaluate(model, train).to_json()
    if test is not None:
        document["test"] = _on_test_data(model, simple, test)
    if training.reliability is not None:
        document |= dataclasses.asdict(training.reliability)
    return document | {
        "solver_gap": solver_gap(model, train),
        "steps": training.steps,
        "seconds": training.seconds,
        "steps_per_second": training.steps / max(training.seconds, 1e-9),
        "seeds": model.members,
        "parameters": model.parameter_count,
    }


def _on_test_data(model: Model, simple: Yardsticks, test: Trajectories) -> dict[str, Any]:
    last = evaluate(model, test)
    assert model.training is not None
    smallest = model.training.smallest_test_errors or tuple(last.mse_per_seed)
    return {
        **last.to_json(),
        "baselines": simple.document(test, protocol=last.protocol, warmup=last.told),
        "last": _number(last.mse),
        "minimum": _number(sum(smallest) / len(smallest)),
        "minimum_per_seed": [_number(float(value)) for value in smallest],
        "mse_std_over_seeds": _number(last.std_over_seeds),
        "mse_std_over_trajectories": _number(last.std_over_trajectories),
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None  # NaN and infinity are not JSON
