"""More environments, more data (Fig. 4, Table S3): Lotka–Volterra with m environments of n points each.

Eight environments in groups of m (supplement D.3): each group is learnt by itself, all are tested on the same data, and
the error is the mean over all eight. The paper does not say which eight of its ten: here they are the first, in order.
1/λ is that of m = 10 for all m, although Ω is summed over environments and the error averaged: so it weighs less.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data import Trajectories
from ..methods import METHODS, Method
from .learning import learn, result_rows, setting_of
from .rows import Row, reported, summarise
from .sheets import Sheet, minutes, number, part_of, ratio, with_spread
from .study import Options, Run, Target
from .table1 import data

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SYSTEM = "lotka-volterra"
TOTAL = 8
SIZES = (1, 2, 4, 8)
TRAJECTORIES = (1, 2, 4, 8)
POINTS = 20
# Whose error does not depend on m: all its environments are learnt in one run.
ALONE = "one-per-env"

# Table S3: for each n/K and method the test errors at m = 1, 2, 4, 8. At m = 1 all but FT-RNN are One-Per-Env.
PRINTED = {
    1: {
        "one-per-env": (7.87e-3,),
        "one-for-all": (None, 0.22, 0.33, 0.47),
        "ft-rnn": (4.02e-2, 1.62e-2, 1.62e-2, 1.08e-2),
        "ft-node": (None, 7.63e-3, 4.18e-3, 4.92e-3),
        "gbml": (None, 6.32e-2, 1.44e-1, 9.85e-3),
        "leads": (None, 3.65e-3, 2.39e-3, 1.37e-3),
    },
    2: {
        "one-per-env": (1.38e-3,),
        "one-for-all": (None, 0.22, 0.36, 0.60),
        "ft-rnn": (7.20e-2, 2.72e-2, 1.69e-2, 1.38e-2),
        "ft-node": (None, 9.02e-3, 1.11e-3, 1.00e-3),
        "gbml": (None, 9.26e-3, 1.17e-2, 1.96e-2),
        "leads": (None, 8.65e-4, 8.40e-4, 6.02e-4),
    },
    4: {
        "one-per-env": (1.36e-4,),
        "one-for-all": (None, 0.19, 0.31, 0.50),
        "ft-rnn": (8.69e-4, 3.39e-4, 3.02e-4, 2.26e-4),
        "ft-node": (None, 1.74e-4, 1.78e-4, 1.39e-4),
        "gbml": (None, 2.57e-3, 2.65e-3, 2.36e-3),
        "leads": (None, 1.10e-4, 1.03e-4, 9.66e-5),
    },
    8: {
        "one-per-env": (5.98e-5,),
        "one-for-all": (None, 0.16, 0.35, 0.52),
        "ft-rnn": (2.09e-4, 1.18e-4, 1.13e-4, 9.13e-5),
        "ft-node": (None, 6.91e-5, 7.82e-5, 6.88e-5),
        "gbml": (None, 1.02e-4, 1.41e-4, 0.99e-4),
        "leads": (None, 5.47e-5, 4.52e-5, 3.94e-5),
    },
}
PAPER = {
    (method, m, n): error
    for n, of_methods in PRINTED.items()
    for method, errors in of_methods.items()
    for m, error in zip(SIZES, errors, strict=False)
    if error is not None
}
NAMES = {
    "one-per-env": "One-Per-Env",
    "one-for-all": "One-For-All",
    "ft-rnn": "FT-RNN",
    "ft-node": "FT-NODE",
    "gbml": "GBML-like",
    "leads": "LEADS",
}


def runs(options: Options) -> list[Run]:
    """One for each method, m, n and group of environments; to see that it works, n = 1·K and one group are enough."""
    smoke = options.budget == "smoke"
    return [
        Run(run_name(options, method, m, n, group), partial(_work, options, method, m, n, group))
        for method, m, n in PAPER
        if method in options.among(list(NAMES)) and not (smoke and n > 1)
        for group in range(1 if smoke or method == ALONE else TOTAL // m)
    ]


def run_name(options: Options, method: str, m: int, n: int, group: int) -> str:
    """The name of a run's folder."""
    work = f"{options.protocol}-{options.seeds}x{options.steps}-{options.seed}"
    return f"{method.replace(' ', '-')}-m{m}-n{n}-group{group}-{work}"


def grouped(options: Options, size: int, n: int, group: int) -> tuple[Trajectories, Trajectories]:
    """Training and test data of one group. The same trajectories, and more of them: fewer are a part of more."""
    train = data(SYSTEM, "train", options.protocol, options.seed, max(TRAJECTORIES))
    test = data(SYSTEM, "test", options.protocol, options.seed)
    names = train.environments[:TOTAL][group * size : (group + 1) * size]
    return train.select(names, slice(0, n)), test.select(names)


def group_rows(
    options: Options, method: Method, name: str, sizes: tuple[int, int, int], group: int, folder: Path
) -> Sequence[Row]:
    """Learn one group, and say what came of it.

    **Arguments**

    - `sizes`: m as the table has it, the environments of a group, and trajectories in each.
    """
    m, size, n = sizes
    train, test = grouped(options, size, n, group)
    model = learn(method, train, test, options, folder)
    setting = setting_of(SYSTEM, name, train, options.protocol) | {"m": m, "group": group}
    return result_rows(setting, model, train, test)


def _work(options: Options, method: str, m: int, n: int, group: int, folder: Path) -> Sequence[Row]:
    size = TOTAL if method == ALONE else m
    return group_rows(options, METHODS[method](), method, (m, size, n), group, folder)


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each protocol, method, m and n, with the paper's error beside it."""
    lines = summarise(rows)
    for line in lines:
        line["paper"] = PAPER.get((line["method"], line["m"], line["n"] // POINTS))
    return lines


def sheet(rows: Sequence[Row]) -> Sheet:
    """As the paper prints it, a column for each m: ours, and in brackets the paper's and ours divided by it."""
    lines = table(rows)
    of = {(line["protocol"], line["n"], line["method"], line["m"]): line for line in lines}
    cells = []
    for protocol, n, method in dict.fromkeys(key[:3] for key in of):
        found = {m: of[protocol, n, method, m] for m in SIZES if (protocol, n, method, m) in of}
        errors = [_cell(found.get(m)) for m in SIZES]
        if method == ALONE:
            errors[1:] = ["the same"] * (len(SIZES) - 1)
        seconds = [line["seconds"] for line in found.values()]
        cost = minutes(None if None in seconds else sum(seconds))
        seeds, steps = ("–".join(sorted({str(line[key]) for line in found.values()})) for key in ("seeds", "steps"))
        cells.append([protocol, str(n), method, *errors, seeds, steps, cost])
    header = ["protocol", "n", "method", *(f"m = {m}" for m in SIZES), "seeds", "steps", "minutes"]
    return Sheet(header, cells, NOTES)


def _cell(line: Row | None) -> str:
    if line is None:
        return ""
    ours, spread = reported(line)
    part = part_of(line["environments"], TOTAL)
    return f"{with_spread(ours, spread)} ({number(line['paper'])}, {ratio(ours, line['paper'])}){part}"


NOTES = (
    "Ours ± seeds (paper, ratio): the smallest test error on the way in `paper`, as there, and the last one in "
    "`clean`. At m = 1 all methods but FT-RNN are One-Per-Env.",
)


def figures(rows: Sequence[Row], place: Path) -> "dict[str, Figure]":
    """Fig. 4, one for each protocol."""
    from ..report.study import errors_of_sizes

    del place
    lines = [line | dict(zip(("error", "spread"), reported(line), strict=True)) for line in table(rows)]
    protocols = dict.fromkeys(line["protocol"] for line in lines)
    return {
        f"environments-{protocol}": errors_of_sizes([line for line in lines if line["protocol"] == protocol], NAMES)
        for protocol in protocols
    }


# 176 runs of 68 shapes, which take 20 minutes to compile; a step of all of them together takes more than a second.
ENVIRONMENTS = Target(
    name="environments",
    title="More environments, more data (Fig. 4, Table S3)",
    budgets={"smoke": (2, 20), "hour": (2, 2_000), "paper": (4, 120_000)},
    needed=("mse_minimum", "mse_train", "std_over_trajectories"),
    runs=runs,
    table=table,
    sheet=sheet,
    figures=figures,
    methods=tuple(NAMES),
    protocols=("paper", "clean"),
)
