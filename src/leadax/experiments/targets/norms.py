"""Which norm in Ω (Table S4): LEADS on Lotka–Volterra with empirical L^p norms in place of ‖g_e‖_∞.

‖g‖_{L^p} = (1/n Σ_x |g(x)|^p)^{1/p} is squared and, like the paper's Ω, relative to |x|: p = 2 is the Ω of Table 1.
m = 4 and n = 1·K as in `environments`: two groups of four, and the mean over all eight environments.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ...defaults import PRESETS, omega
from ...methods import Leads
from ...penalties import EmpiricalNorm, Omega
from ..results.rows import Row
from ..results.sheets import Sheet, minutes, number, part_of, ratio, with_spread
from ..results.summary import summarise
from ..study import Options, Run, Target
from ..study.groups import SYSTEM, TOTAL, Group, group_rows, run_name
from ..study.learning import Contender, settings_of
from ..study.protocols import PROTOCOLS, reported

M = 4
# Test errors of Table S4.
PAPER = {1: 2.30e-3, 2: 2.36e-3, 3: 2.34e-3, 10: 3.41e-3, math.inf: 6.12e-3}
NAMES = {f"leads p={p}": p for p in PAPER}


def runs(options: Options) -> list[Run]:
    """One for each p and group of environments; for `smoke` one group is enough."""
    groups = [Group(M, 1, number, M) for number in range(1 if options.budget == "smoke" else TOTAL // M)]
    return [_run(options, name, group) for name in options.choose(NAMES) for group in groups]


def _run(options: Options, name: str, group: Group) -> Run:
    settings = settings_of(contender(name, options.protocol), SYSTEM, options)
    return Run(run_name(options, name, group), partial(_work, options, name, group), settings)


def contender(name: str, protocol: str) -> Contender:
    """LEADS with the Ω of the system, except for p."""
    alpha = PRESETS[SYSTEM].alpha
    assert alpha is not None
    usual = omega(alpha, PROTOCOLS[protocol].rules)
    assert isinstance(usual, Omega)
    assert isinstance(usual.norm, EmpiricalNorm)
    return Contender(Leads(penalty=replace(usual, norm=replace(usual.norm, p=float(NAMES[name])))))


def _work(options: Options, name: str, group: Group, folder: Path) -> Sequence[Row]:
    return group_rows(options, contender(name, options.protocol), name, group, folder)


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each protocol and p, with the paper's error."""
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


NOTES = ("Ratio: minimum (`paper`) or last (`clean`, on other trajectories) to the paper's error.",)


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
