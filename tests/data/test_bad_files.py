"""Every bad input is answered by one line that starts with the name of the file and says what is wrong."""

import gc
import json
import pickle
import re
import sys

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr
from tests.data.strategies import ENDINGS, TABLES

from leadax.data import Trajectories, load, save
from leadax.errors import InputError


def refuses(path, *words: str) -> None:
    with pytest.raises(InputError) as caught:
        load(path)
    message = str(caught.value)
    assert message.startswith(str(path)), message
    assert "\n" not in message
    assert len(message) < 600
    for word in words:
        assert re.search(word, message), f"no {word!r} in: {message}"


def good(**changes) -> Trajectories:
    return Trajectories.from_arrays(range(3), np.zeros((2, 2, 3, 1)), **changes)


@pytest.mark.parametrize("ending", ENDINGS)
def test_missing(ending, tmp_path):
    refuses(tmp_path / f"a{ending}", "does not exist")
    save(good(), tmp_path / f"training{ending}")
    refuses(tmp_path / f"trainin{ending}", f"did you mean training{ending}?")
    refuses(tmp_path / "nowhere" / f"a{ending}", "there is no folder .*nowhere")


def test_left_by_an_interrupted_save(tmp_path):
    (tmp_path / ".a.zarr.12ab34cd.old").mkdir()
    refuses(tmp_path / "a.zarr", "does not exist", r"\.a\.zarr\.12ab34cd\.old", "rename it")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("a.parqet", ".parquet"), ("a.h5", ".nc"), ("a.npy", ".npz"), ("a.nc4", ".nc"), ("a.txt", ".csv")],
)
def test_unknown_ending(name, hint, tmp_path):
    (tmp_path / name).write_text("x")
    refuses(tmp_path / name, "unknown extension", r"\.nc, \.zarr, \.npz, \.csv, \.parquet", f"did you mean `{hint}`")
    with pytest.raises(InputError, match="unknown extension"):
        save(good(), tmp_path / name)


def test_no_ending(tmp_path):
    refuses(tmp_path / "a", "has no extension: expected one of .nc")


@pytest.mark.parametrize("ending", ENDINGS)
def test_folder_or_file(ending, tmp_path):
    path = tmp_path / f"a{ending}"
    if ending == ".zarr":
        path.write_text("x")
        refuses(path, "is a file, expected a Zarr store")
    else:
        path.mkdir()
        refuses(path, "is a folder, expected a .* file")


@pytest.mark.parametrize("ending", ENDINGS)
def test_empty(ending, tmp_path):
    path = tmp_path / f"a{ending}"
    path.mkdir() if ending == ".zarr" else path.touch()
    refuses(path, "cannot be read as a Zarr file" if ending == ".zarr" else "is empty")


@pytest.mark.parametrize("ending", [".nc", ".npz", ".parquet"])
@pytest.mark.parametrize(
    "content", [b"not what it says", b"\x89HDF\r\n\x1a\n" + b"\0" * 100, b"PK\3\4 no archive", b"PAR1"]
)
def test_something_else(ending, content, tmp_path):
    (tmp_path / f"a{ending}").write_bytes(content)
    refuses(tmp_path / f"a{ending}")


def test_not_netcdf(tmp_path):
    (tmp_path / "a.nc").write_bytes(b"something else")
    refuses(tmp_path / "a.nc", "is not a NetCDF file")
    with h5py.File(tmp_path / "b.nc", "w") as file:
        file["numbers"] = np.zeros((2, 3))
    refuses(tmp_path / "b.nc")


def test_truncated_netcdf(tmp_path):
    foreign().to_netcdf(tmp_path / "a.nc")
    content = (tmp_path / "a.nc").read_bytes()
    (tmp_path / "a.nc").write_bytes(content[: len(content) // 2])
    refuses(tmp_path / "a.nc", "cannot be read as a NetCDF file", "truncated")


# --- datasets


def foreign(states=None, times=None) -> xr.Dataset:
    states = np.zeros((2, 2, 3, 1)) if states is None else states
    times = np.arange(3.0) if times is None else times
    dims = ("environment", "trajectory", "time", "channel")
    dataset = xr.Dataset({"state": (dims, states)})
    dataset["time"] = (("time",) if times.ndim == 1 else dims[:3], times)
    return dataset


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.rename(state="theta"), ["no variable `state`", "`theta`"]),
        (lambda d: d.isel(channel=0), ["no dimension `channel`", "environment, trajectory, time", "expand_dims"]),
        (lambda d: d.isel(trajectory=0), ["no dimension `trajectory`"]),
        (lambda d: d.drop_vars("time"), ["no variable `time`"]),
        (lambda d: d.assign(time=("channel", [1.0])), ["`time` must have the dimensions"]),
        (lambda d: d.assign(state=d["state"].astype(str)), ["states must be real numbers"]),
        (lambda d: d.assign_coords(environment=["a", "a"]), ["`environments` must be unique", "`a`"]),
        (lambda d: d.assign(time=("time", [0.0, 2.0, 1.0])), ["times must increase", "1 after 2"]),
    ],
)
@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_bad_dataset(ending, change, words, tmp_path):
    dataset, path = change(foreign()), tmp_path / f"a{ending}"
    # Zarr 2: fixed strings, as in the last case, have no specification in Zarr 3.
    dataset.to_netcdf(path) if ending == ".nc" else dataset.to_zarr(path, zarr_format=2, consolidated=False)
    refuses(path, *words)


# --- NumPy archives


class Evil:
    """Would be run by anybody who unpickles it."""

    def __reduce__(self):
        return sys.exit, (99,)


def test_pickled_npz(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array([Evil(), None], object), t=np.arange(2))
    refuses(tmp_path / "a.npz", "`X` holds pickled Python objects", "never read")
    (tmp_path / "b.npz").write_bytes(pickle.dumps(Evil()))
    refuses(tmp_path / "b.npz", "not a NumPy archive")
    np.savez(tmp_path / "c.npz", X=np.zeros((1, 1, 2, 1)), t=np.arange(2), parameters=np.array([Evil()], object))
    refuses(tmp_path / "c.npz", "`parameters` holds pickled Python objects")


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": [1.0], "t": [1.0]}, ["no array `X`", "`x`, `t`"]),
        ({"X": np.zeros((1, 1, 3, 1))}, ["no array `t`", "`X`"]),
        ({"X": np.zeros((1, 1, 3, 1)), "t": np.arange(4)}, ["differ in length", r"\(4,\)", r"\(1, 1, 3, 1\)"]),
        ({"X": np.zeros((3, 1)), "t": np.arange(3)}, ["must have the axes", r"\(3, 1\)"]),
        ({"X": np.zeros((1, 1, 3, 1)), "t": np.array([0, 2, 1])}, ["times must increase"]),
        ({"X": np.zeros((1, 1, 3, 1)), "t": np.array([0, 0, 1])}, ["times must increase"]),
        ({"X": np.zeros((1, 1, 3, 1)), "t": np.array([0, 1, np.nan])}, ["state but no time"]),
        ({"X": np.zeros((1, 1, 3, 1)), "t": np.array([0, 1, np.inf])}, ["infinite time"]),
        ({"X": np.full((1, 1, 3, 1), np.inf), "t": np.arange(3)}, ["infinite value", "NaN"]),
        ({"X": np.full((1, 1, 3, 1), np.nan), "t": np.arange(3)}, ["no observed value"]),
        ({"X": np.zeros((1, 1, 1, 1)), "t": np.arange(1)}, ["1 point: at least 2"]),
        ({"X": np.zeros((0, 1, 3, 1)), "t": np.arange(3)}, ["empty"]),
        ({"X": np.zeros((1, 1, 3, 1), complex), "t": np.arange(3)}, ["states must be real numbers", "complex"]),
        ({"X": np.full((1, 1, 3, 1), "a"), "t": np.arange(3)}, ["states must be real numbers"]),
        ({"X": np.zeros((1, 1, 3, 1)), "t": np.array(["a", "b", "c"])}, ["times must be real numbers"]),
        ({"X": np.zeros((1, 1, 3, 2)), "t": np.arange(3), "channels": ["u"]}, ["`channels` must have 2 names"]),
        ({"X": np.zeros((1, 1, 3, 1)), "t": np.arange(3), "parameters": "{"}, ["`parameters` must be a string"]),
        ({"X": np.zeros((1, 1, 3, 1)), "t": np.arange(3), "attributes": "[]"}, ["`attributes` must be a string"]),
        (
            {"X": np.zeros((1, 1, 3, 1)), "t": np.arange(3), "parameters": '{"rate": [1, 2]}'},
            ["parameter `rate` must have one number per environment"],
        ),
    ],
)
def test_bad_npz(arrays, words, tmp_path):
    np.savez(tmp_path / "a.npz", **arrays)
    refuses(tmp_path / "a.npz", *words)


def test_environment_without_trajectories(tmp_path):
    states = np.zeros((2, 1, 3, 1))
    states[1] = np.nan
    np.savez(tmp_path / "a.npz", X=states, t=np.arange(3), environments=["a", "b"])
    refuses(tmp_path / "a.npz", "environment `b` has no trajectory")


# --- tables

HEAD = "environment,trajectory,time,x\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + "a,0,0,1\na,0,1,one\n", ["line 3", "column `x`", "`one`"]),
        ("# note\n\n" + HEAD + "a,0,0,1\n# note\na,0,1e,2\n", ["line 6", "column `time`", "`1e`"]),
        (
            HEAD + "a,0,noon,1\n",
            ["line 2, column `time`: expected a number or a date such as 2021-03-04, found `noon`"],
        ),
        (HEAD + "a,0,0,1\na,0,1\n", ["line 3 has 3 cells, expected 4"]),
        (HEAD + "a,0,0,1\na,0,1,2,3\n", ["line 3 has 5 cells, expected 4"]),
        ("trajectory,time,x\na,0,1\n", ["no column `environment`", "it has `trajectory`, `time`, `x`"]),
        ("environment;time;x\na;0;1\n", ["separated by semicolons, expected commas", "`environment;time;x`"]),
        ("environment\ttime\tx\na\t0\t1\n", ["separated by tabs, expected commas"]),
        ("environment,trajectory,time\na,0,0\n", ["no column with states"]),
        ("environment,trajectory,time,x,x\na,0,0,1,2\n", ["two columns are called `x`"]),
        (",environment,trajectory,time,x\n0,a,0,0,1\n", ["a column has no name", "index=False"]),
        (HEAD, ["no rows"]),
        (HEAD.strip(), ["no rows"]),
        ("# only\n# comments\n", ["no column `environment`", "it has none"]),
        (HEAD + "a,0,0,1\na,0,0.0,2\n", ["two rows", "environment `a`, trajectory `0`, time 0"]),
        (HEAD + "a,0,0,1\n,0,1,2\n", ["a row has no environment"]),
        (HEAD + "a,0,0,1\na,,1,2\n", ["a row has no trajectory"]),
        (HEAD + "a,0,0,1\na,0,,2\n", ["environment `a`, trajectory `0` has no time"]),
        (HEAD + "a,0,0,1\n", ["1 point: at least 2"]),
        (HEAD + "a,0,0,\na,0,1,NA\n", ["no observed value"]),
        (HEAD + "a,0,0,1\na,0,1,inf\n", ["infinite value"]),
        (HEAD + "a,0,0,1\na,0,1,2\nb,0,0,\nb,0,1,\n", ["environment `b` has no trajectory"]),
        (HEAD + "a,0,0,\xff\n", ["line 2 is not UTF-8: save the table as CSV in UTF-8"]),
        (HEAD + "a\xe9,0,0,1\na\xe9,0,1,1\n", ["line 2 is not UTF-8"]),
        ("environment,trajectory,time,\xe9\na,0,0,1\na,0,1,1\n", ["line 1 is not UTF-8"]),
        ("PK\x03\x04\0\0", ["is not a text table"]),
        ('# leadax {"leadax_format": 1\n' + HEAD + "a,0,0,1\n", ["is damaged", "JSON"]),
        ('# leadax {"leadax_format": 1, "parametres": {}}\n' + HEAD, ["is damaged", "unknown entries"]),
        ('# leadax {"leadax_format": 1, "parameters": {"a": "b"}}\n' + HEAD, ["is damaged", "lists of numbers"]),
        ('# leadax {"leadax_format": 2}\n' + HEAD, ["another version"]),
    ],
)
def test_bad_csv(text, words, tmp_path):
    (tmp_path / "a.csv").write_text(text, encoding="latin-1")
    refuses(tmp_path / "a.csv", *words)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"x": ["a", "b"]}, ["column `x` must hold numbers", "string; choose the channels with `--channels`"]),
        ({"environment": ["a", None]}, ["a row has no environment"]),
        ({"trajectory": pa.array([None, 1])}, ["a row has no trajectory"]),
        ({"time": [0.0, 0.0]}, ["two rows"]),
        ({"time": ["0", "1"]}, ["column `time` must hold numbers or dates, but row 1 has `0`"]),
        ({"time": ["2020-01-01", "2020-02-30"]}, ["numbers or dates, but row 2 has `2020-02-30`"]),
        ({"environment": pa.array([], pa.string()), "trajectory": [], "time": [], "x": []}, ["no rows"]),
    ],
)
def test_bad_parquet(change, words, tmp_path):
    columns = {"environment": ["a", "a"], "trajectory": [0, 0], "time": [0.0, 1.0], "x": [1.0, 2.0]}
    pq.write_table(pa.table(columns | change), tmp_path / "a.parquet")
    refuses(tmp_path / "a.parquet", *words)


def test_parquet_without_a_column(tmp_path):
    pq.write_table(pa.table({"time": [0.0], "x": [1.0]}), tmp_path / "a.parquet")
    refuses(tmp_path / "a.parquet", "no column `environment`", "it has `time`, `x`")


# --- what cannot be saved


@pytest.mark.parametrize("ending", TABLES)
def test_fields_do_not_fit_into_tables(ending, tmp_path):
    field = Trajectories.from_arrays(range(2), np.zeros((1, 1, 2, 3, 4, 1)))
    with pytest.raises(InputError, match=rf"a{ending}: states on a grid \(3 × 4\) .* \.nc, \.zarr or \.npz"):
        save(field, tmp_path / f"a{ending}")
    with pytest.raises(InputError, match="a channel cannot be called `time`"):
        save(good(channels=["time"]), tmp_path / f"a{ending}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"environments": ["a", "b\0"]},
        {"environments": ["a", "b\n#"]},
        {"channels": ["\ud800"]},
        {"parameters": {"": [1, 2]}},
        {"attributes": {"note": "a\0b"}},
        {"attributes": {"a\tb": ""}},
        {"trajectory_names": [["a", "b"], ["a", "b\n"]]},
        {"trajectory_names": [["a", ""], ["a", "b"]]},
    ],
)
@pytest.mark.parametrize("ending", ENDINGS)
def test_names_that_no_file_can_hold(ending, changes, tmp_path):
    with pytest.raises(InputError, match=f"a{ending}: the .* cannot be stored"):
        save(good(**changes), tmp_path / f"a{ending}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("ending", "library"), [(".nc", "h5netcdf"), (".zarr", "zarr"), (".csv", "pyarrow"), (".parquet", "pyarrow")]
)
def test_missing_library(ending, library, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    path = tmp_path / f"a{ending}"
    for attempt in (lambda: load(path), lambda: save(good(), path)):
        with pytest.raises(InputError, match=f"need {library}: pip install 'leadax") as caught:
            attempt()
        assert "\n" not in str(caught.value)


def test_seal_of_a_store_that_was_changed_on_purpose(tmp_path):
    save(good(), tmp_path / "a.zarr")
    seal = tmp_path / "a.zarr" / "leadax" / "zarr.json"
    seal.write_text(json.dumps({"attributes": {}}))
    refuses(tmp_path / "a.zarr", "is damaged", "seal", "remove")
    seal.unlink()
    assert load(tmp_path / "a.zarr") == good()


def test_a_file_that_was_opened_half_says_nothing_more(tmp_path, monkeypatch):
    """As h5netcdf leaves one behind after an error: Python would report on standard error what its removal raises."""

    class Half:
        def __init__(self):
            self.itself = self

        def __del__(self):
            raise AttributeError("no attribute `_writable`")

    def fails(*args, **options):
        half = Half()
        raise OSError(f"wrong checksum in {type(half)}")

    said = []
    monkeypatch.setattr("sys.unraisablehook", lambda ignored: said.append(ignored.exc_value))
    monkeypatch.setattr("xarray.open_dataset", fails)
    (tmp_path / "a.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(500))
    refuses(tmp_path / "a.nc", "wrong checksum")
    gc.collect()
    assert not said
