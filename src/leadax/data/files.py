"""Load and save trajectories; the ending of a file's name says its format."""

import difflib
import os
from pathlib import Path

from .._atomic import check_destination, one_line, replacing
from ..errors import InputError, LeadaxError, RunError
from ._contents import DamageError, check_names
from ._formats import Format, format_of
from .trajectories import Trajectories

PathLike = str | os.PathLike[str]


def load(path: PathLike) -> Trajectories:
    """Read trajectories from a file, written by [`save`][] or by anything else in one of these layouts.

    - `.nc`, `.zarr`, as in xarray: a variable `state` with the dimensions `environment`, `trajectory`, `time`, for
      fields `y` and `x`, and `channel`, in any order; `time` along `time`, or one for each trajectory; the names of
      environments and channels as coordinates; numbers along `environment` are its parameters.
    - `.npz`: `X` of shape (environment, trajectory, time, …, channel) and `t` of shape (time,) or (environment,
      trajectory, time); if you like, `environments` and `channels` (text), `parameters` and `attributes` (JSON).
    - `.csv`, `.parquet`: one row per point, in any order, with the columns `environment`, `trajectory`, `time`, then
      one for each channel; in CSV, lines above the table that start with `#` are comments.

    NaN, and in tables an empty cell, is a missing value. Where a format knows durations and dates (all but CSV and
    NumPy), such times become seconds, dates since the first one in the file.

    Files that Leadax wrote carry a fingerprint of their contents. One that was damaged is refused with an `InputError`,
    as is everything that cannot be trajectories; nothing in a file is ever executed.

    >>> import numpy as np, tempfile
    >>> from leadax.data import Trajectories, load, save
    >>> data = Trajectories.from_arrays(range(5), np.zeros((3, 2, 5, 1)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(data, folder + "/data.npz")
    ...     load(folder + "/data.npz") == data
    True
    """
    form = format_of(path)
    _check_source(Path(path), form)
    try:
        return form.load().read(Path(path)).trajectories()
    except DamageError as error:
        raise InputError(f"{path} is damaged: {one_line(error)}") from error
    except InputError as error:
        raise InputError(f"{path}: {one_line(error)}") from error
    except Exception as error:  # the libraries raise all sorts of things when a file is broken
        raise InputError(f"{path} cannot be read as a {form.kind} file: {one_line(error)}") from error


def save(data: Trajectories, path: PathLike, *, overwrite: bool = False) -> None:
    """Write trajectories to a file from which [`load`][] gives back the same, to the bit.

    The file appears whole or not at all: if writing fails, what was there before is untouched.

    **Arguments**

    - `path`: its ending (`.nc`, `.zarr`, `.npz`, `.csv`, `.parquet`) says the format. Fields on a grid do not fit into
      the tables `.csv` and `.parquet`.
    - `overwrite`: whether a file of that name may be replaced.

    >>> import numpy as np, tempfile
    >>> from leadax.data import Trajectories, save
    >>> data = Trajectories.from_arrays(range(3), np.zeros((1, 1, 3, 1)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(data, folder + "/data.csv")
    ...     print(Path(folder, "data.csv").read_text())
    # leadax {"leadax_format": 1, "fingerprint": "...", "parameters": {}, "attributes": {}}
    "environment","trajectory","time","x0"
    "e0",0,0,0
    "e0",0,1,0
    "e0",0,2,0
    """
    form = format_of(path)
    _check_replaceable(path, form)
    with replacing(path, folder=form.folder, overwrite=overwrite) as temporary:
        try:
            check_names(data)
            form.load().write(data, temporary)
        except InputError as error:
            raise InputError(f"{path}: {one_line(error)}") from error
        except (LeadaxError, OSError):
            raise
        except Exception as error:  # a full disk can be a RuntimeError to HDF5
            raise RunError(f"{path} could not be written: {one_line(error)}") from error


def check_output(path: PathLike, *, overwrite: bool = False) -> None:
    """Raise `InputError` unless [`save`][] could write to `path`: to be called before hours of work."""
    form = format_of(path)
    _check_replaceable(path, form)
    check_destination(path, folder=form.folder, overwrite=overwrite)


def _check_source(file: Path, form: Format) -> None:
    if not file.exists():
        raise InputError(f"{file} does not exist{_hint(file)}")
    if file.is_dir() and not form.folder:
        raise InputError(f"{file} is a folder, expected a {form.kind} file")
    if not file.is_dir() and form.folder:
        raise InputError(f"{file} is a file, expected a folder: that is what a {form.kind} store is")
    if not form.folder and file.stat().st_size == 0:
        raise InputError(f"{file} is empty: it has no bytes")


def _hint(file: Path) -> str:
    if not file.parent.is_dir():
        return f": there is no folder {file.parent}"
    names = [found.name for found in file.parent.iterdir()]
    left = [name for name in names if name.startswith(f".{file.name}.") and name.endswith(".old")]
    if left:
        return f", but {left[0]}, which an interrupted save has left: rename it"
    near = difflib.get_close_matches(file.name, names, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _check_replaceable(path: PathLike, form: Format) -> None:
    # Overwriting removes a whole folder: never one that is something else and happens to be called .zarr.
    there = Path(path)
    if form.folder and there.is_dir() and any(there.iterdir()) and not form.load().is_store(there):
        raise InputError(f"{path} exists and is not a {form.kind} store: choose another name")
