"""Models whose description was changed and whose checksum was made to fit: what no program of ours would write.

Every change makes an entry impossible: another type, missing, not finite, out of range. If a model is read all the
same, its forecasts must be those of the model before: then the entry did not matter.
"""

import copy
import functools
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import leadax as lx

from .cases import Case, command
from .run_folders import NET, predict, report
from .run_folders import prepare as prepare_run

WRONG_TYPES = (None, True, False, "", "x", "1", [], {}, [[]], [None], {"type": "leads"}, {"a": {}}, {"number": "x"},
               {"mapping": 3}, {"object": 7}, {"type": []}, "\0", "é" * 1000)  # fmt: skip
BAD_NUMBERS = (float("nan"), float("inf"), -float("inf"), 1e400, 10**400, {"number": "nan"}, {"number": "-inf"})
NOT_POSITIVE = (0, -1, -0.5, -(10**30))
POSITIVE = {"longest_step", "members", "warmup", "scale", "time", "width", "depth", "state_shape", "format", "substeps",
            "steps", "seeds"}  # fmt: skip
MODEL = "model.safetensors"


def prepare(place: Path) -> None:
    """The runs of `run_folders`, and models of other methods and nets."""
    prepare_run(place)
    data = str(place / "train.csv")
    for method, net in (("coda", "mlp"), ("ft-node", "mlp"), ("one-per-env", "linear"), ("gbml", "linear")):
        command("train", data, "--method", method, "--out", str(place / method), *NET, "--net", net)


def _opened(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    from leadax.arrays import read_arrays

    arrays, about = read_arrays(path)
    return dict(arrays), about


def _sealed(path: Path, arrays: dict[str, np.ndarray], about: Any) -> None:
    from safetensors.numpy import save

    from leadax.arrays import _digest

    text = about if isinstance(about, str) else json.dumps(about, sort_keys=True)
    path.write_bytes(save(arrays, metadata={"leadax": text, "sha256": _digest(arrays, text)}))


def _entries(document: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all entries of a document."""
    items = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, inner in items:
        yield (*way, key)
        yield from _entries(inner, (*way, key))


def _changed(about: Any, chance: random.Random) -> str:
    """Change one entry; say which."""
    way = chance.choice([*_entries(about)])
    holder = functools.reduce(lambda inner, key: inner[key], way[:-1], about)
    old, key = holder[way[-1]], way[-1]
    number = isinstance(old, int | float) and not isinstance(old, bool)
    # A setting that a method lacks has its default: it is another method, as good as any.
    if chance.random() < 0.15 and way[0] != "method":
        del holder[key]
        return f"without {_named(way)}"
    names = {part for part in way if isinstance(part, str)}
    bad = (
        *WRONG_TYPES,
        *(BAD_NUMBERS * 2 if number else ()),
        *(NOT_POSITIVE * 3 if names & POSITIVE and number else ()),
    )
    holder[key] = chance.choice([value for value in bad if value != old and type(value) is not type(old)])
    if way[0] == "method" and holder[key] is None:
        holder[key] = [None]  # None alone is the default, too
    if number and names & POSITIVE and chance.random() < 0.4:
        holder[key] = chance.choice(NOT_POSITIVE)
    return f"{_named(way)} = {holder[key]!r:.60}"


def _named(way: tuple[Any, ...]) -> str:
    return ".".join(map(str, way))


def _other_arrays(arrays: dict[str, np.ndarray], chance: random.Random) -> str:
    """One array of another shape or type, missing, or too many."""
    name = chance.choice([*arrays])
    changes: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "double": lambda a: a.astype(np.float64),
        "whole": lambda a: a.astype(np.int32),
        "flat": lambda a: a.reshape(-1),
        "longer": lambda a: np.concatenate([a, a]),
        "empty": lambda a: a[:0],
        "nan": lambda a: np.full_like(a, np.nan),
    }
    what = chance.choice([*changes, "missing", "one more"])
    if what == "missing":
        del arrays[name]
    else:
        arrays[name if what in changes else "more"] = changes.get(what, lambda a: a)(arrays[name])
    return f"array {name}: {what}"


def use(place: Path, path: Path) -> Any:
    """A model in a file and the errors of its forecasts, by Python."""
    model = lx.Model.load(path)
    return model.environments, lx.evaluate(model, lx.load(place / "train.csv")).channel_sums.tobytes()


def measure(place: Path, path: Path) -> Any:
    return command("evaluate", str(path), str(place / "train.csv"))


USES: dict[Callable[..., Any], float] = {use: 60, measure: 25, predict: 15, report: 1}


@functools.cache
def _right(what: Callable[..., Any], place: Path, name: str) -> Any:
    found = what(place, place / name / MODEL)
    for left in ("forecast.npz", "page.html"):
        Path(left).unlink(missing_ok=True)
    return found


def case(place: Path, chance: random.Random) -> Case:
    """A forged model, loaded, evaluated, used to forecast, or drawn."""
    name = chance.choice(("run", "run", "coda", "ft-node", "one-per-env", "gbml"))
    (what,) = chance.choices([*USES], [*USES.values()])
    right = _right(what, place, name)
    arrays, about = _opened(place / name / MODEL)
    about = copy.deepcopy(about)
    said = _other_arrays(arrays, chance) if chance.random() < 0.12 else _changed(about, chance)
    if chance.random() < 0.03:
        about, said = chance.choice(("[" * 100_000, "null", "[]", "{}", "", "{", '{"kind": "model"}')), "no description"
    _sealed(Path(MODEL), arrays, about)
    return Case(f"{what.__name__} {name}: {said}", lambda: what(place, Path(MODEL)), right)
