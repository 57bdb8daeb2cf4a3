"""`leadax reproduce`."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from .._atomic import check_regular
from ..errors import InputError, lookup
from .checks import check_count, check_seed
from .console import Count, Json, message, optional, progress_bar, result
from .executors import workers_for
from .names import check_name
from .runtime import prepare

if TYPE_CHECKING:
    from ..experiments.study import Options, Outcome, Target

# As in `leadax.experiments.targets.TARGETS`, which a test compares: a wrong name must not have to wait for JAX.
NAMES = ("table1", "environments", "novel", "linear", "norms", "figures", "baselines", "draws", "validation", "coda")

# What every line of `--json` has; null if it was not measured.
CONTRACT = (
    *("system", "method", "m", "n", "protocol", "seeds", "steps", "mse_train", "mse_test"),
    *("mse_std_over_seeds", "mse_std_over_trajectories", "paper"),
)

TargetName = Annotated[
    str,
    tyro.conf.Positional,
    tyro.conf.arg(
        metavar="TARGET",
        help="table1: all methods on three systems. baselines: the same search for the settings of each of "
        "the paper's methods. environments: Lotka-Volterra with m = 1, 2, 4, 8 environments and n = 1, 2, 4, 8 "
        "trajectories of each (Fig. 4, Table S3). novel: new environments (Fig. 5, Table S5). "
        "linear: test error and bound for m = 1, 2, 4, 8 (Fig. 1, Table S2). norms: other norms in the penalty "
        "(Table S4). figures: what the models of table1 forecast (Figs. 2, 3, S1 to S4). "
        "coda: CoDA's own benchmark, with LEADS. draws: Lotka-Volterra from ten other initial states. "
        "validation: LEADS where validation data decide which model is kept.",
    ),
]
From = Annotated[
    Path | None,
    tyro.conf.arg(
        name="from",
        metavar="FOLDER",
        help="Train nothing: print and draw the results in this folder.",
        help_behavior_hint="",
    ),
]
Protocol = Annotated[Literal["paper", "clean", "fast"] | None, optional("{paper,clean,fast}")]
Text = Annotated[str | None, optional("TEXT")]


def reproduce(
    target: TargetName,
    /,
    *,
    system: Text = None,
    methods: Text = None,
    samples: Text = None,
    sizes: Text = None,
    budget: Literal["smoke", "hour", "paper"] = "hour",
    seeds: Count = None,
    steps: Count = None,
    model_steps: Count = None,
    protocol: Protocol = None,
    seed: int = 0,
    first_seed: Count = None,
    workers: Count = None,
    scheduler: Text = None,
    runs: Path = Path("runs"),
    results: Annotated[Path | None, optional("FOLDER")] = None,
    from_: From = None,
    json: Json = False,
) -> None:
    """Repeat an experiment of the paper: print its table next to the paper's, and draw its figure.

    Finished runs are not trained again.

    Args:
        system: Only lotka-volterra, gray-scott or navier-stokes; by default all.
        methods: Only these, separated by commas; by default all.
        samples: Only these numbers of points per environment, such as 40,80; by default all. For environments.
        sizes: Only groups of these numbers of environments, such as 1,8; by default all. For environments.
        budget: How long to train: smoke, to see that it works; hour, for meaningful numbers, an hour or two on two
            cores for each system; paper, as long as the paper did.
        seeds: Models from different random weights for each number; by default as the budget says.
        steps: Gradient steps of each run; by default as the budget says, and fewer where steps are slow.
        model_steps: For targets that start from the models of table1: the steps of those models; by default as the
            budget says.
        protocol: How data are solved, and whether the first point of each trajectory counts in errors. By default
            clean, where fields learn in few steps, with Muon and other penalties. fast does that with the data and
            errors of paper.
        seed: The same seed gives the same data and the same weights.
        first_seed: The number of the first of these seeds, to add 2 and 3, say, to results of 0 and 1. For table1.
        workers: Processes that share the runs, each with its part of the cores; by default one per core. With 1, or for
            a single run, the seeds are spread over the cores.
        scheduler: The address of a Dask scheduler, such as tcp://host:8786, whose workers do the runs. Start them with
            one thread each, where the folder of runs has the same path.
        runs: The folder for the runs.
        results: The folder for TARGET.csv and the pictures; by default results, or runs/smoke for the budget smoke.
            With `--from`, the folder for the pictures; by default that of the results.
    """
    counts = {"seeds": seeds, "steps": steps, "model-steps": model_steps, "first-seed": first_seed}
    _check(target, seed, from_, counts, workers, scheduler)
    from ..experiments.results.rows import read_rows
    from ..experiments.study import Options
    from ..experiments.targets import TARGETS

    chosen = lookup("target", target, TARGETS)
    usual_seeds, usual_steps = chosen.budgets[budget]
    prepare(seeds or usual_seeds)
    wanted = None if methods is None else _known("method", methods.split(","), chosen.methods)
    if system is not None:
        _known("system", [system], chosen.systems)
    if first_seed is not None and not chosen.adds_seeds:
        raise InputError("`--first-seed` cannot be chosen for this target: leave it out")
    points, groups = _numbers("samples", samples, chosen.samples), _numbers("sizes", sizes, chosen.sizes)
    _known("protocol", [protocol or "clean"], chosen.protocols)
    place = from_ or results or (runs / "smoke" if budget == "smoke" else Path("results"))
    options = Options(
        budget=budget,
        seeds=seeds or usual_seeds,
        steps=steps or usual_steps,
        protocol=protocol or "clean",
        seed=seed,
        first_seed=first_seed or 0,
        system=system,
        methods=wanted,
        exact=steps is not None,
        model_steps=model_steps,
        samples=points,
        sizes=groups,
    )
    outcome = None if from_ else _carry_out(chosen, options, runs / target, place, workers, scheduler)
    if outcome is None or outcome.rows:
        path = place / f"{target}.csv"
        check_regular(path)
        wanted = lambda row: options.include(row) and protocol in (None, row["protocol"])
        if not (rows := [row for row in read_rows(path, chosen.needed) if wanted(row)]):
            raise InputError(f"{path} has no such results: leave out `--from` to make them")
        result([dict.fromkeys(CONTRACT) | line for line in chosen.table(rows)], chosen.sheet(rows).text(), as_json=json)
        draw(chosen, place, results if from_ and results else place)
    if outcome is not None:
        outcome.raise_if_failed()


def _check(
    target: str,
    seed: int,
    from_: Path | None,
    counts: dict[str, int | None],
    workers: int | None,
    scheduler: str | None,
) -> None:
    """Refuse what cannot be right, before anything slow is imported."""
    check_name("target", target, NAMES)
    check_seed(seed)
    for name, count in counts.items():
        check_count(f"--{name}", count)
    for name, given in (counts | {"workers": workers, "scheduler": scheduler}).items():
        if from_ is not None and given is not None:
            raise InputError(f"`--{name}` is about training, but `--from` trains nothing: leave one of them out")


def _carry_out(
    target: "Target", options: "Options", folder: Path, place: Path, workers: int | None, scheduler: str | None
) -> "Outcome":
    """Do the runs, and add what they measured to the folder of results."""
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
        with waiting(place / ".lock"):  # another system, say, may end at the same time
            write_rows(merged(rows, path), path)
            target.keep(runs, folder, place)
            keep_configs([folder / run.name for run in runs if run.name not in outcome.failures], place / FILE)
    return outcome


def draw(target: "Target", place: Path, out: Path) -> None:
    """Draw the pictures of a target from a folder of results."""
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
        raise InputError(f"`--{what}` cannot be chosen for this target: leave it out")
    for name in names:
        lookup(what, name.strip(), dict.fromkeys(known))
    return tuple(name.strip() for name in names)


def _numbers(what: str, given: str | None, known: tuple[int, ...]) -> tuple[int, ...] | None:
    """The numbers in a text, if the target knows them all; None for all of them."""
    return None if given is None else tuple(map(int, _known(what, given.split(","), tuple(map(str, known)))))
