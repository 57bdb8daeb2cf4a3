"""Novel environments (Fig. 5, Table S5): what a pre-trained f is worth, from one trajectory of each new environment."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax.random as jr

from ..adapting import SCHEMES, adapt
from ..evaluation import evaluate
from .study import Options, Row, Run, Target
from .table1 import SHARE_OF_STEPS, SYSTEMS, TABLE1, data, run_name, setting_of, trained

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
    """One for each system and scheme."""
    before = _before(options).steps
    return [
        Run(f"{run_name(options, system, scheme)}-after-{before}", partial(_work, options, system, scheme))
        for system in ((options.system,) if options.system else SYSTEMS)
        for scheme in SCHEMES
    ]


def _work(options: Options, system: str, scheme: str, folder: Path) -> Sequence[Row]:
    # The model that Table 1 trains, or has trained already.
    before = _before(options)
    model = trained(before, system, "leads", folder.parent.parent / TABLE1.name / run_name(before, system, "leads"))
    own = options.for_system(system, SHARE_OF_STEPS)
    training, test = (data(system, split, own.protocol, own.seed) for split in ("novel", "novel-test"))
    if scheme == "shared-only":
        alone = evaluate(adapt(model, training, key=jr.key(own.seed), scheme=scheme), test).mse_per_seed
        errors = {0: alone.tolist()}
    else:
        options_of_fit = {"steps": own.steps, "test": test, "run": folder}
        found = adapt(model, training, key=jr.key(own.seed), scheme=scheme, **options_of_fit)
        errors = {look["step"]: look["test"] for look in found.about["looks"]}
    setting = setting_of(system, scheme, training, own.protocol) | {"pretraining_steps": model.about["steps"]}
    return [
        {**setting, "steps": step, "seed": seed, "mse_test": error}
        for step, of_seeds in errors.items()
        for seed, error in enumerate(of_seeds)
    ]


def _before(options: Options) -> Options:
    """The training that comes before: Table 1's, of the same budget."""
    return replace(options, steps=TABLE1.budgets[options.budget][1])


def curves(rows: Sequence[Row]) -> dict[tuple[str, str, str], dict[int, list[float]]]:
    """For each system, protocol and scheme the test errors of all seeds at each step."""
    found: dict[tuple[str, str, str], dict[int, list[float]]] = {}
    for row in rows:
        curve = found.setdefault((row["system"], row["protocol"], row["method"]), {})
        curve.setdefault(row["steps"], []).append(row["mse_test"])
    return found


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each system, protocol and scheme: test error at each of the steps that the paper shows."""
    lines = []
    for (system, protocol, scheme), curve in curves(rows).items():
        of = next(r for r in rows if (r["system"], r["protocol"], r["method"]) == (system, protocol, scheme))
        lines.append(
            {
                **{key: of[key] for key in ("system", "method", "m", "n", "protocol", "pretraining_steps")},
                "seeds": len(next(iter(curve.values()))),
                "steps": max(curve),
                **{f"mse_at_{step}": _mean(curve, step) for step in AT},
                "paper": PAPER[system, scheme],
            }
        )
    return lines


def _mean(curve: dict[int, list[float]], step: int) -> float | None:
    """The mean over seeds at a step; where nothing learns, that of the only step there is."""
    errors = curve.get(step) or (curve[0] if list(curve) == [0] else None)
    return sum(errors) / len(errors) if errors else None


def text(rows: Sequence[Row]) -> str:
    """The table for people, the paper's numbers in brackets."""
    number = lambda value: "–" if value is None else f"{value:.2e}"
    head = " ".join(f"{f'after {step} steps':>22}" for step in AT)
    lines = [f"{'system':15} {'protocol':8} {'scheme':12} {'seeds':>5} {head}"]
    for line in table(rows):
        cells = [f"{number(line[f'mse_at_{s}'])} ({number(p)})" for s, p in zip(AT, line["paper"], strict=True)]
        lines.append(
            f"{line['system']:15} {line['protocol']:8} {line['method']:12} {line['seeds']:5} "
            + " ".join(f"{cell:>22}" for cell in cells)
        )
    return "\n".join(lines)


def figures(rows: Sequence[Row]) -> "dict[str, Figure]":
    """Fig. 5: test error against training steps."""
    from ..report.study import learning_curves

    return {"novel": learning_curves(curves(rows))}


NOVEL = Target(
    name="novel",
    budgets={"smoke": (2, 60), "hour": (4, 10_000), "paper": (4, 10_000)},
    runs=runs,
    table=table,
    text=text,
    figures=figures,
    systems=SYSTEMS,
)
