"""`leadax report`."""

from pathlib import Path
from typing import Annotated, Any

import tyro

from ..errors import InputError
from .console import Json, Overwrite, result

PICTURES = (".png", ".svg", ".pdf")
PathToShow = Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="PATH", help="A data file.")]


def report(
    path: PathToShow,
    /,
    *,
    out: Path | None = None,
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Draw a data file: a page with tables and pictures, one row per environment.

    Args:
        out: The file to write, .html for the page, or .png, .svg, .pdf for its first picture alone;
            by default PATH with the ending .html.
    """
    from .._atomic import check_destination

    target = out or path.with_suffix(".html")
    if target.suffix not in (".html", *PICTURES):
        raise InputError(f"`--out` must end in .html, {', '.join(PICTURES)}, got `{target}`")
    check_destination(target, overwrite=overwrite)
    write_data_report(path, target)
    result({"out": str(target)}, f"{target}", as_json=json)


def write_data_report(path: Path, out: Path) -> None:
    """Draw the data in one file into another."""
    from .._atomic import replacing
    from ..data import load

    data = load(path)  # before the slow imports: most mistakes show here

    from ..report import data_figures, data_page
    from ..report.style import save_figure

    with replacing(out, overwrite=True) as temporary:
        if out.suffix == ".html":
            data_page(data, path.name).write(temporary)
        else:
            save_figure(next(iter(data_figures(data).values())), temporary, out.suffix[1:])


def write_comparison(models: dict[str, Any], test: Any, out: Path) -> None:
    """Draw the page of several models on the same test data."""
    from .._atomic import replacing
    from ..evaluation import evaluate
    from ..report import model_page

    evaluations = {name: evaluate(model, test) for name, model in models.items()}
    with replacing(out, overwrite=True) as temporary:
        model_page(models, evaluations, test, out.parent.name or "Comparison").write(temporary)
