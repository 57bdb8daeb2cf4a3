"""Table 1: every method on the same data, trained on all environments at once."""

from collections.abc import Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax.random as jr
import numpy as np

from ..data import Trajectories
from ..evaluation import evaluate
from ..fitting import fit
from ..methods import METHODS
from ..model import Model
from ..systems import get_system, simulate
from .errors import error_rows
from .study import Options, Row, Run, Target, summarise

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
# Two that most people would ask for, and the factored net with few factors, which is the stronger baseline.
METHODS_SHOWN = {
    **{name: METHODS[name] for _, name in list(PAPER)[:7]},
    "ft-node (rank 12)": partial(METHODS["ft-node"], rank=12),
    "coda": METHODS["coda"],
    "maml": METHODS["maml"],
}
# A step on a field costs a hundred times one on a vector.
SHARE_OF_STEPS = {"lotka-volterra": 1.0, "gray-scott": 0.05, "navier-stokes": 0.05}


def runs(options: Options) -> list[Run]:
    """One for each system and method."""
    return [
        Run(run_name(options, system, method), partial(_work, options, system, method))
        for system in ((options.system,) if options.system else SYSTEMS)
        for method in METHODS_SHOWN
    ]


@cache
def data(system: str, split: str, protocol: str, seed: int) -> Trajectories:
    """As `leadax simulate` makes them."""
    return simulate(get_system(system, protocol), key=jr.key(seed), split=split)


def trained(options: Options, system: str, method: str, folder: Path) -> Model:
    """The model of a run: trained, resumed or found finished in its folder."""
    options = options.for_system(system, SHARE_OF_STEPS)
    get = lambda split: data(system, split, options.protocol, options.seed)
    model = fit(
        METHODS_SHOWN[method](),
        get("train"),
        test=get("test"),
        key=jr.key(options.seed),
        steps=options.steps,
        seeds=options.seeds,
        protocol=options.protocol,
        run=folder,
    )
    model.save(folder / "model.safetensors")
    return model


def run_name(options: Options, system: str, method: str) -> str:
    """The name of a run's folder."""
    o = options.for_system(system, SHARE_OF_STEPS)
    name = method.replace(" (", "-").replace(")", "").replace(" ", "-")
    return f"{system}-{name}-{o.protocol}-{o.seeds}x{o.steps}-{o.seed}"


def setting_of(system: str, method: str, train: Trajectories, protocol: str) -> dict[str, Any]:
    """What a row is about; n is in points per environment."""
    m, n = len(train.environments), train.states.shape[1] * train.states.shape[2]
    return {"system": system, "method": method, "m": m, "n": n, "protocol": protocol}


def _work(options: Options, system: str, method: str, folder: Path) -> Sequence[Row]:
    model = trained(options, system, method, folder)
    train, test = (data(system, split, options.protocol, options.seed) for split in ("train", "test"))
    looks = model.about["looks"]
    setting = {
        **setting_of(system, method, train, options.protocol),
        "steps": model.about["steps"],
        "parameters": model.parameters,
        "seconds": looks[-1]["seconds"],
    }
    smallest = np.fmin.reduce([look["test"] for look in looks]).tolist()  # a look that is not a number is passed over
    rows = error_rows(setting, evaluate(model, train), evaluate(model, test))
    return [{**row, "mse_minimum": smallest[row["seed"]]} for row in rows]


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each system, protocol and method; `mse_test` is that of the last step."""
    lines = summarise(rows)
    for line in lines:
        of = [row for row in rows if all(row[key] == line[key] for key in ("system", "method", "protocol", "steps"))]
        line["mse_minimum"] = sum(row["mse_minimum"] for row in of) / len(of)
        line["parameters"], line["seconds"] = of[0]["parameters"], of[0]["seconds"]
        line["paper"] = PAPER.get((line["system"], line["method"]), (None, None))[1]
    return lines


def text(rows: Sequence[Row]) -> str:
    """The table for people."""
    number = lambda value: "–" if value is None else f"{value:.2e}"
    lines = [
        f"{'system':15} {'protocol':8} {'method':18} {'train':>9} {'last':>9} {'± seeds':>9} {'± traj.':>9} "
        f"{'minimum':>9} {'paper':>9} {'seeds':>5} {'steps':>6} {'parameters':>10}"
    ]
    for line in table(rows):
        lines.append(
            f"{line['system']:15} {line['protocol']:8} {line['method']:18} {number(line['mse_train']):>9} "
            f"{number(line['mse_test']):>9} {number(line['mse_std_over_seeds']):>9} "
            f"{number(line['mse_std_over_trajectories']):>9} {number(line['mse_minimum']):>9} "
            f"{number(line['paper']):>9} {line['seeds']:5} {line['steps']:6} {line['parameters']:10}"
        )
    lines.append(
        "Minimum: the smallest test error on the way, which the paper reports; last: of the model one is left with."
    )
    return "\n".join(lines)


def figures(rows: Sequence[Row]) -> "dict[str, Figure]":
    """None: it is a table."""
    del rows
    return {}


TABLE1 = Target(
    name="table1",
    budgets={"smoke": (2, 40), "hour": (4, 12_000), "paper": (4, 120_000)},
    runs=runs,
    table=table,
    text=text,
    figures=figures,
    systems=SYSTEMS,
)
