"""Other initial states: which data a draw has, what lines, sheet and picture say, and a run of a few steps."""

from pathlib import Path

import numpy as np
import pytest

from leadax.experiments.results.rows import write_rows
from leadax.experiments.study import Options, carry_out
from leadax.experiments.study.models import simulated
from leadax.experiments.targets import draws

OPTIONS = Options("hour", 1, 2, "clean")


def row(method, draw, seed, error, **other):
    setting = {"system": draws.SYSTEM, "method": method, "m": 10, "n": 20, "protocol": "clean", "steps": 10}
    errors = {"mse_train": 0.0, "mse_test": 2 * error, "std_over_trajectories": 0.0, "mse_minimum": error}
    place = {"draw": draw, "start_u": 1.5, "start_v": 1.25, "seed": seed, "seconds": 30.0}
    return {**setting, **place, **errors, **other}


def rows():
    """LEADS is better from draw 2 than from draw 1, One-Per-Env is ten times worse from both."""
    errors = {1: 2e-3, 2: 1e-3, "paper": 4e-3}
    factors = {"leads": 1, "one-per-env": 10}
    return [row(m, d, s, f * e * (1 + s)) for d, e in errors.items() for m, f in factors.items() for s in (0, 1)]


def test_every_draw_is_learnt_by_both_methods():
    names = [run.name for run in draws.runs(OPTIONS)]
    assert len(names) == len(set(names)) == 2 * (draws.OTHERS + 1)
    assert len(draws.runs(Options("smoke", 1, 2, "clean", methods=("leads",)))) == 2


def test_the_data_of_a_draw():
    """One initial state in all environments; draw 0 would be the training data of Table 1, the last is the paper's."""
    first, second, published = (draws.training_data(OPTIONS, draw) for draw in ("1", "2", "paper"))
    assert first.states.shape == published.states.shape == (10, 1, 20, 2)
    assert np.ptp(first.states[:, 0, 0], axis=0) == pytest.approx(0)
    assert not np.allclose(first.states[0, 0, 0], second.states[0, 0, 0])
    of_table1 = simulated(draws.SYSTEM, "train", "clean", 0)
    np.testing.assert_allclose(draws.training_data(OPTIONS, "0").states, of_table1.states, rtol=1e-12)
    as_in_paper = simulated(draws.SYSTEM, "train", "paper", 0)
    np.testing.assert_array_equal(published.states[:, :, 0], as_in_paper.states[:, :, 0])
    np.testing.assert_allclose(published.states, as_in_paper.states, atol=0.1)
    assert np.abs(published.states - as_in_paper.states).max() > 1e-6, "solved to another tolerance"


def test_lines():
    lines = draws.table(rows())
    assert [(line["draw"], line["method"]) for line in lines][:2] == [("1", "leads"), ("1", "one-per-env")]
    assert (lines[0]["mse_minimum"], lines[0]["mse_test"], lines[0]["seeds"]) == (3e-3, 6e-3, 2)
    assert [line["paper"] for line in lines[:2]] == [1.16e-3, 7.95e-3]
    sheet = draws.sheet(rows())
    first = ["1", "(1.50, 1.25)", "3.00e-03 ± 1.4e-03", "6.00e-03", "3.00e-02 ± 1.4e-02", "6.00e-02", "10.00"]
    assert sheet.cells[0] == [*first, "2", "10", "1.0"]
    expected = "LEADS, minima of 2 other draws: median 2.25e-03, from 1.50e-03 to 3.00e-03; 0 of them"
    assert sheet.notes[0].startswith(expected)
    alone = draws.sheet([row("leads", 1, 0, 1e-3)])
    assert alone.cells[0][4:7] == ["–", "–", "–"]


def test_picture(tmp_path):
    """Draws by the error of LEADS, then those of Table 1, and the paper's errors as lines."""
    kept = [row(m, "", 0, 1e-3, protocol=p) for m in draws.METHODS_SHOWN for p in ("clean", "paper", "fast")]
    write_rows(kept, tmp_path / "table1.csv")
    axis, last = draws.figures(rows(), tmp_path)["draws"].axes
    labels = [label.get_text() for label in axis.get_xticklabels()]
    assert labels[:3] == ["2", "1", "paper"]
    assert sorted(labels[3:]) == ["Table 1: clean", "Table 1: paper"]
    names = [f"{name}{what}" for name in ("LEADS", "One-Per-Env") for what in ("", ", Table 1", ", published")]
    assert sorted(axis.get_legend_handles_labels()[1]) == sorted(names)
    assert last.containers[0].lines[0].get_ydata() == pytest.approx([6e-3, 3e-3, 1.2e-2])
    assert len(draws.figures(rows(), Path("nowhere"))["draws"].axes[0].get_xticklabels()) == 3


def test_a_draw_is_learnt(tmp_path, cheap_data, cheap_nets):
    run = draws.runs(Options("smoke", 2, 2, "clean", methods=("leads",)))[0]
    outcome = carry_out([run], tmp_path, lambda *ignored: None)
    outcome.raise_if_failed()
    assert len(outcome.rows) == 2 * 10
    assert {(row["draw"], row["m"], row["n"], row["steps"]) for row in outcome.rows} == {("10", 10, 20, 2)}
    assert all(row["mse_minimum"] > 0 and 1 <= row["start_u"] <= 2 for row in outcome.rows)
