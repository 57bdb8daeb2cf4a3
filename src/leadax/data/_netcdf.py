"""NetCDF-4 files, through xarray and h5netcdf."""

import io
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
    """Write and seal. The seal notices more than `fletcher32` would, and reading is twice as fast without chunks."""
    with _Disk(path) as file:
        to_dataset(data).to_netcdf(file, engine="h5netcdf")
    if file.error is not None:
        raise file.error
    _seal.append(path, data.fingerprint)


class _Disk(io.FileIO):
    """A file that keeps its errors for later.

    On a full disk HDF5 can neither write nor close its file, and takes the whole process down when Python, some time
    later, tidies up. So it is told that all is well; the file is thrown away anyhow.
    """

    def __init__(self, path: Path):
        super().__init__(path, "w+")
        self.error: BaseException | None = None

    def write(self, data: Any, /) -> int:
        try:
            rest = memoryview(data).cast("B")
            while self.error is None and len(rest):
                rest = rest[super().write(rest) :]
        except BaseException as error:  # Ctrl-C as well: HDF5 does not survive that either
            self.error = error
        return len(data)

    def truncate(self, size: int | None = None, /) -> int:
        try:
            return super().truncate(size) if self.error is None else 0
        except OSError as error:
            self.error = error
            return 0


def _engine(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(4)
    if head not in _MAGIC:
        raise InputError("it is not a NetCDF file: it starts with other bytes")
    return _MAGIC[head]
