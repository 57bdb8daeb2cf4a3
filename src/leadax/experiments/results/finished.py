"""What a finished run leaves in its folder: its rows, with what was asked for.

Runs are found by the names of their folders. Settings that a name does not show may change from one version to the
next, so that a finished run also has to have been asked for the same.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..._atomic import replacing
from ...arrays import read_arrays
from ...errors import RunError
from ...records import Snapshot, Training, entry
from ...train.run_folder import MODEL
from .rows import Row

ROWS = "rows.json"
Settings = Mapping[str, Any]


def write_finished(folder: Path, settings: Settings, rows: Sequence[Row]) -> None:
    """Mark a run as finished."""
    with replacing(folder / ROWS, overwrite=True) as temporary:
        temporary.write_text(json.dumps({"asked": settings, "rows": rows}, indent=1) + "\n")


def read_finished(folder: Path, settings: Settings | None = None) -> list[Row] | None:
    """The rows of a finished run; None if it is not finished.

    **Arguments**

    - `asked`: what is asked for now; a `RunError` if the run was finished with other settings. Not checked by default.
    """
    path = folder / ROWS
    try:
        document = json.loads(path.read_text())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise RunError(f"{path} is damaged: remove that file, and the run will be measured again") from error
    if not isinstance(document, dict):
        raise RunError(f"{folder} was finished by Leadax 0.1: choose another `--runs`, or remove it")
    if settings is not None:
        _refuse_others(folder, document["asked"], json.loads(json.dumps(settings)))
    return document["rows"]


def history_of(folder: Path) -> tuple[Snapshot, ...]:
    """What was seen while the model of a run was trained, from its sealed file."""
    path = folder / MODEL
    _, about = read_arrays(path)
    return Training.from_json(entry(about, "training", dict, str(path)), str(path)).history


def _refuse_others(folder: Path, before: Settings, now: Settings) -> None:
    old, new = _flat(before), _flat(now)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) != new.get(name):
            raise RunError(
                f"{folder} was finished with other settings: its `{name}` is {old.get(name)}, asked for was "
                f"{new.get(name)}; choose another `--runs`, or remove that folder"
            )


def _flat(settings: Settings, prefix: str = "") -> dict[str, Any]:
    """Nested settings by their dotted names.

    >>> _flat({"method": {"type": "leads", "rank": None}})
    {'method.type': 'leads', 'method.rank': None}
    """
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found
