"""What exactly a run was: the settings in its folder, kept beside the results under a short name.

Runs that differ in their data alone have the same settings, so that the file stays small.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .._atomic import replacing

FILE, CONFIG = "configs.json", "config.json"
# Fingerprints of data: which data they are is in the rows.
OF_THE_DATA = ("train", "test")


def config_column(folder: Path) -> dict[str, str]:
    """The column `config` of a run's rows; empty if the run trained nothing of its own."""
    path = folder / CONFIG
    return {"config": _digest(_config(path))} if path.exists() else {}


def keep_configs(folders: Sequence[Path], path: Path) -> None:
    """Add the settings of these runs, and of their stages, to a file under the names that their rows have for them."""
    found = [_config(path) for folder in folders for path in sorted(folder.rglob(CONFIG))]
    before: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    after = before | {_digest(config): config for config in found}
    if after != before:
        with replacing(path, overwrite=True) as temporary:
            temporary.write_text(json.dumps(after, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def _config(path: Path) -> dict[str, Any]:
    return {key: value for key, value in json.loads(path.read_text()).items() if key not in OF_THE_DATA}


def _digest(config: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()[:8]
