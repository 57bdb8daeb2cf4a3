"""`leadax train`."""

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from .checks import check_run
from .console import Json, message, optional, result, shown, training_bar
from .names import METHODS, check_name
from .options import DataFile, MethodName, RunFolderOption, Training
from .parts import Parts, Test, check_division, parts_of, without_test
from .reading import Reading
from .runtime import prepare, stoppable

USELESS = 0.3  # of the variance: who misses as much of what it was trained on has not learnt it

if TYPE_CHECKING:
    from ..model import Model
    from ..records import Snapshot


def train(
    data: DataFile,
    /,
    *,
    out: RunFolderOption,
    method: MethodName = "leads",
    test: Test = None,
    tensorboard: Annotated[
        Path | None, optional("FOLDER", "Also write the training curves to a folder for TensorBoard, by tensorboardX.")
    ] = None,
    training: tyro.conf.OmitArgPrefixes[Training] = Training(),
    reading: tyro.conf.OmitArgPrefixes[Reading] = Reading(),
    json: Json = False,
) -> None:
    """Learn a model of all environments. An unfinished RUN is resumed; if it is finished, nothing is done."""
    check_name("method", method, METHODS)
    training.check()
    check_run(out)
    check_division("--test", test)
    loaded = reading.load(data)
    training = training.decided(without_test(loaded, test), clock=reading.clock is not None)
    parts = parts_of(loaded, test, training.validate, reading, training.told)
    document = train_run(method, parts, out, training, tensorboard=tensorboard)
    text = [f"{out}: {method}, {document['steps']} steps, {document['parameters']} parameters per seed"]
    text += [error_line(document, "training"), *useless_line(document), *gap_line(document)]
    if "validation" in document:
        kept = ", ".join(map(str, document["validation"]["kept"]))
        text += [f"{error_line(document['validation'], 'validation')}, at step {kept}"]
    if parts.test is not None:
        tested = document["test"]
        text += [f"{error_line(tested, 'test')} (smallest error during training: {shown(tested['minimum'])})"]
        text += better_line(tested["baselines"], tested["nmse"])
    result(document, "\n".join(text), as_json=json)


def error_line(errors: dict[str, Any], where: str) -> str:
    """The error on some data, in their units and as a part of their variance."""
    after = f", after the first {errors['told']} points of each trajectory" if errors["told"] > 1 else ""
    return (
        f"mean squared error {shown(errors['mse'])} on the {where} data{after}, {shown(errors['nmse'])} of the variance"
    )


def better_line(simple: dict[str, float | None], error: float | None) -> list[str]:
    """A warning if a simple forecast of the same data has a smaller error."""
    better = {name: found for name, found in simple.items() if found is not None and (error is None or found < error)}
    if not better:
        return []
    best = min(better, key=better.__getitem__).replace("_", " ")
    return [f"warning: the simple forecast `{best}` is better than the model on these data"]


def useless_line(document: dict[str, Any]) -> list[str]:
    """A warning if forecasts miss much of the very data that were learnt from."""
    if document["nmse"] is not None and document["nmse"] < USELESS:
        return []
    return [
        "warning: that is much for data that were trained on, do not trust such forecasts: look at them with "
        "`leadax report`, and at other methods and simple forecasts with `leadax compare`"
    ]


def gap_line(document: dict[str, Any]) -> list[str]:
    """A warning if forecasts depend on the solver's steps, as much as the errors that they make or more."""
    gap, error = document.get("solver_gap"), document["nmse"]
    if gap is None or error is None or gap < max(0.5 * error, 1e-5):
        return []
    return [
        f"warning: an adaptive solver's forecasts differ from those of training by {gap:.2g} of the variance, and the "
        f"training error is {error:.2g}: the steps are too long for f and g_e to mean much, try --substeps 2"
    ]


def train_run(
    method: str,
    parts: Parts,
    out: Path,
    options: Training,
    *,
    skip: bool = False,
    tensorboard: Path | None = None,
) -> dict[str, Any]:
    """Train in a run folder, unless the run there is finished; returns its result.

    - `skip`: leave out settings that the method does not have, instead of refusing them;
    - `tensorboard`: a folder for training curves.
    """
    prepare(options.seeds)
    from ..train import fit

    arguments = options.arguments(method, parts.train, parts.covariates, parts.clock, skip=skip)
    learn = partial(fit, train=parts.train, validation=parts.validation, test=parts.test, **arguments)
    return recorded(learn, out, title=method, tensorboard=tensorboard)[1]


def recorded(
    learn: "Callable[..., Model]", out: Path, title: str, tensorboard: Path | None = None
) -> "tuple[Model, dict[str, Any]]":
    """The model that `learn(run=…, monitor=…)` leaves in a run folder, and the result there."""
    from ..train import Monitor, RunFolder
    from ..train import tensorboard as curves

    folder = RunFolder(out)
    was_finished = folder.finished
    written = nullcontext() if tensorboard is None else curves(tensorboard)
    with stoppable() as should_stop, training_bar(title) as show, written as write:

        def listen(snapshot: "Snapshot", steps: int) -> None:
            show(snapshot, steps)
            if write is not None:
                write(snapshot, steps)

        model = learn(run=out, monitor=Monitor(listen, message, should_stop))
    if was_finished:
        message(f"{out} is finished: nothing to do")
    return model, folder.result()
