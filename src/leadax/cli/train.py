"""`leadax train`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tyro

from .checks import check_run
from .console import File, Json, message, result, shown, training_bar
from .names import METHODS, check_name
from .options import DataFile, MethodName, RunFolderOption, Training, read_data
from .runtime import prepare, stoppable

if TYPE_CHECKING:
    from ..data import Trajectories
    from ..model import Model


def train(
    data: DataFile,
    /,
    *,
    out: RunFolderOption,
    method: MethodName = "leads",
    test: File = None,
    training: tyro.conf.OmitArgPrefixes[Training] = Training(),
    json: Json = False,
) -> None:
    """Learn a model of all environments. An unfinished RUN is resumed; if it is finished, nothing is done.

    Args:
        test: A data file with the same environments. Errors on it are measured during training; it is never learnt
            from.
    """
    check_name("method", method, METHODS)
    training.check()
    check_run(out)
    testing = read_data(test) if test else None
    document = train_run(method, read_data(data), testing, out, training)
    text = [f"{out}: {method}, {document['steps']} steps, {document['parameters']} parameters per seed"]
    text += [f"mean squared error {shown(document['mse'])} on the training data"]
    if testing is not None:
        text += [f"mean squared error {shown(document['test']['last'])} on the test data (smallest during training: "
                 f"{shown(document['test']['minimum'])})"]  # fmt: skip
    result(document, "\n".join(text), as_json=json)


def train_run(
    method: str,
    training: "Trajectories",
    testing: "Trajectories | None",
    out: Path,
    options: Training,
    *,
    skip: bool = False,
) -> dict[str, Any]:
    """Train in a run folder, unless the run there is finished; returns its result.

    - `skip`: leave out settings that the method does not have, instead of refusing them.
    """
    prepare(options.seeds)
    from ..train import fit

    learn = partial(fit, train=training, test=testing, **options.arguments(method, training, skip=skip))
    return recorded(learn, out, title=method)[1]


def recorded(learn: "Callable[..., Model]", out: Path, title: str) -> "tuple[Model, dict[str, Any]]":
    """The model that `learn(run=…, monitor=…)` leaves in a run folder, and the result there."""
    from ..train import Monitor, RunFolder

    folder = RunFolder(out)
    was_finished = folder.finished
    with stoppable() as should_stop, training_bar(title) as listen:
        model = learn(run=out, monitor=Monitor(listen, message, should_stop))
    if was_finished:
        message(f"{out} is finished: nothing to do")
    return model, folder.result()
