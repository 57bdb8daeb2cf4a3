"""The linear case (Sec. 3.2, Fig. 1, Table S2): does the error fall with the number of environments as the bound does?

Eight environments in groups of m (supplement D.3): each group is learnt by itself, and all are tested on the same data.
"""

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax.random as jr
import numpy as np
import optax

from ..data import Trajectories
from ..methods import METHODS
from ..model import Model
from ..systems import get_system, simulate
from ..systems.linear import matrix
from ..theory import error_bound, minimal_decomposition, observed_decomposition, relative_distance
from .learning import learn, result_rows
from .protocols import PROTOCOLS
from .rows import KEYS, Row, summarise
from .sheets import Sheet, minutes, number, part_of, ratio, with_spread
from .study import Options, Run, Target

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS_SHOWN = ("one-per-env", "leads-no-min", "leads")
SIZES = (1, 2, 4, 8)
TRAJECTORIES = (2, 4)
POINTS = 20
# Plain gradient descent with momentum. Adam, which is not invariant under rotations, also moves along directions that
# no data speak of: at m = 1 the error then depended threefold on its learning rate (docs/theory.md).
LEARNING_RATE, MOMENTUM = 0.3, 0.95

# Table S2: (method, m, n) -> mean squared error. At m = 1 all methods are One-Per-Env.
PAPER = {
    ("one-per-env", 1, 2): 8.13e-2,
    ("leads-no-min", 2, 2): 6.81e-2,
    ("leads-no-min", 4, 2): 4.92e-2,
    ("leads-no-min", 8, 2): 4.50e-2,
    ("leads", 2, 2): 5.11e-2,
    ("leads", 4, 2): 3.93e-2,
    ("leads", 8, 2): 2.10e-2,
    ("one-per-env", 1, 4): 4.08e-2,
    ("leads-no-min", 2, 4): 3.96e-2,
    ("leads-no-min", 4, 4): 3.10e-2,
    ("leads-no-min", 8, 4): 2.23e-2,
    ("leads", 2, 4): 2.74e-2,
    ("leads", 4, 4): 1.61e-2,
    ("leads", 8, 4): 1.02e-2,
}


def runs(options: Options) -> list[Run]:
    """One for each method, m, n and group of environments; at m = 1 all groups in one, since nothing is shared."""
    found = []
    for method, m, n in PAPER:
        if method not in options.among(METHODS_SHOWN):
            continue
        size = m if m > 1 else len(truth())
        for group in range(len(truth()) // size):
            setting = (method, m, n, group)
            name = f"{method}-m{m}-n{n}-group{group}-{options.protocol}-{options.seeds}x{options.steps}-{options.seed}"
            found.append(Run(name, partial(_work, options, *setting)))
    return found


def truth() -> dict[str, np.ndarray]:
    """F_e of each environment."""
    return {name: np.asarray(matrix(values)) for name, values in get_system("linear").environments.items()}


@cache
def data(split: str, trajectories: int, protocol: str, seed: int) -> Trajectories:
    """All environments, each from initial states of its own: `simulate` starts them all from the same ones.

    From the same states in every environment, the direction that does not decay in one environment would hardly be
    seen in any other, and the shared part would learn of it from the one environment where it is an exception.
    """
    system = get_system("linear", PROTOCOLS[protocol].rules)
    count = len(system.environments)
    drawn = simulate(system, key=jr.key(seed), split=split, trajectories=trajectories * count)
    own = [drawn.states[e, e * trajectories : (e + 1) * trajectories] for e in range(count)]
    return Trajectories.from_arrays(
        system.times,
        np.stack(own),
        environments=drawn.environments,
        channels=drawn.channels,
        parameters=drawn.parameters,
        attributes=drawn.attributes,
    )


def _work(options: Options, method: str, m: int, n: int, group: int, folder: Path) -> Sequence[Row]:
    size = m if m > 1 else len(truth())
    names = list(truth())[group * size : (group + 1) * size]
    # The same trajectories, and more of them: what n = 2K sees is a part of what n = 4K sees.
    training = data("train", max(TRAJECTORIES), options.protocol, options.seed).select(names, slice(0, n))
    schedule = optax.cosine_decay_schedule(LEARNING_RATE, options.steps)
    model = learn(
        METHODS[method](),
        training,
        None,
        options,
        folder,
        learning_rate=LEARNING_RATE,
        optimiser=optax.sgd(schedule, momentum=MOMENTUM, nesterov=True),
        look_every=options.steps,
    )
    test = data("test", 32, options.protocol, options.seed).select(names)
    b = float(np.linalg.norm(training.states, axis=-1).max())
    setting = {"system": "linear", "method": method, "m": m, "n": n * POINTS, "protocol": options.protocol}
    rows = [dict(row) for row in result_rows({**setting, "group": group, "b": b}, model, training, test)]
    if method != "one-per-env":
        _add_norms(rows, model, training)
    return rows


def _add_norms(rows: list[dict[str, Any]], model: Model, training: Trajectories) -> None:
    """How far G_e is from its place in the minimal decomposition of the truth, and of the data."""
    exact = np.stack([truth()[name] for name in training.environments])
    states = training.states.reshape(len(exact), -1, exact.shape[-1])
    minimal, observed = minimal_decomposition(exact), observed_decomposition(exact, states)
    for row in rows:
        e = training.environments.index(row["environment"])
        # A net multiplies from the right.
        g_matrix = np.asarray(model.member(row["seed"], e).specific.dense.weight, float).T
        row["distance"] = relative_distance(g_matrix, minimal.specific[e])
        row["distance_of_data"] = relative_distance(observed.specific[e], minimal.specific[e])


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each method, m and n, with the paper's error beside it."""
    lines = summarise(rows)
    for line in lines:
        of = [row for row in rows if all(row[key] == line[key] for key in KEYS)]
        longest = max(row["b"] for row in rows if row["protocol"] == line["protocol"])
        line["paper"] = PAPER.get((line["method"], line["m"], line["n"] // POINTS))
        line["bound"] = bound(line["method"], line["m"], line["n"], longest)
        for name in ("distance", "distance_of_data"):
            values = [row[name] for row in of if name in row]
            line[name] = float(np.mean(values)) if values else None
    return lines


def bound(method: str, m: int, n: int, b: float) -> float:
    """Prop. 5 with the norms of the true matrices: as far from the measured error as bounds are, but with its trend.

    r′ = max ‖F_e‖². Without the penalty nothing keeps the g_e smaller than f: r = r′. With it r = max ‖F_e − F*‖², of
    the minimal decomposition of a group, as the paper takes it. At m = 1, where the methods are one, r = r′.

    **Arguments**

    - `b`: the length of the longest state in the data.
    """
    exact = np.stack(list(truth().values()))
    r_shared = _largest_square(exact)
    groups = [minimal_decomposition(exact[i : i + m]).specific for i in range(0, len(exact), m)]
    r = max(map(_largest_square, groups)) if method == "leads" else r_shared
    # The loss is at most (|Fx| + |Gx| + |F_e·x|)², with F and G of the largest sets.
    c = (b * (2 * r_shared**0.5 + float(np.linalg.norm(exact, 2, axis=(1, 2)).max()))) ** 2
    return error_bound(m=m, n=n, r=r, r_shared=r_shared, b=b, c=c, d=exact.shape[-1]).epsilon


def _largest_square(matrices: np.ndarray) -> float:
    return float(np.max(np.sum(matrices**2, axis=(1, 2))))


def sheet(rows: Sequence[Row]) -> Sheet:
    """The table for people."""
    header = (
        "protocol,n,method,m,test error ± seeds,± traj.,paper,ratio,bound,‖G−G*‖/‖G*‖,of the data,seeds,steps,minutes"
    )
    cells = [
        (
            line["protocol"],
            str(line["n"]),
            line["method"],
            str(line["m"]),
            with_spread(line["mse_test"], line["mse_std_over_seeds"]) + part_of(line["environments"], len(truth())),
            number(line["mse_std_over_trajectories"]),
            number(line["paper"]),
            ratio(line["mse_test"], line["paper"]),
            f"{line['bound']:.1f}",
            number(line["distance"], ".2f"),
            number(line["distance_of_data"], ".2f"),
            str(line["seeds"]),
            str(line["steps"]),
            minutes(line["seconds"]),
        )
        for line in table(rows)
    ]
    return Sheet(header.split(","), cells, NOTES)


NOTES = ("G*: F_e minus the mean of F_e in the group. Of the data: the smallest G_e that fit the data exactly.",)


def figures(rows: Sequence[Row], place: Path) -> "dict[str, Figure]":
    """Fig. 1, one for each protocol."""
    from ..report.theory import error_and_bound

    del place
    lines = table(rows)
    name = {"clean": "linear", "paper": "linear-paper"}
    protocols = dict.fromkeys(line["protocol"] for line in lines)
    return {name[p]: error_and_bound([line for line in lines if line["protocol"] == p]) for p in protocols}


LINEAR = Target(
    name="linear",
    title="The linear case (Fig. 1, Table S2)",
    budgets={"smoke": (2, 20), "hour": (4, 4_000), "paper": (4, 40_000)},
    needed=("b", "mse_train", "std_over_trajectories"),
    runs=runs,
    table=table,
    sheet=sheet,
    figures=figures,
    methods=METHODS_SHOWN,
    protocols=("paper", "clean"),
)
