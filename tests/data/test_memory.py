"""Data that cannot fit are refused before they are read, with their size and the memory there is."""

import os
import sys

import numpy as np
import pytest

from leadax import InputError, Trajectories, _memory, load

DATA = Trajectories.from_arrays(range(500), np.zeros((2, 3, 500, 2)))


@pytest.fixture
def little(monkeypatch):
    """A machine with 100 kB of free memory."""
    monkeypatch.setattr(_memory, "free_memory", lambda: 100_000)


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz", "nc", "zarr"])
def test_a_file_that_cannot_fit(ending, tmp_path, little):
    path = tmp_path / f"data.{ending}"
    DATA.save(path)
    with pytest.raises(InputError, match=rf"data\.{ending}.* takes [\d.]+ kB.* into the 100 kB of memory"):
        load(path)


def test_padding_that_cannot_fit(tmp_path, monkeypatch):
    """Memory follows the padding, not the data: it is said what is padded to what, before it is."""
    rows = [f"e{e},{k},1" for e in range(300) for k in range(2)] + [f"long,{k},1" for k in range(3000)]
    (tmp_path / "ragged.csv").write_text("\n".join(["environment,time,u", *rows]))
    monkeypatch.setattr(_memory, "free_memory", lambda: 1_000_000)
    monkeypatch.setattr(np, "full", None)
    words = "301 environments × 1 trajectories × 3000 points, to which 3600 points are padded, takes 14.4 MB"
    with pytest.raises(InputError, match=words):
        load(tmp_path / "ragged.csv")
    times, states = [[range(2)]] * 300 + [[range(3000)]], [[np.zeros((2, 1))]] * 300 + [[np.zeros((3000, 1))]]
    with pytest.raises(InputError, match=words):
        Trajectories.from_arrays(times, states)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems say nothing about memory")
def test_a_limit_of_the_process_counts(monkeypatch):
    import resource

    used = int(_memory._text("/proc/self/statm").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (used + 50_000_000, -1))
    room = _memory.free_memory()
    assert room is not None
    assert room <= 60_000_000


def test_running_out_all_the_same(tmp_path, monkeypatch):
    DATA.save(tmp_path / "data.npz")
    monkeypatch.setattr(np, "load", lambda *a, **k: (_ for _ in ()).throw(MemoryError("Unable to allocate 2 GiB")))
    with pytest.raises(InputError, match=r"does not fit into memory: Unable to allocate 2 GiB"):
        load(tmp_path / "data.npz")


def test_a_pipe_for_a_file(tmp_path):
    os.mkfifo(tmp_path / "data.csv")
    DATA.save(tmp_path / "data.zarr")
    (tmp_path / "data.zarr" / "zarr.json").unlink()
    os.mkfifo(tmp_path / "data.zarr" / "zarr.json")
    for name in ("data.csv", "data.zarr"):
        with pytest.raises(InputError, match="is a pipe or a device"):
            load(tmp_path / name)
