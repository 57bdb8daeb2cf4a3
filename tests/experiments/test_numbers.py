"""The numbers that docs/measurements.md takes from the results are those of the results."""

import re
from pathlib import Path

import pytest

from leadax.experiments.results.rows import read_rows
from leadax.experiments.targets import TARGETS
from leadax.experiments.targets.table1 import PAPER

ROOT = Path(__file__).parent.parent.parent
METHODS = {
    "LEADS": "leads",
    "CoDA": "coda",
    "LEADS without Ω": "leads-no-min",
    "FT-NODE": "ft-node",
    "FT-NODE, as many parameters as LEADS": "ft-node",
    "FT-NODE, 12 factors": "ft-node (rank 12)",
    "MAML": "maml",
    "One-Per-Env": "one-per-env",
    "GBML": "gbml",
    "FT-RNN": "ft-rnn",
    "One-For-All": "one-for-all",
}
# Which document, the heads of its columns after the first, and the numbers of each column: system, protocol, and names
# of the table of Table 1.
PAPER_LV = ("lotka-volterra", "paper", ("paper",))
TABLES = [
    (
        "docs/measurements.md",
        r"\| paper's \| `paper` \| `clean` \|",
        [
            PAPER_LV,
            ("lotka-volterra", "paper", ("mse_minimum", "mse_test")),
            ("lotka-volterra", "clean", ("mse_minimum", "mse_test")),
        ],
    ),
]


def lines_of(text: str, head: str) -> list[list[str]]:
    """The cells of the table whose first line has this head."""
    (table,) = re.findall(rf"^\|[^\n]*{head}[^\n]*\n\|[-|]+\n((?:\|[^\n]*\n)+)", text, re.MULTILINE)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]


def agrees(printed: str, value: float) -> bool:
    """Whether a number is another one, rounded as it is printed.

    >>> agrees("1.2e-3", 0.00124), agrees("1.2e-3", 0.00126), agrees("0.18", 0.1849)
    (True, False, True)
    """
    digits = len(re.sub(r"e.*", "", printed).replace(".", "").lstrip("0"))
    return float(printed) == pytest.approx(float(f"{value:.{digits - 1}e}"), rel=1e-9)


@pytest.mark.parametrize(("document", "head", "columns"), TABLES, ids=["training"])
def test_printed_numbers_are_those_of_the_results(document, head, columns):
    target = TARGETS["table1"]
    measured = {
        (line["system"], line["protocol"], line["method"]): line
        for line in target.table(read_rows(ROOT / "results" / "table1.csv", target.needed))
    }
    printed = lines_of((ROOT / document).read_text(), head)
    assert len(printed) >= 4
    for name, *cells in printed:
        for cell, (system, protocol, keys) in zip(cells, columns, strict=True):
            numbers = re.findall(r"\d+(?:\.\d+)?(?:e-\d+)?", re.sub(r"\([^)]*\)", "", cell))
            method = METHODS[name]
            printed_there = {"paper": PAPER[system, method][1]} if (system, method) in PAPER else {}
            line = measured.get((system, protocol, method), {}) | printed_there
            values = [line[key] for key in keys if line.get(key) is not None]
            assert len(numbers) == len(values), f"{document}, {name}: {cell!r} for {values}"
            for number, value in zip(numbers, values, strict=True):
                assert agrees(number, value), f"{document} has {number} for {name}, the results {value}"
