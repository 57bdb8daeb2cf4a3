"""The commands that learn, and those that use what was learnt, as a user types them."""

import dataclasses
import json
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from tests.cli.conftest import QUICK

import leadax as lx
from leadax.adapt.learner import MIXTURE_RATE
from leadax.arrays import read_arrays
from leadax.cli import demo, run
from leadax.cli.comparison import Comparison
from leadax.cli.console import training_bar
from leadax.cli.options import Training
from leadax.records import Snapshot

EVALUATION = {"mse", "mse_per_environment", "mse_per_time", "mse_per_seed", "trajectories", "protocol"}
TRAINING = EVALUATION | {"test", "steps", "seconds", "steps_per_second", "parameters", "run"}
ROW = {"method", "mse", "mse_std_over_seeds", "mse_std_over_trajectories", "steps", "seconds", "parameters", "nmse"}
AGAIN = ("train", "train.csv", "--test", "test.csv", "--out", "run", *QUICK)


def model(path="run"):
    return lx.Model.load(f"{path}/model.safetensors")


def test_train(place, printed):
    document = printed(*AGAIN)
    assert document.keys() >= TRAINING
    assert {"last", "minimum"} <= document["test"].keys()
    assert (document["steps"], document["parameters"], document["run"]) == (4, 12, "run")
    trained = model()
    assert document["mse"] == pytest.approx(lx.evaluate(trained, lx.load("train.csv")).mse)
    assert document["test"]["last"] == pytest.approx(lx.evaluate(trained, lx.load("test.csv")).mse)
    assert [snapshot.step for snapshot in trained.training.history] == [1, 2, 3, 4]
    assert document["test"]["minimum"] == pytest.approx(min(snapshot.test[0] for snapshot in trained.training.history))


def test_a_finished_run_is_left_alone(place, capsys):
    before = Path("run/model.safetensors").stat().st_mtime_ns
    assert run(list(AGAIN)) == 0
    out, err = capsys.readouterr()
    assert err.splitlines() == ["run is finished: nothing to do"]
    assert out.startswith("run: leads, 4 steps, 12 parameters per seed\n")
    assert Path("run/model.safetensors").stat().st_mtime_ns == before


def test_evaluate(place, printed, capsys):
    document = printed("evaluate", "run", "test.csv")
    expected = lx.evaluate(model(), lx.load("test.csv"))
    assert document.keys() >= EVALUATION | {"nmse", "nmse_per_channel", "r2", "median_nmse", "diverged"}
    assert document["mse"] == pytest.approx(expected.mse)
    assert list(document["mse_per_environment"]) == ["slow", "fast"]
    assert document["mse_per_time"][0] is None
    assert printed("evaluate", "run", "test.csv", "--protocol", "paper")["mse_per_time"][0] == 0
    assert run(["evaluate", "run/model.safetensors", "test.csv"]) == 0
    assert f"{expected.mse:.3e}" in capsys.readouterr().out


def test_predict(place, printed):
    document = printed("predict", "run", "test.csv", "--out", "forecast.csv")
    forecast, test = lx.load("forecast.csv"), lx.load("test.csv")
    assert document == {"out": "forecast.csv", "fingerprint": forecast.fingerprint}
    np.testing.assert_array_equal(forecast.times, test.times)
    expected = model().predict(test.states[1, 1, 0], test.times[1, 1], environment="fast")
    np.testing.assert_allclose(forecast.states[1, 1], np.asarray(expected), rtol=1e-6, atol=1e-6)
    assert not np.allclose(forecast.states[0, 1], forecast.states[1, 1])


def test_predict_at_other_times(place, printed):
    data = lx.load("test.csv")
    states = data.states.copy()
    states[0, 0, 0, 1] = np.nan  # this one starts at its second point
    dataclasses.replace(data, states=states).save("holes.csv", overwrite=True)
    printed("predict", "run", "holes.csv", "--out", "grid.csv", "--times", "0.5,2,9", "--overwrite")
    times = lx.load("grid.csv").times
    second = data.times[0, 0, 1]
    assert times[0, 0, :3].tolist() == pytest.approx([second, 2.0, 9.0])
    assert times[0, 1].tolist() == [0.0, 0.5, 2.0, 9.0]


def test_adapt(place, printed, capsys):
    arguments = ["adapt", "run", "novel.csv", "--test", "novel.csv", "--look-every", "1", "--steps", "3", "--at", "1,9"]
    document = printed(*arguments, "--out", "new")
    assert document.keys() >= TRAINING | {"scheme", "at"}
    new = model("new")
    seen = {snapshot.step: snapshot.test[0] for snapshot in new.training.history}
    assert document["at"] == pytest.approx({"1": seen[1]})
    assert list(document["mse_per_environment"]) == ["mars", "venus"]
    same = lambda a, b: np.array_equal(a.levels.shared.dense.weight, b.levels.shared.dense.weight)
    assert same(model(), new)
    assert run([*arguments, "--out", "new"]) == 0
    out, err = capsys.readouterr()
    assert err.startswith("new is finished: nothing to do\n")
    assert "new: specific, 3 steps, environments mars, venus" in out


def test_a_mixture_has_a_learning_rate_of_its_own(place, printed):
    """Its few numbers are of size one: at the rate of weights they would hardly move."""
    document = printed("adapt", "run", "novel.csv", "--out", "mixed", "--scheme", "mixture", "--steps", "2")
    assert document["scheme"] == "mixture"
    assert model("mixed").training.config.learning_rate == MIXTURE_RATE


def test_shared_only_learns_nothing(place, printed, refused):
    arguments = ["adapt", "run", "novel.csv", "--out", "alone", "--scheme", "shared-only", "--test", "novel.csv"]
    document = printed(*arguments)
    assert (document["scheme"], document["steps"]) == ("shared-only", 0)
    assert document["at"] == dict.fromkeys(["50", "2500", "10000"], document["test"]["last"])
    assert not np.any(model("alone").levels.specific.dense.weight)
    assert "holds another run" in refused("adapt", "run", "novel.csv", "--out", "alone", "--scheme", "shared-only")


def test_compare_without_test_data_cross_validates(place, printed):
    """Two trajectories of each environment: two folds."""
    rows = printed("compare", "train.csv", "--out", "folds", "--methods", "leads", *QUICK)
    assert sorted(path.name for path in Path("folds").glob("fold-*")) == ["fold-1", "fold-2"]
    leads = next(row for row in rows if row["method"] == "leads")
    errors = [json.loads(Path(f"folds/fold-{k}/leads/result.json").read_text())["test"]["mse"] for k in (1, 2)]
    assert leads["mse"] == pytest.approx(np.mean(errors), rel=1e-6)


def test_parts_of_the_data_to_test_and_validate_on(place, printed):
    document = printed("train", "train.csv", "--out", "parts", "--test", "0.5", "--validate", "0.25", *QUICK)
    assert document["test"]["trajectories"] == 2
    assert document["validation"]["kept"] == list(model("parts").training.kept)
    assert {"persistence", "mean_curve", "linear"} <= document["test"]["baselines"].keys()
    assert printed("evaluate", "parts", "test.csv")["baselines"].keys() == document["test"]["baselines"].keys()


def test_compare_and_report(place, printed, capsys):
    methods = ["--methods", "leads,mine:Mine,leads", "--set", "scale=0.5", "--kappa", "0.2"]
    rows = printed("compare", "train.csv", "--test", "test.csv", "--out", "all", *methods, *QUICK)
    assert all(row.keys() >= ROW for row in rows)
    assert {row["method"] for row in rows if not row["baseline"]} == {"leads", "mine:Mine"}
    assert {row["method"] for row in rows if row["baseline"]} >= {"persistence", "mean", "mean curve", "linear"}
    assert [row["nmse"] for row in rows] == sorted(row["nmse"] for row in rows)
    settings = lambda name: json.loads(Path(f"all/{name}/config.json").read_text())["method"]
    assert settings("leads")["kappa"] == 0.2
    assert settings("mine-Mine") == {"type": "mine:Mine", "solver": "euler", "scale": 0.5}
    assert Path("all/report.html").read_text().count("<svg") >= 3
    assert run(["report", "all", "--using", "mine:Mine", "--out", "learning.html"]) == 0
    assert "mine-Mine" in Path("learning.html").read_text()
    assert run(["report", "run", "--data", "test.csv", "--out", "one.png"]) == 0
    assert Path("one.png").stat().st_size > 5_000


def test_report_on_data(place, printed):
    assert printed("report", "train.csv", "--out", "data.html") == {"out": "data.html"}
    page = Path("data.html").read_text()
    assert page.count("<svg") == 1
    assert lx.load("train.csv").fingerprint in page


def test_demo_asks_for_the_preset(place, monkeypatch, capsys):
    """What it is made of has tests of its own."""
    calls = {}
    fake = lambda name, answer: monkeypatch.setattr(
        sys.modules["leadax.cli.demo"], name, lambda *given, **more: calls.setdefault(name, (given, more)) and answer
    )
    row = dict.fromkeys(ROW | {"mse_train", "median_nmse"}, 1.0)
    row |= {"method": "leads", "parameters": 7, "baseline": False, "diverged": 0}
    fake("simulate", None)
    fake("Reading", types.SimpleNamespace(load=lambda path: "data"))
    fake("compare_methods", Comparison([row], {"leads": "model"}, {}, {}))
    fake("write_comparison", None)
    demo(out=Path("demo"), steps=5, seed=3)
    assert calls["simulate"][0][0] == "lotka-volterra"
    assert calls["compare_methods"][0][0] == ["one-for-all", "one-per-env", "leads"]
    assert calls["compare_methods"][0][-1] == Training(steps=5, seed=3, preset="lotka-volterra")
    assert calls["write_comparison"][0][0] == {"leads": "model"}
    out, err = capsys.readouterr()
    assert "demo/report.html" in out
    assert "leadax train DATA.csv --out RUN" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["evaluate", "nowhere", "test.csv"], "nowhere does not exist: expected a run folder"),
        (["evaluate", "train.csv", "test.csv"], "train.csv"),
        (["evaluate", "run", "novel.csv"], "mars"),
        (
            ["train", "train.csv", "--out", "x", "--test", "1.5"],
            "`--test` must be a file or a fraction between 0 and 1",
        ),
        (["train", "train.csv", "--out", "x", "--validate", "0"], "`--validate` must be a file or a fraction"),
        (["train", "train.csv", "--out", "x", "--validate", "nowhere.csv"], "nowhere.csv does not exist"),
        (["evaluate", "run", "narrow.csv"], "choose them with `--channels`"),
        (["evaluate", "run", "mine.py"], ".csv"),
        (["predict", "run", "test.csv", "--out", "train.csv"], "--overwrite"),
        (["predict", "run", "test.csv", "--out", "y.csv", "--times", "0,1e12"], "at most 10000000 are allowed"),
        (
            ["predict", "run", "test.csv", "--out", "y.csv", "--times", "-1"],
            "1 of the 1 `times` asked for are before any",
        ),
        (
            ["predict", "run", "test.csv", "--out", "y.csv", "--times", "-1,1"],
            "1 of the 2 `times` asked for are before",
        ),
        (["adapt", "run", "narrow.csv", "--out", "x"], "choose them with `--channels`"),
        (
            ["adapt", "run", "novel.csv", "--out", "x", "--test", "train.csv"],
            "test data must have the environments",
        ),
        (["adapt", "run", "novel.csv", "--out", "run"], "run holds another run"),
        ([*AGAIN, "--steps", "5"], "run holds another run: its `steps` is 4"),
        (["train", "test.csv", "--out", "run", *QUICK], "run holds another run: its `test`"),
        (["train", "train.csv", "--out", "train.csv"], "train.csv is a file, expected a folder for the run"),
        (["train", "train.csv", "--out", "x", "--method", "ft-rnn", "--match", "spline"], "no vector field"),
        (
            ["compare", "train.csv", "--test", "test.csv", "--out", "y", "--methods", "leads,coda", "--rank", "2"],
            "none of leads, coda has a setting `rank`",
        ),
        (["report", "empty"], "holds no finished run"),
        (["report", "train.csv", "--out", "w.docx"], "`--out` must end in .html"),
        (["report", "train.csv", "--out", "test.csv"], "`--out` must end in .html"),
    ],
)
def test_bad_input_is_one_line(place, arguments, words, refused):
    Path("empty").mkdir(exist_ok=True)
    assert words in refused(*arguments)


def test_divergence_is_one_line_and_keeps_the_run(place, capsys):
    steps = ("--steps", "40", "--look-every", "40")
    arguments = [
        "train",
        "train.csv",
        "--test",
        "test.csv",
        "--out",
        "wild",
        *QUICK,
        *steps,
        "--learning-rate",
        "1e30",
        "--on-divergence",
        "stop",
    ]
    assert run(arguments) == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("leadax: error")]
    assert "step" in line
    assert Path("wild/config.json").exists()
    assert not Path("wild/result.json").exists()


def test_progress_is_shown_on_a_terminal_and_elsewhere(capsys):
    snapshot = Snapshot(5, (1.0, 3.0), (1.0, 1.0), (0.0, 0.0), (0.5, 1.5), 1.0)
    with training_bar("leads") as listen:
        listen(snapshot, 10)
        listen(dataclasses.replace(snapshot, step=6, test=None), 10)
    assert capsys.readouterr().err == "leads: loss 2.00e+00, test 1.00e+00: 5 of 10\nleads: loss 2.00e+00: 6 of 10\n"


def test_a_stopped_run_resumes_to_the_same_bits(place, stop_at, capsys):
    """The signals themselves are in test_signals.py."""
    arguments = ["train", "train.csv", "--test", "test.csv", *QUICK]
    with stop_at(1):
        assert run([*arguments, "--out", "stopped"]) == 130
    assert not Path("stopped/model.safetensors").exists()
    assert run([*arguments, "--out", "stopped"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("stopped: leads, 4 steps")
    assert "nothing to do" not in err
    resumed, whole = (read_arrays(Path(out) / "model.safetensors")[0] for out in ("stopped", "run"))
    assert all(np.array_equal(resumed[name], whole[name]) for name in whole)


def test_curves_for_tensorboard(place, tmp_path):
    from tensorboardX.event_file_writer import EventFileWriter  # noqa: F401 (that it is there)
    from tensorboardX.proto.event_pb2 import Event

    logs = tmp_path / "logs"
    assert run(["train", "train.csv", "--out", str(tmp_path / "run"), "--tensorboard", str(logs), *QUICK]) == 0
    (file,) = logs.glob("events.*")
    tags = {value.tag for event in _events(file, Event) for value in event.summary.value}
    assert {"loss/0", "error/0"} <= tags
    steps = {event.step for event in _events(file, Event)}
    assert {1, 4} <= steps


def _events(file, kind):
    """The records of an event file: a length, its checksum, the record, its checksum."""
    content = file.read_bytes()
    while content:
        length = int.from_bytes(content[:8], "little")
        yield kind.FromString(content[12 : 12 + length])
        content = content[16 + length :]
