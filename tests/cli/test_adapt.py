"""All methods and novel environments, as a user types them."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from tests.engine import compiled_once

import leadax as lx
from leadax.cli import run
from leadax.methods import METHODS

QUICK = ["--steps", "2", "--look-every", "1", "--net", "linear", "--solver", "euler"]
NAMES = [name for name in METHODS if name != "leads-no-min"]  # which compiles what leads does


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data of two known waves and of a novel one, and runs of all methods side by side."""
    folder = tmp_path_factory.mktemp("adapt")
    before = Path.cwd()
    os.chdir(folder)
    times = np.linspace(0, 2, 5)
    wave = lambda speed: np.stack([np.sin(speed * times), np.cos(speed * times)], axis=-1)
    make = lambda names, *speeds: lx.Trajectories.from_arrays(
        times, np.stack([[wave(speed), 2 * wave(speed)] for speed in speeds]), environments=names
    )
    make(("slow", "fast"), 0.5, 0.8).save("train.csv")
    make(("medium",), 0.6).save("novel.csv")
    lx.Trajectories.from_arrays(range(5), np.ones((1, 1, 5, 1))).save("narrow.csv")
    with compiled_once():
        yield folder
    os.chdir(before)


@pytest.fixture(scope="module")
def runs(place):
    arguments = ["--test", "train.csv", "--out", "all", "--methods", ",".join(NAMES), "--penalty-weight", "0.1"]
    assert run(["compare", "train.csv", *arguments, *QUICK]) == 0
    return place / "all"


def printed(capsys, *arguments):
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_every_method_is_trained_and_drawn(runs):
    for name in NAMES:
        document = json.loads((runs / name / "result.json").read_text())
        assert document["steps"] == 2
        assert np.isfinite(document["mse"])
        config = json.loads((runs / name / "config.json").read_text())
        assert config["method"]["penalty_weight"] == {"leads": 0.1, "coda": 1.0}.get(name, 1e-3)
    page = (runs / "report.html").read_text()
    assert "What leads learnt" in page
    assert "ft-rnn" in page


def test_adapt(runs, capsys):
    arguments = ["adapt", "all/leads", "novel.csv", "--test", "novel.csv", "--look-every", "1"]
    document = printed(capsys, *arguments, "--out", "new", "--steps", "3", "--at", "1,3,9")
    lines = [json.loads(line) for line in Path("new/metrics.jsonl").read_text().splitlines()]
    assert document["scheme"] == "specific"
    assert document["at"] == {"1": lines[0]["test"][0], "3": lines[2]["test"][0]}
    assert document["test"]["last"] == pytest.approx(lines[2]["test"][0], rel=1e-5)
    assert set(document) >= {"mse", "mse_per_environment", "steps", "seconds", "parameters", "run", "test"}
    assert list(document["mse_per_environment"]) == ["medium"]
    old, new = (lx.Model.load(f"{folder}/model.safetensors") for folder in ("all/leads", "new"))
    np.testing.assert_array_equal(old.parts.shared.net.dense.weight, new.parts.shared.net.dense.weight)
    # Again there is nothing to do; for people it is a few lines.
    assert run([*arguments, "--out", "new", "--steps", "3"]) == 0
    out, err = capsys.readouterr()
    assert "is finished: nothing to do" in err
    assert "new: specific, 3 steps, environments medium" in out
    assert run(["predict", "new", "novel.csv", "--out", "forecast.csv"]) == 0


def test_shared_only_learns_nothing(runs, capsys):
    arguments = ["adapt", "all/coda", "novel.csv", "--out", "alone", "--scheme", "shared-only", "--test", "novel.csv"]
    document = printed(capsys, *arguments)
    assert (document["scheme"], document["steps"]) == ("shared-only", 0)
    assert document["at"] == dict.fromkeys(["50", "2500", "10000"], document["test"]["last"])
    alone = lx.Model.load("alone/model.safetensors")
    assert document["mse"] == pytest.approx(lx.evaluate(alone, lx.load("novel.csv")).mse)
    assert not np.any(alone.parts.specific)
    # The folder is that of this model and these data.
    assert run(["adapt", "all/gbml", *arguments[2:]]) == 2
    assert "alone holds another run: its `method.name` is" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["adapt", "all/one-per-env", "novel.csv", "--out", "x"], "use the scheme `scratch`"),
        (["adapt", "all/one-for-all", "novel.csv", "--out", "x"], "use the scheme `shared-only`"),
        (["adapt", "all/leads", "narrow.csv", "--out", "x"], "channels and grid must agree"),
        (["adapt", "all/leads", "missing.csv", "--out", "x"], "does not exist"),
        (["adapt", "nowhere", "novel.csv", "--out", "x"], "does not exist: expected a run folder"),
        (["adapt", "all/leads", "novel.csv", "--out", "x", "--at", "soon"], "`--at` must be step numbers"),
        (["adapt", "all/leads", "novel.csv", "--out", "x", "--steps", "0"], "`steps` must be positive, got 0"),
        (["adapt", "all/leads", "novel.csv", "--out", "all/leads"], "all/leads holds another run"),
        (["adapt", "all/coda", "novel.csv", "--out", "all/coda", "--scheme", "shared-only"], "holds another run"),
        (["adapt", "all/leads", "novel.csv", "--out", "x", "--test", "train.csv"], "test data must have the env"),
        (["predict", "all/ft-rnn", "train.csv", "--out", "y.csv", "--solver", "tsit5"], "ft-rnn has no vector field"),
        (["train", "train.csv", "--out", "x", "--method", "ft-rnn", "--match", "spline"], "FtRnn has no vector field"),
        (["train", "train.csv", "--out", "x", "--method", "ft-rnn", "--solver", "rk4"], "mean nothing for ft-rnn"),
        (
            ["train", "train.csv", "--out", "x", "--method", "coda", "--penalty-weight", "1"],
            "`--penalty-weight` weighs the Ω of leads: it means nothing for coda",
        ),
        (
            ["train", "train.csv", "--out", "x", "--method", "gbml", "--lipschitz-weight", "1"],
            "`--lipschitz-weight` weighs the Ω of leads: it means nothing for gbml",
        ),
        (
            ["compare", "train.csv", "--test", "train.csv", "--out", "x", "--methods", "gbml", "--penalty-weight", "1"],
            "`--penalty-weight` weighs the Ω of leads: it means nothing for gbml",
        ),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(runs, arguments, words, capsys):
    capsys.readouterr()
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1, err
    assert words in err
    assert not Path("x/checkpoints").exists()
