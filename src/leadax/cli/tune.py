"""`leadax tune`."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import tyro

from ..errors import InputError
from .checks import check_count, check_run, check_seed
from .console import Count, Json, message, optional, result
from .executors import lanes_for
from .names import METHODS, NETS, check_name
from .options import OWN, DataFile, RunFolderOption
from .own import find_method, find_net
from .reading import Reading
from .runtime import prepare, stoppable
from .standing import HEADER, cells, table, watching
from .train import recorded

if TYPE_CHECKING:
    from ..choose.tune import Found

# As in `leadax.choose.tune`, which a test compares: help must not have to wait for JAX.
USUAL = ("leads", "coda", "one-per-env", "one-for-all")
SIDE_BY_SIDE = 4
Methods = Annotated[
    str | None,
    optional("NAME[,…]", f"To choose from: {', '.join(METHODS)}, {OWN}; by default {', '.join(USUAL)}."),
]

NetName = Annotated[
    str | None,
    optional("NAME", f"The kind of net: {', '.join(NETS)}, {OWN}; by default mlp, or conv for fields."),
]

Text = Annotated[str | None, optional("TEXT")]


def tune(
    data: DataFile,
    /,
    *,
    out: RunFolderOption,
    methods: Methods = None,
    minutes: float = 10.0,
    seeds: int = 1,
    seed: int = 0,
    net: NetName = None,
    workers: Count = None,
    scheduler: Text = None,
    reading: tyro.conf.OmitArgPrefixes[Reading] = Reading(),
    json: Json = False,
) -> None:
    """Search for the method and the settings that suit the data, by cross-validation; train the winner on all of it.

    RUN is then a run like any other, with a table of what was tried. An unfinished search is resumed; if it is
    finished, nothing is done.

    Args:
        minutes: For everything, training the winner included.
        seeds: How many models to train of each candidate, from different random weights.
        seed: Of the order in which candidates come, and of their weights. How many there is time for depends on the
            machine.
        workers: Processes on this machine that train groups of candidates at the same time, each with its part of the
            cores; by default this one, with all of them.
        scheduler: The address of a Dask scheduler, such as tcp://host:8786, whose workers train the candidates. Start
            them with one thread each.
    """
    names = _names(methods)
    if not 0 < minutes < math.inf:
        raise InputError(f"`--minutes` must be a positive number, got {minutes:g}: tune needs time to try things")
    check_count("--seeds", seeds)
    check_count("--workers", workers)
    check_seed(seed)
    if net is not None:
        check_name("net", net, NETS)
    check_run(out)
    if reading.covariates or reading.clock is not None:
        raise InputError("`tune` searches without covariates and time as an input: leave them out, or use `train`")
    training = reading.load(data)
    prepare(SIDE_BY_SIDE * seeds)
    for name in names:
        find_method(name)  # imports those of the user's own
    import jax.random as jr

    from ..choose.tune import search
    from ..choose.tuning import Tuning
    from ..train import Monitor

    lanes = lanes_for(SIDE_BY_SIDE * seeds, workers, scheduler)
    with lanes as (executor, count), stoppable() as should_stop, watching() as (watch, listen):
        monitor = Monitor(listen, message, should_stop)
        task = Tuning.of(training, jr.key(seed), names, seeds, find_net(net) if net else None, monitor)
        found = search(task, minutes, out, watch, executor=executor, workers=count)
    _, document = recorded(found.fit, out, title=str(found.winner.candidate.shape))
    page = out / "report.html"
    write_page(found, document, page)
    text = f"{table(found.tried)}\n\n{found.sentence}\n{out}: trained on all data, {document['steps']} steps"
    result(to_json(found, document), text, as_json=json)
    message(f"page: {page}")


def to_json(found: "Found", document: dict[str, Any]) -> dict[str, Any]:
    """The result of the run, with the winner and what was tried."""
    winner = next((line.to_json() for line in found.tried if line.candidate == found.winner.candidate), None)
    chosen = winner or found.winner.candidate.to_json()
    return {**document, "winner": chosen, "tried": [line.to_json() for line in found.tried]}


def write_page(found: "Found", document: dict[str, Any], path: Path) -> None:
    """The page with all that was tried."""
    from ..report import Bold, Page

    page = Page(f"Search: {path.parent.name}")
    page.text(found.sentence)
    page.text(f"It was then trained on all data, {document['steps']:,} steps.")
    page.heading("What was tried")
    page.text(
        "Mean squared error on held-out data over the variance of the data: 1 for a forecast of the mean. The "
        "winner comes first, then the candidates that got furthest; errors of different steps cannot be compared."
    )
    shown = lambda line: Bold if line.candidate == found.winner.candidate else str
    page.table(HEADER, [[shown(line)(cell) for cell in cells(line)] for line in found.tried])
    page.write(path)


def _names(text: str | None) -> list[str]:
    """The methods to choose from, each once."""
    if text is None:
        return list(USUAL)
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise InputError(f"`--methods` must be names separated by commas, got `{text}`")
    for name in names:
        check_name("method", name, METHODS)
    return names
