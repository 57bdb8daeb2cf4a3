"""Zarr stores (format 3), read and written by xarray."""

import json
import math
import warnings
from pathlib import Path
from typing import Any

from ._contents import Contents, DamageError
from ._dataset import INPUT, decoded, from_dataset, to_dataset
from ._seal import checksum
from .trajectories import Trajectories

# The seal is a group of its own in the store, which xarray ignores. As an attribute of the data it would be copied into
# stores with other contents. It has the fingerprint and a checksum of each file: a flipped byte can make Zarr allocate
# gigabytes, and a missing chunk is read as fill values.
_SEAL = Path("leadax", "zarr.json")
_CHUNK = 1 << 21


def read(path: Path) -> Contents:
    """Read a store, whoever wrote it. If Leadax did, check its files first."""
    import xarray as xr

    fingerprint = _check_seal(path) if (path / _SEAL).exists() else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        undecoded: Any = {"consolidated": False, "decode_times": False, "decode_timedelta": False}
        with xr.open_dataset(path, engine="zarr", **undecoded) as dataset:
            return from_dataset(decoded(dataset), fingerprint)


def write(data: Trajectories, path: Path) -> None:
    """Write the arrays, then the seal."""
    chunks = {"state": {"chunks": _chunks(data.states.shape)}}
    if data.inputs is not None:
        chunks[INPUT] = {"chunks": _chunks(data.inputs.shape)}
    to_dataset(data).to_zarr(path, mode="w", zarr_format=3, consolidated=False, encoding=chunks)
    # No checksum of the root's metadata: `zarr.consolidate_metadata` rewrites it without changing the contents.
    files = sorted(file for file in path.rglob("*") if file.is_file() and file.parent != path)
    checksums = {file.relative_to(path).as_posix(): checksum(file) for file in files}
    attributes = {"fingerprint": data.fingerprint, "checksums": checksums}
    (path / _SEAL).parent.mkdir()
    (path / _SEAL).write_text(json.dumps({"zarr_format": 3, "node_type": "group", "attributes": attributes}))


def is_store(path: Path) -> bool:
    """Whether a folder looks like a Zarr store of format 2 or 3."""
    return any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray"))


def _chunks(shape: tuple[int, ...]) -> tuple[int, ...]:
    # Whole trajectories of one environment, about 16 MB. Zarr's default makes hundreds of small files.
    trajectories = max(1, min(shape[1], _CHUNK // math.prod(shape[2:])))
    return (1, trajectories, *shape[2:])


def _check_seal(path: Path) -> str:
    try:
        seal = json.loads((path / _SEAL).read_bytes())["attributes"]
        fingerprint, checksums = str(seal["fingerprint"]), dict(seal["checksums"])
    except (ValueError, KeyError, TypeError) as error:
        raise DamageError(f"its seal {_SEAL} cannot be read; remove it if you changed the store on purpose") from error
    for name, expected in checksums.items():
        found = checksum(path / name) if (path / name).is_file() else None
        if found != expected:
            what = "is missing" if found is None else "has changed since it was written"
            raise DamageError(f"{name} in it {what}; remove {_SEAL.parent} in it if you changed it on purpose")
    return fingerprint
