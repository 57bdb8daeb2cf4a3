"""Which norm in Ω (Table S4): LEADS on Lotka–Volterra with empirical L^p norms in the place of ‖g_e‖_∞.

‖g‖_{L^p} = (1/n Σ_x |g(x)|^p)^{1/p}, squared; like the paper's Ω relative to |x|, so that p = 2 is the Ω of Table 1.
m = 4 and n = 1·K, as in `environments`: both groups of four, the mean over all eight environments.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ..methods import Leads
from ..penalty import EmpiricalNorm, Omega
from .environments import SYSTEM, TOTAL, group_rows, run_name
from .presets import PRESETS
from .protocols import PROTOCOLS
from .rows import Row, reported, summarise
from .sheets import Sheet, minutes, number, part_of, ratio, with_spread
from .study import Options, Run, Target

M = 4
# Test errors of Table S4.
PAPER = {1: 2.30e-3, 2: 2.36e-3, 3: 2.34e-3, 10: 3.41e-3, math.inf: 6.12e-3}
NAMES = {f"leads p={p}": p for p in PAPER}


def runs(options: Options) -> list[Run]:
    """One for each p and group of environments; to see that it works, one group is enough."""
    return [
        Run(run_name(options, name, M, 1, group), partial(_work, options, name, group))
        for name in options.among(list(NAMES))
        for group in range(1 if options.budget == "smoke" else TOTAL // M)
    ]


def penalty(p: float | int, protocol: str) -> Omega:
    """The Ω of the system, with another p."""
    omega = PRESETS[SYSTEM].penalty(PROTOCOLS[protocol].rules)
    assert isinstance(omega, Omega)
    assert isinstance(omega.norm, EmpiricalNorm)
    return replace(omega, norm=replace(omega.norm, p=p))


def _work(options: Options, name: str, group: int, folder: Path) -> Sequence[Row]:
    method = Leads(penalty=penalty(NAMES[name], options.protocol))
    return group_rows(options, method, name, (M, M, 1), group, folder)


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each protocol and p, with the paper's error beside it."""
    return [{**line, "paper": PAPER[NAMES[line["method"]]]} for line in summarise(rows)]


def sheet(rows: Sequence[Row]) -> Sheet:
    """The table for people."""
    header = "protocol,p,last ± seeds,minimum ± seeds,paper,ratio,seeds,steps,minutes"
    cells = [
        (
            line["protocol"],
            "∞" if NAMES[line["method"]] == math.inf else str(NAMES[line["method"]]),
            with_spread(line["mse_test"], line["mse_std_over_seeds"]) + part_of(line["environments"], TOTAL),
            with_spread(line["mse_minimum"], line["mse_minimum_std_over_seeds"]),
            number(line["paper"]),
            ratio(reported(line)[0], line["paper"]),
            str(line["seeds"]),
            str(line["steps"]),
            minutes(line["seconds"]),
        )
        for line in table(rows)
    ]
    return Sheet(header.split(","), cells, NOTES)


NOTES = ("Ratio: minimum (`paper`) or last (`clean`, on other trajectories) to the paper's.",)


NORMS = Target(
    name="norms",
    title="Which norm in Ω (Table S4)",
    budgets={"smoke": (2, 20), "hour": (4, 12_000), "paper": (4, 120_000)},
    needed=("mse_minimum", "mse_train", "std_over_trajectories"),
    runs=runs,
    table=table,
    sheet=sheet,
    methods=tuple(NAMES),
    protocols=("paper", "clean"),
)
