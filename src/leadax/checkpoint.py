"""A run is a folder: what was asked, what was measured, and checkpoints to go on from.

config.json              what was asked for, with versions and fingerprints
metrics.jsonl            one line per look
checkpoints/step-…/      state.safetensors and manifest.json (the step, the SHA-256 of each file)
model.safetensors        the result, once the run is finished
result.json              what `leadax train --json` prints
"""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import jaxlib.version
import numpy as np
from jaxtyping import PyTree

from . import __version__
from ._atomic import one_line, replacing
from .arrays import fill, read_arrays, write_tree
from .errors import InputError, RunError

SCHEMA = 1
KEPT = 2
STATE = "state.safetensors"


class RunFolder:
    """One run's files. Open it with `locked`: two processes must not work on one run.

    **Arguments**

    - `path`: the folder; created when needed;
    - `warn`: told about a damaged checkpoint that was passed over.
    """

    def __init__(self, path: str | Path, warn: Callable[[str], None] = lambda text: None):
        self.path = Path(path)
        self._warn = warn

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out; the system lifts the lock if this one dies, however it dies."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            file = (self.path / ".lock").open("w")
        except OSError as error:
            raise InputError(f"the run folder {self.path} cannot be written: {error.strerror}") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise InputError(
                    f"another process is working on {self.path}: wait for it, or choose another --out"
                ) from error
            yield

    def agree(self, config: Mapping[str, Any]) -> None:
        """Write the configuration of a new run, or check that an old run was asked for the same."""
        path = self.path / "config.json"
        wanted = json.loads(json.dumps(config))
        found = {key: value for key, value in _read_json(path).items() if key != "versions"} if path.exists() else {}
        # Where training got no further than its configuration there is nothing to lose: it may be asked for anew.
        begun = self._checkpoints() or self.finished or (self.path / "metrics.jsonl").exists()
        if found and (begun or "schedule" not in found):
            # Other data explain other differences: they come first.
            for key in sorted(set(found) | set(wanted), key=lambda key: (key not in ("train", "test"), key)):
                if found.get(key) != wanted.get(key):
                    place, old, new = _difference(key, found.get(key), wanted.get(key))
                    raise InputError(
                        f"{self.path} holds another run: its `{place}` is {_short(old)}, asked for was "
                        f"{_short(new)}; choose another --out, or ask for the same to resume it"
                    )
            return
        self.write_json("config.json", {**wanted, "versions": versions()})

    @property
    def finished(self) -> bool:
        """Whether the run has come to its end."""
        return (self.path / "result.json").exists() and (self.path / "model.safetensors").exists()

    def write_json(self, name: str, document: Mapping[str, Any]) -> None:
        """Write a JSON file, whole or not at all."""
        with replacing(self.path / name, overwrite=True) as temporary:
            temporary.write_text(json.dumps(document, indent=2) + "\n")

    def read_json(self, name: str) -> dict[str, Any]:
        """Read a JSON file of the run."""
        return _read_json(self.path / name)

    def log(self, line: Mapping[str, Any]) -> None:
        """Add a line to the metrics."""
        path = self.path / "metrics.jsonl"
        try:
            with path.open("a") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise RunError(f"{path} could not be written: {one_line(error)}") from error

    def metrics(self, up_to: int | None = None) -> list[dict[str, Any]]:
        """The lines of the metrics; with `up_to`, those of later steps, which will be computed again, are removed."""
        path = self.path / "metrics.jsonl"
        texts = path.read_bytes().splitlines() if path.exists() else []
        read = [_read_line(text) for text in texts]
        lines = [line for line in read if line is not None]
        # The last line may be cut off: the process was killed, and that step will be computed again.
        if None in read[:-1]:
            self._warn(f"{path} is damaged: {len(read) - len(lines)} of its {len(read)} lines cannot be read")
        if up_to is not None:
            lines = [line for line in lines if line["step"] <= up_to]
            with replacing(path, overwrite=True) as temporary:
                temporary.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return lines

    def save_checkpoint(self, state: PyTree, step: int) -> None:
        """Write a checkpoint, then remove all but it and the one before."""
        folder = self.path / "checkpoints"
        folder.mkdir(exist_ok=True)
        with replacing(folder / f"step-{step:09d}", folder=True, overwrite=True) as temporary:
            write_tree(temporary / STATE, state, {"schema": SCHEMA, "kind": "checkpoint", "step": step})
            files = {STATE: _sha256(temporary / STATE)}
            manifest = {"schema": SCHEMA, "step": step, "files": files, "versions": versions()}
            (temporary / "manifest.json").write_text(json.dumps(manifest, indent=2))
        # Those of later steps are damaged and were passed over, the hidden ones are of a process that was killed.
        kept = [place for place in self._checkpoints() if place.name <= f"step-{step:09d}"][:KEPT]
        for other in set(folder.iterdir()) - set(kept):
            shutil.rmtree(other, ignore_errors=True)

    def load_checkpoint(self, template: Callable[[int], PyTree]) -> tuple[PyTree, int] | None:
        """The newest checkpoint that is whole, with its step; damaged ones are passed over with a warning.

        - `template`: what the state after a step looks like.
        """
        for folder in self._checkpoints():
            try:
                arrays, schema, step = _read_checkpoint(folder)
            except InputError as error:
                self._warn(f"passing over a damaged checkpoint: {error}")
                continue
            if schema > SCHEMA:
                raise InputError(
                    f"{folder} has schema {schema}, this version of Leadax reads checkpoints up to schema {SCHEMA}: "
                    "install a newer one"
                )
            return fill(template(step), arrays, str(folder)), step
        return None

    def _checkpoints(self) -> list[Path]:
        return sorted((self.path / "checkpoints").glob("step-*"), reverse=True)


def _read_checkpoint(folder: Path) -> tuple[dict[str, np.ndarray], int, int]:
    """Arrays, schema and step; `InputError` if it is damaged."""
    manifest = _read_json(folder / "manifest.json")
    try:
        schema, step, files = int(manifest["schema"]), int(manifest["step"]), dict(manifest["files"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{folder}/manifest.json lacks an entry: {error}") from error
    if set(files) != {STATE} or f"step-{step:09d}" != folder.name:
        raise InputError(f"{folder} has a manifest of other files, or of another step")
    if not (folder / STATE).is_file() or _sha256(folder / STATE) != files[STATE]:
        raise InputError(f"{folder / STATE} does not match its SHA-256")
    arrays, about = read_arrays(folder / STATE)
    if (about.get("schema"), about.get("step")) != (schema, step):
        raise InputError(f"{folder} and its manifest are of different steps or schemas")
    return arrays, schema, step


def _read_line(text: bytes) -> dict[str, Any] | None:
    """One line of the metrics; None if it is damaged."""
    try:
        line = json.loads(text)
        return line if isinstance(line["step"], int) else None
    except (ValueError, KeyError, TypeError):
        return None


def versions() -> dict[str, Any]:
    """What the bits of a run depend on, beside its configuration."""
    return {
        "leadax": __version__,
        "jax": jax.__version__,
        "jaxlib": jaxlib.version.__version__,
        "backend": jax.default_backend(),
        "devices": jax.device_count(),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }


def _read_json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text())
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is damaged: {error}") from error
    if not isinstance(document, dict):
        raise InputError(f"{path} is damaged: expected a JSON object")
    return document


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _difference(place: str, old: Any, new: Any) -> tuple[str, Any, Any]:
    """Where two settings differ, as deep inside as it can be said."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in old | new:
            if old.get(key) != new.get(key):
                return _difference(f"{place}.{key}", old.get(key), new.get(key))
    return place, old, new


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) < 60 else text[:57] + "…"
