"""What a search tried, for people: one line for each candidate, and the winner in a sentence."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from .journal import Journal, Record
from .rungs import Score
from .space import Candidate


@dataclasses.dataclass(frozen=True)
class Tried:
    """A candidate and its last score.

    - `nmse`: the mean normalised squared error on held-out data over seeds and folds; NaN if training failed;
    - `diverged`: the number of forecasts that diverged; `rung`: the last one it was in, from 1;
    - `steps`, `folds`: of its training there; `default`: whether it is the default of its method.
    """

    candidate: Candidate
    nmse: float
    diverged: int
    rung: int
    steps: int
    folds: int
    default: bool

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; null for an error that is not finite."""
        numbers = {name: getattr(self, name) for name in ("diverged", "rung", "steps", "folds", "default")}
        return {**self.candidate.to_json(), "nmse": self.nmse if math.isfinite(self.nmse) else None, **numbers}


def tried_of(
    records: Sequence[Record], defaults: Sequence[Candidate], winner: Candidate | None = None
) -> tuple[Tried, ...]:
    """Every candidate with the score of its last rung: the winner, then those of the last rung, the best first."""
    found: dict[Candidate, Tried] = {}
    ranks: dict[Candidate, Any] = {}
    for record in sorted(records, key=lambda record: record.rung):
        for c, score in zip(record.group, record.scores, strict=False):  # none where time was over
            line = Tried(c, score.nmse, score.diverged, record.rung + 1, record.steps, record.folds, c in defaults)
            found[c], ranks[c] = line, (c != winner, -record.rung, score.rank)
    return tuple(sorted(found.values(), key=lambda line: ranks[line.candidate]))


def sentence(journal: Journal, defaults: Sequence[Candidate]) -> str:
    """The winner, and how much better it is than the defaults; and which methods there was no time for.

    - `defaults`: of each method; the winner is compared with the first.
    """
    seen = {candidate.shape.method for record in journal.records if record.scores for candidate in record.group}
    missed = [default.shape.method for default in defaults if default.shape.method not in seen]
    late = f" There was no time to try {', '.join(missed)}." if seen and missed else ""
    return _found(journal, defaults[0]) + late


def _found(journal: Journal, reference: Candidate) -> str:
    winner, plan = journal.winner, journal.plan
    assert winner is not None, "a search that is over has a winner"
    if winner.rung is None or plan is None:
        return f"No candidate could be measured in time, so `{winner.candidate.shape}` has its defaults."
    scores, folds = journal.scores(winner.rung), plan.folds[winner.rung]
    own, other = scores[winner.candidate].nmse, scores.get(reference, Score(math.nan)).nmse
    count = len({candidate for record in journal.records for candidate in record.group})
    how = f"{folds}-fold cross-validation" if folds > 1 else "held-out data"
    if winner.candidate == reference and any(score.rank < scores[reference].rank for score in scores.values()):
        if any(score.clearly_better(scores[reference]) for score in scores.values()):
            why = f"others are better after {plan.steps[winner.rung]} steps, but these are too few to judge by"
        else:
            why = f"and none of {count - 1} other candidates is clearly better on these data"
        stay = (
            f"The defaults of `{reference.shape.method}` stay: their error is {_percent(own)} of the variance ({how})"
        )
        return f"{stay}, {why}."
    text = f"`{winner.candidate}` is the best of {count}: its error is {_percent(own)} of the variance ({how})"
    if winner.candidate == reference:
        return f"{text}; these are the defaults."
    if not math.isfinite(other):
        return f"{text}; the defaults of {reference.shape.method} could not be measured."
    ratio = f"{other / own:.3g} times as large" if own > 0 else "larger"
    return f"{text}; with the defaults of {reference.shape.method} it is {ratio}, {_percent(other)}."


def _percent(nmse: float) -> str:
    return f"{100 * nmse:.3g} %"
