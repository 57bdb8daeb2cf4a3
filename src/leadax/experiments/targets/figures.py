"""Pictures of forecasts (Figs. 2, 3 and S1 to S4): LEADS and, by default, the baselines that the paper shows.

The first test trajectory in the first environments of each system, forecast by the first seed of the models of Table 1.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from ..results.forecasts import add_forecasts, keep_forecasts, read_forecasts
from ..results.rows import KEYS, Row
from ..results.sheets import Sheet, number
from ..study import Options, Run, Target
from ..study.learning import columns_of, settings_of
from ..study.models import BUDGETS, CONTENDERS, SHARE_OF_STEPS, data_of, of_table1, run_name, trained_for_table1

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS_SHOWN = ("one-per-env", "ft-node", "leads")


class Shown(NamedTuple):
    """What the paper shows of a system: how many environments and channels, and errors up to `largest_error`."""

    environments: int
    channels: int
    largest_error: float | None = None


SYSTEMS = {"lotka-volterra": Shown(4, 2), "gray-scott": Shown(3, 1, 0.6), "navier-stokes": Shown(3, 1, 0.2)}


def runs(options: Options) -> list[Run]:
    """One for each system, which trains what Table 1 has not trained yet. Steps are those of Table 1's models."""
    if options.exact and options.model_steps is None:
        options = replace(options, model_steps=options.steps)
    return [_run(options, system) for system in ((options.system,) if options.system else SYSTEMS)]


def _run(options: Options, system: str) -> Run:
    model, methods = of_table1(options), _methods(options)
    own = model.for_system(system, SHARE_OF_STEPS)
    settings = {method: settings_of(CONTENDERS[method], system, own) for method in methods}
    return Run(run_name(model, system, "+".join(methods)), partial(_work, options, system), settings)


def _methods(options: Options) -> list[str]:
    return list(METHODS_SHOWN) if options.methods is None else options.choose(CONTENDERS)


def _work(options: Options, system: str, folder: Path) -> Sequence[Row]:
    models = {method: trained_for_table1(options, system, method, folder.parent.parent) for method in _methods(options)}
    data, shown = data_of(options, system), SYSTEMS[system]
    test = data.test.select(slice(shown.environments))
    errors = keep_forecasts(models, test, shown.channels, folder / _file(system, options.protocol))
    steps = {method: model.training.steps for method, model in models.items() if model.training}
    return [
        {
            **columns_of(system, method, data.train, options.protocol),
            "steps": steps[method],
            "environment": name,
            "seed": 0,
            "mse_test": float(error),
        }
        for method, in_environments in errors.items()
        for name, error in zip(test.environments, in_environments, strict=True)
    ]


def _file(system: str, protocol: str) -> str:
    return f"forecasts-{system}-{protocol}.npz"


def keep(runs: Sequence[Run], folder: Path, place: Path) -> None:
    """Keep the forecasts of all systems."""
    for file in (file for run in runs for file in (folder / run.name).glob("forecasts-*.npz")):
        add_forecasts(file, place / file.name)


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """One line for each system, protocol, method and environment: the error of the trajectory in the picture."""
    return [{key: row[key] for key in (*KEYS, "environment", "mse_test")} | {"seeds": 1} for row in rows]


def sheet(rows: Sequence[Row]) -> Sheet:
    """The table for people."""
    header = ("system", "protocol", "method", "environment", "error of the forecast", "steps")
    cells = [
        (
            *(line[k] for k in ("system", "protocol", "method", "environment")),
            number(line["mse_test"]),
            str(line["steps"]),
        )
        for line in table(rows)
    ]
    return Sheet(header, cells, NOTES)


def glance(rows: Sequence[Row]) -> Sheet:
    """The mean over environments."""
    groups: dict[tuple[str, ...], list[float]] = {}
    for line in table(rows):
        groups.setdefault(tuple(line[k] for k in ("system", "protocol", "method")), []).append(line["mse_test"])
    cells = [(*group, number(fmean(errors))) for group, errors in groups.items()]
    return Sheet(("system", "protocol", "method", "error of the forecasts"), cells, NOTES)


NOTES = (
    "Errors are those of the trajectories in the picture, by one seed, over all of its points and channels (only u of "
    "Gray–Scott is drawn).",
)


def figures(rows: Sequence[Row], place: Path) -> "dict[str, Figure]":
    """For each system and protocol phase portraits, or last states and whole sequences of fields."""
    found: dict[str, Figure] = {}
    for system, protocol in dict.fromkeys((row["system"], row["protocol"]) for row in rows):
        methods = dict.fromkeys(row["method"] for row in rows if (row["system"], row["protocol"]) == (system, protocol))
        found |= _drawn(system, protocol, place / _file(system, protocol), list(methods))
    return found


def _drawn(system: str, protocol: str, path: Path, methods: list[str]) -> "dict[str, Figure]":
    from ...report.fields import field_comparison
    from ...report.portraits import portraits
    from ...report.sequences import error_sequences, state_sequences

    forecasts, channels = read_forecasts(path, methods)
    name, largest = f"figures-{system}-{protocol}", SYSTEMS[system].largest_error
    if forecasts[0].truth.ndim == 2:
        return {name: portraits(forecasts, channels)}
    return {
        name: field_comparison(forecasts, 0, channels[0], largest),
        f"{name}-sequences": state_sequences(forecasts, 0, channels[0]),
        f"{name}-errors": error_sequences(forecasts, 0, channels[0], largest),
    }


FIGURES = Target(
    name="figures",
    title="Forecasts (Figs. 2, 3, S1 to S4)",
    budgets=BUDGETS,
    needed=("environment",),
    runs=runs,
    table=table,
    sheet=sheet,
    glance=glance,
    figures=figures,
    systems=tuple(SYSTEMS),
    methods=tuple(CONTENDERS),
    keep=keep,
)
