"""Inputs, covariates, time and known formulas at the command line, from a table to a forecast."""

import csv

import numpy as np
import pytest
from tests.cli.conftest import QUICK

from leadax.cli import run
from leadax.data import load

TIMES = np.linspace(0, 6, 8)
READ = ("--inputs", "rate:held,dose:impulse:x,time", "--period", "4", "--covariates", "weight")
WRITTEN = """
import jax.numpy as jnp
import leadax as lx

NUMBERS = {"rate": lx.Parameter(0.4, low=0.0)}


def decay(t, x, u, p):
    return -p.rate * x
"""


@pytest.fixture(scope="module")
def driven(place):
    """Two channels under a rate that is held and a dose at a time of its own, where nothing is observed."""
    rows = [["environment", "trajectory", "time", "x", "y", "rate", "dose", "weight"]]
    for name, weight in (("light", 1.0), ("heavy", 2.0)):
        for start in (1.0, 1.5):
            falls = start * np.exp(-TIMES / weight)
            rows += [
                [name, start, t, x, x / 2, 1.0 if t < 3 else "", "", weight] for t, x in zip(TIMES, falls, strict=True)
            ]
            rows.append([name, start, 3.7, "", "", 0.5, 0.2, weight])
    with (place / "driven.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    (place / "written.py").write_text(WRITTEN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEADAX_CACHE", "off")
        patch.chdir(place)
        options = [*QUICK, *READ, "--noise", "none", "--validate", "none"]
        assert run(["train", "driven.csv", "--out", "driven", *options]) == 0
    return "driven"


def test_from_a_table_to_a_forecast(driven, printed, tmp_path):
    out = tmp_path / "forecast.csv"
    assert printed("evaluate", driven, "driven.csv", *READ)["trajectories"] == 4
    assert run(["predict", driven, "driven.csv", "--out", str(out), *READ]) == 0
    forecast = load(out)
    assert np.isfinite(forecast.states).all()
    at = int(np.searchsorted(forecast.times[0, 0], 3.7))
    # The dose comes after its own point: by the next one, x has risen by about as much.
    assert forecast.times[0, 0, at] == pytest.approx(3.7)
    assert np.diff(forecast.states[0, 0, :, 0])[at] > 0.1


def test_an_environment_by_its_covariates(driven, printed, refused, tmp_path):
    new = ("adapt", driven, "--out", str(tmp_path / "new"), "--new")
    found = printed(*new, "ann:weight=1.5")
    assert found["scheme"] == "covariates"
    assert not found["reliable"]
    assert "beyond" in printed(*new[:3], str(tmp_path / "far"), "--new", "bob:weight=7")["reason"]
    assert "needs the covariates weight, got height" in refused(*new[:3], "other", "--new", "bob:height=7")
    for wrong in ("bob", "bob:weight=1,weight=2"):
        assert "`--new` must be NAME:COVARIATE=VALUE" in refused(*new[:3], "other", "--new", wrong)
    assert "give the data of new environments" in refused(*new[:3], "other")


def test_a_report_draws_no_fields_that_see_inputs(driven, tmp_path):
    out = tmp_path / "page.html"
    assert run(["report", driven, "--data", "driven.csv", *READ, "--out", str(out)]) == 0
    assert "see more than observed states" in out.read_text()


def test_what_was_learnt_in_a_formula(driven, printed, refused):
    found = printed("explain", driven, "--data", "driven.csv", *READ)
    assert set(found["laws"]) == {"light", "heavy"}
    assert set(found["laws"]["light"]) == {"x", "y"}
    assert "give the data too" in refused("explain", driven)
    assert "`--relate` needs" in refused("explain", driven, "--relate", "all")
    assert "unknown terms `tangent`" in refused(
        "explain", driven, "--data", "driven.csv", *READ, "--functions", "tangent"
    )


def test_a_known_formula(driven, place, printed, refused):
    formula = ("--set", "known=written:decay,parameters=written:NUMBERS")
    train = ("train", "train.csv", "--out", "known", *QUICK, *formula, "--noise", "none", "--validate", "none")
    assert printed(*train)["steps"] == 4
    assert '"written:decay"' in (place / "known" / "config.json").read_text()
    found = printed("explain", "known", "--using", "written:decay")
    assert set(found["parameters"]["slow"]["rate"]) == {"value", "spread"}
    assert "has no setting `known`" in refused(*train[:3], "none", "--method", "ft-rnn", *formula)
    assert "written" in refused(*train[:3], "none", "--set", "known=written:growth")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("train", "driven.csv", "--out", "none", "--period", "4"), "give `--inputs time` too"),
        (("train", "driven.csv", "--out", "none", *READ[:3], "-1"), "`--period`"),
        (("tune", "driven.csv", "--out", "none", *READ), "`tune` searches without covariates"),
        (("evaluate", "driven", "driven.csv", "--channels", "x,y", "--inputs", "rate:held"), "other inputs"),
        (
            ("evaluate", "driven", "driven.csv", *READ[:3], "5", *READ[4:]),
            "the model sees the time with a period of 4:",
        ),
        (("evaluate", "driven", "driven.csv", *READ[:2], *READ[4:]), "the model sees the time with a period of 4:"),
        (("evaluate", "run", "test.csv", "--inputs", "time"), "the model does not see the time"),
    ],
)
def test_wrong_use(driven, refused, arguments, message):
    assert message in refused(*arguments)


def test_a_covariate_that_changes(driven, place, refused):
    text = (place / "driven.csv").read_text().splitlines()
    text[3] = text[3].rpartition(",")[0] + ",5.0"
    (place / "changes.csv").write_text("\n".join(text) + "\n")
    assert "weight" in refused("train", "changes.csv", "--out", "none", *READ)
    # In every line of an environment: then it is another environment.
    heavier = (place / "driven.csv").read_text().replace(",2.0\n", ",5.0\n")
    (place / "other.csv").write_text(heavier)
    assert "of environment `heavy` is 5 in the data, but was 2 in training" in refused(
        "evaluate", driven, "other.csv", *READ
    )


def test_forecasts_at_times_of_ones_own(driven, tmp_path):
    """What is held goes on after its last value."""
    out = tmp_path / "forecast.csv"
    assert run(["predict", driven, "driven.csv", "--out", str(out), "--times", "2:8:2", *READ]) == 0
    assert load(out).times[0, 0].tolist() == [0, 2, 4, 6, 8]
