"""Novel environments (Fig. 5, Table S5): what a pre-trained f is worth where there are few trajectories.

As the paper has it: one of each new environment of Lotka–Volterra and Gray–Scott, eight of Navier–Stokes.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import jax.random as jr

from ..adapting import SCHEMES, adapt
from ..evaluation import evaluate
from .curves import curves_of
from .learning import checkpoint_every, setting_of
from .protocols import PROTOCOLS
from .rows import Row, spread
from .sheets import Sheet, minutes, number, ratio, with_spread
from .study import Options, Run, Target
from .table1 import SHARE_OF_STEPS, SYSTEMS, before, data, in_order, run_name, trained_before

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AT = (50, 2_500, 10_000)
# Test errors of the paper at these steps. Alone, f does not learn.
PAPER = {
    ("lotka-volterra", "shared-only"): (0.36, 0.36, 0.36),
    ("lotka-volterra", "scratch"): (0.23, 8.85e-3, 3.05e-3),
    ("lotka-volterra", "specific"): (0.73, 1.36e-3, 1.11e-3),
    ("gray-scott", "shared-only"): (5.44e-3, 5.44e-3, 5.44e-3),
    ("gray-scott", "scratch"): (4.20e-2, 5.53e-3, 3.05e-3),
    ("gray-scott", "specific"): (2.29e-3, 1.45e-3, 1.27e-3),
    ("navier-stokes", "shared-only"): (1.75e-1, 1.75e-1, 1.75e-1),
    ("navier-stokes", "scratch"): (6.76e-2, 1.70e-2, 1.18e-2),
    ("navier-stokes", "specific"): (1.37e-2, 8.07e-3, 7.14e-3),
}


def runs(options: Options) -> list[Run]:
    """One for each system and scheme; what the models before them were trained for is part of the name."""
    return [
        Run(
            f"{run_name(options, system, scheme)}-after-{before(options).for_system(system, SHARE_OF_STEPS).steps}",
            partial(_work, options, system, scheme),
        )
        for system in ((options.system,) if options.system else SYSTEMS)
        for scheme in options.among(SCHEMES)
    ]


def _work(options: Options, system: str, scheme: str, folder: Path) -> Sequence[Row]:
    # The model that Table 1 trains, or has trained already.
    model = trained_before(options, system, "leads", folder.parent.parent)
    own = options.for_system(system, SHARE_OF_STEPS)
    training, test = (data(system, split, own.protocol, own.seed) for split in ("novel", "novel-test"))
    if scheme == "shared-only":
        alone = evaluate(adapt(model, training, key=jr.key(own.seed), scheme=scheme), test).mse_per_seed
        looks = [{"step": 0, "test": alone.tolist(), "seconds": 0.0}]
    else:
        how = {"steps": own.steps, "test": test, "run": folder, "checkpoint_every": checkpoint_every(own.steps)}
        how |= PROTOCOLS[own.protocol].training(training, own.steps)
        looks = adapt(model, training, key=jr.key(own.seed), scheme=scheme, **how).about["looks"]
    setting = setting_of(system, scheme, training, own.protocol) | {"pretraining_steps": model.about["steps"]}
    return [
        {**setting, "steps": look["step"], "seed": seed, "mse_test": error, "seconds": look["seconds"]}
        for look in looks
        for seed, error in enumerate(look["test"])
    ]


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each system, protocol and scheme: test error at the end, and at the steps that the paper shows."""
    lines = []
    for (system, protocol, scheme), curve in in_order(curves_of(rows)).items():
        of = [r for r in rows if (r["system"], r["protocol"], r["method"]) == (system, protocol, scheme)]
        lines.append(
            {
                **{key: of[0][key] for key in ("system", "method", "m", "n", "protocol", "pretraining_steps")},
                "seeds": len(next(iter(curve.values()))),
                "steps": max(curve),
                "mse_test": fmean(curve[max(curve)]),
                "mse_std_over_seeds": spread(curve[max(curve)]),
                **{f"mse_at_{step}": _mean(curve, step) for step in AT},
                "seconds": max((r["seconds"] for r in of if "seconds" in r), default=None),
                **{f"paper_at_{step}": error for step, error in zip(AT, PAPER[system, scheme], strict=True)},
                "paper": PAPER[system, scheme][-1],
            }
        )
    return lines


def _mean(curve: dict[int, list[float]], step: int) -> float | None:
    """The mean over seeds at a step; where nothing learns, that of the only step there is."""
    errors = curve.get(step) or (curve[0] if list(curve) == [0] else None)
    return fmean(errors) if errors else None


def sheet(rows: Sequence[Row]) -> Sheet:
    """The table for people: ours, the paper's number, and ours divided by it."""
    at = [f"after {step} steps (paper, ratio)" for step in AT]
    cells = []
    for line in table(rows):
        pairs = [(line[f"mse_at_{step}"], line[f"paper_at_{step}"]) for step in AT]
        errors = [f"{number(ours)} ({number(theirs)}, {ratio(ours, theirs)})" for ours, theirs in pairs]
        cost = [str(line["seeds"]), str(line["steps"]), minutes(line["seconds"]), str(line["pretraining_steps"])]
        last = with_spread(line["mse_test"], line["mse_std_over_seeds"])
        cells.append([line["system"], line["protocol"], line["method"], *errors, last, *cost])
    header = ["system", "protocol", "scheme", *at, "last ± seeds", "seeds", "steps", "minutes", "steps before"]
    return Sheet(header, cells, NOTES)


NOTES = (
    "Errors of the model at that step, in every protocol. Steps before: of the LEADS model that f comes from. "
    "In the picture: medians over seeds, and their range.",
)
NAMES = {"shared-only": "f alone", "scratch": "from scratch", "specific": "f fixed, new g"}


def figures(rows: Sequence[Row], place: Path) -> "dict[str, Figure]":
    """Fig. 5: test error against training steps."""
    from ..report.study import learning_curves

    del place
    return {"novel": learning_curves(in_order(curves_of(rows)), NAMES)}


NOVEL = Target(
    name="novel",
    title="Novel environments (Fig. 5, Table S5)",
    budgets={"smoke": (2, 60), "hour": (4, 10_000), "paper": (4, 10_000)},
    needed=("pretraining_steps",),
    runs=runs,
    table=table,
    sheet=sheet,
    figures=figures,
    systems=SYSTEMS,
    methods=SCHEMES,
    share_of_steps=SHARE_OF_STEPS,
)
