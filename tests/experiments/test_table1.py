"""Table 1: which runs it takes, and what its lines say."""

import json

import pytest

from leadax.cli import run
from leadax.experiments.results.rows import write_rows
from leadax.experiments.study import Options
from leadax.experiments.study.contenders import GIVEN, taking_part
from leadax.experiments.study.models import CONTENDERS, SYSTEMS
from leadax.experiments.targets.table1 import PAPER, glance, runs, sheet, table
from leadax.methods import METHODS


def row(method: str, seed: int, environment: str, error: float) -> dict:
    setting = {"system": "lotka-volterra", "method": method, "m": 2, "n": 20, "protocol": "paper", "steps": 10}
    errors = {"mse_train": 0.0, "mse_test": error, "std_over_trajectories": 0.0, "mse_minimum": error / 2}
    return {**setting, "parameters": 7, "seconds": 1.0, "environment": environment, "seed": seed, **errors}


def test_every_method_of_the_paper_on_every_system():
    assert {(system, method) for system in SYSTEMS for method in list(GIVEN)[:7]} == set(PAPER)
    assert {name for name in CONTENDERS if "(" not in name} == set(METHODS)
    names = [one.name for one in runs(Options("hour", 4, 1000, "paper"))]
    assert len(set(names)) == len(names) == sum(len(taking_part(system)) for system in SYSTEMS)
    assert "gray-scott-leads-paper-4x50-0" in names
    assert "gray-scott-leads-paper-4x1000-0" in [one.name for one in runs(Options("paper", 4, 1000, "paper"))]
    only = runs(Options("hour", 4, 1000, "clean", system="lotka-volterra"))
    assert only[0].name == "lotka-volterra-one-for-all-clean-4x1000-0"


def test_lines():
    """Means over seeds and environments; the paper's number beside them where there is one."""
    rows = [row("leads", s, e, error) for s, e, error in [(0, "a", 1.0), (0, "b", 3.0), (1, "a", 2.0), (1, "b", 4.0)]]
    tuned, line, other = table([*rows, row("coda", 0, "a", 1.0), row("gbml (tuned)", 0, "a", 1.0)])
    assert (line["mse_test"], line["mse_minimum"], line["paper"]) == (2.5, 1.25, 1.16e-3)
    assert line["mse_std_over_seeds"] == pytest.approx(0.5**0.5)
    assert other["paper"] is None
    assert tuned["paper"] == 5.87e-3
    assert "2.50e+00" in sheet(rows).text()


def test_at_a_glance():
    """Our error and the paper's for each method; systems with one method are left to the long table."""
    rows = [row("leads", 0, "a", 1.0), row("coda", 0, "a", 2.0)]
    alone = {**row("leads", 0, "a", 1.0), "system": "gray-scott"}
    header, cells, _ = glance([*rows, alone])
    assert header == ("method", "lotka-volterra, `paper`")
    assert cells == [("leads", "5.00e-01 (1.16e-03)"), ("coda", "1.00e+00")]
    header, cells, _ = glance([*rows, alone, {**alone, "method": "gbml"}])
    assert [cell[1:] for cell in cells] == [
        ("", "5.00e-01 (6.01e-03)"),
        ("5.00e-01 (1.16e-03)", "5.00e-01 (2.08e-03)"),
        ("1.00e+00", ""),
    ]


def test_what_is_printed_is_what_was_asked_for(tmp_path, capsys):
    rows = [row(method, seed, "a", 0.5) for method in ("leads", "one-per-env") for seed in (0, 1)]
    write_rows(rows, tmp_path / "table1.csv")
    again = ["reproduce", "table1", "--from", str(tmp_path), "--json"]
    methods = lambda: [line["method"] for line in json.loads(capsys.readouterr().out)]
    assert run(again) == 0
    assert set(methods()) == {"leads", "one-per-env"}
    assert run([*again, "--system", "lotka-volterra", "--methods", "leads"]) == 0
    assert methods() == ["leads"]
    assert run([*again, "--system", "gray-scott"]) == 2
    assert run([*again, "--protocol", "clean"]) == 2
    assert "has no such results" in capsys.readouterr().err
