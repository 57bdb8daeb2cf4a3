"""The search itself: groups are trained, rung by rung, until one candidate is left or time is over."""

import dataclasses
import math
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._atomic import one_line
from ..errors import RunError
from ..train import Interrupted
from .journal import Journal, Record, Winner
from .lanes import Lanes, Stop
from .rungs import GROWTH, Pace, Plan, Score, final_steps, planned, regrouped
from .space import Candidate, Group, Space, all_groups

PROBE = 20
ROOM = 3.0  # times the overhead of a group, that must be left to measure the pace once more


class Measured(NamedTuple):
    """What training a group on one fold gave: the score of each candidate, and the seconds that a step took."""

    scores: tuple[Score, ...]
    seconds_per_step: float


class Standing(NamedTuple):
    """How the search stands: for whoever watches.

    - `records`: the groups that are done; `now`: what is being trained; `rung`: of it, from 1; `rungs`: how many;
    - `seconds`: spent so far; `total`: for everything.
    """

    records: tuple[Record, ...]
    now: str
    rung: int
    rungs: int
    seconds: float
    total: float


# From a group, the number of a fold, steps and what says when to stop to scores.
TrainGroup = Callable[[Group, int, int, Stop], Measured]


@dataclasses.dataclass
class Search:
    """A search on its way.

    - `spaces`: of each method; `folds`: how many there are; `total`: seconds for everything;
    - `train`: trains a group; `journal`: what is known so far, which is written after each group;
    - `usual_steps`: those that the first of the defaults takes without a search;
    - `seed`: of the order in which candidates come; `multiple`: as in `regrouped`;
    - `should_stop`: asked about once a second; `watch`: told how it goes; `clock`: the time in seconds;
    - `prepared`: the seconds that went into preparing the search, which are part of the total;
    - `lanes`: groups that are trained at a time; if more than one, `train` is called by several threads.
    """

    spaces: Sequence[Space]
    folds: int
    total: float
    train: TrainGroup
    journal: Journal
    usual_steps: Callable[[], int]
    seed: Sequence[int] = (0,)
    multiple: int = 1
    should_stop: Callable[[], bool] = lambda: False
    watch: Callable[[Standing], None] = lambda standing: None
    clock: Callable[[], float] = time.perf_counter
    prepared: float = 0.0
    lanes: int = 1

    def __post_init__(self):
        self._alone = threading.RLock()
        self._begun, self._before = self.clock() - self.prepared, self.journal.seconds
        self._compiled: set[Any] = set()
        self.defaults = tuple(space.default for space in self.spaces)

    def run(self) -> Winner:
        """Search until the end, or go on with a search that was stopped."""
        if self.journal.winner is None:
            plan = self._planned()
            for rung in range(len(plan.steps)):
                self._climb(plan, rung)
                if not self._complete(rung):  # a later rung could not compare with all defaults
                    break
            self.journal.winner = self._chosen(plan)
            self._save()
        return self.journal.winner

    @property
    def elapsed(self) -> float:
        """Seconds spent, those before an interruption included."""
        return self._before + self.clock() - self._begun

    def _save(self, *records: Record) -> None:
        with self._alone:
            self.journal.records.extend(records)
            self.journal.seconds = self.elapsed
            self.journal.save()

    def _groups(self, rung: int) -> Iterable[Group]:
        if rung == 0:
            return all_groups(self.spaces, np.random.default_rng(list(self.seed)))
        return regrouped(self.journal.scores(rung - 1), self.defaults, self.multiple)

    def _planned(self) -> Plan:
        """How long the rungs are, from how long a few steps of the first group take."""
        if self.journal.plan is None:
            group = next(iter(self._groups(0)))
            self._tell(f"{group[0].shape}: measuring the pace", 0, 0)
            begun, step = self.clock(), None
            try:
                step = self._trained(group, 0, PROBE, Stop(self.should_stop)).seconds_per_step
            except RunError:
                pass  # its own turn will tell
            except Interrupted as stop:
                raise self._stopped() from stop
            spent = self.clock() - begun
            step = min(spent / PROBE, step or math.inf)
            pace = Pace(max(spent - PROBE * step, 0.0), max(step, 1e-9))
            self.journal.plan = planned(self.total, self.elapsed, len(self.spaces), self.folds, pace)
            self._save()
        return self.journal.plan

    def _climb(self, plan: Plan, rung: int) -> None:
        """Train the groups of a rung for as long as there is time for them."""
        if any(record.rung > rung for record in self.journal.records):
            return
        with Lanes(self.lanes) as lanes:
            for group in self._groups(rung):
                if self.journal.find(rung, group) is not None:
                    continue
                lanes.wait()
                needed = set(group) & set(self.defaults)
                if self._time_for(plan, rung, group):
                    lanes.start(self._measure, plan, rung, group)
                elif not needed:
                    return

    def _time_for(self, plan: Plan, rung: int, group: Group) -> bool:
        """Whether a group can be trained in time. The defaults may take what was meant for later rungs."""
        pace, folds = self._pace(plan, group[0]), plan.new_folds(rung)
        # Of several processes, another one may have compiled it.
        new = [fold for fold in folds if self.lanes > 1 or _program(group, fold) not in self._compiled]
        seconds = len(new) * pace.overhead + len(folds) * plan.steps[rung] * pace.step
        end = plan.ends[-1] if set(group) & set(self.defaults) else plan.ends[rung]
        return self.elapsed + seconds <= end

    def _pace(self, plan: Plan, candidate: Candidate) -> Pace:
        """How fast a candidate is, as far as is known: as its shape was, or else as others were."""
        own = [r.seconds_per_step for r in self.journal.records if r.done and r.group[0].shape == candidate.shape]
        known = own[-1:] or [record.seconds_per_step for record in self.journal.records if record.done]
        return Pace(plan.pace.overhead, statistics.fmean(known)) if known else plan.pace

    def _measure(self, plan: Plan, rung: int, group: Group) -> None:
        steps, folds, begun = plan.steps[rung], plan.folds[rung], self.clock()
        record = Record(rung, steps, folds, group)
        self._tell(str(group[0].shape), rung + 1, len(plan.steps))
        late = Stop(self.should_stop, lambda: plan.ends[-1] - self.elapsed)
        try:
            found = [self._trained(group, fold, steps, late) for fold in plan.new_folds(rung)]
            pace = max(statistics.fmean(part.seconds_per_step for part in found), 1e-9)
            scores = _mean([*self._known(plan, rung, group), *(part.scores for part in found)])
            record = dataclasses.replace(record, scores=scores, seconds_per_step=pace)
        except RunError as error:
            lost = (Score(math.nan),) * len(group)
            record = dataclasses.replace(record, scores=lost, problem=one_line(error))
        except Interrupted as stop:
            if self.should_stop():
                raise self._stopped() from stop
            record = dataclasses.replace(record, problem="out of time")
        self._save(dataclasses.replace(record, seconds=self.clock() - begun))
        self._tell("", rung + 1, len(plan.steps))

    def _known(self, plan: Plan, rung: int, group: Group) -> list[tuple[Score, ...]]:
        """The scores on the folds that need not be trained again."""
        before = self.journal.scores(rung - 1) if plan.new_folds(rung).start else {}
        return [tuple(before[candidate] for candidate in group)] if before else []

    def _trained(self, group: Group, fold: int, steps: int, stop: Stop) -> Measured:
        self._compiled.add(_program(group, fold))
        return self.train(group, fold, steps, stop)

    def _stopped(self) -> Interrupted:
        self._save()
        return Interrupted(f"the search was stopped after {len(self.journal.records)} groups{self.journal.advice}")

    def _tell(self, now: str, rung: int, rungs: int) -> None:
        with self._alone:
            self.watch(Standing(tuple(self.journal.records), now, rung, rungs, self.elapsed, self.total))

    def _chosen(self, plan: Plan) -> Winner:
        """The best of the highest rung that all defaults have come through, if it is clearly better than the first.

        Otherwise the first of the defaults, which also has the number of steps that it has without a search. It stays,
        too, if that is a rung more than it was judged by: on a slow field, what was better after 100 steps had nine
        times its error after 1 000.
        """
        rung = max((r for r in range(len(plan.steps)) if self._complete(r)), default=0)
        alive = {c: score for c, score in self.journal.scores(rung).items() if math.isfinite(score.nmse)}
        usual = alive.get(self.defaults[0], Score(math.nan))
        better = {c: score for c, score in alive.items() if score.clearly_better(usual)}
        as_usual = self._steps_as_usual(plan)
        if not better or (math.isfinite(usual.nmse) and as_usual >= GROWTH * plan.steps[rung]):
            return Winner(self.defaults[0], as_usual, rung if alive else None)
        best = min(better, key=lambda candidate: better[candidate].rank)
        steps = final_steps(plan.steps[rung], self.total - self.elapsed, self._pace(plan, best))
        return Winner(best, steps, rung)

    def _steps_as_usual(self, plan: Plan) -> int:
        """The steps that there is time for of those that the first of the defaults takes without a search.

        Alone it may be much faster than in a group. Where that matters, a few steps tell.
        """
        first, most = self.defaults[0], self.usual_steps()
        steps = lambda pace: final_steps(most, self.total - self.elapsed, pace)
        pace = self._pace(plan, first)
        if steps(pace) < most and self.total - self.elapsed > ROOM * pace.overhead:
            try:
                alone = self._trained((first,), 0, PROBE, Stop(self.should_stop)).seconds_per_step
                pace = Pace(pace.overhead, max(alone, 1e-9))
            except RunError:
                pass  # its own training will tell
            except Interrupted as stop:
                raise self._stopped() from stop
        return steps(pace)

    def _complete(self, rung: int) -> bool:
        finite = lambda scores: {c for c in self.defaults if c in scores and math.isfinite(scores[c].nmse)}
        wanted = set(self.defaults) if rung == 0 else finite(self.journal.scores(rung - 1))
        scores = self.journal.scores(rung)
        return bool(scores) and wanted <= set(scores) and any(math.isfinite(s.nmse) for s in scores.values())


def _program(group: Group, fold: int) -> tuple[Any, ...]:
    """What a program is compiled for: the same again starts at once."""
    return group[0].shape, len(group), fold


def _mean(folds: Sequence[Sequence[Score]]) -> tuple[Score, ...]:
    """The scores of each candidate over folds."""
    mean = lambda values: math.nan if any(map(math.isnan, values)) else statistics.fmean(values)
    each = lambda scores: tuple(error for score in scores for error in score.each)
    one = lambda scores: Score(mean([s.nmse for s in scores]), sum(s.diverged for s in scores), each(scores))
    return tuple(map(one, zip(*folds, strict=True)))
