"""More environments, more data (Fig. 4, Table S3): Lotka–Volterra with m environments of n points each.

How environments are grouped: `leadax.experiments.study.groups`.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..results.rows import Row
from ..results.sheets import Sheet, minutes, number, part_of, ratio, with_spread
from ..results.summary import summarise
from ..study import Options, Run, Target
from ..study.groups import SIZES, SYSTEM, TOTAL, TRAJECTORIES, Group, group_rows, run_name
from ..study.learning import settings_of
from ..study.models import CONTENDERS
from ..study.protocols import reported

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POINTS = 20
SAMPLES = tuple(POINTS * n for n in TRAJECTORIES)


class Shown(NamedTuple):
    """How a method appears in the figure, and whether its error depends on the size m of a group."""

    name: str
    depends_on_m: bool = True


# One-Per-Env comes first: at m = 1 the others start from it.
METHODS_SHOWN = {
    "one-per-env": Shown("One-Per-Env", depends_on_m=False),
    "one-for-all": Shown("One-For-All"),
    "ft-rnn": Shown("FT-RNN"),
    "ft-node": Shown("FT-NODE"),
    "gbml": Shown("GBML-like"),
    "leads": Shown("LEADS"),
}

# Table S3: test errors at m = 1, 2, 4, 8 for each n/K and method. At m = 1 all but FT-RNN are One-Per-Env.
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


def runs(options: Options) -> list[Run]:
    """One for each method, m, n and group of environments; for `smoke` n = 1·K and one group are enough."""
    smoke = options.budget == "smoke"
    chosen = options.choose(METHODS_SHOWN)
    return [
        _run(options, method, group)
        for method, m, n in PAPER
        if method in chosen and not (smoke and n > 1)
        if n * POINTS in (options.samples or SAMPLES) and m in (options.sizes or SIZES)
        for group in _groups(method, m, n)[: 1 if smoke else None]
    ]


def _groups(method: str, m: int, n: int) -> list[Group]:
    """A method whose error does not depend on m learns all environments in one run."""
    size = m if METHODS_SHOWN[method].depends_on_m else TOTAL
    return [Group(m, n, number, size) for number in range(TOTAL // size)]


def _run(options: Options, method: str, group: Group) -> Run:
    settings = settings_of(CONTENDERS[method], SYSTEM, options)
    return Run(run_name(options, method, group), partial(_work, options, method, group), settings)


def _work(options: Options, method: str, group: Group, folder: Path) -> Sequence[Row]:
    return group_rows(options, CONTENDERS[method], method, group, folder)


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each protocol, method, m and n, with the paper's error, whichever was measured first."""
    methods = list(METHODS_SHOWN)
    lines = sorted(summarise(rows), key=lambda line: (line["protocol"], line["n"], methods.index(line["method"])))
    for line in lines:
        line["paper"] = PAPER.get((line["method"], line["m"], line["n"] // POINTS))
    return lines


def sheet(rows: Sequence[Row]) -> Sheet:
    """As the paper prints it, with a column for each m: ours, and in brackets the paper's and the ratio."""
    groups: dict[tuple[str, int, str], dict[int, Row]] = {}
    for line in table(rows):
        groups.setdefault((line["protocol"], line["n"], line["method"]), {})[line["m"]] = line
    cells = [[protocol, str(n), method, *_cells(method, found)] for (protocol, n, method), found in groups.items()]
    header = ["protocol", "n", "method", *(f"m = {m}" for m in SIZES), "seeds", "steps", "minutes"]
    return Sheet(header, cells, NOTES)


def glance(rows: Sequence[Row]) -> Sheet:
    """Table S3 beside ours, with a mark on cells of fewer steps than the others have."""
    lines = table(rows)
    most = max(line["steps"] for line in lines)
    found = {(line["protocol"], line["n"], line["method"], line["m"]): line for line in lines}
    cells = [
        [protocol, str(n), method, *(_short_cell(found.get((protocol, n, method, m)), most) for m in SIZES)]
        for protocol, n, method in dict.fromkeys(key[:3] for key in found)
    ]
    notes = [f"Ours (the paper's): {WHICH} {SAME}"]
    if any(line["steps"] < most for line in lines):
        notes.append(FEWER.format(most))
    return Sheet(["protocol", "n", "method", *(f"m = {m}" for m in SIZES)], cells, notes)


def _short_cell(line: Row | None, most: int) -> str:
    if line is None:
        return ""
    return f"{number(reported(line)[0])}{'*' if line['steps'] < most else ''} ({number(line['paper'])})"


def _cells(method: str, found: dict[int, Row]) -> list[str]:
    """Errors of all m, seeds, steps and minutes of one method."""
    mixed = len({(line["seeds"], line["steps"]) for line in found.values()}) > 1
    errors = [_cell(found.get(m), mixed) for m in SIZES]
    if not METHODS_SHOWN[method].depends_on_m:
        errors[1:] = ["the same"] * (len(SIZES) - 1)
    seconds = [line["seconds"] for line in found.values()]
    seeds, steps = ("–".join(map(str, sorted({line[key] for line in found.values()}))) for key in ("seeds", "steps"))
    return [*errors, seeds, steps, minutes(None if None in seconds else sum(seconds))]


def _cell(line: Row | None, mixed: bool) -> str:
    """An error beside the paper's, and where cells of one method differ in effort, its own."""
    if line is None:
        return ""
    ours, spread = reported(line)
    part = part_of(line["environments"], TOTAL)
    effort = f" [seeds {line['seeds']}, steps {line['steps']}]" if mixed else ""
    return f"{with_spread(ours, spread)} ({number(line['paper'])}, {ratio(ours, line['paper'])}){part}{effort}"


SAME = "One-Per-Env does not depend on m, and at m = 1 all methods but FT-RNN are One-Per-Env."
WHICH = "the smallest test error during training in `paper`, as in the paper, and the last one in `clean`."
FEWER = "With a star: fewer than {:,} steps. In the picture, such marks are hollow."
NOTES = (
    f"Ours ± seeds (the paper's, ratio): {WHICH} {SAME} Seeds and steps may differ between rows, and where they do "
    "between the cells of a row, each says its own. In the picture, hollow marks and dotted lines have fewer steps "
    "than others.",
)


def figures(rows: Sequence[Row], place: Path) -> "dict[str, Figure]":
    """Fig. 4, one for each protocol."""
    from ...report.study import errors_of_sizes

    del place
    lines = [line | dict(zip(("error", "spread"), reported(line), strict=True)) for line in table(rows)]
    names = {method: shown.name for method, shown in METHODS_SHOWN.items()}
    protocols = dict.fromkeys(line["protocol"] for line in lines)
    return {
        f"environments-{protocol}": errors_of_sizes([line for line in lines if line["protocol"] == protocol], names)
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
    glance=glance,
    figures=figures,
    methods=tuple(METHODS_SHOWN),
    samples=SAMPLES,
    sizes=SIZES,
    protocols=("paper", "clean"),
)
