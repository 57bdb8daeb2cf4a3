"""Every target as a user types it, with as little work as there can be."""

import json
from pathlib import Path

import jax
import jax.random as jr
import pytest

from leadax import Leads, Model
from leadax.cli import run
from leadax.cli.reproduce import CONTRACT
from leadax.experiments import complete, environments, settings_for
from leadax.experiments.learning import MODEL
from leadax.experiments.rows import read_rows
from leadax.experiments.study import Options, carry_out
from leadax.experiments.table1 import data

TINY = ["--budget", "smoke", "--seeds", "1", "--runs", "runs", "--results", "results", "--workers", "1"]


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path, monkeypatch, cheap_data):
    monkeypatch.chdir(tmp_path)


def reproduce(target, *options, capsys):
    assert run(["reproduce", target, *TINY, *options, "--json"]) == 0
    lines = json.loads(capsys.readouterr().out)
    assert all(set(CONTRACT) <= set(line) for line in lines)
    return lines


def untrained(folder: Path) -> None:
    """What a run of one step leaves behind, but for the step: compiling it would take longer than all else."""
    train = data("lotka-volterra", "train", "clean", 0)
    method = complete(Leads(), settings_for(train), "clean")
    parts = jax.vmap(lambda key: method.init((2,), 10, key=key))(jr.split(jr.key(0), 1))
    look = {"step": 1, "loss": [1.0], "test": [0.25], "seconds": 90.0}
    about = {"protocol": "clean", "steps": 1, "looks": [look]}
    folder.mkdir(parents=True)
    Model(method, parts, train.environments, train.channels, (2,), 0.5, about).save(folder / MODEL)
    (folder / "metrics.jsonl").write_text(json.dumps(look) + "\n")


def test_what_comes_from_the_models_of_table_1(capsys):
    """Three targets take the model in the folder of Table 1, and do not train it again."""
    lv = ["--system", "lotka-volterra"]
    untrained(Path("runs/table1/lotka-volterra-leads-clean-1x1-0"))
    drawn = reproduce("figures", *lv, "--methods", "leads", "--steps", "1", capsys=capsys)
    assert len(drawn) == 4
    assert Path("results/figures-lotka-volterra-clean.png").exists()
    assert Path("results/forecasts-lotka-volterra-clean.npz").stat().st_size < 10_000

    (line,) = reproduce("table1", *lv, "--methods", "leads", "--steps", "1", capsys=capsys)
    assert [line[key] for key in ("method", "steps", "m", "n", "seeds", "seconds")] == ["leads", 1, 10, 20, 1, 90]
    assert line["mse_minimum"] == 0.25
    (look,) = read_rows(Path("results/table1-curves.csv"))
    assert (look["steps"], look["mse_test"]) == (1, 0.25)
    assert Path("results/table1.png").exists()

    (alone,) = reproduce("novel", *lv, "--methods", "shared-only", "--model-steps", "1", capsys=capsys)
    assert (alone["method"], alone["pretraining_steps"]) == ("shared-only", 1)

    assert run(["report", "results", "--out", "page.md"]) == 0
    page = Path("page.md").read_text()
    assert "![table1](results/table1.png)" in page
    assert "## Forecasts (Figs. 2, 3, S1 to S4)" in page
    assert "## What differs from the paper, and why" in page


def test_a_group_of_environments_is_learnt(tmp_path):
    """The second pair of eight environments, two trajectories of each."""
    options = Options("hour", 1, 2, "clean", methods=("one-for-all",))
    chosen = next(run for run in environments.runs(options) if "m2-n2-group1" in run.name)
    rows = carry_out([chosen], tmp_path, lambda *ignored: None).rows
    expected = data("lotka-volterra", "train", "clean", 0).environments[2:4]
    assert tuple(row["environment"] for row in rows) == expected
    assert {(row["m"], row["n"], row["group"], row["steps"], row["seed"]) for row in rows} == {(2, 40, 1, 2, 0)}
    assert all(row["mse_minimum"] > 0 and row["seconds"] > 0 for row in rows)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["environments", "--methods", "leads,led"], "unknown method `led`"),
        (["environments", "--system", "lotka-volterra"], "a system cannot be chosen for this target"),
        (["table1", "--system", "linear"], "unknown system `linear`"),
        (
            ["table1", "--from", ".", "--steps", "3"],
            "`--steps` is about training",
        ),
        (["table1", "--model-steps", "0"], "`--model-steps` must be at least 1, got 0"),
        (["table1", "--workers", "0", "--budget", "smoke"], "`--workers` must be at least 1, got 0"),
    ],
)
def test_wrong_use(options, what, capsys):
    assert run(["reproduce", *options]) == 2
    assert what in capsys.readouterr().err


def test_no_results(tmp_path, capsys):
    assert run(["report", str(tmp_path), "--out", str(tmp_path / "page.md")]) == 2
    assert "has no results: `leadax reproduce table1` makes some" in capsys.readouterr().err
