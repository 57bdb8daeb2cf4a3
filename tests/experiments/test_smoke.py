"""Every target as a user types it, with as little work as possible."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from leadax.cli import run
from leadax.cli.reproduce import CONTRACT
from leadax.defaults import PRESETS
from leadax.experiments.results.rows import read_rows
from leadax.experiments.study import Options, carry_out
from leadax.experiments.study.models import simulated
from leadax.experiments.targets import environments
from leadax.train import RunFolder

TINY = ["--budget", "smoke", "--seeds", "1", "--runs", "runs", "--results", "results", "--workers", "1"]
LV = ["--system", "lotka-volterra"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch, cheap_data, cheap_nets):
    monkeypatch.chdir(tmp_path)


def reproduce(target, *options, capsys):
    assert run(["reproduce", target, *TINY, *options, "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)
    assert all(set(CONTRACT) <= set(line) for line in lines)
    return lines


def test_what_comes_from_the_models_of_table_1(capsys, monkeypatch):
    """Three targets share one model, which is trained once."""
    drawn = reproduce("figures", *LV, "--methods", "leads", "--steps", "1", capsys=capsys)
    assert len(drawn) == 4
    assert Path("results/figures-lotka-volterra-clean.png").exists()
    assert Path("results/forecasts-lotka-volterra-clean.npz").stat().st_size < 10_000

    folder = Path("runs/table1/lotka-volterra-leads-clean-1x1-0")
    trained = RunFolder(folder).result()
    monkeypatch.setattr("leadax.train.loop.Loop.run", None)  # nothing is trained from here on
    (line,) = reproduce("table1", *LV, "--methods", "leads", "--steps", "1", capsys=capsys)
    assert [line[key] for key in ("method", "steps", "m", "n", "seeds")] == ["leads", 1, 10, 20, 1]
    assert line["mse_minimum"] == pytest.approx(trained["test"]["minimum"], rel=1e-5)
    assert line["mse_test"] == pytest.approx(trained["test"]["last"], rel=1e-5)
    assert line["seconds"] == pytest.approx(trained["seconds"], rel=1e-5)
    (snapshot,) = read_rows(Path("results/table1-curves.csv"))
    assert (snapshot["steps"], snapshot["mse_test"]) == (1, pytest.approx(trained["test"]["minimum"], rel=1e-5))
    assert Path("results/table1.png").exists()

    (alone,) = reproduce("novel", *LV, "--methods", "shared-only", "--model-steps", "1", capsys=capsys)
    assert (alone["method"], alone["pretraining_steps"], alone["steps"]) == ("shared-only", 1, 0)

    assert run(["report", "results", "--out", "page.md"]) == 0
    page = Path("page.md").read_text()
    assert "![table1](results/table1.png)" in page
    assert "## Forecasts (Figs. 2, 3, S1 to S4)" in page
    assert "## What differs from the paper, and why" in page

    weight = 2 * PRESETS["lotka-volterra"].penalty_weight
    monkeypatch.setitem(PRESETS, "lotka-volterra", replace(PRESETS["lotka-volterra"], penalty_weight=weight))
    # The run of this target, and the model that it would start from.
    for target, what in (("table1", "finished with other settings"), ("figures", "finished with other settings")):
        assert run(["reproduce", target, *TINY, *LV, "--methods", "leads", "--steps", "1"]) == 1
        assert what in capsys.readouterr().err
    assert run(["reproduce", "novel", *TINY, *LV, "--methods", "scratch", "--model-steps", "1"]) == 1
    assert (
        "holds another run: its `method.penalty_weight` is 0.0002, but 0.0004 was requested" in capsys.readouterr().err
    )


def test_further_seeds(capsys):
    """They are of other weights, and join the first ones."""
    setting = [*LV, "--methods", "leads", "--steps", "1"]
    reproduce("table1", *setting, capsys=capsys)
    (line,) = reproduce("table1", *setting, "--first-seed", "1", capsys=capsys)
    assert line["seeds"] == 2
    assert line["mse_std_over_seeds"] > 0
    assert {row["seed"] for row in read_rows(Path("results/table1-curves.csv"))} == {0, 1}
    assert run(["reproduce", "draws", *TINY, "--first-seed", "1"]) == 2


def test_a_group_of_environments_is_learnt(tmp_path):
    """The second pair of eight environments, two trajectories of each."""
    options = Options("hour", 1, 2, "clean", methods=("one-for-all",))
    chosen = next(run for run in environments.runs(options) if "m2-n2-group1" in run.name)
    outcome = carry_out([chosen], tmp_path, lambda *ignored: None)
    outcome.raise_if_failed()
    rows = outcome.rows
    expected = simulated("lotka-volterra", "train", "clean", 0).environments[2:4]
    assert tuple(row["environment"] for row in rows) == expected
    assert {(row["m"], row["n"], row["group"], row["steps"], row["seed"]) for row in rows} == {(2, 40, 1, 2, 0)}
    assert all(row["mse_minimum"] > 0 and row["seconds"] > 0 for row in rows)


def test_targets_beside_the_paper(capsys):
    """Other initial states, with a picture, and validation data that choose."""
    lines = reproduce("draws", "--steps", "1", capsys=capsys)
    assert [(line["draw"], line["method"]) for line in lines][:2] == [("10", "leads"), ("10", "one-per-env")]
    assert Path("results/draws.png").exists()
    lines = reproduce("validation", "--steps", "1", capsys=capsys)
    assert [(line["method"], line["kept"]) for line in lines] == [("leads (ends)", [1]), ("leads (other states)", [1])]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["environments", "--methods", "leads,led"], "unknown method `led`"),
        (["environments", "--system", "lotka-volterra"], "`--system` cannot be chosen for this target"),
        (["norms", "--samples", "20"], "`--samples` cannot be chosen for this target"),
        (["environments", "--samples", "20,30"], "unknown samples `30`"),
        (["environments", "--sizes", "3"], "unknown sizes `3`"),
        (["table1", "--system", "linear"], "unknown system `linear`"),
        (["table1", "--from", ".", "--steps", "3"], "`--steps` is about training"),
        (["table1", "--model-steps", "0"], "`--model-steps` must be"),
        (["table1", "--workers", "0", "--budget", "smoke"], "`--workers` must be"),
    ],
)
def test_wrong_use(options, what, capsys):
    assert run(["reproduce", *options]) == 2
    assert what in capsys.readouterr().err


def test_no_results(tmp_path, capsys):
    assert run(["report", str(tmp_path), "--out", str(tmp_path / "page.md")]) == 2
    assert "has no results: `leadax reproduce table1` makes some" in capsys.readouterr().err
