"""Options of every command that reads a table (`--columns`, `--inputs`, …), and names from file to forecast."""

import csv
import re

import numpy as np
import pytest
from tests.cli.conftest import waves

from leadax.cli import run
from leadax.data import load

KEYS = "environment=Site,trajectory=Tank,time=Date"
TANKS = ("north, 1", "süd")


@pytest.fixture(scope="module")
def tanks(place):
    """A table of ours as a user would have it: other names and another order of columns, notes, dates."""
    data, path = load(place / "train.csv"), place / "tanks.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["Note", "Date", "Tank", "Site", "x1", "x0"])
        for e, i in ((e, i) for e in range(2) for i in range(2)):
            for k, (x0, x1) in enumerate(data.states[e, i]):
                rows.writerow(["fine", f"2021-03-{k + 1:02}", TANKS[i], data.environments[e], x1, x0])
    return path.name


def test_names_and_dates_from_file_to_forecast(tanks, place, tmp_path):
    out = tmp_path / "forecast.csv"
    assert run(["predict", "run", tanks, "--out", str(out), "--columns", KEYS, "--channels", "x0,x1"]) == 0
    forecast = load(out)
    assert forecast.trajectory_names == (TANKS, TANKS)
    assert forecast.channels == ("x0", "x1")
    observed = load(place / "train.csv")
    np.testing.assert_allclose(forecast.states[:, :, 0], observed.states[:, :, 0], rtol=1e-6, atol=1e-6)
    assert out.read_text().splitlines()[2].startswith('"slow","north, 1",2021-03-01,')


def test_channels_in_another_order_and_without_notes(tanks, place, printed, refused):
    found = printed("evaluate", "run", tanks, "--columns", KEYS, "--channels", "x0,x1")
    assert list(found["mse_per_environment"]) == ["slow", "fast"]
    assert "Note" in refused("evaluate", "run", tanks, "--columns", KEYS)


def test_forecasts_at_dates(tanks, place, refused, tmp_path):
    out, options = tmp_path / "later.csv", ("--columns", KEYS, "--channels", "x0,x1")
    when = "2021-03-02,2021-03-04T12:30:15"
    assert run(["predict", "run", tanks, "--out", str(out), "--times", when, *options]) == 0
    dates = ("2021-03-01 00:00:00", "2021-03-02 00:00:00", "2021-03-04 12:30:15")
    assert [line.split(",")[3] for line in out.read_text().splitlines()[2:5]] == list(dates)
    said = refused("predict", "run", "train.csv", "--out", "none.csv", "--times", "2021-03-04:2021-03-06:1")
    assert said == "`--times` has dates, but the times in train.csv are numbers"
    said = refused("predict", "run", tanks, "--out", "none.csv", "--times", "2021-02-30", *options)
    assert said.endswith("got `2021-02-30`")


@pytest.mark.parametrize(
    "command",
    [
        ("train", "tanks.csv", "--out", "none"),
        ("compare", "tanks.csv", "--test", "test.csv", "--out", "none"),
        ("adapt", "run", "tanks.csv", "--out", "none"),
        ("evaluate", "run", "tanks.csv"),
        ("predict", "run", "tanks.csv", "--out", "none.csv"),
        ("report", "tanks.csv"),
        ("report", "run", "--data", "tanks.csv"),
    ],
)
def test_every_command_that_reads_a_table(command, tanks, place, refused):
    """All of them ask for the columns that were named, and only these."""
    said = refused(*command, "--columns", "environment=Site,time=Dat", "--channels", "x0")
    assert said == "tanks.csv: no column `Dat`: it has `Note`, `Date`, `Tank`, `Site`, `x1`, `x0`; did you mean `Date`?"
    for option in ("--channels", "--inputs", "--covariates"):
        assert "no column `y`" in refused(*command, "--columns", KEYS, option, "y")


def test_a_page_shows_inputs_and_covariates(place, tmp_path):
    """Names with commas in them are in double quotes."""
    rows = ("environment,time,x,'rate, ml',dose,Sex,Wt", "a,0,1,7,,f,5", "a,1,2,,3,f,5", "b,0,1,8,,m,6", "b,2,2,0,,m,6")
    (tmp_path / "drug.csv").write_text("\n".join(rows).replace("'", '"'))
    out, inputs = tmp_path / "drug.html", '"rate, ml":held, dose:impulse:x'
    command = ["report", str(tmp_path / "drug.csv"), "--out", str(out), "--inputs", inputs]
    assert run([*command, "--covariates", "Wt, Sex=f"]) == 0
    page = out.read_text()
    assert "<td>rate, ml (held), dose (impulse:x)</td>" in page
    assert "Inputs: rate, ml, dose over time: each environment" in page
    assert "m 0, f 1" in page
    assert "<td>a</td><td>1</td><td>5</td>" in re.sub(r"\s*(?=<)", "", page)


def test_the_options_are_about_test_data_too(tanks, place, refused):
    for command in (("train", "tanks.csv"), ("compare", "tanks.csv"), ("adapt", "run", "tanks.csv")):
        said = refused(*command, "--test", "test.csv", "--out", "none", "--columns", KEYS, "--channels", "x0,x1")
        assert said.startswith("test.csv: no column `Site`")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            ("--columns", "Site"),
            "`--columns` must be KEY=NAME, where KEY is environment, trajectory or time, got `Site`",
        ),
        (("--columns", "place=Site"), "where KEY is environment, trajectory or time, got `place=Site`"),
        (("--columns", "time="), "`--columns` must be KEY=NAME"),
        (("--columns", "time=a,time=b"), "`--columns` has `time` twice: a and b"),
        (("--channels", ","), "`--channels` must be names separated by commas, got `,`"),
        (("--inputs", "a,"), "`--inputs` must be names separated by commas, got `a,`"),
        (("--covariates", ","), "`--covariates` must be names separated by commas, got `,`"),
        (
            ("--columns", KEYS, "--channels", "x0", "--inputs", "x1:hold"),
            "tanks.csv: the input `x1` must be `linear`, `held` or `impulse:CHANNEL`, got `hold`",
        ),
        (
            ("--columns", KEYS, "--channels", "x0", "--covariates", "x1"),
            "tanks.csv: the covariate `x1` changes within environment `slow`: it has",
        ),
        (("--channels", "a,,b"), "`--channels` must be names separated by commas, got `a,,b`"),
        (("--columns", "time=Dat"), "tanks.csv: no column `environment`: it has `Note`, `Date`"),
        (("--columns", "environment=Site,time=Dat"), "; did you mean `Date`?"),
        (
            ("--columns", "environment=Site,trajectory=Tank,time=Date"),
            "line 2, column `Note`: expected a number, found",
        ),
        (("--columns", "environment=Site,time=Date", "--channels", "x0"), "environment `slow` has 2021-03-01 after"),
    ],
)
def test_refusals(place, tanks, options, expected, refused):
    assert expected in refused("evaluate", "run", tanks, *options)


def test_files_without_columns(place, refused, tmp_path):
    waves((1.0,), slow=0.5, fast=0.8).save(tmp_path / "a.npz")
    said = refused("evaluate", "run", str(tmp_path / "a.npz"), "--channels", "x0")
    assert said.endswith("leave out `--columns`, `--channels`, `--inputs` and `--covariates`")
