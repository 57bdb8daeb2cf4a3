"""What a search knows so far, in a file: written whole after each group, sealed, and checked when it is read."""

import dataclasses
import hashlib
import json
import math
from pathlib import Path
from typing import Any

from .._atomic import replacing
from ..errors import InputError
from ..records import entry
from ..train.run_folder import read_json, refuse_another
from .rungs import Pace, Plan, Score, Scores
from .space import Candidate, Group, Shape

FILE = "search.json"


@dataclasses.dataclass(frozen=True)
class Record:
    """A group that was trained.

    - `rung`: from 0; `steps`, `folds`: of its training; `scores`: one per candidate, none if time was over;
    - `problem`: what went wrong, if anything did.
    """

    rung: int
    steps: int
    folds: int
    group: Group
    scores: tuple[Score, ...] = ()
    seconds: float = 0.0
    seconds_per_step: float = 0.0
    problem: str | None = None

    @property
    def done(self) -> bool:
        """Whether it was trained to the end."""
        return self.problem is None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; null for an error that is not finite."""
        plain = {name: getattr(self, name) for name in ("rung", "steps", "folds", "seconds", "seconds_per_step")}
        plainly = lambda error: error if math.isfinite(error) else None
        scores = [[plainly(s.nmse), s.diverged, [plainly(error) for error in s.each]] for s in self.scores]
        return {**plain, "problem": self.problem, "group": [_plain(c) for c in self.group], "scores": scores}

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> "Record":
        """From what `to_json` gave."""
        number = lambda error: math.nan if error is None else error
        scores = tuple(Score(number(nmse), lost, tuple(map(number, each))) for nmse, lost, each in document["scores"])
        return cls(**document | {"group": tuple(_candidate(c) for c in document["group"]), "scores": scores})


@dataclasses.dataclass(frozen=True)
class Winner:
    """The candidate that is trained in the end, the steps of that, and the rung it was chosen in; None for none."""

    candidate: Candidate
    steps: int
    rung: int | None


@dataclasses.dataclass
class Journal:
    """What was asked, and what is known so far; in the file `search.json` of a folder, if there is one."""

    request: dict[str, Any]
    folder: Path | None = None
    plan: Plan | None = None
    records: list[Record] = dataclasses.field(default_factory=list)
    winner: Winner | None = None
    seconds: float = 0.0

    @classmethod
    def open(cls, request: dict[str, Any], folder: Path | None) -> "Journal":
        """A new one, or the one in the folder if it was asked for the same."""
        journal = cls(request, folder)
        if folder is not None and (folder / FILE).exists():
            journal._read(folder / FILE)
        elif folder is not None and (folder / "config.json").exists():
            raise InputError(f"{folder} holds a run that is not a search: choose another --out")
        return journal

    @property
    def advice(self) -> str:
        """What to do after an interruption."""
        return "" if self.folder is None else f"; run the same command again to go on from {self.folder}"

    def find(self, rung: int, group: Group) -> Record | None:
        """The record of a group, if it was trained in this rung."""
        return next((r for r in self.records if r.rung == rung and set(r.group) == set(group)), None)

    def scores(self, rung: int) -> Scores:
        """The scores of all candidates of a rung."""
        found = [record for record in self.records if record.rung == rung and record.scores]
        return {c: score for record in found for c, score in zip(record.group, record.scores, strict=True)}

    def save(self) -> None:
        """Write all of it, whole or not at all."""
        if self.folder is None:
            return
        winner = self.winner and [_plain(self.winner.candidate), self.winner.steps, self.winner.rung]
        document = {
            "asked": self.request,
            "plan": self.plan,
            "groups": [record.to_json() for record in self.records],
            "winner": winner,
            "seconds": self.seconds,
        }
        with replacing(self.folder / FILE, overwrite=True) as temporary:
            temporary.write_text(json.dumps({**document, "sha256": _digest(document)}, allow_nan=False) + "\n")

    def _read(self, path: Path) -> None:
        document = read_json(path)
        if document.pop("sha256", None) != _digest(document):
            raise InputError(f"{path} is damaged or was changed: remove it and run the same command again")
        refuse_another(path.parent, entry(document, "asked", dict, str(path)), self.request)
        if (plan := document["plan"]) is not None:
            steps, folds, ends, pace = plan
            self.plan = Plan(tuple(steps), tuple(folds), tuple(ends), Pace(*pace))
        self.records = [Record.from_json(group) for group in document["groups"]]
        self.seconds = document["seconds"]
        if (winner := document["winner"]) is not None:
            self.winner = Winner(_candidate(winner[0]), *winner[1:])


def _plain(candidate: Candidate) -> list[Any]:
    return [candidate.shape.method, [list(s) for s in candidate.shape.sizes], [list(n) for n in candidate.numbers]]


def _candidate(document: list[Any]) -> Candidate:
    method, sizes, numbers = document
    pairs = lambda values: tuple((name, value) for name, value in values)
    return Candidate(Shape(method, pairs(sizes)), pairs(numbers))


def _digest(document: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
