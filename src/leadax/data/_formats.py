"""File formats: the extension of a file sets its format, and each format needs its libraries."""

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
    """A file format: its name, the module that reads and writes it, and the libraries that it needs.

    - `folder`: whether it is a folder; `table`: whether it has rows and columns.
    """

    kind: str
    module: str
    libraries: tuple[str, ...] = ()
    folder: bool = False
    table: bool = False

    def load(self) -> ModuleType:
        """The module with `read(path)` (of a table `read(path, columns)`) and `write(data, path)`.

        Its libraries take 0.9 s to import, so it is lazy.
        """
        return importlib.import_module(f".{self.module}", __package__)


FORMATS = {
    ".nc": Format("NetCDF", "_netcdf", ("xarray", "h5netcdf")),
    ".zarr": Format("Zarr", "_zarr", ("xarray", "zarr"), folder=True),
    ".npz": Format("NumPy", "_npz"),
    ".csv": Format("CSV", "_csv", ("pyarrow",), table=True),
    ".parquet": Format("Parquet", "_parquet", ("pyarrow",), table=True),
}
_RELATED = {".nc4": ".nc", ".cdf": ".nc", ".netcdf": ".nc", ".h5": ".nc", ".hdf5": ".nc", ".npy": ".npz"}
_RELATED |= {".pq": ".parquet", ".txt": ".csv", ".tsv": ".csv"}


def format_of(path: str | os.PathLike[str]) -> Format:
    """The format of a file, by its extension. `InputError` if it is unknown, or if a library is missing."""
    extension = Path(path).suffix.lower()
    if extension not in FORMATS:
        near = _RELATED.get(extension) or next(iter(difflib.get_close_matches(extension, FORMATS, 1)), None)
        what = f"the unknown extension `{extension}`" if extension else "no extension"
        hint = f"; did you mean `{near}`?" if near else ""
        raise InputError(f"{path} has {what}: expected one of {', '.join(FORMATS)}{hint}")
    for library in FORMATS[extension].libraries:
        if importlib.util.find_spec(library) is None:
            raise InputError(f"{path}: {extension} files need {library}: pip install 'leadax[data]'")
    return FORMATS[extension]
