"""Table 1: every method on the same data, trained on all environments at once."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax.random as jr

from ..data import Trajectories
from ..methods import METHODS
from ..model import Model
from ..systems import get_system, simulate
from .curves import Curves, curves_of, keep_curves, read_curves
from .learning import learn, result_rows, setting_of
from .protocols import PROTOCOLS
from .rows import KEYS, Row, reported, summarise
from .sheets import Sheet, minutes, number, ratio, with_spread
from .study import Options, Run, Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Mean squared errors of the paper: training, test.
PAPER = {
    ("lotka-volterra", "one-for-all"): (4.57e-1, 5.08e-1),
    ("lotka-volterra", "one-per-env"): (2.15e-5, 7.95e-3),
    ("lotka-volterra", "ft-rnn"): (5.29e-5, 6.40e-3),
    ("lotka-volterra", "ft-node"): (7.74e-5, 3.40e-3),
    ("lotka-volterra", "gbml"): (3.84e-6, 5.87e-3),
    ("lotka-volterra", "leads-no-min"): (3.28e-6, 3.07e-3),
    ("lotka-volterra", "leads"): (5.74e-6, 1.16e-3),
    ("gray-scott", "one-for-all"): (1.55e-2, 1.43e-2),
    ("gray-scott", "one-per-env"): (8.48e-5, 6.43e-3),
    ("gray-scott", "ft-rnn"): (8.44e-6, 8.19e-3),
    ("gray-scott", "ft-node"): (3.51e-5, 3.86e-3),
    ("gray-scott", "gbml"): (1.07e-4, 6.01e-3),
    ("gray-scott", "leads-no-min"): (7.65e-5, 5.53e-3),
    ("gray-scott", "leads"): (5.75e-5, 2.08e-3),
    ("navier-stokes", "one-for-all"): (5.17e-2, 7.31e-2),
    ("navier-stokes", "one-per-env"): (5.60e-6, 1.10e-2),
    ("navier-stokes", "ft-rnn"): (7.40e-4, 5.92e-2),
    ("navier-stokes", "ft-node"): (1.80e-4, 2.96e-2),
    ("navier-stokes", "gbml"): (1.39e-4, 7.37e-3),
    ("navier-stokes", "leads-no-min"): (3.20e-4, 7.10e-3),
    ("navier-stokes", "leads"): (1.03e-4, 5.95e-3),
}
SYSTEMS = ("lotka-volterra", "gray-scott", "navier-stokes")
# The paper's seven; the factored net with few factors, the stronger baseline; and two that most people would ask for.
METHODS_SHOWN = {
    **{name: METHODS[name] for _, name in PAPER},
    "ft-node (rank 12)": partial(METHODS["ft-node"], rank=12),
    "coda": METHODS["coda"],
    "maml": METHODS["maml"],
}
# Of the lines, whichever was measured first.
ORDER = {"system": SYSTEMS, "protocol": PROTOCOLS, "method": METHODS_SHOWN}
# A step on a field costs a hundred times one on a vector. In the protocol `fast` these are enough; in the others they
# are what an hour or two can give.
SHARE_OF_STEPS = {"lotka-volterra": 1.0, "gray-scott": 1 / 20, "navier-stokes": 2 / 15}


def runs(options: Options) -> list[Run]:
    """One for each system and method."""
    return [
        Run(run_name(options, system, method), partial(_work, options, system, method))
        for system in ((options.system,) if options.system else SYSTEMS)
        for method in options.among(list(METHODS_SHOWN))
    ]


@cache
def data(system: str, split: str, protocol: str, seed: int, trajectories: int | None = None) -> Trajectories:
    """As `leadax simulate` makes them."""
    return simulate(
        get_system(system, PROTOCOLS[protocol].rules), key=jr.key(seed), split=split, trajectories=trajectories
    )


def trained(options: Options, system: str, method: str, folder: Path) -> Model:
    """The model of a run: found finished in its folder, resumed or trained."""
    own = options.for_system(system, SHARE_OF_STEPS)
    train, test = (data(system, split, own.protocol, own.seed) for split in ("train", "test"))
    return learn(METHODS_SHOWN[method](), train, test, own, folder)


def before(options: Options) -> Options:
    """What Table 1 was asked for, when another target of the same budget takes its models."""
    steps = options.model_steps or TABLE1.budgets[options.budget][1]
    return replace(options, steps=steps, exact=options.model_steps is not None)


def trained_before(options: Options, system: str, method: str, runs: Path) -> Model:
    """The model of Table 1 for another target of the same budget; `runs` holds the folders of all targets."""
    asked = before(options)
    return trained(asked, system, method, runs / TABLE1.name / run_name(asked, system, method))


def run_name(options: Options, system: str, method: str) -> str:
    """The name of a run's folder."""
    o = options.for_system(system, SHARE_OF_STEPS)
    name = method.replace(" (", "-").replace(")", "").replace(" ", "-")
    return f"{system}-{name}-{o.protocol}-{o.seeds}x{o.steps}-{o.seed}"


def _work(options: Options, system: str, method: str, folder: Path) -> Sequence[Row]:
    model = trained(options, system, method, folder)
    train, test = (data(system, split, options.protocol, options.seed) for split in ("train", "test"))
    return result_rows(setting_of(system, method, train, options.protocol), model, train, test)


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each system, protocol and method; `mse_test` is that of the last step."""
    place = lambda line: tuple(list(order).index(line[key]) for key, order in ORDER.items())
    lines = sorted(summarise(rows, (*KEYS, "parameters")), key=place)
    for line in lines:
        line["paper_train"], line["paper"] = PAPER.get((line["system"], line["method"]), (None, None))
    return lines


def sheet(rows: Sequence[Row]) -> Sheet:
    """The table for people."""
    header = (
        "system,protocol,method,train (paper),last ± seeds,± traj.,minimum,paper,ratio,seeds,steps,minutes,parameters"
    )
    cells = [
        (
            line["system"],
            line["protocol"],
            line["method"],
            f"{number(line['mse_train'])} ({number(line['paper_train'])})",
            with_spread(line["mse_test"], line["mse_std_over_seeds"]),
            number(line["mse_std_over_trajectories"]),
            number(line["mse_minimum"]),
            number(line["paper"]),
            ratio(reported(line)[0], line["paper"]),
            str(line["seeds"]),
            str(line["steps"]),
            minutes(line["seconds"]),
            str(line["parameters"]),
        )
        for line in table(rows)
    ]
    return Sheet(header.split(","), cells, NOTES)


NOTES = (
    "Minimum: the smallest test error on the way, which the paper reports; last: of the model one is left with. "
    "Ratio: minimum (`paper`, `fast`) or last (`clean`, on other trajectories) to the paper's. Minutes: all seeds "
    "together, with compilation, on 2 cores that at times did other work too. In the picture: medians over seeds, and "
    "their range.",
)


def figures(rows: Sequence[Row], place: Path) -> "dict[str, Figure]":
    """Test error against steps, where the curves are kept."""
    from ..report.study import learning_curves

    del rows
    found = in_order(curves_of(read_curves(place / CURVES)))
    order = {name: name for name in METHODS_SHOWN}
    return {"table1": learning_curves(found, order)} if found else {}


def in_order(curves: Curves) -> Curves:
    """Curves by system and protocol, whichever was measured first."""
    return dict(sorted(curves.items(), key=lambda item: (SYSTEMS.index(item[0][0]), list(PROTOCOLS).index(item[0][1]))))


def keep(runs: Sequence[Run], folder: Path, place: Path) -> None:
    """The curves of all runs."""
    keep_curves([folder / run.name for run in runs], place / CURVES)


CURVES = "table1-curves.csv"
TABLE1 = Target(
    name="table1",
    title="All environments at once (Table 1)",
    budgets={"smoke": (2, 40), "hour": (4, 12_000), "paper": (4, 120_000)},
    needed=("parameters", "mse_minimum"),
    runs=runs,
    table=table,
    sheet=sheet,
    figures=figures,
    systems=SYSTEMS,
    methods=tuple(METHODS_SHOWN),
    share_of_steps=SHARE_OF_STEPS,
    keep=keep,
)
