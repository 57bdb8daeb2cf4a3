"""Every target as a user types it, with as little work as there can be."""

import json
from pathlib import Path

import pytest

from leadax.cli import run
from leadax.experiments.rows import read_rows

TINY = ["--budget", "smoke", "--seeds", "1", "--runs", "runs", "--results", "results"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("smoke")


def reproduce(target, *options, capsys):
    assert run(["reproduce", target, *TINY, *options, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_what_comes_from_the_models_of_table_1(place, monkeypatch, capsys):
    """One model is trained, in the folder of Table 1, and three targets take it."""
    monkeypatch.chdir(place)
    lv = ["--system", "lotka-volterra"]
    drawn = reproduce("figures", *lv, "--methods", "leads", "--steps", "1", capsys=capsys)
    model = Path("runs/table1/lotka-volterra-leads-clean-1x1-0/model.safetensors")
    written = model.stat().st_mtime_ns
    assert len(drawn) == 4
    assert Path("results/figures-lotka-volterra-clean.png").exists()
    assert Path("results/forecasts-lotka-volterra-clean.npz").stat().st_size < 10_000

    (line,) = reproduce("table1", *lv, "--methods", "leads", "--steps", "1", capsys=capsys)
    assert (line["method"], line["steps"], line["m"], line["n"], line["seeds"]) == ("leads", 1, 10, 20, 1)
    (look,) = read_rows(Path("results/table1-curves.csv"))
    assert (look["steps"], look["mse_test"]) == (1, pytest.approx(line["mse_test"], rel=1e-4))
    assert Path("results/table1.png").exists()

    (alone,) = reproduce("novel", *lv, "--methods", "shared-only", "--model-steps", "1", capsys=capsys)
    assert (alone["method"], alone["pretraining_steps"]) == ("shared-only", 1)
    assert model.stat().st_mtime_ns == written

    assert run(["report", "results", "--out", "page.md"]) == 0
    page = Path("page.md").read_text()
    assert "![table1](results/table1.png)" in page
    assert "## Forecasts (Figs. 2, 3, S1 to S4)" in page
    assert "## What differs from the paper, and why" in page


def test_groups_of_environments(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    (line,) = reproduce("environments", "--methods", "one-per-env", "--steps", "1", capsys=capsys)
    assert (line["m"], line["n"], line["paper"]) == (1, 20, 7.87e-3)
    assert {row["environment"] for row in read_rows(Path("results/environments.csv"))} > {"alpha=0.25,gamma=0.25"}
    (line,) = reproduce("norms", "--methods", "leads p=inf", "--steps", "1", capsys=capsys)
    assert (line["m"], line["n"], line["paper"]) == (4, 20, 6.12e-3)
    config = json.loads(next(Path("runs/norms").glob("*/config.json")).read_text())
    assert config["method"]["penalty"]["norm"]["p"] in ("inf", float("inf"))


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["environments", "--methods", "leads,led"], "unknown method `led`"),
        (["environments", "--system", "lotka-volterra"], "a system cannot be chosen for this target"),
        (["table1", "--system", "linear"], "unknown system `linear`"),
        (["table1", "--model-steps", "0"], "`--model-steps` must be at least 1, got 0"),
        (["table1", "--workers", "0", "--budget", "smoke"], "`--workers` must be at least 1, got 0"),
    ],
)
def test_wrong_use(options, what, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["reproduce", *options]) == 2
    assert what in capsys.readouterr().err


def test_no_results(tmp_path, capsys):
    assert run(["report", str(tmp_path), "--out", str(tmp_path / "page.md")]) == 2
    assert "has no results: `leadax reproduce table1` makes some" in capsys.readouterr().err
