"""The linear experiment: how its data and groups are made, and that the results kept here show what the docs say."""

import json
from pathlib import Path

import numpy as np
import pytest

from leadax.cli import run
from leadax.cli.reproduce import NAMES
from leadax.experiments.results.rows import read_rows
from leadax.experiments.study import Options, carry_out, linear_groups
from leadax.experiments.study.linear_groups import Group, simulated
from leadax.experiments.targets import TARGETS
from leadax.experiments.targets.linear import PAPER, bound, figures, runs, table

RESULTS = Path(__file__).parents[2] / "results"


def test_names():
    assert tuple(TARGETS) == NAMES


def test_every_group_is_learnt():
    names = [run.name for run in runs(Options("smoke", 2, 20, "clean"))]
    assert len(names) == len(set(names)) == 2 * (1 + 2 * (4 + 2 + 1))


def test_environments_start_from_states_of_their_own():
    few = simulated("train", 2, "paper", 0)
    starts = few.states[:, :, 0].reshape(-1, 8)
    assert np.linalg.matrix_rank(starts) == 8
    assert len(np.unique(starts.round(9), axis=0)) == 16


def test_a_group_is_learnt(tmp_path, monkeypatch, cheap_nets):
    """The last two of eight environments; g_e is compared with the best decomposition."""
    monkeypatch.setattr(linear_groups, "TRAJECTORIES", (2,))
    monkeypatch.setattr(linear_groups, "TEST_TRAJECTORIES", 2)
    options = Options("smoke", 1, 2, "paper", methods=("leads",))
    chosen = next(run for run in runs(options) if "m2-n2-group3" in run.name)
    outcome = carry_out([chosen], tmp_path, lambda *ignored: None)
    outcome.raise_if_failed()
    assert [row["environment"] for row in outcome.rows] == Group(2, 2, 3).names
    assert all(row["distance"] > 0 and row["distance_of_data"] > 0 for row in outcome.rows)
    assert not any("mse_minimum" in row for row in outcome.rows), "nobody looked at the test data on the way"


def test_the_bound_falls_with_m_and_with_the_penalty():
    for n in (40, 80):
        for method in ("leads", "leads-no-min"):
            values = [bound("one-per-env", 1, n, 5.0), *(bound(method, m, n, 5.0) for m in (2, 4, 8))]
            assert all(np.diff(values) < 0)
        assert all(bound("leads", m, n, 5.0) < bound("leads-no-min", m, n, 5.0) for m in (2, 4, 8))


@pytest.fixture(scope="module")
def lines():
    return {(line["method"], line["m"], line["n"] // 20): line for line in table(read_rows(RESULTS / "linear.csv"))}


def test_results_are_near_the_paper(lines):
    assert set(lines) == set(PAPER)
    for key in (("one-per-env", 1, 2), ("one-per-env", 1, 4)):
        assert 0.5 < lines[key]["mse_test"] / PAPER[key] < 2


@pytest.mark.parametrize("n", [2, 4])
def test_results_have_the_order_of_the_bound(lines, n):
    of = lambda method, m: lines[method if m > 1 else "one-per-env", m, n]
    for value in ("mse_test", "bound"):
        for method in ("leads", "leads-no-min"):
            assert all(of(method, 2 * m)[value] < of(method, m)[value] for m in (1, 2, 4)), f"{value} falls with m"
        assert all(of("leads", m)[value] < of("leads-no-min", m)[value] for m in (2, 4, 8)), f"{value}: penalty helps"


def test_from_files_alone(capsys, tmp_path):
    (tmp_path / "linear.csv").write_bytes((RESULTS / "linear.csv").read_bytes())
    assert run(["reproduce", "linear", "--from", str(tmp_path), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    contract = (
        "system method m n protocol seeds steps mse_train mse_test mse_std_over_seeds mse_std_over_trajectories paper"
    )
    assert all(set(contract.split()) <= set(row) for row in rows)
    assert (tmp_path / "linear.png").stat().st_size > 10_000
    assert list(figures(read_rows(RESULTS / "linear.csv"), RESULTS)) == ["linear"]


def test_wrong_use(capsys, tmp_path):
    assert run(["reproduce", "linaer"]) == 2
    assert "unknown target `linaer`: did you mean `linear`?" in capsys.readouterr().err
    assert run(["reproduce", "linear", "--seeds", "0"]) == 2
    assert run(["reproduce", "linear", "--from", str(tmp_path)]) == 2
    assert "linear.csv does not exist: `leadax reproduce linear` makes it" in capsys.readouterr().err
