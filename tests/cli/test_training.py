"""The commands that learn, as a user types them. Linear nets and few steps compile fast: what is tested is the way."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import leadax as lx
from leadax.arrays import read_arrays
from leadax.cli import run

QUICK = ["--steps", "6", "--look-every", "3", "--net", "linear"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data of two waves, and one finished run."""
    folder = tmp_path_factory.mktemp("runs")
    before = Path.cwd()
    os.chdir(folder)
    times = np.linspace(0, 6, 12)
    wave = lambda speed, size: np.stack([size * np.sin(speed * times), size * np.cos(speed * times)], axis=-1)
    draw = lambda sizes: np.stack([[wave(speed, size) for size in sizes] for speed in (0.5, 0.8)])
    make = lambda sizes: lx.Trajectories.from_arrays(times, draw(sizes), environments=("slow", "fast"))
    make((1.0, 1.5)).save("train.csv")
    make((1.2, 0.8, 1.4)).save("test.csv")
    assert run(["train", "train.csv", "--out", "run", "--test", "test.csv", "--seeds", "2", *QUICK]) == 0
    yield folder
    os.chdir(before)


def printed(capsys, *arguments):
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_train_writes_a_run(place):
    config = json.loads(Path("run/config.json").read_text())
    assert config["method"]["name"] == "leads"
    assert config["train"] == lx.load("train.csv").fingerprint
    lines = [json.loads(line) for line in Path("run/metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [3, 6]
    document = json.loads(Path("run/result.json").read_text())
    assert document["steps"] == 6
    assert document["test"]["minimum"] <= max(lines[0]["test"]) * 1.001
    assert document["test"]["last"] == pytest.approx(np.mean(lines[-1]["test"]))
    assert set(document) >= {"mse", "mse_per_environment", "mse_per_time", "mse_per_seed", "trajectories", "protocol"}
    assert set(document) >= {"seconds", "steps_per_second", "parameters", "run"}


def test_a_finished_run_is_left_alone(place, capsys):
    before = Path("run/model.safetensors").read_bytes()
    assert run(["train", "train.csv", "--out", "run", "--test", "test.csv", "--seeds", "2", *QUICK]) == 0
    assert "is finished: nothing to do" in capsys.readouterr().err
    assert Path("run/model.safetensors").read_bytes() == before


def test_evaluate(place, capsys):
    document = printed(capsys, "evaluate", "run", "test.csv")
    expected = lx.evaluate(lx.Model.load("run/model.safetensors"), lx.load("test.csv"))
    assert document["mse"] == pytest.approx(expected.mse)
    assert list(document["mse_per_environment"]) == ["slow", "fast"]
    assert len(document["mse_per_seed"]) == 2
    assert document["trajectories"] == 6
    assert run(["evaluate", "run/model.safetensors", "test.csv"]) == 0
    assert f"{expected.mse:.3e}" in capsys.readouterr().out


def test_predict(place, capsys):
    document = printed(capsys, "predict", "run", "test.csv", "--out", "forecast.csv")
    forecast, test = lx.load("forecast.csv"), lx.load("test.csv")
    assert document["fingerprint"] == forecast.fingerprint
    np.testing.assert_array_equal(forecast.times, test.times)
    np.testing.assert_allclose(forecast.states[:, :, 0], test.states[:, :, 0], rtol=1e-6)
    model = lx.Model.load("run/model.safetensors")
    expected = model.predict(test.states[1, 2, 0], test.times[1, 2], environment="fast")
    np.testing.assert_allclose(forecast.states[1, 2], expected, rtol=1e-6)


def test_predict_at_other_times(place, capsys):
    printed(capsys, "predict", "run", "test.csv", "--out", "later.csv", "--times", "1,2.5,9", "--solver", "tsit5")
    assert lx.load("later.csv").times[0, 0].tolist() == [0.0, 1.0, 2.5, 9.0]
    printed(capsys, "predict", "run", "test.csv", "--out", "grid.csv", "--times", "0:3:0.5")
    assert lx.load("grid.csv").times[0, 0].tolist() == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]


def test_compare_and_report(place, capsys):
    rows = printed(
        capsys, "compare", "train.csv", "--test", "test.csv", "--out", "all", "--methods", "leads,one-for-all", *QUICK
    )
    assert {row["method"] for row in rows} == {"leads", "one-for-all"}
    assert rows[0]["mse"] <= rows[1]["mse"]
    assert set(rows[0]) >= {"mse", "mse_std_over_seeds", "mse_std_over_trajectories", "steps", "seconds", "parameters"}
    assert Path("all/report.html").read_text().count("<svg") >= 3
    assert run(["report", "all", "--data", "test.csv", "--out", "again.html"]) == 0
    assert run(["report", "all/leads", "--data", "test.csv", "--out", "one.png"]) == 0
    for path in ("all", "all/leads", "all/leads/model.safetensors"):  # without data: how they learnt
        assert run(["report", path, "--out", "learning.html", "--overwrite"]) == 0
        assert "training error" in Path("learning.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["train", "train.csv", "--out", "x", "--method", "lead"], "did you mean `leads`"),
        (["train", "train.csv", "--out", "x", "--solver", "rk5"], "unknown solver"),
        (["train", "train.csv", "--out", "x", "--net", "conv"], "use the MLP"),
        (["train", "train.csv", "--out", "x", "--steps", "0"], "`steps` must be positive, got 0"),
        (["train", "train.csv", "--out", "x", "--seeds", "0"], "`seeds` must be at least 1"),
        (["train", "train.csv", "--out", "x", "--penalty-weight", "-1"], "must be positive, got -1"),
        (["train", "train.csv", "--out", "x", "--learning-rate", "0"], "`learning_rate` must be positive"),
        (["train", "train.csv", "--out", "x", "--batch-size", "0"], "`batch_size` must be at least 1"),
        (["train", "missing.csv", "--out", "x"], "does not exist"),
        (["train", "train.csv", "--out", "run", *QUICK, "--steps", "7"], "holds another run: its `test`"),
        (["train", "test.csv", "--out", "run", "--seeds", "2", *QUICK], "holds another run: its `test`"),
        (["train", "train.csv", "--out", "train.csv/x"], "cannot be written"),
        (["evaluate", "nowhere", "test.csv"], "does not exist"),
        (["evaluate", "train.csv", "test.csv"], "damaged or not a safetensors file"),
        (["evaluate", "run", "stranger.csv"], "never seen environment `mars`"),
        (["evaluate", "run", "narrow.csv"], "channels and grid must agree"),
        (["predict", "run", "test.csv", "--out", "test.csv"], "--overwrite"),
        (["predict", "run", "test.csv", "--out", "y.csv", "--times", "soon"], "`--times` must be finite numbers"),
        (["predict", "run", "test.csv", "--out", "y.csv", "--times", "0:5:0"], "a positive STEP"),
        (["predict", "run", "test.csv", "--out", "y.csv", "--solver", "magic"], "unknown solver `magic`"),
        (["compare", "train.csv", "--test", "test.csv", "--out", "y", "--methods", "leads,none"], "unknown method"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(place, arguments, words, capsys):
    narrow = np.zeros((2, 1, 12, 1)) + np.arange(12.0)[:, None]
    lx.Trajectories.from_arrays(range(12), narrow, environments=("slow", "fast")).save("narrow.csv", overwrite=True)
    stranger = np.concatenate([narrow, narrow], axis=-1)[:1]
    lx.Trajectories.from_arrays(range(12), stranger, environments=("mars",)).save("stranger.csv", overwrite=True)
    capsys.readouterr()
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1, err
    assert words in err
    assert not Path("x/checkpoints").exists()
    assert not Path("y.csv").exists()


def test_divergence_is_one_line_and_keeps_the_run(place, capsys):
    assert run(["train", "train.csv", "--out", "wild", "--learning-rate", "1e6", *QUICK]) == 1
    (line,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("leadax: error")]
    assert "the loss is not finite at step" in line
    assert "--on-divergence retry" in line
    assert Path("wild/config.json").exists()


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_save_and_the_run_resumes_to_the_same_bits(place, number, status):
    arguments = ["train", "train.csv", "--net", "linear", "--steps", "1500", "--look-every", "5"]
    command = [sys.executable, "-m", "leadax.cli", *arguments, "--checkpoint-every", "10000", "--out"]
    folder = Path(f"stopped-{status}")
    process = subprocess.Popen([*command, str(folder)], stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not (folder / "metrics.jsonl").exists():
        time.sleep(0.01)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert process.returncode == status, err
    assert "run the same again to go on" in err
    assert list((folder / "checkpoints").iterdir())
    assert not (folder / "model.safetensors").exists()
    for out in (folder, Path("whole")):
        assert subprocess.run([*command, str(out)], capture_output=True, check=False).returncode == 0
    resumed, whole = (read_arrays(out / "model.safetensors")[0] for out in (folder, Path("whole")))
    assert all(np.array_equal(resumed[name], whole[name]) for name in whole)
