"""Which format a file has, by the ending of its name, and whether its libraries are there."""

import difflib
import importlib
import importlib.util
import os
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from ..errors import InputError


@dataclass(frozen=True)
class Format:
    """A format: what it is called, who reads and writes it, and what it needs."""

    kind: str
    module: str
    libraries: tuple[str, ...] = ()
    folder: bool = False

    def load(self) -> ModuleType:
        """The module with `read(path)` and `write(data, path)`, imported when needed: its libraries take 0.9 s."""
        return importlib.import_module(f".{self.module}", __package__)


FORMATS = {
    ".nc": Format("NetCDF", "_netcdf", ("xarray", "h5netcdf")),
    ".zarr": Format("Zarr", "_zarr", ("xarray", "zarr"), folder=True),
    ".npz": Format("NumPy", "_npz"),
    ".csv": Format("CSV", "_csv", ("pyarrow",)),
    ".parquet": Format("Parquet", "_parquet", ("pyarrow",)),
}
_RELATED = {".nc4": ".nc", ".cdf": ".nc", ".netcdf": ".nc", ".h5": ".nc", ".hdf5": ".nc", ".npy": ".npz"}
_RELATED |= {".pq": ".parquet", ".txt": ".csv", ".tsv": ".csv"}


def format_of(path: str | os.PathLike[str]) -> Format:
    """The format of a file of that name; `InputError` if there is none, or if a library is missing."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        near = _RELATED.get(ending) or next(iter(difflib.get_close_matches(ending, FORMATS, 1)), None)
        what = f"the unknown ending `{ending}`" if ending else "no ending"
        hint = f"; did you mean `{near}`?" if near else ""
        raise InputError(f"{path} has {what}: expected one of {', '.join(FORMATS)}{hint}")
    for library in FORMATS[ending].libraries:
        if importlib.util.find_spec(library) is None:
            raise InputError(f"{path}: {ending} files need {library}: pip install 'leadax[data]'")
    return FORMATS[ending]
