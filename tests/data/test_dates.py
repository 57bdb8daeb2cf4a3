"""Dates become days since 1970-01-01, in every format, and dates again in the files that show them."""

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import xarray as xr
from hypothesis import given
from tests.data.strategies import ENDINGS, assert_same, examples

from leadax.data import Trajectories, load, save
from leadax.data.dates import UNIT, from_days, to_days
from leadax.errors import InputError

HEAD = "environment,trajectory,time,x\n"


def table(folder, *times: str):
    path = folder / "dates.csv"
    path.write_text(HEAD + "".join(f"a,b,{time},{k}\n" for k, time in enumerate(times)))
    return path


def dated(*dates: str) -> Trajectories:
    days = to_days(np.array(dates, "M8[us]"))
    return Trajectories.from_arrays(days, np.ones((1, 1, len(days), 1)), attributes={"time": UNIT})


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("1970-01-01", 0),
        ("2021-03-04", 18690),
        ("2021-03-04 12:30", 18690 + 12.5 / 24),
        ("2021-03-04T12:30", 18690 + 12.5 / 24),
        ("2021-03-04T12:30:15.5", 18690 + (12.5 * 3600 + 15.5) / 86400),
        ("2021-03-04T12:30Z", 18690 + 12.5 / 24),
        ("2021-03-04 12:30:00+02:00", 18690 + 10.5 / 24),
        ("2021-03-04T12:30-0530", 18690 + 18 / 24),
        ("2021-03-04T12:30 +01", 18690 + 11.5 / 24),
        ("1969-12-31T18:00", -0.25),
        ('"2021-03-04"', 18690),
        (" 2021-03-04 ", 18690),
    ],
)
def test_iso_dates(text, days, tmp_path):
    data = load(table(tmp_path, text, "2400-01-01"))
    assert data.times[0, 0, 0] == days
    assert data.attributes == {"time": "days since 1970-01-01"}


def test_rows_are_sorted_by_date_and_leap_days_count(tmp_path):
    data = load(table(tmp_path, "2020-03-01", "2020-02-28", "2020-02-29"))
    assert np.diff(data.times[0, 0]).tolist() == [1, 1]
    assert data.states.ravel().tolist() == [1, 2, 0]


SAYS = "is not a date, expected one such as 2021-03-04 or 2021-03-04T12:30"


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (("2021-03-04", "2021-02-30"), f"line 3, column `time`: `2021-02-30` {SAYS}"),
        (("2021-13-04", "2021-02-03"), f"line 2, column `time`: `2021-13-04` {SAYS}"),
        (("2021-03-04", "2021-03-04T25:00"), f"line 3, column `time`: `2021-03-04T25:00` {SAYS}"),
        (("2021-03-04", "today"), f"line 3, column `time`: `today` {SAYS}"),
        (
            ("2021-03-04", "5"),
            "line 3, column `time`: expected a date, as in the first row, found the number `5`: use one or the other",
        ),
        (
            ("5", "2021-03-04"),
            "line 3, column `time`: expected a number, as in the first row, found the date `2021-03-04`: use one or",
        ),
        (
            ("04/03/2021", "05/03/2021"),
            "line 2, column `time`: expected a number or a date such as 2021-03-04, found `04/03/2021`",
        ),
        (("", "2021-03-04"), "a row of environment `a`, trajectory `b` has no time"),
        (("2021-03-04", ""), "a row of environment `a`, trajectory `b` has no time"),
        (
            ("2021-03-04", "2021-03-04T00:00Z"),
            "two rows have environment `a`, trajectory `b`, time 2021-03-04: each point must occur once",
        ),
    ],
)
def test_no_dates(times, message, tmp_path):
    path = table(tmp_path, *times)
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "\n" not in str(caught.value)


def test_dates_that_go_back_without_a_trajectory(tmp_path):
    (tmp_path / "a.csv").write_text("environment,time,x\na,2021-03-05,1\na,2021-03-04,2\n")
    with pytest.raises(
        InputError, match=r"environment `a` has 2021-03-04 after 2021-03-05; .*`--columns trajectory=NAME`"
    ):
        load(tmp_path / "a.csv")


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(
    "dates",
    [
        ("2021-03-04", "2021-03-05"),
        ("1969-12-31T23:59:59", "2021-03-04T12:30:15"),
        ("0001-01-01", "1850-06-07T08:09:10.000001", "2021-03-04T12:30:15.123457", "2300-01-01T00:00:00.000001"),
    ],
)
def test_round_trip(dates, ending, tmp_path):
    save(dated(*dates), tmp_path / f"a{ending}")
    assert_same(load(tmp_path / f"a{ending}"), dated(*dates))


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("days", [(0.0, 1e-9), (-0.0, 1.0), (-1e9, 0.0), (0.0, 1e300), (1 / 7, 2 / 7)])
def test_times_that_no_date_gives_back_stay_numbers(days, ending, tmp_path):
    data = Trajectories.from_arrays(np.array(days), np.ones((1, 1, 2, 1)), attributes={"time": UNIT})
    save(data, tmp_path / f"a{ending}")
    assert_same(load(tmp_path / f"a{ending}"), data)


@examples(300)
@given(st.integers(-62_135_596_800_000_000, 253_370_764_800_000_000))
def test_every_microsecond_survives(micros):
    """By the year 9999 neighbouring float64 are 40 microseconds apart: dates share them, but each has a date."""
    days = to_days(np.array([micros], "M8[us]"))
    assert days[0] == pytest.approx(micros / 86_400e6, rel=1e-15, abs=1e-15)
    back = from_days(days)
    assert back is not None
    assert to_days(back).tobytes() == days.tobytes()
    if abs(days[0]) < 65_536:  # up to the year 2149
        assert back.astype("M8[us]").astype(int) == micros


def test_tables_show_dates(tmp_path):
    shown = {
        ("2021-03-04", "2021-03-05"): "2021-03-04",
        ("2021-03-04", "2021-03-04T12:30"): "2021-03-04 00:00:00",
        ("2021-03-04", "2021-03-04T12:30:15.5"): "2021-03-04 00:00:00.000000",
    }
    for dates, text in shown.items():
        save(dated(*dates), tmp_path / "a.csv", overwrite=True)
        assert (tmp_path / "a.csv").read_text().splitlines()[2] == f'"e0",0,{text},1'
        save(dated(*dates), tmp_path / "a.parquet", overwrite=True)
        found = pq.read_table(tmp_path / "a.parquet")["time"].to_pylist()
        assert [pd.Timestamp(date) for date in found] == [pd.Timestamp(date) for date in dates]


@pytest.mark.parametrize(("ending", "engine"), [(".nc", "h5netcdf"), (".zarr", "zarr")])
def test_xarray_sees_dates_and_gives_them_back(ending, engine, tmp_path):
    data = dated("2021-03-04", "2021-03-04T12:30", "2021-03-06")
    save(data, tmp_path / f"a{ending}")
    options = {"consolidated": False} if engine == "zarr" else {}
    with xr.open_dataset(tmp_path / f"a{ending}", engine=engine, **options) as found:
        part = found.isel(time=slice(1, None)).load()
    assert (
        part["time"].to_numpy().astype("M8[m]").tolist()
        == np.array(["2021-03-04T12:30", "2021-03-06"], "M8[m]").tolist()
    )
    part.to_zarr(tmp_path / "b.zarr", **options) if engine == "zarr" else part.to_netcdf(tmp_path / "b.nc")
    assert_same(load(tmp_path / f"b{ending}"), dated("2021-03-04T12:30", "2021-03-06"))


@pytest.mark.parametrize("ending", [".nc", ".zarr", ".npz", ".parquet"])
def test_dates_of_other_programs(ending, tmp_path):
    dates, path = np.array(["2021-03-04T12:30", "2021-03-06"], "M8[ns]"), tmp_path / f"a{ending}"
    dims = ("environment", "trajectory", "time", "channel")
    dataset = xr.Dataset({"state": (dims, np.ones((1, 1, 2, 1)))}, coords={"time": dates})
    if ending == ".parquet":
        rows = pd.DataFrame({"environment": "e0", "time": pd.DatetimeIndex(dates).tz_localize("UTC"), "x0": 1.0})
        rows.assign(time=rows["time"].dt.tz_convert("Asia/Tokyo")).to_parquet(path)
    elif ending == ".npz":
        np.savez(path, X=np.ones((1, 1, 2, 1)), t=dates)
    else:
        dataset.to_netcdf(path) if ending == ".nc" else dataset.to_zarr(path, zarr_format=2, consolidated=False)
    assert_same(load(path), dated("2021-03-04T12:30", "2021-03-06"))


def test_text_in_parquet(tmp_path):
    rows = pd.DataFrame({"environment": "e0", "time": ["2021-03-04T12:30", "2021-03-06"], "x0": 1.0})
    rows.to_parquet(tmp_path / "a.parquet")
    assert_same(load(tmp_path / "a.parquet"), dated("2021-03-04T12:30", "2021-03-06"))


def test_another_attribute_called_time_is_only_text(tmp_path):
    data = Trajectories.from_arrays([0.0, 1.0], np.ones((1, 1, 2, 1)), attributes={"time": "hours"})
    save(data, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines()[2] == '"e0",0,0,1'
