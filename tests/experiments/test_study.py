"""A study: runs that are finished are left alone, rows survive their file, and the table says what rows say."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from leadax import InputError, RunError, __version__
from leadax.experiments.results.configs import config_column, keep_configs
from leadax.experiments.results.finished import ROWS
from leadax.experiments.results.rows import check_replaceable, merged, read_rows, write_rows
from leadax.experiments.results.summary import summarise
from leadax.experiments.study import Options, Run, carry_out

ROW = {"system": "linear", "method": "leads", "m": 2, "n": 40, "protocol": "clean", "steps": 10, "seed": 0}


def nothing(done: int, total: int, text: str) -> None:
    pass


def test_finished_runs_are_not_done_again(tmp_path):
    done = []

    def work(name: str):
        def once(folder):
            done.append(name)
            return [{"name": name, "folder": folder.name}]

        return once

    runs = [Run(name, work(name)) for name in ("a", "b")]
    (first,) = carry_out(runs[:1], tmp_path, nothing).rows
    assert first == {"name": "a", "folder": "a", "version": __version__}
    assert carry_out(runs, tmp_path, nothing).rows == [first, {"name": "b", "folder": "b", "version": __version__}]
    assert done == ["a", "b"]
    (tmp_path / "a" / ROWS).write_text("[{")
    outcome = carry_out(runs, tmp_path, nothing)
    assert [row["name"] for row in outcome.rows] == ["b"]
    with pytest.raises(RunError, match="is damaged: remove that file"):
        outcome.raise_if_failed()


def test_a_run_that_was_finished_with_other_settings(tmp_path):
    """One line says which; runs without that difference go on."""
    ask = lambda **settings: Run(
        "a", lambda folder: [{"x": 1}], {"method": {"type": "leads", **settings}, "rank": (1,)}
    )
    assert carry_out([ask(weight=0.1)], tmp_path, nothing).rows == carry_out([ask(weight=0.1)], tmp_path, nothing).rows
    outcome = carry_out([ask(weight=0.2), Run("b", lambda folder: [{"x": 2}])], tmp_path, nothing)
    assert [row["x"] for row in outcome.rows] == [2]
    text = r"a was finished with other settings: its `method.weight` is 0.1, asked for was 0.2; choose another `--runs`"
    with pytest.raises(RunError, match=text):
        outcome.raise_if_failed()
    (tmp_path / "a" / ROWS).write_text("[]")
    with pytest.raises(RunError, match=r"finished by Leadax 0\.1"):
        carry_out([ask()], tmp_path, nothing).raise_if_failed()


def test_a_run_that_fails_is_done_again(tmp_path):
    def fail(folder):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        carry_out([Run("a", fail)], tmp_path, nothing)
    assert carry_out([Run("a", lambda folder: [{"x": 1}])], tmp_path, nothing).rows[0]["x"] == 1


def test_rows_survive_their_file(tmp_path):
    rows = [{**ROW, "mse_test": 0.125, "environment": "zero=1"}, {**ROW, "mse_test": 1e-9, "distance": 0.5}]
    write_rows(rows, tmp_path / "linear.csv")
    assert read_rows(tmp_path / "linear.csv") == rows
    with pytest.raises(InputError, match="does not exist: `leadax reproduce other` makes it"):
        read_rows(tmp_path / "other.csv")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a,b\n1,2\n", "lacks `system`"),
        ("a,b\n", "no rows"),
        ("", "no rows"),
        ("\udcff", "no CSV"),
        ("system,method,m,n,protocol,steps,seed,mse_test\na,b,1,1,clean,many,0,1\n", "`steps` is `many`"),
        ("system,method,m,n,protocol,steps,seed,mse_test\na,b,1,1,clean,1,0,1\n", "lacks `stage`"),
    ],
)
def test_other_files_are_refused(text, what, tmp_path):
    (tmp_path / "linear.csv").write_text(text, errors="surrogateescape")
    with pytest.raises(InputError, match=what):
        read_rows(tmp_path / "linear.csv", ["stage"])


def test_results_of_other_settings_are_kept(tmp_path):
    path = tmp_path / "table1.csv"
    old, other = {**ROW, "mse_test": 1.0}, {**ROW, "protocol": "paper", "mse_test": 2.0}
    write_rows([old, other], path)
    new = {**ROW, "steps": 20, "mse_test": 3.0}
    assert merged([new], path) == [other, new]
    assert merged([new], tmp_path / "none.csv") == [new]
    with pytest.raises(InputError, match="has results of 10 steps, which these of 5 would replace"):
        merged([{**ROW, "steps": 5, "mse_test": 3.0}], path)


def test_further_seeds_join_those_that_are_there(tmp_path):
    path = tmp_path / "table1.csv"
    of_seed = lambda seed, **more: {**ROW, "seed": seed, "mse_test": float(seed), **more}
    write_rows([of_seed(0), of_seed(1)], path)
    assert merged([of_seed(2)], path) == [of_seed(0), of_seed(1), of_seed(2)]
    assert merged([of_seed(1, n=41)], path) == [of_seed(0), of_seed(1), of_seed(1, n=41)]
    for steps in (5, 20):
        with pytest.raises(InputError, match=f"has results of 10 steps, which these of {steps} would replace or join"):
            merged([of_seed(2, steps=steps)], path)
    options = Options("hour", 1, 10, "clean", methods=("leads",), first_seed=2)
    check_replaceable(path, partial(options.effort, {}))
    with pytest.raises(InputError, match="has results of 10 steps, which these of 20 would"):
        check_replaceable(path, partial(replace(options, steps=20).effort, {}))


@pytest.mark.parametrize(
    ("less", "what"),
    [
        ([{**ROW, "pretraining_steps": 9}], "has results of 2 seeds, which these of 1 would replace"),
        ([{**ROW, "seed": s, "group": 0} for s in (0, 1)], "of 9 steps before, which these of 0"),
        ([{**ROW, "seed": s, "group": 0, "pretraining_steps": 9} for s in (0, 1)], "of 2 groups, which these of 1"),
        ([{**ROW, "seed": s, "group": s, "pretraining_steps": 9, "data_seed": 3} for s in (0, 1)], "of 0 --seed, wh"),
    ],
)
def test_results_of_less_work_or_other_data_replace_nothing(less, what, tmp_path):
    path = tmp_path / "table1.csv"
    rows = [{**ROW, "seed": s, "group": s, "pretraining_steps": 9, "mse_test": 1.0} for s in (0, 1)]
    write_rows(rows, path)
    assert merged(rows, path) == rows
    with pytest.raises(InputError, match=what):
        merged([{**row, "mse_test": 2.0} for row in less], path)


def test_that_is_known_before_the_work(tmp_path):
    path = tmp_path / "table1.csv"
    write_rows([{**ROW, "seed": s, "mse_test": 1.0} for s in (0, 1)], path)
    options = Options("hour", 1, 10, "clean", methods=("leads",))
    with pytest.raises(InputError, match="has results of 2 seeds, which these of 1 would replace"):
        check_replaceable(path, partial(options.effort, {}))
    enough = replace(options, seeds=2)
    with pytest.raises(InputError, match="has results of 0 --seed, which these of 1 would replace"):
        check_replaceable(path, partial(replace(enough, seed=1).effort, {}))
    with pytest.raises(InputError, match=f"has results of {ROW['steps']} steps, which these of 5 would replace"):
        check_replaceable(path, partial(enough.effort, {ROW["system"]: 0.5}))
    for others in (
        replace(options, protocol="paper"),
        replace(options, methods=("coda",)),
        replace(options, system="a"),
    ):
        check_replaceable(path, partial(others.effort, {}))
    check_replaceable(path, partial(enough.effort, {}))
    check_replaceable(tmp_path / "none.csv", partial(options.effort, {}))


def test_what_a_run_was_is_kept_under_a_short_name(tmp_path):
    """Runs that differ in their data alone share it; a name of digits survives the file of rows."""
    settings = [{"train": "a", "rate": 1}, {"train": "b", "rate": 1}, {"train": "a", "rate": 2}]
    for k, config in enumerate(settings):
        (tmp_path / str(k)).mkdir()
        (tmp_path / str(k) / "config.json").write_text(json.dumps(config))
    names = [config_column(tmp_path / str(k))["config"] for k in range(3)]
    assert names[0] == names[1] != names[2]
    for folders in (["0"], ["1", "2", "none"]):
        keep_configs([tmp_path / name for name in folders], tmp_path / "configs.json")
    assert json.loads((tmp_path / "configs.json").read_text()) == {names[0]: {"rate": 1}, names[2]: {"rate": 2}}
    write_rows([{**ROW, "mse_test": 1.0, "config": "12e45678"}], tmp_path / "table1.csv")
    assert read_rows(tmp_path / "table1.csv")[0]["config"] == "12e45678"


def test_measured_units_are_of_the_data(tmp_path):
    ones = {"mean": [0.0], "scale": [1.0], "time": 1.0}
    for k, units in enumerate([ones, {**ones, "time": 2.0}, {**ones, "mean": [3.0]}]):
        (tmp_path / str(k)).mkdir()
        (tmp_path / str(k) / "config.json").write_text(json.dumps({"train": str(k), "units": units}))
    names = [config_column(tmp_path / str(k))["config"] for k in range(3)]
    assert names[0] != names[1] == names[2]


def test_spreads_are_those_of_all_trajectories():
    errors = np.random.default_rng(0).gamma(2.0, size=(3, 8, 5000))  # seed, environment, trajectory
    rows = [
        {**ROW, "seed": s, "mse_train": 0.5, "mse_test": e.mean(), "std_over_trajectories": e.std(ddof=1)}
        for s in range(3)
        for e in errors[s]
    ]
    (line,) = summarise(rows)
    assert line["mse_test"] == pytest.approx(errors.mean())
    assert line["mse_std_over_seeds"] == pytest.approx(errors.mean(axis=(1, 2)).std(ddof=1))
    assert line["mse_std_over_trajectories"] == pytest.approx(errors.reshape(3, -1).std(axis=1).mean(), rel=1e-3)
    assert line["seeds"] == 3
    assert summarise(rows[:8])[0]["mse_std_over_seeds"] is None
