"""`leadax report`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from .._atomic import check_regular
from ..errors import InputError
from .console import File, Json, Overwrite, result
from .options import Using, open_model
from .reading import Reading

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..data import Trajectories
    from ..evaluate import Evaluation
    from ..model import Model
    from ..report import Page

PICTURES = (".png", ".svg", ".pdf")
PAGE = ".md"
# The other yardsticks solve an equation, which takes 0.2 s per trajectory: with many, a page would take minutes.
MANY, QUICK = 50, ("persistence", "mean", "mean curve")
PathToShow = Annotated[
    Path,
    tyro.conf.Positional,
    tyro.conf.arg(metavar="PATH", help="A data file; or a run, a model file or a folder of runs or results."),
]


def report(
    path: PathToShow,
    /,
    *,
    out: File = None,
    data: File = None,
    using: Using = (),
    overwrite: Overwrite = False,
    reading: tyro.conf.OmitArgPrefixes[Reading] = Reading(),
    json: Json = False,
) -> None:
    """Draw a data file, or what one or several runs have learnt: a page with tables and pictures.

    Args:
        out: The file to write: .html for the page, or .png, .svg or .pdf for its first picture alone; by default PATH
            with the extension .html. For a folder of results of `leadax reproduce`: .md.
        data: For runs: the data file to forecast and to measure errors on. Without it, the page shows how they learnt.
    """
    from .._atomic import check_destination

    check_regular(path)
    if not path.exists():
        raise InputError(f"{path} does not exist: expected a data file, a run or a folder of runs")
    target = out or (path if path.name else Path(path.resolve().name or "report")).with_suffix(".html")
    if target.suffix not in (".html", PAGE, *PICTURES):
        raise InputError(f"`--out` must end in .html, {', '.join(PICTURES)}, or .md for results, got `{target}`")
    check_destination(target, overwrite=overwrite)
    if target.suffix == PAGE:
        _write_results(path, target)
    elif path.suffix != ".safetensors" and (path.is_file() or path.suffix == ".zarr"):
        if data is not None:
            raise InputError(f"`--data` says what to draw a run on, but {path} is a data file: leave it out")
        _draw_data(path, target, reading)
    elif data is None:
        _draw_learning(path, target, using)
    else:
        test = reading.load(data)
        models = _models(path, using, reading)
        write_comparison(models, test, path.name, target, baselines=_baselines(path, models, test))
    result({"out": str(target)}, f"{target}", as_json=json)


def _write_results(results: Path, out: Path) -> None:
    """The page about what `leadax reproduce` measured."""
    from .._atomic import replacing
    from ..experiments.results.page import results_page
    from ..experiments.targets import TARGETS

    for path in results.glob("*"):
        check_regular(path)
    page = results_page(TARGETS, results, out)
    with replacing(out, overwrite=True) as temporary:
        temporary.write_text(page, encoding="utf-8")


def write_comparison(
    models: "dict[str, Model]",
    test: "Trajectories",
    title: str,
    out: Path,
    evaluations: "dict[str, Evaluation] | None" = None,
    baselines: "Mapping[str, Evaluation] | None" = None,
) -> None:
    """Draw several models on the same test data: the page, or its first picture.

    - `evaluations`: of the models on the test data, where they are known already;
    - `baselines`: of simple forecasts (`leadax.yardsticks`), by name: rows of their own in the table of errors.
    """
    from ..evaluate import evaluate
    from ..report import model_figures, model_page

    if evaluations is None:
        evaluations = {name: evaluate(model, test) for name, model in models.items()}
    if out.suffix == ".html":
        _write(model_page(models, evaluations, test, title, baselines), out)
    else:
        _write(next(iter(model_figures(models, test, evaluations, baselines).values())), out)


def _draw_learning(path: Path, out: Path, using: Sequence[str]) -> None:
    from ..report import Page
    from ..report.learning import learning_caption, learning_curves
    from ..report.tables import learning_table

    models = _models(path, using)
    curves = learning_curves(models)
    if out.suffix != ".html":
        if curves is None:
            raise InputError(f"{path} has no record of its training: say with `--data` which data to draw it on")
        return _write(curves, out)
    page = Page(path.name)
    page.text("How training went. Give --data to see forecasts, errors in each environment, and f and g_e.")
    page.table(*learning_table(models))
    if curves is not None:
        page.figure(curves, learning_caption(models))
    return _write(page, out)


def _draw_data(path: Path, out: Path, reading: Reading) -> None:
    data = reading.load(path)  # before the slow imports: most mistakes show here

    from ..report import data_figures, data_page

    _write(data_page(data, path.name) if out.suffix == ".html" else next(iter(data_figures(data).values())), out)


def _models(path: Path, using: Sequence[str], reading: Reading | None = None) -> "dict[str, Model]":
    """The model of a run or in a file, or those of all finished runs in a folder."""
    if path.is_file():
        return {path.stem: open_model(path, using, reading)}
    if (path / "config.json").exists() or (path / "model.safetensors").exists():
        return {path.name: open_model(path, using, reading)}
    found = sorted(file.parent for file in path.glob("*/model.safetensors"))
    if not found:
        results = " (for a folder of results: `--out FILE.md`)" if any(path.glob("*.csv")) else ""
        raise InputError(f"{path} holds no finished run: expected one, or a folder of them{results}")
    return {run.name: open_model(run, using, reading) for run in found}


def _baselines(path: Path, models: "dict[str, Model]", test: "Trajectories") -> "dict[str, Evaluation]":
    """The errors of simple forecasts that learnt from the same data; none if the runs learnt from different data."""
    from ..evaluate.errors import chosen_warmup
    from ..train.finish import yardsticks_of
    from ..train.run_folder import MODEL

    first = next(iter(models.values()))
    learnt_from = {model.training.config.train for model in models.values() if model.training}
    found = [*path.glob(MODEL), *sorted(path.glob(f"*/{MODEL}"))]
    simple = yardsticks_of(found[0].parent, first) if found and len(learnt_from) == 1 else None
    if simple is None:
        return {}
    if int(test.counts.sum()) > MANY:
        quick = {name: numbers for name, numbers in simple.learnt_numbers.items() if name in QUICK}
        simple = replace(simple, learnt_numbers=quick)
    return simple.errors(test, protocol=first.protocol, warmup=chosen_warmup(None, first.warmup, test))


def _write(drawn: "Page | Figure", out: Path) -> None:
    from ..report import Page
    from ..report.style import save_figure

    if isinstance(drawn, Page):
        drawn.write(out)
    else:
        save_figure(drawn, out, out.suffix[1:])
