"""The exact settings of a run, kept next to the results under a short name.

Runs that differ only in their data have the same settings, so the file stays small.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..._atomic import replacing

FILE, CONFIG = "configs.json", "config.json"
# Fingerprints of the data: the rows say which data they are.
OF_THE_DATA = ("train", "test", "validation")


def config_column(folder: Path) -> dict[str, str]:
    """The column `config` of a run's rows; empty if the run trained nothing itself."""
    path = folder / CONFIG
    return {"config": _digest(_config(path))} if path.exists() else {}


def keep_configs(folders: Sequence[Path], path: Path) -> None:
    """Add the settings of these runs, and of their stages, to a file, under the names that their rows use."""
    found = [_config(config) for folder in folders for config in sorted(folder.rglob(CONFIG))]
    before: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    after = before | {_digest(config): config for config in found}
    if after != before:
        with replacing(path, overwrite=True) as temporary:
            temporary.write_text(json.dumps(after, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def _config(path: Path) -> dict[str, Any]:
    config = {key: value for key, value in json.loads(path.read_text()).items() if key not in OF_THE_DATA}
    if "units" in config:
        config["units"] = _kind_of_units(config["units"])
    return config


def _kind_of_units(units: dict[str, Any]) -> str:
    """Measured units are numbers of the data, too."""
    ones = not any(units["mean"]) and all(scale == 1 for scale in units["scale"]) and units["time"] == 1
    return "ones" if ones else "measured"


def _digest(config: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:8]
