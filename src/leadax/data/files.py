"""Load and save trajectories. The extension of a file sets its format."""

import difflib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from .._atomic import check_destination, check_regular, checked_path, one_line, replacing
from .._memory import check_fits
from ..errors import InputError, LeadaxError, RunError
from ._columns import Columns
from ._contents import Contents, DamageError, check_names
from ._formats import Format, format_of
from .trajectories import Trajectories

PathLike = str | os.PathLike[str]


def load(
    path: PathLike,
    *,
    columns: Mapping[str, str | Sequence[str]] | None = None,
    channels: Sequence[str] | None = None,
    inputs: Mapping[str, str] | Sequence[str] | None = None,
    covariates: Sequence[str] = (),
) -> Trajectories:
    """Load trajectories from a file that was written by `save`, or by any other program in one of these layouts.

    - `.nc`, `.zarr` (xarray): a variable `state` with the dimensions `environment`, `trajectory`, `time`, `channel`
      and, for fields, `y` and `x`, in any order. A variable `time` along `time`, or also along `trajectory` and
      `environment`. Optionally, coordinates with the names of environments and channels. Numeric variables along
      `environment` are parameters. Optionally, a variable `input` with the dimensions of `state` (or some of them, such
      as `time` alone), but `input` for `channel`, and along that their names in `input_name` and kinds in `input_kind`.
    - `.npz`: `X` of shape (environment, trajectory, time, …, channel) and `t` of shape (time,) or (environment,
      trajectory, time). Optionally, `environments` and `channels` (text), `parameters` and `attributes` (JSON).
      Inputs are `U` of shape (environment, trajectory, time, …, input), with `input_names` and `input_kinds` (text).
    - `.csv`, `.parquet`: one row per point, in any order, with the columns `environment`, `trajectory`, `time`, and one
      for each channel. Without a column `trajectory`, every environment is one trajectory, and its rows are in the
      order of time. In CSV, lines above the table that start with `#` are comments.

    NaN and empty cells are missing values. Dates (in tables, ISO dates with or without the time of day, in UTC unless
    they have another offset) become days since 1970-01-01, and data with dates have the attribute `time` that says so.
    Durations become seconds.

    **Arguments**

    - `path`: the file.
    - `columns`: for tables whose columns have other names: `{"environment": "Diet", "time": "Day"}`. Several columns
      make one name with `"Variety+Year"` or `["Variety", "Year"]`.
    - `channels`: for tables, the columns that are channels; by default all that nothing else is made of.
    - `inputs`: for tables, the columns that are inputs, with their kinds: `{"rate": "held", "dose": "impulse:gut"}`, or
      `["force", "rate:held"]`, where the first is `linear`. A point may have a row for what was measured and another
      one for an input.
    - `covariates`: for tables, the columns that become parameters. They have one value in each environment: a number,
      or one of two texts, of which the second in the alphabet is 1 and the other 0. `Sex=Female` makes Female 1.

    Files written by Leadax contain a fingerprint of their contents. Damaged files, and files that do not hold
    trajectories, raise an `InputError`. No code in a file is ever executed.

    >>> import numpy as np, tempfile
    >>> from leadax.data import Trajectories, load, save
    >>> data = Trajectories.from_arrays(range(5), np.zeros((3, 2, 5, 1)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(data, folder + "/data.npz")
    ...     load(folder + "/data.npz") == data
    True

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = "Diet,Chick,Day,weight", "A,c1,0,42", "A,c1,2,51", "B,c2,0,40", "B,c2,2,49"
    ...     _ = Path(folder, "chicks.csv").write_text("\\n".join(rows))
    ...     chicks = load(folder + "/chicks.csv", columns={"environment": "Diet", "trajectory": "Chick", "time": "Day"})
    >>> chicks, chicks.trajectory_names
    (Trajectories(2 environments, 1 trajectory each, 2 times, channels weight), (('c1',), ('c2',)))
    """
    form = format_of(checked_path(path))
    _check_source(Path(path), form)
    try:
        return _read(Path(path), form, Columns(columns or {}, channels, inputs, covariates))
    except DamageError as error:
        raise InputError(f"{path} is damaged: {one_line(error)}") from error
    except InputError as error:
        raise InputError(f"{path}: {one_line(error)}") from error
    except MemoryError as error:
        raise InputError(f"{path} does not fit into memory: {one_line(error)}") from error
    except Exception as error:  # libraries raise all kinds of errors for broken files
        raise InputError(f"{path} cannot be read as a {form.kind} file: {one_line(error)}") from error


def _read(path: Path, form: Format, columns: Columns) -> Trajectories:
    if not form.table and columns.given:
        raise InputError(
            f"a {form.kind} file has no columns to choose from: leave out `--columns`, `--channels`, `--inputs` and "
            "`--covariates`"
        )
    if not form.table:
        return form.load().read(path).trajectories()
    found: Contents = form.load().read(path, columns)
    if columns.given and found.fingerprint is not None:
        # The fingerprint is about the table as it was written, which may be more than was asked for.
        form.load().read(path, Columns()).trajectories()
        found = replace(found, fingerprint=None)
    return found.trajectories()


def save(data: Trajectories, path: PathLike, *, overwrite: bool = False) -> None:
    """Save trajectories to a file. `load` returns exactly the same data, bit for bit.

    Saving is atomic: if it fails, a previous file at `path` is unchanged.

    **Arguments**

    - `data`: the trajectories.
    - `path`: where to save. The extension (`.nc`, `.zarr`, `.npz`, `.csv`, `.parquet`) sets the format. Fields on a
      grid cannot be saved as tables (`.csv`, `.parquet`).
    - `overwrite`: whether an existing file may be replaced.

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
        except Exception as error:  # HDF5 may raise a RuntimeError for a full disk
            raise RunError(f"{path} could not be written: {one_line(error)}") from error


def check_output(path: PathLike, *, overwrite: bool = False) -> None:
    """Raise `InputError` if `save` could not write to `path`. Call this before a long computation."""
    form = format_of(path)
    _check_replaceable(path, form)
    check_destination(path, folder=form.folder, overwrite=overwrite)


def _check_source(file: Path, form: Format) -> None:
    if not file.exists():
        raise InputError(f"{file} does not exist{_suggestion(file)}")
    if file.is_dir() and not form.folder:
        raise InputError(f"{file} is a folder, expected a {form.kind} file")
    if not file.is_dir() and form.folder:
        raise InputError(f"{file} is a file, expected a {form.kind} store, which is a folder")
    for inner in file.rglob("*") if form.folder else (file,):
        check_regular(inner)
    if not form.folder and file.stat().st_size == 0:
        raise InputError(f"{file} is empty (0 bytes)")
    if not form.folder:
        check_fits(f"{file}", file.stat().st_size)


def _suggestion(file: Path) -> str:
    if not file.parent.is_dir():
        return f": there is no folder {file.parent}"
    names = [found.name for found in file.parent.iterdir()]
    left = [name for name in names if name.startswith(f".{file.name}.") and name.endswith(".old")]
    if left:
        return f", but {left[0]} is left from an interrupted save: rename it"
    near = difflib.get_close_matches(file.name, names, 1)
    return f"; did you mean {near[0]}?" if near else ""


def _check_replaceable(path: PathLike, form: Format) -> None:
    # Overwriting deletes the folder, so make sure that it is a store and not just called .zarr.
    there = Path(path)
    if form.folder and there.is_dir() and any(there.iterdir()) and not form.load().is_store(there):
        raise InputError(f"{path} exists and is not a {form.kind} store: choose another name")
