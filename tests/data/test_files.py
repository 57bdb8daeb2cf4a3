"""What is saved is what is loaded, to the bit, in every format; and files of others load as well."""

import json
import re
import warnings
import zipfile

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr
import zarr
from hypothesis import assume, given
from tests.data.strategies import ENDINGS, GRIDS, TABLES, assert_same, examples, parts

from leadax.data import Trajectories, load, save


def small(**changes) -> Trajectories:
    states = np.arange(24.0).reshape(2, 3, 2, 2)
    return Trajectories.from_arrays([0.0, 0.5], states, **changes)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.mark.parametrize("ending", GRIDS)
@examples(25)
@given(drawn=parts(named=True, driven=True))
def test_round_trip(ending, place, drawn):
    data = Trajectories.from_arrays(**drawn)
    save(data, place / f"round{ending}", overwrite=True)
    assert_same(load(place / f"round{ending}"), data)


@pytest.mark.parametrize("ending", TABLES)
@examples(50)
@given(drawn=parts(axes=0, named=True, driven=True))
def test_round_trip_of_tables(ending, place, drawn):
    data = Trajectories.from_arrays(**drawn)
    assume(not {"environment", "trajectory", "time"} & {*data.channels, *data.input_names})
    save(data, place / f"round{ending}", overwrite=True)
    assert_same(load(place / f"round{ending}"), data)


@pytest.mark.parametrize("ending", ENDINGS)
def test_random_numbers_survive(ending, tmp_path):
    """All exponents: the shortest text of a float64 must be read back to the very same one."""
    bits = np.random.default_rng(0).integers(0, 2**64, 4000, np.uint64).view(np.float64)
    states = np.where(np.isfinite(bits), bits, 0).reshape(2, 2, 500, 2)
    data = Trajectories.from_arrays(np.linspace(0, 1, 500), states)
    data.save(tmp_path / f"a{ending}")
    assert_same(load(tmp_path / f"a{ending}"), data)


@pytest.mark.parametrize("ending", ENDINGS)
def test_saved_files_from_another_format_agree(ending, tmp_path):
    data = small(parameters={"rate": [1, 2]}, attributes={"system": "none", "empty": "", "long": "x" * 100_000})
    save(data, tmp_path / "a.npz")
    save(load(tmp_path / "a.npz"), tmp_path / f"b{ending}")
    assert load(tmp_path / f"b{ending}").fingerprint == data.fingerprint


@pytest.mark.parametrize("ending", ENDINGS)
def test_times_that_are_equal_but_not_the_same(ending, tmp_path):
    data = Trajectories.from_arrays([[[0.0, 1.0], [-0.0, 1.0]]], [[np.zeros((2, 1))] * 2])
    save(data, tmp_path / f"a{ending}")
    assert_same(load(tmp_path / f"a{ending}"), data)


def test_missing_values_are_empty_in_tables(tmp_path):
    states = np.array([1, np.nan, 3]).reshape(1, 1, 3, 1)
    for ending in TABLES:
        save(Trajectories.from_arrays(range(3), states), tmp_path / f"a{ending}")
    assert '"e0",0,1,\n' in (tmp_path / "a.csv").read_text()
    assert pq.read_table(tmp_path / "a.parquet")["x0"].null_count == 1


@pytest.mark.parametrize("ending", GRIDS)
def test_three_space_axes(ending, tmp_path):
    data = Trajectories.from_arrays(range(2), np.random.default_rng(0).random((1, 1, 2, 2, 3, 4, 1)))
    save(data, tmp_path / f"a{ending}")
    assert_same(load(tmp_path / f"a{ending}"), data)


@pytest.mark.parametrize("ending", ENDINGS)
def test_endings_in_capitals(ending, tmp_path):
    save(small(), tmp_path / f"a{ending.upper()}")
    assert load(str(tmp_path / f"a{ending.upper()}")) == small()


@pytest.mark.parametrize(("ending", "engine"), [(".nc", "h5netcdf"), (".zarr", "zarr")])
def test_xarray_reads_what_we_write(ending, engine, tmp_path):
    data = small(environments=["a", "b"], parameters={"rate": [1, 2]}, attributes={"system": "none"})
    save(data, tmp_path / f"a{ending}")
    options = {"consolidated": False} if engine == "zarr" else {}
    with xr.open_dataset(tmp_path / f"a{ending}", engine=engine, **options) as found:
        assert found["state"].dims == ("environment", "trajectory", "time", "channel")
        assert found["time"].dims == ("time",)
        assert found["environment"].values.tolist() == ["a", "b"]
        assert found.sel(environment="b")["rate"] == 2
        assert found.attrs == {"system": "none"}


@pytest.mark.parametrize(("ending", "engine"), [(".nc", "h5netcdf"), (".zarr", "zarr")])
def test_a_part_cut_out_with_xarray_loads(ending, engine, tmp_path):
    """A fingerprint among the attributes would be copied along, and refuse the part."""
    save(small(parameters={"rate": [1, 2]}), tmp_path / f"a{ending}")
    options = {"consolidated": False} if engine == "zarr" else {}
    with xr.open_dataset(tmp_path / f"a{ending}", engine=engine, **options) as whole:
        part = whole.isel(environment=[1], trajectory=slice(2)).load()
    part.to_zarr(tmp_path / "b.zarr", **options) if engine == "zarr" else part.to_netcdf(tmp_path / "b.nc")
    assert_same(load(tmp_path / f"b{ending}"), small(parameters={"rate": [1, 2]}).select("e1", slice(2)))


def test_a_netcdf_file_changed_in_place_loads(tmp_path):
    """HDF5 cuts off what lies behind its end, so whoever changes the file drops the seal."""
    save(small(), tmp_path / "a.nc")
    with h5py.File(tmp_path / "a.nc", "r+") as file:
        file["state"][0, 0, 0, 0] = -5
    assert load(tmp_path / "a.nc").states.min() == -5


@pytest.mark.filterwarnings("ignore")
def test_a_zarr_store_may_be_consolidated(tmp_path):
    save(small(parameters={"rate": [1, 2]}), tmp_path / "a.zarr")
    zarr.consolidate_metadata(tmp_path / "a.zarr")
    assert load(tmp_path / "a.zarr") == small(parameters={"rate": [1, 2]})


def test_foreign_zarr_of_format_3(tmp_path):
    """With text of fixed length, for which Zarr has no specification yet, and which it warns of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        foreign(environment=["a", "b", "é"]).to_zarr(tmp_path / "a.zarr", zarr_format=3)
    assert load(tmp_path / "a.zarr").environments == ("a", "b", "é")


def foreign(**coordinates) -> xr.Dataset:
    dims = ("channel", "x", "time", "y", "trajectory", "environment")
    values = np.random.default_rng(0).random((2, 4, 5, 3, 2, 3)).astype(np.float32)
    return xr.Dataset({"state": (dims, values)}, coords={"time": np.arange(5.0), **coordinates})


def write(dataset: xr.Dataset, path) -> None:
    dataset.to_netcdf(path) if path.suffix == ".nc" else dataset.to_zarr(path, zarr_format=2, consolidated=True)


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_foreign_dataset_in_any_order(ending, tmp_path):
    dataset = foreign(environment=[10, 20, 30], channel=["u", "v"], rate=("environment", [1, 2, 3]))
    write(dataset.assign_attrs(system="none", year=2020), tmp_path / f"a{ending}")
    data = load(tmp_path / f"a{ending}")
    assert data.environments == ("10", "20", "30")
    assert data.channels == ("u", "v")
    assert data.space == (3, 4), "y, x"
    assert data.attributes == {"system": "none", "year": "2020"}
    np.testing.assert_array_equal(data.parameters["rate"], [1, 2, 3])
    expected = dataset["state"].transpose("environment", "trajectory", "time", "y", "x", "channel")
    np.testing.assert_array_equal(data.states, expected.to_numpy().astype(np.float64))


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_foreign_dataset_without_names(ending, tmp_path):
    write(foreign(), tmp_path / f"a{ending}")
    assert load(tmp_path / f"a{ending}").environments == ("e0", "e1", "e2")
    assert load(tmp_path / f"a{ending}").channels == ("x0", "x1")


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_foreign_durations_become_seconds(ending, tmp_path):
    write(foreign(time=np.arange(5) * np.timedelta64(1, "h")), tmp_path / f"a{ending}")
    np.testing.assert_array_equal(load(tmp_path / f"a{ending}").times[0, 0], 3600.0 * np.arange(5))


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_foreign_names_of_trajectories(ending, tmp_path):
    write(foreign(trajectory=["a", "b"]), tmp_path / f"a{ending}")
    assert load(tmp_path / f"a{ending}").trajectory_names == (("a", "b"),) * 3
    write(foreign(trajectory=[0, 1]), tmp_path / f"b{ending}")
    assert load(tmp_path / f"b{ending}").trajectory_names is None


@pytest.mark.parametrize("dims", [("trajectory", "time"), ("time", "environment")])
def test_foreign_times_for_some_axes(dims, tmp_path):
    sizes = {"environment": 3, "trajectory": 2, "time": 5}
    times = np.random.default_rng(0).random([sizes[name] for name in dims]).cumsum(axis=dims.index("time"))
    dataset = foreign().drop_vars("time")
    dataset["time"] = xr.Variable(dims, times)
    write(dataset, tmp_path / "a.nc")
    expected = xr.Variable(dims, times).set_dims(sizes).transpose("environment", "trajectory", "time")
    np.testing.assert_array_equal(load(tmp_path / "a.nc").times, expected.to_numpy())


def test_netcdf_3(tmp_path):
    foreign(environment=["a", "b", "c"]).to_netcdf(tmp_path / "a.nc", engine="scipy")
    assert load(tmp_path / "a.nc").environments == ("a", "b", "c")


def test_units_of_a_parameter_do_not_change_it(tmp_path):
    dataset = foreign(delay=("environment", [1.5, 2, 3], {"units": "days"}))
    dataset["time"].attrs["units"] = "hours"
    write(dataset, tmp_path / "a.nc")
    np.testing.assert_array_equal(load(tmp_path / "a.nc").parameters["delay"], [1.5, 2, 3])
    np.testing.assert_array_equal(load(tmp_path / "a.nc").times[0, 0], np.arange(5.0))


def test_foreign_npz(tmp_path):
    states = np.ones((2, 3, 4, 1), np.float32)
    np.savez_compressed(tmp_path / "a.npz", X=states, t=np.arange(4))
    assert_same(load(tmp_path / "a.npz"), Trajectories.from_arrays(range(4), states))


def test_npz_is_plain(tmp_path):
    save(small(parameters={"rate": [1, 2]}), tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz", allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["X"], small().states)
        np.testing.assert_array_equal(archive["t"], [0, 0.5])
        assert json.loads(str(archive["parameters"])) == {"rate": [1, 2]}
        assert archive["environments"].tolist() == ["e0", "e1"]
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert archive.testzip() is None


TABLE = """# measured by hand
# in March
environment, trajectory, time, prey, predator
7,a,0.5,1,
7,b,1.0,5,6
3,a,0, NA,9
7,a,0.0,3,4
3,a, 2, ,8

7,b,0.0,nan,2.5e-1
"""


def test_foreign_csv(tmp_path):
    (tmp_path / "a.csv").write_text(TABLE)
    data = load(tmp_path / "a.csv")
    assert data.environments == ("7", "3"), "in the order of their first rows"
    assert data.channels == ("prey", "predator")
    assert data.counts.tolist() == [2, 1]
    assert data.trajectory_names == (("a", "b"), ("a",))
    np.testing.assert_array_equal(data.times[0], [[0, 0.5], [0, 1]])
    np.testing.assert_array_equal(data.states[0], [[[3, 4], [1, np.nan]], [[np.nan, 0.25], [5, 6]]])
    np.testing.assert_array_equal(data.states[1, 0], [[np.nan, 9], [np.nan, 8]])


@pytest.mark.parametrize("change", [lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text])
def test_csv_from_other_systems(change, tmp_path):
    (tmp_path / "a.csv").write_text(TABLE)
    (tmp_path / "b.csv").write_text(change(TABLE), newline="")
    assert load(tmp_path / "b.csv") == load(tmp_path / "a.csv")


def test_a_name_may_start_with_a_hash(tmp_path):
    (tmp_path / "a.csv").write_text("environment,trajectory,time,x\n#1,0,0,1\n#1,0,1,2\nb,0,0,3\nb,0,1,4\n")
    assert load(tmp_path / "a.csv").environments == ("#1", "b")


def test_our_csv_survives_other_line_ends(tmp_path):
    data = small(parameters={"rate": [1, 2]})
    save(data, tmp_path / "a.csv")
    (tmp_path / "b.csv").write_bytes((tmp_path / "a.csv").read_bytes().replace(b"\n", b"\r\n"))
    assert load(tmp_path / "b.csv") == data


def test_our_csv_may_be_edited_once_the_fingerprint_is_out(tmp_path):
    save(small(parameters={"rate": [1, 2]}), tmp_path / "a.csv")
    text = re.sub('"fingerprint": "[0-9a-f]+", ', "", (tmp_path / "a.csv").read_text())
    (tmp_path / "b.csv").write_text(text.replace(",23\n", ",-1\n"))
    data = load(tmp_path / "b.csv")
    assert data.states[-1, -1, -1, -1] == -1
    assert data.parameters["rate"].tolist() == [1, 2]


@pytest.mark.parametrize("ending", TABLES)
def test_rows_in_any_order(ending, tmp_path):
    rng = np.random.default_rng(0)
    data = Trajectories.from_arrays(range(20), rng.standard_normal((3, 4, 20, 2)), environments=["b", "a", "c"])
    e, i, k = (index.ravel() for index in np.indices(data.times.shape))
    values = data.states.reshape(-1, 2)
    rows = pd.DataFrame({"environment": np.array(data.environments)[e], "trajectory": i, "time": k.astype(float)})
    rows = rows.assign(x0=values[:, 0], x1=values[:, 1])
    # Keep one row of each trajectory in front: the order of first appearance is the order of the result.
    first = rows["time"] == 0
    mixed = pd.concat([rows[first], rows[~first].sample(frac=1, random_state=0)])
    if ending == ".csv":
        mixed.to_csv(tmp_path / "b.csv", index=False)
    else:
        mixed.to_parquet(tmp_path / "b.parquet")
    assert_same(load(tmp_path / f"b{ending}"), data)


def test_foreign_parquet(tmp_path):
    table = pa.table(
        {
            "v": pa.array([1, None, 3], pa.int32()),
            "environment": pa.array([5, 5, 5]),
            "time": np.array([0, 2, 1]) * np.timedelta64(60, "s"),
            "trajectory": ["one", "one", "one"],
            "u": pa.array([0.5, 1.5, np.nan], pa.float32()),
        }
    )
    pq.write_table(table, tmp_path / "a.parquet")
    data = load(tmp_path / "a.parquet")
    assert data.environments == ("5",)
    assert data.channels == ("v", "u")
    assert data.trajectory_names == (("one",),)
    np.testing.assert_array_equal(data.times[0, 0], [0, 60, 120])
    np.testing.assert_array_equal(data.states[0, 0], [[1, 0.5], [3, np.nan], [np.nan, 1.5]])


def test_pandas_reads_our_tables(tmp_path):
    save(small(), tmp_path / "a.csv")
    save(small(), tmp_path / "a.parquet")
    rows = pd.read_parquet(tmp_path / "a.parquet")
    assert list(rows.columns) == ["environment", "trajectory", "time", "x0", "x1"]
    np.testing.assert_array_equal(rows[["x0", "x1"]], small().states.reshape(-1, 2))
    pd.testing.assert_frame_equal(rows, pd.read_csv(tmp_path / "a.csv", comment="#"), check_dtype=False)


def test_nothing_is_printed(tmp_path, capfd):
    for ending in ENDINGS:
        save(small(), tmp_path / f"a{ending}")
        load(tmp_path / f"a{ending}")
    assert capfd.readouterr() == ("", "")
