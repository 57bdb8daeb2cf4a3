"""`leadax reproduce`."""

from pathlib import Path
from typing import Annotated, Literal

import tyro

from ..errors import InputError, lookup
from .console import Json, check_seed, message, progress_bar, result
from .runtime import prepare

# Also in `leadax.experiments.targets.TARGETS` (tested): a wrong name is answered without waiting for JAX.
NAMES = ("table1", "novel", "linear", "coda")

TargetName = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="TARGET",
        help="table1: all methods on three systems. novel: environments not trained on (Fig. 5, Table S5). "
        "linear: test error and bound for m = 1, 2, 4, 8 (Fig. 1, Table S2). coda: CoDA's own benchmark, beside LEADS.",
    ),
]
From = Annotated[
    Path | None,
    tyro.conf.arg(name="from", help="Train nothing: print and draw what this folder holds, such as results."),
]


def reproduce(
    target: TargetName,
    /,
    *,
    system: str | None = None,
    budget: Literal["smoke", "hour", "paper"] = "hour",
    seeds: int | None = None,
    steps: int | None = None,
    protocol: Literal["paper", "clean"] = "clean",
    seed: int = 0,
    runs: Path = Path("runs"),
    results: Path | None = None,
    from_: From = None,
    json: Json = False,
) -> None:
    """Do an experiment of the paper again: its table beside the paper's, and its figure. Finished runs are skipped.

    Args:
        system: Only this one of lotka-volterra, gray-scott and navier-stokes.
        budget: How much to train: smoke, to see that it works; hour, for numbers that mean something within an hour on
            two cores; paper, for the paper's own effort.
        seeds: Models from different random weights for each number; as the budget says by default.
        steps: Gradient steps of each run; as the budget says by default.
        protocol: How data are solved, and whether the first point of each trajectory counts in errors (paper).
        seed: The same seed gives the same data and the same weights.
        runs: The folder for the runs.
        results: The folder for TARGET.csv and the pictures; by default results, or runs/smoke for the budget smoke.
    """
    lookup("target", target, dict.fromkeys(NAMES))
    check_seed(seed)
    for name, count in (("seeds", seeds), ("steps", steps)):
        if count is not None and count < 1:
            raise InputError(f"`--{name}` must be at least 1, got {count}")
    from ..experiments.study import Options, carry_out, merged, read_rows, write_rows

    prepare(seeds or 4)
    from ..experiments.targets import TARGETS

    chosen = TARGETS[target]
    if system is not None and not chosen.systems:
        raise InputError(f"`--system` has no meaning for `{target}`, which has its own: leave it out")
    if system is not None:
        lookup("system", system, dict.fromkeys(chosen.systems))
    place = from_ or results or (runs / "smoke" if budget == "smoke" else Path("results"))
    if from_ is None:
        usual_seeds, usual_steps = chosen.budgets[budget]
        options = Options(budget, seeds or usual_seeds, steps or usual_steps, protocol, seed, system)
        with progress_bar(target) as progress:
            rows = carry_out(chosen.runs(options), runs / target, progress)
        place.mkdir(parents=True, exist_ok=True)
        write_rows(merged(rows, place / f"{target}.csv"), place / f"{target}.csv")
    rows = read_rows(place / f"{target}.csv")
    result(chosen.table(rows), chosen.text(rows), as_json=json)
    from .._atomic import replacing
    from ..report.style import save_figure

    for name, figure in chosen.figures(rows).items():
        with replacing(place / f"{name}.png", overwrite=True) as temporary:
            save_figure(figure, temporary, "png")
        message(f"picture: {place / name}.png")
