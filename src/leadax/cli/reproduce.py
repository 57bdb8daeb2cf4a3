"""`leadax reproduce`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from ..errors import InputError, lookup
from .checks import check_count, check_seed
from .console import Json, message, progress_bar, result
from .executors import workers_for
from .runtime import prepare

if TYPE_CHECKING:
    from ..experiments.study import Options, Outcome, Target

# Also in `leadax.experiments.targets.TARGETS` (tested): a wrong name is answered without waiting for JAX.
NAMES = ("table1", "environments", "novel", "linear", "norms", "figures", "coda")

# What every line of `--json` has, null where it was not measured.
CONTRACT = (
    *("system", "method", "m", "n", "protocol", "seeds", "steps", "mse_train", "mse_test"),
    *("mse_std_over_seeds", "mse_std_over_trajectories", "paper"),
)

TargetName = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="TARGET",
        help="table1: all methods on three systems. environments: Lotka-Volterra with m = 1, 2, 4, 8 environments of "
        "n = 1, 2, 4, 8 trajectories (Fig. 4, Table S3). novel: environments not trained on (Fig. 5, Table S5). "
        "linear: test error and bound for m = 1, 2, 4, 8 (Fig. 1, Table S2). norms: other norms in the penalty "
        "(Table S4). figures: what the models of table1 forecast (Figs. 2, 3, S1 to S4). "
        "coda: CoDA's own benchmark, beside LEADS.",
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
    methods: str | None = None,
    budget: Literal["smoke", "hour", "paper"] = "hour",
    seeds: int | None = None,
    steps: int | None = None,
    model_steps: int | None = None,
    protocol: Literal["paper", "clean", "fast"] | None = None,
    seed: int = 0,
    workers: int | None = None,
    scheduler: str | None = None,
    runs: Path = Path("runs"),
    results: Path | None = None,
    from_: From = None,
    json: Json = False,
) -> None:
    """Do an experiment of the paper again: its table beside the paper's, and its figure. Finished runs are skipped.

    Args:
        system: Only this one of lotka-volterra, gray-scott and navier-stokes.
        methods: Only these, with commas between them.
        budget: How much to train: smoke, to see that it works; hour, for numbers that mean something, an hour or two of
            two cores for each system; paper, for the paper's own effort.
        seeds: Models from different random weights for each number; as the budget says by default.
        steps: Gradient steps of each run; as the budget says by default, and then fewer where a step takes long.
        model_steps: For targets that start from the models of table1: the steps of those; as the budget says otherwise.
        protocol: clean by default. How data are solved, and whether the first point of each trajectory counts in errors
            (paper); fast is paper, but fields learn in few steps, by Muon and with other penalties.
        seed: The same seed gives the same data and the same weights.
        workers: Processes to spread the runs over, each with its share of the cores; one per core by default. With 1,
            or where there is but one run, its seeds are spread over the cores.
        scheduler: The address of a Dask scheduler, such as tcp://host:8786, whose workers do the runs; start them with
            one thread each, where they see the folder of runs under the same path.
        runs: The folder for the runs.
        results: The folder for TARGET.csv and the pictures; by default results, or runs/smoke for the budget smoke.
            With `--from`, for the pictures; by default where the results are.
    """
    lookup("target", target, dict.fromkeys(NAMES))
    check_seed(seed)
    counts = {"--seeds": seeds, "--steps": steps, "--model-steps": model_steps}
    for name, count in counts.items():
        check_count(name, count)
    for name, given in (counts | {"--workers": workers, "--scheduler": scheduler}).items():
        if from_ is not None and given is not None:
            raise InputError(f"`{name}` is about training, and with `--from` nothing is trained: leave one of them out")
    from ..experiments.results.rows import read_rows
    from ..experiments.study import Options
    from ..experiments.targets import TARGETS

    chosen = TARGETS[target]
    usual_seeds, usual_steps = chosen.budgets[budget]
    prepare(seeds or usual_seeds)
    wanted = None if methods is None else _known("method", methods.split(","), chosen.methods)
    if system is not None:
        _known("system", [system], chosen.systems)
    _known("protocol", [protocol or "clean"], chosen.protocols)
    place = from_ or results or (runs / "smoke" if budget == "smoke" else Path("results"))
    options = Options(
        budget=budget,
        seeds=seeds or usual_seeds,
        steps=steps or usual_steps,
        protocol=protocol or "clean",
        seed=seed,
        system=system,
        methods=wanted,
        exact=steps is not None,
        model_steps=model_steps,
    )
    outcome = None if from_ else _carry_out(chosen, options, runs / target, place, workers, scheduler)
    if outcome is None or outcome.rows:
        path = place / f"{target}.csv"
        asked = lambda row: options.include(row) and protocol in (None, row["protocol"])
        if not (rows := [row for row in read_rows(path, chosen.needed) if asked(row)]):
            raise InputError(f"{path} has no results of what was asked for: leave out `--from` to get some")
        result([dict.fromkeys(CONTRACT) | line for line in chosen.table(rows)], chosen.sheet(rows).text(), as_json=json)
        draw(chosen, place, results if from_ and results else place)
    if outcome is not None:
        outcome.raise_if_failed()


def _carry_out(
    target: "Target", options: "Options", folder: Path, place: Path, workers: int | None, scheduler: str | None
) -> "Outcome":
    """Do the runs, and put what they measured into the folder of results."""
    from .._locks import waiting
    from ..experiments.results.configs import FILE, keep_configs
    from ..experiments.results.rows import check_replaceable, merged, write_rows
    from ..experiments.study import carry_out, unfinished

    path = place / f"{target.name}.csv"
    check_replaceable(path, partial(options.effort, target.share_of_steps))
    runs = target.runs(options)
    to_do = unfinished(runs, folder)
    with workers_for(to_do, options.seeds, workers, scheduler) as executor, progress_bar(target.name) as progress:
        outcome = carry_out(runs, folder, progress, executor)
    if outcome.rows:
        place.mkdir(parents=True, exist_ok=True)
        rows = [{**row, "data_seed": options.seed} for row in outcome.rows]
        with waiting(place / ".lock"):  # of another system, say, that ends at the same time
            write_rows(merged(rows, path), path)
            target.keep(runs, folder, place)
            keep_configs([folder / run.name for run in runs if run.name not in outcome.failures], place / FILE)
    return outcome


def draw(target: "Target", place: Path, out: Path) -> None:
    """Draw the pictures of a target from what a folder of results holds."""
    from .._atomic import replacing
    from ..experiments.results.rows import read_rows
    from ..report.style import save_figure

    for name, figure in target.figures(read_rows(place / f"{target.name}.csv", target.needed), place).items():
        out.mkdir(parents=True, exist_ok=True)
        with replacing(out / f"{name}.png", overwrite=True) as temporary:
            save_figure(figure, temporary, "png")
        message(f"picture: {out / name}.png")


def _known(what: str, names: Sequence[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """The names, if the target knows them all."""
    if not known:
        raise InputError(f"a {what} cannot be chosen for this target, which has its own: leave the option out")
    for name in names:
        lookup(what, name.strip(), dict.fromkeys(known))
    return tuple(name.strip() for name in names)
