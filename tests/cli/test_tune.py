"""`leadax tune`: what it refuses, what it prints, and that its run is a run like any other."""

import io
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import leadax as lx
from leadax.choose import space
from leadax.choose import tried as tried_module
from leadax.choose.journal import Record
from leadax.choose.rungs import Score
from leadax.choose.search import Standing
from leadax.choose.space import Candidate, Shape
from leadax.cli import run
from leadax.cli.standing import live_table, minutes_of, table, watching
from leadax.cli.tune import SIDE_BY_SIDE, USUAL

NETS = ("--net", "linear")
ONE = ("--methods", "one-for-all", *NETS)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """One rung of a few steps."""
    monkeypatch.setattr("leadax.choose.rungs.SINGLE", 0)
    monkeypatch.setattr("leadax.choose.rungs.LONGEST", 4)
    monkeypatch.setattr("leadax.choose.rungs.SHORTEST", 4)
    monkeypatch.setattr("leadax.train.request.STEPS", 4)


def test_the_help_repeats_what_the_search_knows():
    module = sys.modules["leadax.choose.tune"]
    assert USUAL == module.METHODS
    assert SIDE_BY_SIDE == space.GROUP


@pytest.mark.parametrize("minutes", ["0", "-1", "nan", "inf"])
def test_time_must_be_positive(refused, minutes):
    expected = f"`--minutes` must be a positive number, got {float(minutes):g}: tune needs time to try things"
    assert refused("tune", "train.csv", "--out", "t", "--minutes", minutes) == expected


def test_other_mistakes(refused):
    assert "did you mean `leads`?" in refused("tune", "train.csv", "--out", "t", "--methods", "lead")
    assert refused("tune", "train.csv", "--out", "t", "--methods", ",").startswith("`--methods` must be names sep")
    assert refused("tune", "train.csv", "--out", "t", "--seeds", "0") == "`--seeds` must be at least 1, got 0"
    assert "unknown net `lin`" in refused("tune", "train.csv", "--out", "t", "--net", "lin")


def test_data_that_cannot_be_divided(refused):
    lines = [f"{e},0,{t},{t}" for e in "ab" for t in (0, 1)]
    Path("two.csv").write_text("\n".join(["environment,trajectory,time,x", *lines]) + "\n")
    assert refused("tune", "two.csv", "--out", "t").startswith("there is nothing to validate on: tune needs two")


def test_a_search_is_a_run(printed, refused, capsys):
    times = np.linspace(0, 2, 5)
    states = np.stack([[start * np.exp(-rate * times) for start in (1.0, 2.0)] for rate in (0.5, 1.0)])
    lx.Trajectories.from_arrays(times, states[..., None]).save("train.csv")
    done = printed("tune", "train.csv", "--out", "tuned", *ONE)
    assert done["winner"] == done["tried"][0]
    others = [line["nmse"] for line in done["tried"][1:]]
    assert others == sorted(others)
    assert sorted(line["rate_factor"] for line in done["tried"]) == [0.3, 1, 3, 10]
    assert [line["rate_factor"] for line in done["tried"] if line["default"]] == [1]
    assert {line["folds"] for line in done["tried"]} == {2}
    assert (done["run"], done["steps"], done["seeds"]) == ("tuned", 4, 1)
    page = Path("tuned/report.html").read_text()
    assert page.count("<tr>") == 1 + 4
    assert "one-for-all (default)" in page
    assert printed("evaluate", "tuned", "train.csv")["mse"] == pytest.approx(done["mse"])
    # Again: nothing is done, and the same is printed.
    assert run(["tune", "train.csv", "--out", "tuned", *ONE]) == 0
    out, err = capsys.readouterr()
    assert "tuned is finished: nothing to do" in err
    assert "none of 3 other candidates is clearly better on these data." in out
    assert printed("tune", "train.csv", "--out", "tuned", *ONE) == done
    message = refused("tune", "train.csv", "--out", "tuned", *ONE, "--minutes", "3")
    assert message.startswith("tuned holds another run: its `minutes` is 10.0, but 3.0 was requested")


# What is shown.

A = Candidate(Shape("a", (("width", 8),)), (("learning_rate", 1e-3),))
B = Candidate(Shape("a", (("width", 8),)), (("learning_rate", 1e-2),))
DONE = Record(0, 100, 1, (A, B), (Score(0.5), Score(0.25, 1)), 3.0, 0.01)
LOST = Record(0, 100, 1, (A, B), (Score(math.nan),) * 2, problem="the loss explodes")


def test_lines_where_there_is_no_terminal(capsys):
    with watching() as (watch, _):
        watch(Standing((), "measuring the pace", 0, 0, 0.0, 60.0))
        watch(Standing((), "a", 1, 2, 1.0, 60.0))
        watch(Standing((DONE,), "", 1, 2, 65.0, 120.0))
        watch(Standing((DONE, LOST), "", 2, 2, 70.0, 120.0))
    assert capsys.readouterr().err.splitlines() == [
        "measuring the pace",
        "rung 1 of 2, 1:05 of 2:00 minutes: a width 8 learning rate 0.001: error 0.5, the best of 2",
        "rung 2 of 2, 1:10 of 2:00 minutes: a width 8: the loss explodes",
    ]


def test_the_live_table():
    from rich.console import Console

    console = Console(width=120, record=True, file=io.StringIO())
    console.print(live_table(Standing((DONE,), "coda width 4", 1, 2, 65.0, 120.0), ", step 3 of 9"))
    text = console.export_text()
    assert "rung 1 of 2, 1:05 of 2:00 minutes" in text
    assert "coda width 4, step 3 of 9" in text
    assert "width 8 learning rate 0.01" in text


def test_the_table():
    lines = tried_module.tried_of([DONE], [A])
    assert table(lines).splitlines() == [
        "method       settings                     error  diverged  steps  folds",
        "a (default)  width 8 learning rate 0.001    0.5         0    100      1",
        "a            width 8 learning rate 0.01    0.25         1    100      1",
    ]
    assert table([*lines] * 10).splitlines()[-1] == "and 5 more"
    assert minutes_of(59.9) == "0:59"
    json.dumps([line.to_json() for line in lines], allow_nan=False)
