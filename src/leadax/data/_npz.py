"""NumPy archives with states `X`, times `t`, inputs `U`, and their names. Pickled objects are never read."""

import json
import zipfile
from pathlib import Path

import numpy as np

from .._memory import check_fits
from ..errors import InputError
from . import _seal
from ._contents import Contents, shared_times
from ._trajectory_names import padded
from .trajectories import Trajectories


def read(path: Path) -> Contents:
    """Read an archive, whoever wrote it. Only `X` and `t` are required."""
    fingerprint = _seal.check(path)
    if not zipfile.is_zipfile(path):
        raise InputError("it is not a NumPy archive: write it with `numpy.savez`")
    with zipfile.ZipFile(path) as listed:
        check_fits("what it holds", sum(inner.file_size for inner in listed.infolist()))
    with np.load(path, allow_pickle=False) as archive:
        for name in ("X", "t"):
            if name not in archive:
                found = ", ".join(f"`{known}`" for known in archive.files) or "nothing"
                raise InputError(f"no array `{name}`: it has {found}")
        return Contents(
            times=_array(archive, "t"),
            states=_array(archive, "X"),
            environments=_names(archive, "environments"),
            channels=_names(archive, "channels"),
            parameters=_json_object(archive, "parameters"),
            attributes={str(k): str(v) for k, v in _json_object(archive, "attributes").items()},
            fingerprint=fingerprint,
            trajectory_names=_names_of_trajectories(archive),
            inputs=_array(archive, "U") if "U" in archive else None,
            input_names=_names(archive, "input_names"),
            input_kinds=_names(archive, "input_kinds"),
        )


def write(data: Trajectories, path: Path) -> None:
    """Write without compression, since trajectories hardly compress. The seal is the comment of the archive."""
    parameters = {name: values.tolist() for name, values in data.parameters.items()}
    names = data.trajectory_names
    more = {} if names is None else {"trajectory_names": padded(names).astype(str)}
    if data.inputs is not None:
        more |= {"U": data.inputs}
        more |= {"input_names": np.array(data.input_names), "input_kinds": np.array(data.input_kinds)}
    with path.open("wb") as file:
        np.savez(
            file,
            allow_pickle=False,
            X=data.states,
            t=shared_times(data),
            environments=np.array(data.environments),
            channels=np.array(data.channels),
            parameters=np.array(json.dumps(parameters)),
            attributes=np.array(json.dumps(dict(data.attributes))),
            **more,
        )
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = bytes(_seal.SIZE)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - _seal.SIZE)
    _seal.append(path, data.fingerprint)


def _array(archive: "np.lib.npyio.NpzFile", name: str) -> np.ndarray:
    try:
        return archive[name]
    except ValueError as error:
        if "allow_pickle" in str(error):
            raise InputError(
                f"the array `{name}` holds pickled Python objects, which are never read because they can run any code: "
                "save plain numbers, and pad trajectories of unequal lengths with NaN"
            ) from error
        raise


def _names(archive: "np.lib.npyio.NpzFile", name: str) -> tuple[str, ...] | None:
    if name not in archive:
        return None
    return tuple(map(str, np.atleast_1d(_array(archive, name)).tolist()))


def _names_of_trajectories(archive: "np.lib.npyio.NpzFile") -> list[list[str]] | None:
    if "trajectory_names" not in archive:
        return None
    names = _array(archive, "trajectory_names")
    if names.ndim != 2:
        raise InputError(f"`trajectory_names` must have the axes (environment, trajectory), got shape {names.shape}")
    return [list(map(str, row)) for row in names]


def _json_object(archive: "np.lib.npyio.NpzFile", name: str) -> dict:
    if name not in archive:
        return {}
    try:
        found = json.loads(_array(archive, name).item())
    except (ValueError, TypeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"`{name}` must be a string that holds a JSON object") from error
    if not isinstance(found, dict):
        raise InputError(f"`{name}` must be a string that holds a JSON object")
    return found
