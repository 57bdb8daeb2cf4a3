"""The page of all results: each table next to the paper's numbers, each figure, and what differs from the paper."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...errors import InputError
from ..study.target import Target
from .rows import Row, read_rows

HEAD = """# The paper, reproduced

Made by `leadax report results --out docs/results.md --overwrite` from the files in [results]({results}): do not edit.
Errors are mean squared errors of forecasts of test trajectories. Ratio is our error divided by the paper's: less than 1
is better. To repeat a row, add `--protocol` to the command above its table, and `--methods`, `--seeds`, `--steps` or
`--model-steps` (steps before) where they are not the budget's. The column `config` of a file names the settings in
configs.json. What the protocols are, and what differs from the paper: [below](#what-differs-from-the-paper-and-why)."""


def results_page(targets: Mapping[str, Target], results: Path, out: Path) -> str:
    """The page in Markdown about those targets that a folder of results has; links are relative to `out`.

    Every picture of a target is shown if it is there.
    """
    found = [target for target in targets.values() if (results / f"{target.name}.csv").exists()]
    if not found:
        raise InputError(f"{results} has no results: `leadax reproduce {next(iter(targets))}` makes some")
    place = Path(os.path.relpath(results.resolve(), out.resolve().parent)).as_posix()
    sections = [_section(target, results, place) for target in found]
    differences = Path(__file__).with_name("differences.md").read_text(encoding="utf-8")
    details = [_details(target, results) for target in found if target.glance]
    row_by_row = ["## Row by row", *details] if details else []
    return "\n\n".join([HEAD.format(results=place), *sections, differences.strip(), *row_by_row]) + "\n"


def _section(target: Target, results: Path, place: str) -> str:
    rows = _rows(target, results)
    command = f"`leadax reproduce {target.name}`, from [{target.name}.csv]({place}/{target.name}.csv)."
    more = f" Seeds, steps and times: [row by row](#row-by-row-{target.name})." if target.glance else ""
    drawn = [name for name in target.figures(rows, results) if (results / f"{name}.png").exists()]
    pictures = [f"![{name}]({place}/{name}.png)" for name in drawn]
    table = (target.glance or target.sheet)(rows).markdown()
    return "\n\n".join([f"## {target.title}", command + more, table, *pictures])


def _details(target: Target, results: Path) -> str:
    return f"### Row by row: {target.name}\n\n{target.sheet(_rows(target, results)).markdown()}"


def _rows(target: Target, results: Path) -> Sequence[Row]:
    return read_rows(results / f"{target.name}.csv", target.needed)
