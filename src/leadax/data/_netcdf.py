"""NetCDF-4 files, through xarray and h5netcdf."""

import warnings
from pathlib import Path
from typing import Any

from ..errors import InputError
from . import _seal
from ._contents import Contents
from ._dataset import from_dataset, to_dataset
from .trajectories import Trajectories

_MAGIC = {b"\x89HDF": "h5netcdf", b"CDF\1": "scipy", b"CDF\2": "scipy"}


def read(path: Path) -> Contents:
    """Read a file that Leadax, or anyone, wrote; the bytes of ours are checked first."""
    import xarray as xr

    fingerprint = _seal.check(path)
    engine: Any = _engine(path)
    # Only what xarray itself stored as durations is one: a parameter in "days" stays a number.
    durations = xr.coders.CFTimedeltaCoder(decode_via_units=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with xr.open_dataset(path, engine=engine, decode_timedelta=durations) as dataset:
            return from_dataset(dataset, fingerprint)


def write(data: Trajectories, path: Path) -> None:
    """Write and seal. The seal notices more than `fletcher32` would, and reading is twice as fast without chunks.

    The file is made in memory: on a disk that fills up HDF5 can neither write nor close its file and takes the whole
    process down with it, so it never gets to see the disk.
    """
    path.write_bytes(to_dataset(data).to_netcdf(engine="h5netcdf"))
    _seal.append(path, data.fingerprint)


def _engine(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(4)
    if head not in _MAGIC:
        raise InputError("it is not a NetCDF file: it starts with other bytes")
    return _MAGIC[head]
