"""Which model one is left with: LEADS on Lotka–Volterra, where the model kept is the best on validation data.

The paper reports the smallest test error on the way, which nobody without a test set can have. Here the test set
chooses nothing. There is one trajectory per environment, so validation data are its end, which is then missing in
training; or trajectories from other initial states, which are in neither the training nor the test set.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...data import Trajectories
from ...data.holdouts import hold_out
from ...model import Model
from ..results.rows import KEYS, Row
from ..results.sheets import Sheet, minutes, number, with_spread
from ..results.summary import spread, summarise
from ..study import Options, Run, Target
from ..study.learning import Data, columns_of, learn, result_rows, settings_of
from ..study.models import BUDGETS, CONTENDERS, data_of, simulated
from .table1 import PAPER

SYSTEM, METHOD = "lotka-volterra", "leads"
OTHERS = 8

Parts = tuple[Trajectories, Trajectories | None]


def ends(options: Options) -> Parts:
    """The last fifth of each training trajectory is held out, as Leadax does by default."""
    return hold_out(data_of(options, SYSTEM).train)


def other_states(options: Options) -> Parts:
    """All training data are learnt from; the next trajectories that would be training data are held out."""
    every = simulated(SYSTEM, "train", options.protocol, options.seed, 1 + OTHERS)
    return data_of(options, SYSTEM).train, every.select(trajectories=slice(1, None))


DIVISIONS: Mapping[str, Callable[[Options], Parts]] = {
    f"{METHOD} (ends)": ends,
    f"{METHOD} (other states)": other_states,
}


def runs(options: Options) -> list[Run]:
    """One for each kind of validation data."""
    return [_run(options, name) for name in options.choose(DIVISIONS)]


def _run(options: Options, name: str) -> Run:
    settings = settings_of(CONTENDERS[METHOD], SYSTEM, options) | {"validation": name}
    words = name.replace("(", "").replace(")", "").replace(" ", "-")
    folder = f"{words}-{options.work}"
    return Run(folder, partial(_work, options, name), settings)


def _work(options: Options, name: str, folder: Path) -> Sequence[Row]:
    train, validation = DIVISIONS[name](options)
    data = Data(SYSTEM, train, data_of(options, SYSTEM).test)
    model = learn(CONTENDERS[METHOD], data, options, folder, validation=validation)
    columns = columns_of(SYSTEM, name, train, options.protocol) | {"n": int(train.lengths[0].sum())}
    seen = _seen(model)
    return [{**row, **seen[row["seed"]]} for row in result_rows(columns, model, data)]


def _seen(model: Model) -> list[dict[str, Any]]:
    """Of each seed the step that was kept, its validation error, and the test error at the last step."""
    assert model.training is not None
    assert model.training.kept is not None, "there are validation data"
    history = {snapshot.step: snapshot for snapshot in model.training.history}
    last = model.training.history[-1].test
    assert last is not None
    errors = [history[step].validation for step in model.training.kept]
    return [
        {"kept": step, "mse_validation": of[seed] if of else np.nan, "mse_last": last[seed]}
        for seed, (step, of) in enumerate(zip(model.training.kept, errors, strict=True))
    ]


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each protocol and kind of validation data; `mse_test` is the error of the model that is kept."""
    return [{**line, **_of_seeds(line, rows), "paper": PAPER[SYSTEM, METHOD][1]} for line in summarise(rows)]


def _of_seeds(line: Row, rows: Sequence[Row]) -> dict[str, Any]:
    """What each seed has once, whatever the environment."""
    found = {row["seed"]: row for row in rows if all(row[key] == line[key] for key in KEYS)}
    of = lambda name: [row[name] for row in found.values()]
    last = of("mse_last")
    means = {name: float(np.mean(of(name))) for name in ("mse_last", "mse_validation")}
    return {**means, "mse_last_std_over_seeds": spread(last), "kept": sorted(of("kept"))}


def sheet(rows: Sequence[Row]) -> Sheet:
    """The table for people."""
    header = "protocol,validation data,points per env.,train,kept ± seeds,last ± seeds,minimum ± seeds,kept at steps"
    cells = [
        (
            line["protocol"],
            line["method"].removeprefix(METHOD).strip(" ()"),
            str(line["n"]),
            number(line["mse_train"]),
            with_spread(line["mse_test"], line["mse_std_over_seeds"]),
            with_spread(line["mse_last"], line["mse_last_std_over_seeds"]),
            with_spread(line["mse_minimum"], line["mse_minimum_std_over_seeds"]),
            ", ".join(map(str, line["kept"])),
            str(line["seeds"]),
            str(line["steps"]),
            minutes(line["seconds"]),
        )
        for line in table(rows)
    ]
    return Sheet([*header.split(","), "seeds", "steps", "minutes"], cells, NOTES)


NOTES = (
    "Test errors of LEADS: of the model kept, which has the smallest validation error of all looks, every 50 steps; "
    "of the model of the last step; and the smallest test error on the way, which the paper reports (1.16e-3). Ends: "
    "the last 4 of 20 points are held out, and learning is from the other 16. Other states: "
    f"{OTHERS} trajectories per environment that are in neither the training nor the test set; training is that of "
    "Table 1.",
)

VALIDATION = Target(
    name="validation",
    title="Which model one is left with (not in the paper)",
    budgets=BUDGETS,
    needed=("kept", "mse_last", "mse_validation", "mse_minimum", "mse_train", "std_over_trajectories"),
    runs=runs,
    table=table,
    sheet=sheet,
    methods=tuple(DIVISIONS),
    protocols=("paper", "clean"),
)
