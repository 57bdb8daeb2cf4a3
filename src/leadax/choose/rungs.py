"""Successive halving: how long each rung trains, and who goes on to the next."""

import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from .paired import SIGNIFICANCE, chance
from .space import GROUP, Candidate, Group

GROWTH = 3
SINGLE = 3  # rungs on the first fold alone
SHORTEST, COMFORTABLE, LONGEST = 100, 300, 12_000
# Time that is kept for training the winner: as for so many groups of the last rung, but at most this share of all.
RESERVE, LARGEST_RESERVE = 1.5, 0.4
# The minutes that `LONGEST` is meant for: more of them pay for more steps, too.
USUAL_SECONDS = 600.0


class Score(NamedTuple):
    """How wrong a candidate's forecasts of the held-out data are: over seeds and folds.

    - `nmse`: mean normalised squared error; `diverged`: the number of forecasts that diverged;
    - `each`: the error of each held-out trajectory, to compare two candidates trajectory by trajectory.
    """

    nmse: float
    diverged: int = 0
    each: tuple[float, ...] = ()

    @property
    def rank(self) -> tuple[bool, bool, float]:
        """For sorting, the best first: what diverged is behind all others, what is not finite comes last."""
        lost = not math.isfinite(self.nmse)
        return lost, self.diverged > 0, math.inf if lost else self.nmse

    def clearly_better(self, other: "Score") -> bool:
        """Whether it ranks before the other, and on single trajectories so clearly that chance does not explain it.

        The best of many candidates is always better. On the last points of six curves fifty candidates had errors from
        0.36 to 2.9, and on the points that followed the best of them was twice as bad as the defaults.

        >>> usual = Score(0.2, each=(0.1, 0.2, 0.3))
        >>> [Score(0.1, each=each).clearly_better(usual) for each in [(0.05, 0.1, 0.15), (0.2, 0.05, 0.05)]]
        [True, False]
        """
        if not self.rank < other.rank:
            return False
        certain = self.rank[:2] < other.rank[:2] or not self.each
        return certain or chance(self.each, other.each) <= SIGNIFICANCE


Scores = Mapping[Candidate, Score]


class Pace(NamedTuple):
    """The seconds that a group takes before its first step, mostly to compile it, and for each step."""

    overhead: float
    step: float

    def seconds(self, steps: int, folds: int = 1) -> float:
        """How long a group takes.

        >>> Pace(5.0, 0.01).seconds(100, folds=2)
        12.0
        """
        return folds * (self.overhead + self.step * steps)


class Plan(NamedTuple):
    """The steps and the folds of each rung, and the second at which it must be over; and the pace at the beginning."""

    steps: tuple[int, ...]
    folds: tuple[int, ...]
    ends: tuple[float, ...]
    pace: Pace

    def new_folds(self, rung: int) -> range:
        """The folds to train on: those of the rung before are known, if it has the same steps."""
        known = self.folds[rung - 1] if rung and self.steps[rung - 1] == self.steps[rung] else 0
        return range(known, self.folds[rung])


def planned(total: float, spent: float, methods: int, folds: int, pace: Pace) -> Plan:
    """The rungs that fit into the time.

    Up to three on the first fold, each with three times the steps of the one before, then one that adds the other
    folds. Fewer if time is so short that the first one would have less than 100 steps.

    **Arguments**

    - `total`: seconds for everything; `spent`: of these, what is gone already;
    - `methods`: how many; the defaults of each go through all rungs.
    """
    longest = longest_for(total)
    for single in range(SINGLE, -1, -1):
        ladder = _ladder(single, methods, folds)
        steps = _affordable(ladder, total - spent, pace)
        if steps >= SHORTEST:
            # More time is for more steps and for more candidates alike.
            steps = min(steps, math.sqrt(COMFORTABLE * steps), longest / ladder[-1].growth)
            return _scheduled(ladder, int(steps), total, spent, pace)
    ladder = [Rung(1, methods, 1, 1)]
    steps = max(SHORTEST, min(longest, _affordable(ladder, total - spent, pace)))
    return _scheduled(ladder, int(steps), total, spent, pace)


class Rung(NamedTuple):
    """A rung before its steps are known: so many times those of the first, the groups that it should have time for,
    its folds, and how many of them are new."""

    growth: int
    groups: int
    folds: int
    new_folds: int


def _ladder(single: int, methods: int, folds: int) -> list[Rung]:
    """So many rungs on the first fold, then one on all of them: from three groups of each method to hardly one."""
    groups = (3 * methods, 2 * methods, methods + 2)
    rungs = [Rung(GROWTH**k, count, 1, 1) for k, count in enumerate(groups[len(groups) - single :])]
    if folds > 1 or not rungs:
        growth = rungs[-1].growth if rungs else 1
        rungs.append(Rung(growth, methods + 1, folds, folds - (1 if rungs else 0)))
    return rungs


def _affordable(ladder: Sequence[Rung], seconds: float, pace: Pace) -> float:
    """The steps of the first rung, so that all rungs and the last training take so many seconds."""
    work = [rung.groups * rung.new_folds for rung in ladder] + [RESERVE]
    growth = [rung.growth for rung in ladder] + [ladder[-1].growth]
    per_step = pace.step * sum(n * g for n, g in zip(work, growth, strict=True))
    return (seconds - sum(work) * pace.overhead) / per_step


def _scheduled(ladder: Sequence[Rung], steps: int, total: float, spent: float, pace: Pace) -> Plan:
    """Each rung has its share of the time that the last training leaves, which is more than half."""
    end = total - min(RESERVE * pace.seconds(steps * ladder[-1].growth), LARGEST_RESERVE * total)
    costs = [rung.groups * pace.seconds(steps * rung.growth, rung.new_folds) for rung in ladder]
    ends = tuple(spent + part / sum(costs) * (end - spent) for part in itertools.accumulate(costs))
    return Plan(tuple(steps * rung.growth for rung in ladder), tuple(rung.folds for rung in ladder), ends, pace)


def final_steps(most: int, left: float, pace: Pace) -> int:
    """The steps of the last training, on all data: `most`, if there is time.

    That is as many as the winner was validated with. Not more: noisy logistic growth, κ = 1, two seeds had a test error
    of 1.4 % of the variance after 301 steps and of 25 % after 2709, when g had vanished. With κ = 0.1 it was 1.4 % and
    1.3 %. The defaults have the steps that they have without a search.
    """
    # All data and other numbers of members make a step longer than in a group.
    affordable = (left - pace.overhead) / (1.2 * pace.step)
    return int(max(SHORTEST, min(affordable, most)))


def longest_for(total: float) -> int:
    """The most steps that are worth while."""
    return int(LONGEST * max(1.0, total / USUAL_SECONDS))


def survivors(scores: Scores, defaults: Collection[Candidate]) -> list[Candidate]:
    """The best third, and all defaults: these stay, so that the winner is never worse. Whoever failed is out."""
    alive = sorted((c for c in scores if math.isfinite(scores[c].nmse)), key=lambda c: scores[c].rank)
    best = alive[: math.ceil(len(scores) / GROWTH)]
    return best + [candidate for candidate in alive if candidate in defaults and candidate not in best]


def regrouped(scores: Scores, defaults: Collection[Candidate], multiple: int = 1) -> list[Group]:
    """The survivors in groups of one shape: those with defaults first, then the best first.

    - `multiple`: what the size of a group should be a multiple of, to be spread over devices. The places left are for
      the next best of the same shape: they cost nothing.
    """
    chosen = survivors(scores, defaults)
    alive = sorted((c for c in scores if math.isfinite(scores[c].nmse)), key=lambda c: scores[c].rank)
    groups: list[Group] = []
    for shape in dict.fromkeys(candidate.shape for candidate in chosen):
        own = [candidate for candidate in chosen if candidate.shape == shape]
        others = [candidate for candidate in alive if candidate.shape == shape and candidate not in own]
        own += others[: -len(own) % multiple]
        groups += [tuple(own[k : k + GROUP]) for k in range(0, len(own), GROUP)]
    best = lambda group: min(scores[candidate].rank for candidate in group)
    return sorted(groups, key=lambda group: (not set(group) & set(defaults), best(group)))
