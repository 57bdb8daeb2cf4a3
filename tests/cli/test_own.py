"""Methods, nets, penalties and systems of a user's own, by import path."""

import json
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import QUICK

import leadax as lx
from leadax.cli import run


def test_own_net_and_penalty_from_training_to_report(place, printed, refused):
    """The net is a function: nothing finds it again unless it is named."""
    own = ["--net", "mine:net", "--penalty", "mine:Half", "--solver", "euler", "--steps", "2", "--look-every", "1"]
    document = printed("train", "train.csv", "--out", "own", *own)
    assert document["parameters"] == 12
    config = json.loads(Path("own/config.json").read_text())
    assert config["method"]["net"]["build"] == {"object": "mine:net"}
    assert config["method"]["penalty"] == {"type": "mine:Half", "alpha": 0.5}
    assert "--using mine:net" in refused("evaluate", "own", "train.csv")
    using = ["--using", "mine:net,mine:HALF", "--using", "mine:SMALL"]  # an object stands for its class
    assert printed("evaluate", "own", "train.csv", *using)["mse"] == pytest.approx(document["mse"])
    assert printed("predict", "own", "train.csv", "--out", "own.csv", *using)["out"] == "own.csv"
    assert printed("adapt", "own", "novel.csv", "--out", "own2", "--scheme", "shared-only", *using)["steps"] == 0
    assert printed("report", "own", "--out", "own.html", *using) == {"out": "own.html"}
    assert printed("train", "train.csv", "--out", "own", *own) == document, "a finished run needs no `--using`"


def test_only_what_was_typed_is_imported(place, monkeypatch, printed, refused):
    """A file must not choose what is run."""
    trained = ["train", "train.csv", "--test", "test.csv", "--out", "mine", "--method", "mine:Mine"]
    document = printed(*trained, *QUICK[:4], "--solver", "euler")
    monkeypatch.delitem(sys.modules, "mine")
    assert "`mine:Mine` is not part of Leadax and has not been imported" in refused("evaluate", "mine", "train.csv")
    assert "mine" not in sys.modules
    assert printed("evaluate", "mine", "train.csv", "--using", "mine:Mine")["mse"] == pytest.approx(document["mse"])


def test_own_system(place, printed, refused):
    document = printed("simulate", "mine:DECAY", "decay.csv", "--trajectories", "2")
    data = lx.load("decay.csv")
    assert document["fingerprint"] == data.fingerprint
    assert document["trajectories"] == [2, 2]
    assert (data.environments, data.attributes["system"]) == (("slow", "fast"), "decay")
    assert printed("simulate", "mine:decay", "paper.csv", "--protocol", "paper")["protocol"] == "paper"
    wrong = lambda name, *more, **status: refused("simulate", name, "x.csv", *more, **status)
    assert "whatever the protocol: leave out `--protocol paper`" in wrong("mine:DECAY", "--protocol", "paper")
    assert "gives int, expected a System" in wrong("mine:NUMBER")
    assert "gives Leads, expected a System" in wrong("mine:leads_of")
    assert "cannot be called with 'clean'" in wrong("mine:thorough")
    assert "`environments` must be a whole number from 1 to 2, got 9" in wrong("mine:DECAY", "--environments", "9")


def test_a_simulation_that_blows_up_writes_nothing(place, capsys):
    assert run(["simulate", "mine:BLOWS_UP", "blown.csv"]) == 1
    assert "blows up in environment `slow`" in capsys.readouterr().err
    assert not Path("blown.csv").exists()


def test_same_seed_same_data(place, printed):
    drawn = lambda seed: printed("simulate", "mine:RANDOM", "r.csv", "--seed", seed, "--overwrite")["fingerprint"]
    assert drawn("3") == drawn("3") != drawn("4")


def test_an_error_of_a_users_own_function_is_one_line(place, refused):
    """Where it was raised is said; what is no function of a net is refused before anything else."""
    Path("theirs.py").write_text(
        "def broken(shape, *, key):\n    return 1 / 0\n\n\ndef number(shape, *, key):\n    return 3\n\n\nBAD = []\n"
    )
    Path("unreadable.py").write_text("def (:\n")
    Path("raising.py").write_text("1 / 0\n")
    net = lambda name, **status: refused("train", "train.csv", "--out", "x", "--steps", "2", "--net", name, **status)
    assert "theirs.py, line 2: ZeroDivisionError: division by zero" in net("theirs:broken", status=1)
    assert "`number` gives int, expected a Net" in net("theirs:number")
    assert "builds no net by `(state_shape, *, key, inputs)`" in net("os:system")
    assert "builds no net" in net("builtins:max")
    assert "`unreadable:x` cannot be imported: SyntaxError" in net("unreadable:x")
    assert "`raising:x` cannot be imported: ZeroDivisionError" in net("raising:x")
