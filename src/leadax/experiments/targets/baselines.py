"""Every method at its best: the same small search for each of the paper's seven, on Lotka–Volterra.

One seed of the training of Table 1 for each candidate. Errors are those of trajectories from initial states that are
neither trained on nor in the test set: the test data of the next seed. The candidates, and the ones that were chosen,
are in `study/contenders.py`.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ..results.rows import KEYS, Row
from ..results.sheets import UNKNOWN, Sheet, minutes, number
from ..results.summary import summarise
from ..study import Options, Run, Target
from ..study.contenders import AS_GIVEN, OWN, SEARCHED, Choice, candidates
from ..study.learning import Data, columns_of, learn, result_rows, settings_of
from ..study.models import simulated
from ..study.protocols import reported


def runs(options: Options) -> list[Run]:
    """One for each candidate."""
    return [_run(options, method, i) for method in options.choose(OWN) for i in range(len(candidates(method)))]


def _run(options: Options, method: str, i: int) -> Run:
    choice = Choice(method, list(candidates(method))[i])
    settings = settings_of(candidates(method)[choice.setting], SEARCHED, options)
    name = f"{method}-{i}-{options.work}"
    return Run(name, partial(_work, options, choice, i), settings)


def searched_data(options: Options) -> Data:
    """The training data of Table 1, and validation data in place of its test data."""
    train = simulated(SEARCHED, "train", options.protocol, options.seed)
    return Data(SEARCHED, train, simulated(SEARCHED, "test", options.protocol, options.seed + 1))


def _work(options: Options, choice: Choice, i: int, folder: Path) -> Sequence[Row]:
    data = searched_data(options)
    model = learn(candidates(choice.method)[choice.setting], data, options, folder)
    columns = columns_of(SEARCHED, choice.method, data.train, options.protocol)
    return result_rows(columns | {"group": i, "setting": choice.setting}, model, data)


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each candidate; errors are those of the validation data."""
    lines = summarise(rows, (*KEYS, "group", "setting"))
    return [line | {"chosen": line is _best(lines, line)} for line in lines]


def _best(lines: Sequence[dict[str, Any]], like: dict[str, Any]) -> dict[str, Any]:
    """The candidate of the same method with the smallest error."""
    own = [line for line in lines if all(line[key] == like[key] for key in ("protocol", "method"))]
    return min(own, key=lambda line: reported(line)[0])


def sheet(rows: Sequence[Row]) -> Sheet:
    """The table for people."""
    header = ["protocol", "method", "setting", "train", "last", "minimum", "chosen", "seeds", "steps", "minutes"]
    return Sheet(header, [_cells(line) for line in table(rows)], NOTES)


def _cells(line: dict[str, Any]) -> tuple[str, ...]:
    errors = (number(line[name]) for name in ("mse_train", "mse_test", "mse_minimum"))
    effort = (str(line["seeds"]), str(line["steps"]), minutes(line["seconds"]))
    return (line["protocol"], line["method"], line["setting"], *errors, "yes" if line["chosen"] else "", *effort)


def glance(rows: Sequence[Row]) -> Sheet:
    """One line for each method: as given, and the best."""
    lines = table(rows)
    given = {_searched(line): number(reported(line)[0]) for line in lines if line["setting"] == AS_GIVEN}
    cells = [
        (*_searched(line), given.get(_searched(line), UNKNOWN), number(reported(line)[0]), line["setting"])
        for line in lines
        if line["chosen"]
    ]
    return Sheet(["protocol", "method", "as given", "best", "its setting"], cells, (CHOSEN, SLOW))


def _searched(line: Row) -> tuple[str, str]:
    return line["protocol"], line["method"]


CHOSEN = (
    "Errors on validation data, one seed: the smallest during training in `paper`, the last in `clean`. The best of "
    "four settings is in Table 1 as `(tuned)`, unless it is the method as given."
)
SLOW = "Slow restarts: the chance that a point restarts the forecast from the data falls to 5 % at the last step."
NOTES = (
    "Errors on validation data: at the last step, and the smallest during training. Chosen: the smallest minimum in "
    f"`paper`, the smallest last in `clean`. {SLOW}",
)
BASELINES = Target(
    name="baselines",
    title="The same search for every method (not in the paper)",
    budgets={"smoke": (1, 20), "hour": (1, 12_000), "paper": (4, 12_000)},
    needed=("mse_train", "mse_minimum", "std_over_trajectories", "setting", "group"),
    runs=runs,
    table=table,
    sheet=sheet,
    glance=glance,
    methods=tuple(OWN),
    protocols=("paper", "clean"),
)
