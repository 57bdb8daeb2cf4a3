"""Novel environments: which runs there are, what their rows and lines say, and a picture."""

import math
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from leadax import Model
from leadax.experiments.study import Options, carry_out, models
from leadax.experiments.targets import novel
from leadax.train import RunFolder

SETTING = {"system": "lotka-volterra", "m": 2, "n": 20, "protocol": "paper", "pretraining_steps": 12_000}


def rows_of(scheme, errors):
    return [{**SETTING, "method": scheme, "steps": s, "seed": k, "mse_test": e} for s, es in errors.items()
            for k, e in enumerate(es)]  # fmt: skip


ROWS = [
    *rows_of("shared-only", {0: [0.3, 0.5]}),
    *rows_of("specific", {50: [1.0, 2.0], 2_500: [0.1, 0.3]}),
]


def test_lines():
    """What does not learn has one error for all steps; a step that was not reached has none."""
    alone, specific = novel.table(ROWS)
    assert [alone[f"mse_at_{step}"] for step in novel.AT] == [0.4, 0.4, 0.4]
    assert [specific[f"mse_at_{step}"] for step in novel.AT] == [1.5, pytest.approx(0.2), None]
    assert [specific[f"paper_at_{step}"] for step in (50, 2_500, 10_000)] == [0.73, 1.36e-3, 1.11e-3]
    assert specific["paper"] == 1.11e-3
    assert (specific["mse_test"], specific["mse_std_over_seeds"]) == (0.2, pytest.approx(0.02**0.5))
    assert "1.50e+00 (7.30e-01, 2.05)" in novel.sheet(ROWS).text()
    assert "2.00e-01 ± 1.4e-01" in novel.sheet(ROWS).text()


def test_a_seed_that_went_wrong_does_not_hide_the_others():
    rows = rows_of("scratch", {50: [1.0, 2.0], 2_500: [0.1, float("nan")], 10_000: [math.inf, math.nan]})
    (line,) = novel.table([row for row in rows if row["steps"] < 10_000])
    assert line["mse_at_50"] == 1.5
    assert math.isnan(line["mse_std_over_seeds"])
    (axis,) = novel.figures(rows, Path())["novel"].axes
    assert axis.lines[0].get_xydata().tolist() == [[50.0, 1.5], [2_500.0, 0.1]]


def test_picture():
    (axis,) = novel.figures(ROWS, Path())["novel"].axes
    assert axis.get_legend_handles_labels()[1] == ["f alone", "f fixed, new g"]
    assert axis.get_yscale() == "log"


def test_runs_start_from_the_model_of_table_1(tmp_path, cheap_data, cheap_nets):
    """In the folder of that study, whatever the budget; test errors are recorded at every look."""
    options = Options("hour", 2, 7, "clean", system="lotka-volterra", model_steps=1, methods=("specific",))
    outcome = carry_out(novel.runs(options), tmp_path / "novel", lambda *ignored: None)
    outcome.raise_if_failed()
    known = Model.load(tmp_path / "table1" / "lotka-volterra-leads-clean-2x1-0" / "model.safetensors")
    folder = tmp_path / "novel" / "lotka-volterra-specific-clean-2x7-0-after-1"
    new, errors = Model.load(folder / "model.safetensors"), RunFolder(folder).result()["test"]["mse_per_seed"]
    assert jax.tree.all(jax.tree.map(np.array_equal, new.levels.shared, known.levels.shared)), "f is fixed"
    found = [(row["method"], row["pretraining_steps"], row["steps"], row["m"], row["mse_test"]) for row in outcome.rows]
    assert found == [("specific", 1, 7, 2, pytest.approx(error, rel=1e-4)) for error in errors]


def test_the_model_of_table_1():
    """Has the steps of its own budget, a share of them where they take long, or those that were asked for."""
    options = Options("hour", 2, 7, "clean", exact=True)
    name = lambda system, options: models.run_name(models.of_table1(options), system, "leads")
    assert name("lotka-volterra", options) == "lotka-volterra-leads-clean-2x12000-0"
    assert name("gray-scott", options) == "gray-scott-leads-clean-2x600-0"
    assert name("gray-scott", replace(options, model_steps=900)) == "gray-scott-leads-clean-2x900-0"


def test_models_of_other_steps_are_another_run():
    """The share of steps that a field takes is part of it."""
    name = lambda **more: novel.runs(Options("hour", 4, 500, "paper", system="gray-scott", **more))[0].name
    assert name() != name(model_steps=12_000)
