"""`leadax compare`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from ..errors import InputError
from .checks import check_run
from .comparison import Trial, compare_methods, folder_of, table
from .console import Json, message, optional, result
from .names import METHODS, check_name
from .options import OWN, DataFile, Training
from .parts import Test, check_division, parts_of, without_test
from .reading import Reading
from .settings import Plan

if TYPE_CHECKING:
    from ..data import Trajectories

FOLDS = 3

MethodNames = Annotated[
    str | None,
    optional("NAME[,…]", f"Names separated by commas: {', '.join(METHODS)}, {OWN}; by default all of Leadax's."),
]


def compare(
    data: DataFile,
    /,
    *,
    out: Path,
    test: Test = None,
    methods: MethodNames = None,
    training: tyro.conf.OmitArgPrefixes[Training] = Training(),
    reading: tyro.conf.OmitArgPrefixes[Reading] = Reading(),
    json: Json = False,
) -> None:
    """Train several methods on the same data and compare their errors. Finished runs are not trained again.

    Without --test the methods are cross-validated: each is trained up to three times, on other parts of DATA, and
    tested on the rest. Settings that a method does not have are left out for that method. Simple forecasts that need
    no training are in the table too.

    Args:
        out: The folder to write to: a run for each method, and a page with tables and pictures.
    """
    names = _names(methods, training)
    training.check()
    check_division("--test", test)
    _check_folder(out)
    loaded = reading.load(data)
    from ..data import folds

    # Without test data, the folds are tested on: the first of them decides for all.
    known = without_test(loaded, test) if test is not None else folds(loaded, FOLDS)[0][0]
    training = training.decided(known, clock=reading.clock is not None)
    trials = _trials(reading, loaded, test, training, out)
    for trial in trials:
        for name in names:
            check_run(trial.folder / folder_of(name))
    compared = compare_methods(names, trials, training)
    from ..choose import verdict
    from .report import write_comparison

    page, shown = out / "report.html", trials[0].parts.test
    assert shown is not None
    write_comparison(compared.models, shown, "Comparison", page, compared.evaluations, compared.yardsticks)
    result(compared.rows, table(compared.rows), as_json=json)
    message(f"\n{verdict(compared.evaluations, compared.yardsticks)}")
    message(f"pictures: {page}")


def _check_folder(out: Path) -> None:
    """An `InputError` for the folder of a run: those of a comparison would be mixed with it."""
    from ..train.run_folder import CONFIG

    if (out / CONFIG).exists():
        raise InputError(f"{out} is the run of one method: give `--out` a folder of its own, for a run of each method")


def _trials(reading: Reading, data: "Trajectories", test: str | None, training: Training, out: Path) -> list[Trial]:
    """One trial with the test data that were asked for, or one for each fold."""
    how = (training.validate, reading, training.told)
    if test is not None:
        return [Trial(out, parts_of(data, test, *how))]
    from ..data import folds

    divided = folds(data, FOLDS, warmup=training.told)
    message(
        f"no --test: {len(divided)} folds of the data, each tested on once"
        if len(divided) > 1
        else "no --test: the ends of trajectories are tested on, as some environment has only one trajectory"
    )
    return [
        Trial(out / f"fold-{k + 1}", parts_of(kept, None, *how)._replace(test=held))
        for k, (kept, held) in enumerate(divided)
    ]


def _names(text: str | None, training: Training) -> list[str]:
    """The methods to compare, each once."""
    if text is None:
        return [name for name in METHODS if training.match == "trajectories" or _has_a_field(name)]
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise InputError(f"`--methods` must be names separated by commas, got `{text}`")
    for name in names:
        check_name("method", name, METHODS)
    if len({folder_of(name) for name in names}) < len(names):
        raise InputError(f"two of the methods would share a folder: {', '.join(names)}")
    return names


def _has_a_field(name: str) -> bool:
    """Whether a method has a vector field, whose values can be compared with derivatives: it is solved then."""
    return "solver" in Plan.of(name).fields
