"""How long data take to load: Leadax, which checks everything, next to plain libraries, which check nothing.

    python benchmarks/loading.py [--numbers 10000000] [--json]

Writes the same trajectories to a temporary folder in each format, then reads each file three times in turn and takes
medians. The files are in the page cache, so this measures work, not the disk.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

import leadax

REPEATS = 3


def trajectories(numbers: int) -> leadax.Trajectories:
    times, environments, channels = 500, 10, 2
    count = max(1, numbers // (times * environments * channels))
    states = np.random.default_rng(0).standard_normal((environments, count, times, channels))
    return leadax.Trajectories.from_arrays(0.1 * np.arange(times), states)


def plain_xarray(path: Path, **options) -> xr.Dataset:
    with xr.open_dataset(path, **options) as dataset:
        return dataset.load()


def plain_numpy(path: Path) -> dict[str, np.ndarray]:
    with np.load(path) as archive:
        return {name: archive[name] for name in ("X", "t")}


PLAIN: dict[str, tuple[str, Callable[[Path], object]]] = {
    ".nc": ("xarray", lambda path: plain_xarray(path, engine="h5netcdf")),
    ".zarr": ("xarray", lambda path: plain_xarray(path, engine="zarr", consolidated=False)),
    ".npz": ("numpy", plain_numpy),
    ".csv": ("pandas", lambda path: pd.read_csv(path, comment="#")),
    ".parquet": ("pandas", pd.read_parquet),
}


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(data: leadax.Trajectories, path: Path) -> dict:
    peer, plain = PLAIN[path.suffix]
    saving = seconds(lambda: data.save(path))
    ours, theirs = [], []
    for _ in range(REPEATS):
        ours.append(seconds(lambda: leadax.load(path)))
        theirs.append(seconds(lambda: plain(path)))
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    leadax_s, peer_s = statistics.median(ours), statistics.median(theirs)
    return {
        "format": path.suffix,
        "numbers": data.states.size,
        "megabytes": sum(file.stat().st_size for file in files) / 1e6,
        "save_s": saving,
        "leadax_s": leadax_s,
        "peer": peer,
        "peer_s": peer_s,
        "ratio": leadax_s / peer_s,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--numbers", type=int, default=10**7, help="how many numbers the states have (default 10^7)")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = trajectories(options.numbers)
        rows = [measure(data, Path(folder, "data" + ending)) for ending in PLAIN]
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"{'format':10}{'MB':>8}{'save s':>9}{'load s':>9}{'peer':>9}{'peer s':>9}{'ratio':>8}")
    for row in rows:
        print(
            f"{row['format']:10}{row['megabytes']:8.0f}{row['save_s']:9.2f}{row['leadax_s']:9.2f}"
            f"{row['peer']:>9}{row['peer_s']:9.2f}{row['ratio']:8.2f}"
        )


if __name__ == "__main__":
    main()
