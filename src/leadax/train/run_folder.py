"""A run is a folder: what was asked, what was measured, and checkpoints to go on from.

config.json              what was asked for, with versions and fingerprints
metrics.jsonl            one line per snapshot, for people: results never depend on it
checkpoints/step-…/      state.safetensors, sealed: the state, the configuration and all snapshots so far
model.safetensors        the result, once the run is finished, sealed
yardsticks.safetensors   the simple forecasts that the model is compared with, sealed
result.json              what `leadax train --json` prints, sealed with the digests of both
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import jaxlib.version
from jaxtyping import PyTree

from .. import __version__
from .._atomic import check_regular, checked_path, one_line, replacing
from .._locks import exclusive
from ..arrays import fill, read_arrays, write_tree
from ..describe import check_named
from ..errors import InputError, RunError
from ..records import Config, Snapshot, entry, history_from_json, history_to_json

SCHEMA = 2
KEPT = 2
STATE, MODEL, RESULT, METRICS = "state.safetensors", "model.safetensors", "result.json", "metrics.jsonl"
CONFIG, YARDSTICKS = "config.json", "yardsticks.safetensors"


class RunFolder:
    """One run's files. Open it with `locked`: two processes must not work on one run.

    **Arguments**

    - `path`: the folder; created when needed;
    - `warn`: told about a damaged checkpoint that was passed over.
    """

    def __init__(self, path: str | Path, warn: Callable[[str], None] = lambda text: None):
        self.path = checked_path(path)
        self._warn = warn

    @contextmanager
    def locked(self) -> Iterator["RunFolder"]:
        """This folder, with other processes kept out; the system lifts the lock if this one dies, however it dies."""
        if self.path.is_file():
            raise InputError(f"{self.path} is a file, expected a folder for the run: choose another")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:
            raise InputError(f"the run folder {self.path} cannot be written: {one_line(error)}") from error
        for path in (*self.path.iterdir(), *self.path.glob("checkpoints/*/*")):
            check_regular(path)
        with exclusive(self.path / ".lock"):
            yield self

    def agree(self, config: Config) -> None:
        """Write the configuration of a new run, or check that an old run was asked for the same."""
        path = self.path / CONFIG
        wanted = config.to_json()
        check_named(wanted["method"], "the method of a run")
        found = {key: value for key, value in read_json(path).items() if key != "versions"} if path.exists() else {}
        found = found or self._sealed_config()
        # Where training got no further than its configuration there is nothing to lose: it may be asked for anew.
        begun = self._checkpoints() or self.finished or (self.path / METRICS).exists()
        if found and begun:
            refuse_another(self.path, found, wanted)
            if path.exists():
                return
        self.write_json(CONFIG, {**wanted, "versions": versions()})

    @property
    def finished(self) -> bool:
        """Whether the run has come to its end."""
        return (self.path / RESULT).exists() and (self.path / MODEL).exists()

    def write_json(self, name: str, document: Mapping[str, Any]) -> None:
        """Write a JSON file, whole or not at all."""
        with replacing(self.path / name, overwrite=True) as temporary:
            temporary.write_text(json.dumps(document, indent=2) + "\n")

    def write_result(self, document: Mapping[str, Any]) -> None:
        """Write the result of a finished run, sealed together with its model."""
        simple = self.path / YARDSTICKS
        digests = {"model_sha256": _sha256(self.path / MODEL)}
        digests |= {"yardsticks_sha256": _sha256(simple)} if simple.exists() else {}
        sealed = {**document, **digests}
        self.write_json(RESULT, {**sealed, "sha256": _digest(sealed)})

    def result(self) -> dict[str, Any]:
        """The result of a finished run; `InputError` if it, or the model, is not as it was written."""
        document = self._sealed_result()
        document.pop("yardsticks_sha256", None)  # none where there were no data to learn from
        if _sha256(self.path / MODEL) != document.pop("model_sha256", None):
            raise InputError(
                f"{self.path / MODEL} is damaged or belongs to another run: remove it and run the same command again"
            )
        return document

    def check_yardsticks(self) -> None:
        """An `InputError` if the yardsticks are not those that the run ended with."""
        path = self.path / YARDSTICKS
        digest = self._sealed_result().get("yardsticks_sha256") if (self.path / RESULT).exists() else None
        if digest is not None and (not path.exists() or _sha256(path) != digest):
            raise InputError(
                f"{path} is damaged, lost or of another run: remove {RESULT} beside it and train with the same command"
            )

    def _sealed_result(self) -> dict[str, Any]:
        document = read_json(self.path / RESULT)
        seal = document.pop("sha256", None)
        if seal != _digest(document):
            raise InputError(
                f"{self.path / RESULT} is damaged or was changed: remove it and run the same command again"
            )
        return document

    def log(self, snapshot: Snapshot) -> None:
        """Add a line to the metrics."""
        path = self.path / METRICS
        try:
            with path.open("a") as file:
                file.write(json.dumps(snapshot.to_json()) + "\n")
        except OSError as error:
            raise RunError(f"{path} could not be written: {one_line(error)}") from error

    def rewrite_metrics(self, history: Sequence[Snapshot]) -> None:
        """The metrics again, from what a checkpoint knows: lines after it are of steps that will be taken again."""
        with replacing(self.path / METRICS, overwrite=True) as temporary:
            temporary.write_text("".join(json.dumps(snapshot.to_json()) + "\n" for snapshot in history))

    def save_checkpoint(self, state: PyTree, step: int, config: Config, history: Sequence[Snapshot]) -> None:
        """Write a checkpoint, then remove all but it and the one before."""
        folder = self.path / "checkpoints"
        folder.mkdir(exist_ok=True)
        about = {
            "schema": SCHEMA,
            "kind": "checkpoint",
            "step": step,
            "config": config.to_json(),
            "looks": history_to_json(history),
            "versions": versions(),
        }
        with replacing(folder / f"step-{step:09d}", folder=True, overwrite=True) as temporary:
            write_tree(temporary / STATE, state, about)
        self._remove_others(step)

    def load_checkpoint(
        self, template: Callable[[int], PyTree], config: Config
    ) -> tuple[PyTree, int, tuple[Snapshot, ...]] | None:
        """The newest whole checkpoint: its state, step and snapshots. Damaged ones are passed over with a warning.

        - `template`: what the state after a step looks like; `config`: what was asked for, which the checkpoint must be
          of.
        """
        for folder in self._checkpoints():
            try:
                arrays, about = read_arrays(folder / STATE)
                schema, step = entry(about, "schema", int, str(folder)), entry(about, "step", int, str(folder))
                if f"step-{step:09d}" != folder.name:
                    raise InputError(f"{folder} is of step {step}")
            except InputError as error:
                self._warn(f"skipping a damaged checkpoint: {error}")
                continue
            _check_schema(schema, folder)
            refuse_another(folder, entry(about, "config", dict, str(folder)), config.to_json())
            history = history_from_json(entry(about, "looks", list, str(folder)), str(folder))
            state = fill(template(step), arrays, str(folder))
            self._remove_others(step)
            return state, step, history
        return None

    def _remove_others(self, step: int) -> None:
        """Keep the checkpoint of a step and the one before; later ones are damaged, hidden ones half-written."""
        kept = [place for place in self._checkpoints() if place.name <= f"step-{step:09d}"][:KEPT]
        for other in set((self.path / "checkpoints").iterdir()) - set(kept):
            shutil.rmtree(other, ignore_errors=True)

    def _sealed_config(self) -> Mapping[str, Any]:
        """What the model or a checkpoint was asked for, where config.json is lost; empty if nothing says so."""
        for path in (self.path / MODEL, *(folder / STATE for folder in self._checkpoints())):
            try:
                about = read_arrays(path)[1]
                return entry(about.get("training") or about, "config", dict, str(path))
            except InputError:
                continue
        return {}

    def _checkpoints(self) -> list[Path]:
        return sorted((self.path / "checkpoints").glob("step-*"), reverse=True)


def refuse_another(place: Path, found: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """An `InputError` that names the first difference between what a folder holds and what is asked for."""
    if "schedule" in found:
        raise InputError(f"{place} is a run of Leadax 0.1, which this version cannot resume: choose another --out")
    # Other data, or another number of steps, explain other differences: they come first.
    for key in sorted(set(found) | set(wanted), key=lambda key: (key not in ("train", "test", "steps"), key)):
        if found.get(key) != wanted.get(key):
            name, old, new = _difference(key, found.get(key), wanted.get(key))
            raise InputError(
                f"{place} holds another run: its `{name}` is {_short(old)}, but {_short(new)} was requested; "
                "choose another --out, or use the same settings to resume"
            )


def versions() -> dict[str, Any]:
    """What the bits of a run depend on, apart from its configuration."""
    return {
        "leadax": __version__,
        "jax": jax.__version__,
        "jaxlib": jaxlib.version.__version__,
        "backend": jax.default_backend(),
        "devices": jax.device_count(),
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
    }


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file; `InputError` if it is anything else."""
    check_regular(path)
    try:
        document = json.loads(path.read_text())
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist") from error
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged: {one_line(error)}") from error
    if not isinstance(document, dict):
        raise InputError(f"{path} is damaged: expected a JSON object")
    return document


def _check_schema(schema: int, folder: Path) -> None:
    if schema != SCHEMA:
        advice = "install a newer Leadax" if schema > SCHEMA else "choose another --out"
        raise InputError(f"{folder} has schema {schema}, this version reads checkpoints of schema {SCHEMA}: {advice}")


def _sha256(path: Path) -> str:
    check_regular(path)
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {one_line(error)}") from error


def _digest(document: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


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
