"""Groups of environments, and norms in Ω: which runs there are, what their lines say, and a picture."""

import math
from pathlib import Path

import pytest

from leadax.experiments.study import Options
from leadax.experiments.study.groups import SIZES, TOTAL, TRAJECTORIES, Group
from leadax.experiments.targets import environments, norms
from leadax.experiments.targets.environments import PAPER


def row(method, m, n, seed, error, group=0, protocol="paper"):
    setting = {"system": "lotka-volterra", "method": method, "m": m, "n": 20 * n, "protocol": protocol, "steps": 10}
    errors = {"mse_train": 0.0, "mse_test": 2 * error, "std_over_trajectories": 0.0, "mse_minimum": error}
    return {**setting, "group": group, "seconds": 30.0, "environment": f"e{group}", "seed": seed, **errors}


def test_every_group_is_learnt_once():
    names = [run.name for run in environments.runs(Options("hour", 2, 20, "clean"))]
    five, alone = 5 * len(TRAJECTORIES) * (4 + 2 + 1), len(TRAJECTORIES)
    assert len(names) == len(set(names)) == five + alone + TOTAL * len(TRAJECTORIES) == 176
    smoke = environments.runs(Options("smoke", 2, 20, "clean"))
    assert len(smoke) == 5 * 3 + 1 + 1, "one group of each size, n = 1·K"
    assert len(environments.runs(Options("hour", 2, 20, "clean", methods=("leads",)))) == 28
    some = Options("hour", 2, 20, "clean", methods=("leads",), samples=(40, 160))
    assert {run.work.args[2].n for run in environments.runs(some)} == {2, 8}
    assert len(environments.runs(some)) == 14
    assert [some.include(row("leads", 8, n, 0, 1.0)) for n in TRAJECTORIES] == [False, True, False, True]
    some = Options("hour", 2, 20, "clean", samples=(40,), sizes=(1, 8))
    assert {run.work.args[2][:2] for run in environments.runs(some)} == {(1, 2), (8, 2)}
    assert [some.include(row("leads", m, 2, 0, 1.0)) for m in SIZES] == [True, False, False, True]


def test_groups_cover_the_same_eight_environments(cheap_data):
    options = Options("smoke", 1, 1, "clean")
    groups = lambda m: [Group(m, 1, number, m).data(options).train for number in range(TOTAL // m)]
    of = lambda m: [name for train in groups(m) for name in train.environments]
    assert len(set(of(1))) == TOTAL
    assert all(of(m) == of(1) for m in SIZES)
    _, train, test = Group(4, 2, 1, 4).data(options)
    assert train.environments == test.environments
    assert (train.states.shape[1], test.states.shape[1]) == (2, 32)


def test_lines():
    """Means over groups and seeds, the time of all groups, and what the protocol reports beside the paper's number."""
    rows = [row("leads", 2, 1, seed, error, group) for seed, group, error in
            [(0, 0, 1e-3), (0, 1, 3e-3), (1, 0, 2e-3), (1, 1, 4e-3)]]  # fmt: skip
    (line,) = environments.table(rows)
    assert (line["mse_test"], line["mse_minimum"]) == (pytest.approx(5e-3), pytest.approx(2.5e-3))
    assert (line["paper"], line["seconds"], line["seeds"]) == (3.65e-3, 60.0, 2)
    assert "2.50e-03 ± 7.1e-04 (3.65e-03, 0.68) [2 of 8 environments]" in environments.sheet(rows).text()
    every = [{**row, "environment": f"e{e}"} for row in rows for e in range(TOTAL // 2)]
    assert "2.50e-03 ± 7.1e-04 (3.65e-03, 0.68)  " in environments.sheet(every).text()
    clean = [{**row, "protocol": "clean"} for row in rows]
    assert "5.00e-03 ± 1.4e-03 (3.65e-03, 1.37)" in environments.sheet(clean).text()


def test_cells_of_other_effort_say_so():
    """A row that was done again in part is in its place, and no cell passes for what it is not."""
    more = [{**row("leads", 8, 1, seed, 1e-3), "steps": 1000} for seed in range(3)]
    rows = [row("leads", 2, 1, 0, 2e-3), row("leads", 8, 2, 0, 2e-3), *more]
    sheet = environments.sheet(rows)
    assert [cells[1] for cells in sheet.cells] == ["20", "40"]
    two, eight = sheet.cells[0][4], sheet.cells[0][6]
    assert two.endswith("[seeds 1, steps 10]")
    assert eight.endswith("[seeds 3, steps 1000]")
    assert list(sheet.cells[0][7:9]) == ["1–3", "10–1000"]
    assert "[seeds" not in "".join(sheet.cells[1])


def test_at_a_glance():
    """The paper's number in each cell, and a star where there were fewer steps."""
    more = [{**row("leads", 8, 1, seed, 1e-3), "steps": 1000} for seed in range(3)]
    sheet = environments.glance([row("leads", 2, 1, 0, 2e-3), row("leads", 1, 2, 0, 3e-3), *more])
    assert [list(cells) for cells in sheet.cells] == [
        ["paper", "20", "leads", "", "2.00e-03* (3.65e-03)", "", "1.00e-03 (1.37e-03)"],
        ["paper", "40", "leads", "3.00e-03* (–)", "", "", ""],
    ]
    assert "fewer than 1,000 steps" in sheet.notes[-1]
    assert len(environments.glance(more).notes) == 1


def test_picture():
    """A panel for each n; methods start where One-Per-Env is, which does not depend on m."""
    rows = [row(method, m, n, seed, error * (1 + 0.1 * seed)) for (method, m, n), error in PAPER.items()
            for seed in range(2)]  # fmt: skip
    figure = environments.figures(rows, Path())["environments-paper"]
    assert [axis.get_title() for axis in figure.axes] == [f"n = {20 * n}" for n in TRAJECTORIES]
    lines = {c.get_label(): c.lines[0].get_xdata() for c in figure.axes[0].containers}
    assert list(lines) == ["One-For-All", "FT-RNN", "FT-NODE", "GBML-like", "LEADS"]
    assert all(list(x) == list(SIZES) for x in lines.values())


def test_a_method_that_does_not_depend_on_m_learns_all_environments_at_once(cheap_data):
    (run,) = environments.runs(Options("smoke", 2, 20, "clean", methods=("one-per-env",)))
    (_, _, group), data = run.work.args, run.work.args[2].data(Options("smoke", 2, 20, "clean"))
    assert (group.m, group.size, len(data.train.environments)) == (1, TOTAL, TOTAL)


def test_norms():
    names = [run.name for run in norms.runs(Options("hour", 4, 100, "paper"))]
    assert len(set(names)) == len(norms.PAPER) * 2
    for protocol in ("paper", "clean"):
        penalty = lambda name, protocol=protocol: norms.contender(name, protocol).method.penalty
        usual, other = penalty("leads p=2"), penalty("leads p=inf")
        assert (usual.norm.p, other.norm.p) == (2, math.inf)
        assert (usual.lipschitz, usual.norm.relative) == (other.lipschitz, True)
    rows = [{**row(name, 4, 1, 0, 1e-3)} for name in norms.NAMES]
    assert [line["paper"] for line in norms.table(rows)] == list(norms.PAPER.values())
    assert [cells[1] for cells in norms.sheet(rows).cells] == ["1", "2", "3", "10", "∞"]


def test_the_norm_reaches_the_method(monkeypatch, tmp_path):
    calls = []
    monkeypatch.setattr(norms, "group_rows", lambda *args: calls.append(args) or [])
    norms.runs(Options("smoke", 1, 1, "clean", methods=("leads p=inf",)))[0].work(tmp_path)
    ((_, contender, name, group, _),) = calls
    assert (contender.method.penalty.norm.p, name, group) == (math.inf, "leads p=inf", Group(4, 1, 0, 4))
