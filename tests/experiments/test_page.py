"""The page of results that is kept in docs says what the results that are kept say."""

import json
from pathlib import Path

from leadax.experiments.results.page import results_page
from leadax.experiments.results.rows import read_rows
from leadax.experiments.targets import TARGETS

ROOT = Path(__file__).parents[2]
RESULTS, PAGE = ROOT / "results", ROOT / "docs" / "results.md"


def test_the_page_is_that_of_the_results():
    again = "leadax report results --out docs/results.md --overwrite"
    assert PAGE.read_text() == results_page(TARGETS, RESULTS, PAGE), f"`{again}` makes it anew"


def test_the_settings_behind_rows_are_kept():
    """All that rows name, and no others. What trained nothing may have none."""
    configs, used = json.loads((RESULTS / "configs.json").read_text()), set()
    for name in TARGETS.keys() - {"figures"}:
        for row in read_rows(RESULTS / f"{name}.csv") if (RESULTS / f"{name}.csv").exists() else ():
            assert "config" in row or row["steps"] == 0, f"{name}.csv: {row}"
            used.add(row.get("config"))
    assert used - {None} == set(configs)


def test_every_picture_is_there_and_small():
    """A target whose rows are kept has its pictures beside them, and no file is large."""
    for name, target in TARGETS.items():
        if (RESULTS / f"{name}.csv").exists():
            rows = read_rows(RESULTS / f"{name}.csv")
            assert all((RESULTS / f"{picture}.png").exists() for picture in target.figures(rows, RESULTS)), name
    assert max(file.stat().st_size for file in RESULTS.iterdir()) < 500_000
