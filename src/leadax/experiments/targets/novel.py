"""Novel environments (Fig. 5, Table S5): what a pre-trained f is worth where there are few trajectories.

As in the paper, one trajectory of each new environment of Lotka–Volterra and Gray–Scott, eight of Navier–Stokes.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import jax.random as jr

from ...adapt import adapt
from ...data import Trajectories
from ...evaluate import evaluate
from ...model import Model
from ..results.curves import curves_of
from ..results.rows import Row
from ..results.sheets import Sheet, minutes, number, ratio, with_spread
from ..results.summary import spread
from ..study import Options, Run, Target
from ..study.learning import columns_of, settings_of, training
from ..study.models import (
    CONTENDERS,
    SHARE_OF_STEPS,
    SYSTEMS,
    in_order,
    of_table1,
    run_name,
    simulated,
    trained_for_table1,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The method whose f is taken.
METHOD = "leads"
SCHEMES = ("specific", "shared-only", "scratch")
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
    """One for each system and scheme; the steps of the models that they start from are part of the name."""
    systems = (options.system,) if options.system else SYSTEMS
    return [_run(options, system, scheme) for system in systems for scheme in options.choose(SCHEMES)]


def _run(options: Options, system: str, scheme: str) -> Run:
    model, own = (o.for_system(system, SHARE_OF_STEPS) for o in (of_table1(options), options))
    settings = {"scheme": scheme, "steps": own.steps, "model": settings_of(CONTENDERS[METHOD], system, model)}
    name = f"{run_name(options, system, scheme)}-after-{model.steps}"
    return Run(name, partial(_work, options, system, scheme), settings)


def _work(options: Options, system: str, scheme: str, folder: Path) -> Sequence[Row]:
    # Table 1 trains this model too, or has trained it already.
    model = trained_for_table1(options, system, METHOD, folder.parent.parent)
    options = options.for_system(system, SHARE_OF_STEPS)
    train, test = (simulated(system, split, options.protocol, options.seed) for split in ("novel", "novel-test"))
    how = training(system, options)
    adapted = adapt(
        model, train, key=jr.key(options.seed), scheme=scheme, steps=options.steps, test=test, run=folder, **how
    )
    assert model.training is not None
    columns = columns_of(system, scheme, train, options.protocol) | {"pretraining_steps": model.training.steps}
    return [
        {**columns, "steps": step, "seed": seed, "mse_test": error, "seconds": seconds}
        for step, errors, seconds in _test_errors(adapted, test)
        for seed, error in enumerate(errors)
    ]


def _test_errors(model: Model, test: Trajectories) -> Iterable[tuple[int, Sequence[float], float]]:
    """Step, errors of all seeds and seconds so far, at every look; where nothing learnt, at step 0 alone."""
    assert model.training is not None
    seen = [(past.step, past.test, past.seconds) for past in model.training.history if past.test is not None]
    return seen or [(0, evaluate(model, test).mse_per_seed.tolist(), 0.0)]


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each system, protocol and scheme: test errors at the last step, and at the steps of the paper."""
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
    """The mean over seeds at a step; where nothing learns, the mean at step 0."""
    errors = curve.get(step) or (curve[0] if list(curve) == [0] else None)
    return fmean(errors) if errors else None


def sheet(rows: Sequence[Row]) -> Sheet:
    """The table for people: our error, the paper's, and the ratio of the two."""
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
    "Errors are those of the model at that step, in every protocol. Steps before: the training steps of the LEADS "
    "model that f comes from. The picture shows medians and ranges over seeds.",
)
NAMES = {"shared-only": "f alone", "scratch": "from scratch", "specific": "f fixed, new g"}


def figures(rows: Sequence[Row], place: Path) -> "dict[str, Figure]":
    """Fig. 5: test error against training steps."""
    from ...report.study import learning_curves

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
