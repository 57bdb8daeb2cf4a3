"""How much depends on the draw: Lotka–Volterra from other initial states, LEADS next to One-Per-Env.

With one trajectory per environment, errors depend on where it starts. Every draw is one initial state, the same in
all ten environments, under the rules of `clean`; all are tested on the test data of Table 1 in `clean`. Draw 0 would
be Table 1 itself. The draw `paper` is the initial state of the protocol `paper`, under the rules of `clean`, too.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax.random as jr

from ...data import Trajectories
from ...systems import get_system, simulate
from ..results.rows import KEYS, Row, read_rows
from ..results.sheets import Sheet, minutes, number, ratio, with_spread
from ..results.summary import summarise
from ..study import Options, Run, Target
from ..study.learning import Data, columns_of, learn, result_rows, settings_of
from ..study.models import BUDGETS, CONTENDERS, simulated
from .table1 import PAPER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SYSTEM = "lotka-volterra"
METHODS_SHOWN = {"leads": "LEADS", "one-per-env": "One-Per-Env"}
OTHERS = 10
PUBLISHED = "paper"
EVERY = (*map(str, range(1, OTHERS + 1)), PUBLISHED)


def runs(options: Options) -> list[Run]:
    """One for each draw and method; for `smoke` one other draw and the published one are enough."""
    draws = EVERY[-2:] if options.budget == "smoke" else EVERY
    return [_run(options, method, draw) for draw in draws for method in options.choose(METHODS_SHOWN)]


def _run(options: Options, method: str, draw: str) -> Run:
    settings = settings_of(CONTENDERS[method], SYSTEM, options) | {"draw": draw}
    name = f"{method}-draw-{draw}-{options.work}"
    return Run(name, partial(_work, options, method, draw), settings)


def _work(options: Options, method: str, draw: str, folder: Path) -> Sequence[Row]:
    data = Data(SYSTEM, training_data(options, draw), simulated(SYSTEM, "test", options.protocol, options.seed))
    model = learn(CONTENDERS[method], data, options, folder)
    u, v = data.train.states[0, 0, 0].tolist()
    columns = columns_of(SYSTEM, method, data.train, options.protocol)
    return result_rows({**columns, "draw": draw, "start_u": u, "start_v": v}, model, data)


def training_data(options: Options, draw: str) -> Trajectories:
    """One trajectory per environment, from the initial state of this draw."""
    if draw == PUBLISHED:
        return published_start(options.seed)
    every = simulated(SYSTEM, "train", options.protocol, options.seed, OTHERS + 1)
    return every.select(trajectories=[int(draw)])


@cache
def published_start(seed: int) -> Trajectories:
    """The initial state of the protocol `paper`, solved as in `clean`."""
    clean, paper = get_system(SYSTEM, "clean"), get_system(SYSTEM, "paper")
    system = replace(clean, draws=paper.draws, initial_state=paper.initial_state)
    return simulate(system, key=jr.key(seed), split="train", trajectories=1)


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each draw and method, with the paper's error."""
    rows = [{**row, "draw": str(row["draw"])} for row in rows]
    lines = summarise(rows, (*KEYS, "draw", "start_u", "start_v"))
    lines.sort(key=lambda line: (EVERY.index(line["draw"]), list(METHODS_SHOWN).index(line["method"])))
    return [{**line, "paper": PAPER[SYSTEM, line["method"]][1]} for line in lines]


def sheet(rows: Sequence[Row]) -> Sheet:
    """The table for people: a line for each draw, both methods side by side, and what they say together."""
    header = ["draw", "start"]
    for name in METHODS_SHOWN.values():
        header += [f"{name}: minimum ± seeds", "last"]
    header += ["ratio of minima", "seeds", "steps", "minutes"]
    lines = table(rows)
    draws = {draw: {line["method"]: line for line in lines if line["draw"] == draw} for draw in EVERY}
    return Sheet(header, [_cells(draw, of) for draw, of in draws.items() if of], (*_summary(lines), *NOTES))


def _cells(draw: str, of: Mapping[str, Row]) -> list[str]:
    some = next(iter(of.values()))
    cells = [draw, f"({some['start_u']:.2f}, {some['start_v']:.2f})"]
    for method in METHODS_SHOWN:
        line = of.get(method, {})
        minimum, spread = line.get("mse_minimum"), line.get("mse_minimum_std_over_seeds")
        cells += [with_spread(minimum, spread), number(line.get("mse_test"))]
    minima = [of[method]["mse_minimum"] if method in of else None for method in ("one-per-env", "leads")]
    seconds = [line["seconds"] for line in of.values()]
    cost = minutes(None if None in seconds else sum(seconds))
    return [*cells, ratio(*minima), str(some["seeds"]), str(some["steps"]), cost]


def _summary(lines: Sequence[Row]) -> list[str]:
    """What the other draws say together, about each method."""
    return [
        _sentence(name, PAPER[SYSTEM, method][1], found)
        for method, name in METHODS_SHOWN.items()
        if (found := [e["mse_minimum"] for e in lines if e["method"] == method and e["draw"] != PUBLISHED])
    ]


def _sentence(name: str, paper: float, errors: Sequence[float]) -> str:
    below = sum(error <= paper for error in errors)
    return (
        f"{name}, minima of {len(errors)} other draws: median {number(statistics.median(errors))}, from "
        f"{number(min(errors))} to {number(max(errors))}; {below} of them are at or below the paper's {number(paper)}."
    )


NOTES = (
    "Minimum: the smallest test error during training, which is what the paper reports. Last: the error of the final "
    "model. Ratio: One-Per-Env to LEADS; the paper's is 6.9. All draws have the rules and the test data of `clean`; "
    "`paper` is the initial state of the protocol `paper`. In the picture, hollow marks are the draws of Table 1, "
    "each with its own test data. The first point does not count in the errors of `clean`, which makes them 5 % larger "
    "than as the paper counts them.",
)


def figures(rows: Sequence[Row], place: Path) -> "dict[str, Figure]":
    """The errors of all draws, and beside them those of Table 1, if they are kept."""
    from ...report.draws import errors_of_draws

    kept = place / "table1.csv"
    of_table1 = [row for row in read_rows(kept) if row["system"] == SYSTEM] if kept.exists() else []
    marked = [
        {**line, "draw": f"Table 1: {line['protocol']}"}
        for line in summarise([row for row in of_table1 if row["method"] in METHODS_SHOWN])
        if line["protocol"] in ("clean", "paper")
    ]
    papers = {method: PAPER[SYSTEM, method][1] for method in METHODS_SHOWN}
    return {"draws": errors_of_draws(table(rows), marked, METHODS_SHOWN, papers)}


DRAWS = Target(
    name="draws",
    title="Other initial states (not in the paper)",
    budgets={**BUDGETS, "hour": (1, 12_000)},
    needed=("draw", "mse_minimum", "mse_train", "std_over_trajectories"),
    runs=runs,
    table=table,
    sheet=sheet,
    figures=figures,
    methods=tuple(METHODS_SHOWN),
    protocols=("clean",),
)
