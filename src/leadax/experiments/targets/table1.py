"""Table 1: every method on the same data, trained on all environments at once."""

from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..results.curves import curves_of, keep_curves, read_curves
from ..results.rows import KEYS, Row
from ..results.sheets import Sheet, minutes, number, ratio, with_spread
from ..results.summary import summarise
from ..study import Options, Run, Target
from ..study.contenders import GIVEN, taking_part
from ..study.learning import columns_of, result_rows, settings_of
from ..study.models import BUDGETS, CONTENDERS, FOLDER, SHARE_OF_STEPS, SYSTEMS, data_of, in_order, run_name, trained
from ..study.protocols import PROTOCOLS, reported

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
# The order of the lines, whichever was measured first.
ORDER = {"system": SYSTEMS, "protocol": PROTOCOLS, "method": CONTENDERS}


def runs(options: Options) -> list[Run]:
    """One for each system and method."""
    systems = (options.system,) if options.system else SYSTEMS
    return [_run(options, system, method) for system in systems for method in options.choose(taking_part(system))]


def _run(options: Options, system: str, method: str) -> Run:
    settings = settings_of(CONTENDERS[method], system, options.for_system(system, SHARE_OF_STEPS))
    return Run(run_name(options, system, method), partial(_work, options, system, method), settings)


def _work(options: Options, system: str, method: str, folder: Path) -> Sequence[Row]:
    model = trained(options, system, method, folder)
    data = data_of(options, system)
    columns = columns_of(system, method, data.train, options.protocol)
    return result_rows(columns, model, data, options.first_seed)


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each system, protocol and method; `mse_test` is the error at the last step."""
    place = lambda line: tuple(list(order).index(line[key]) for key, order in ORDER.items())
    lines = sorted(summarise(rows, (*KEYS, "parameters")), key=place)
    for line in lines:
        method = line["method"].removesuffix(" (tuned)").removesuffix(" (mirrored)")
        line["paper_train"], line["paper"] = PAPER.get((line["system"], method), (None, None))
    return lines


def glance(rows: Sequence[Row]) -> Sheet:
    """The paper's Table 1 beside ours: a line for each method, a column for each system and protocol.

    Where there is one method only, nothing can be compared.
    """
    lines = {(line["system"], line["protocol"], line["method"]): line for line in table(rows)}
    counts = Counter((system, protocol) for system, protocol, _ in lines)
    columns = [column for column, methods in counts.items() if methods > 1] or list(counts)
    cell = lambda column, method: _beside_the_papers(lines.get((*column, method)))
    methods = [method for method in CONTENDERS if any((*column, method) in lines for column in columns)]
    cells = [(method, *(cell(column, method) for column in columns)) for method in methods]
    return Sheet(("method", *(f"{system}, `{protocol}`" for system, protocol in columns)), cells, SHORT_NOTES)


def _beside_the_papers(line: Row | None) -> str:
    if line is None:
        return ""
    ours = number(reported(line)[0])
    return ours if line["paper"] is None else f"{ours} ({number(line['paper'])})"


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


SHORT_NOTES = (
    "Ours (the paper's): the smallest test error during training in `paper` and `fast`, as in the paper; in `clean` "
    "the error of the final model, on other trajectories. An empty cell was not measured. Tuned: with the settings "
    "that the [search below](#the-same-search-for-every-method-not-in-the-paper) chose. Mirrored: learnt "
    "from mirror images of the training data, too. The picture shows medians and ranges over seeds.",
)
NOTES = (
    "Minimum: the smallest test error during training, which is what the paper reports. Last: the error of the final "
    "model. Ratio: minimum (`paper`, `fast`) or last (`clean`, on other trajectories) to the paper's error. Minutes: "
    "all seeds together, with compilation, on 2 cores that sometimes did other work too.",
)


def figures(rows: Sequence[Row], place: Path) -> "dict[str, Figure]":
    """Test error against steps, if the curves are kept."""
    from ...report.study import learning_curves

    del rows
    found = in_order(curves_of(read_curves(place / CURVES)))
    return {"table1": learning_curves(found, {name: name for name in GIVEN})} if found else {}


def keep(runs: Sequence[Run], folder: Path, place: Path) -> None:
    """Keep the learning curves of all runs."""
    keep_curves([folder / run.name for run in runs], place / CURVES)


CURVES = "table1-curves.csv"
TABLE1 = Target(
    name=FOLDER,
    title="All environments at once (Table 1)",
    budgets=BUDGETS,
    needed=("parameters", "mse_minimum"),
    runs=runs,
    table=table,
    sheet=sheet,
    glance=glance,
    figures=figures,
    systems=SYSTEMS,
    methods=tuple(CONTENDERS),
    share_of_steps=SHARE_OF_STEPS,
    keep=keep,
    adds_seeds=True,
)
