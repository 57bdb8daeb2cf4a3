"""The search: what is tried, for how long, who goes on, what is kept on disk. Almost nothing is trained here."""

import json
import math
from dataclasses import dataclass, field, replace

import jax.random as jr
import numpy as np
import pytest

import leadax as lx
from leadax.choose.journal import FILE, Journal, Record, Winner
from leadax.choose.rungs import Pace, Plan, Score, final_steps, planned, regrouped, survivors
from leadax.choose.search import PROBE, Measured, Search
from leadax.choose.space import GROUP, Candidate, Shape, Space, all_groups, spaces
from leadax.choose.tried import sentence, tried_of
from leadax.choose.tune import Found
from leadax.choose.tuning import Tuning, rate_of
from leadax.defaults import chosen_for
from leadax.methods.base import Sizes
from leadax.methods.prepare import side_by_side
from leadax.train import Interrupted

NAMES = ("leads", "coda", "one-per-env", "one-for-all")


def decays(trajectories=3, points=6):
    times = np.linspace(0, 2, points)
    curve = lambda rate, start: start * np.exp(-rate * times)
    states = np.stack([[curve(rate, 1.0 + i) for i in range(trajectories)] for rate in (0.5, 1.0)])
    return lx.Trajectories.from_arrays(times, states[..., None])


DEFAULTS = chosen_for(decays())


# What may be chosen.


def test_settings_are_asked_of_the_method():
    leads, coda, _, one_for_all = spaces(NAMES, DEFAULTS)
    assert set(leads.sizes) == {"width", "depth"}
    assert set(leads.numbers) == {"rate_factor", "kappa", "lipschitz_weight"}
    assert coda.sizes["dimension"] == (2, 1, 4, 8)
    assert set(coda.numbers) == {"rate_factor", "penalty_weight"}
    assert one_for_all.sizes == {"width": (64, 16, 128), "depth": (4, 2, 3)}
    assert set(one_for_all.numbers) == {"rate_factor"}
    assert set(Space.of("ft-rnn", DEFAULTS).sizes) == {"rank"}


def test_a_weight_that_the_name_settles_is_left_alone():
    assert set(Space.of("leads-no-min", DEFAULTS).numbers) == {"rate_factor"}


@pytest.mark.parametrize("name", [*NAMES, "leads-no-min", "ft-node", "ft-rnn", "gbml", "maml"])
def test_the_default_candidate_is_the_default_method(name):
    space, sizes = Space.of(name, DEFAULTS), Sizes((1,), 2)
    filled = lambda method: DEFAULTS.complete(method, sizes)
    found, plain = filled(space.method(space.default)), filled(space.plain)
    net = getattr(plain, "net", None)
    if net is not None:  # options that are the net's own defaults
        assert found.net.build is net.build
        assert dict(found.net.options) == {"width": 64, "depth": 4, "degree": 1}
        found = replace(found, net=net)
    assert found == plain


@pytest.mark.parametrize("name", [*NAMES, "ft-node"])
def test_groups_can_be_trained_in_one_program(name):
    space = Space.of(name, DEFAULTS)
    groups = list(space.groups(np.random.default_rng(0)))
    assert space.default in groups[0]
    assert len(groups[0]) == GROUP
    everything = [candidate for group in groups for candidate in group]
    total = math.prod(map(len, (*space.sizes.values(), *space.numbers.values())))
    assert len(everything) == len(set(everything)) == total
    for group in groups[:4]:
        methods = [DEFAULTS.complete(space.method(candidate), Sizes((1,), 2)) for candidate in group]
        side_by_side(methods, 1, np.float32)  # raises unless they differ in numbers only


def test_sizes_reach_the_net():
    space = Space.of("leads", DEFAULTS)
    small = Candidate(Shape("leads", (("width", 16), ("depth", 2))), space.default.numbers)
    shared, _ = space.method(small).init(Sizes((1,), 2), key=jr.key(0))
    assert [dense.weight.shape for dense in shared.denses] == [(1, 16), (16, 1)]


def test_methods_take_turns_and_come_once():
    groups = all_groups(spaces(["leads", "coda", "leads"], DEFAULTS), np.random.default_rng(0))
    assert [next(groups)[0].shape.method for _ in range(6)] == ["leads", "coda"] * 3


# How long, and who goes on.


def test_the_plan_fits_into_the_time():
    plan = planned(600.0, 10.0, 4, 3, Pace(2.0, 0.014))
    first = plan.steps[0]
    assert plan.steps == (first, 3 * first, 9 * first, 9 * first)
    assert plan.folds == (1, 1, 1, 3)
    assert [list(plan.new_folds(rung)) for rung in range(4)] == [[0], [0], [0], [1, 2]]
    groups, folds = (12, 8, 6, 5), (1, 1, 1, 2)
    seconds = [n * f * (2 + 0.014 * s) for n, s, f in zip(groups, plan.steps, folds, strict=True)]
    last = 1.5 * (2 + 0.014 * plan.steps[-1])
    assert plan.ends[-1] == pytest.approx(600 - last)
    assert 570 < sum(seconds) + last <= 590
    assert plan.ends == pytest.approx([10 + (590 - last) * sum(seconds[: k + 1]) / sum(seconds) for k in range(4)])


def test_more_time_is_for_more_steps_and_more_candidates():
    short, long = (planned(total, 0.0, 4, 3, Pace(0.0, 0.01)).steps[0] for total in (1800.0, 7200.0))
    assert long == pytest.approx(2 * short, rel=0.01)
    assert planned(600.0, 0.0, 1, 1, Pace(0.1, 1e-6)).steps == (1333, 3999, 11_997), "as long as the usual training"
    assert planned(1200.0, 0.0, 1, 1, Pace(0.1, 1e-6)).steps[0] == 2666


@pytest.mark.parametrize(
    ("total", "folds"), [(900.0, (1, 1, 1, 3)), (240.0, (1, 1, 3)), (100.0, (1, 3)), (44.0, (3,)), (30.0, (1,))]
)
def test_less_time_means_fewer_rungs(total, folds):
    plan = planned(total, 0.0, 2, 3, Pace(2.0, 0.02))
    assert plan.folds == folds
    assert plan.steps[0] >= 100
    assert plan.ends[-1] >= 0.6 * total


def test_the_last_training_is_as_long_as_what_was_validated():
    pace = Pace(2.0, 0.01)
    assert final_steps(900, 1e6, pace) == 900
    assert final_steps(900, 8.0, pace) == 500  # (8 - 2) / (1.2 · 0.01)
    assert final_steps(900, -5.0, pace) == 100


def candidates(method, count, sizes=()):
    return [Candidate(Shape(method, sizes), (("rate_factor", float(k)),)) for k in range(count)]


def test_the_best_third_and_the_defaults_go_on():
    a, b = candidates("a", 4), candidates("b", 5)
    errors = {**dict(zip(a, (0.9, 0.1, 0.2, 0.3), strict=True)), **dict(zip(b, (0.8, 0.4, 0.5, 0.6, 0.7), strict=True))}
    scores = {c: Score(error) for c, error in errors.items()}
    assert survivors(scores, (a[0], b[0])) == [a[1], a[2], a[3], b[0], a[0]]
    assert regrouped(scores, (a[0], b[0])) == [(a[1], a[2], a[3], a[0]), (b[0],)]
    # On two devices, a place is free for the next best of the same shape.
    assert regrouped(scores, (a[0], b[0]), multiple=2)[1] == (b[0], b[1])


def test_what_diverged_is_behind_and_what_failed_is_out():
    a = candidates("a", 3)
    scores = {a[0]: Score(math.nan), a[1]: Score(0.1, diverged=1), a[2]: Score(5.0)}
    assert survivors(scores, a) == [a[2], a[1]]


def test_groups_with_defaults_come_first():
    a, b = candidates("a", 1), candidates("b", 1)
    assert regrouped({a[0]: Score(0.1), b[0]: Score(0.2)}, b) == [(b[0],), (a[0],)]


# The search, on a clock that only training moves.


USUAL_STEPS = 200


@dataclass
class Fake:
    """Trains nothing: each group takes `overhead + steps · pace` seconds, and has errors by a formula."""

    error: object = lambda candidate, steps: 1.0
    overhead: float = 1.0
    pace: float = 0.01
    now: float = 0.0
    calls: list = field(default_factory=list)
    broken: frozenset = frozenset()
    killed_at: int | None = None
    slow: dict = field(default_factory=dict)

    def __call__(self, group, fold, steps, should_stop):
        if self.killed_at is not None and len(self.calls) == self.killed_at:
            raise KeyboardInterrupt
        self.calls.append((group, fold, steps))
        pace = self.slow.get(group[0].shape.method, self.pace)
        self.now += self.overhead + steps * pace
        if should_stop():
            raise Interrupted("stopped")
        if group[0].shape.method in self.broken and steps > PROBE:
            raise lx.RunError("the loss\nis not finite")
        found = [self.error(candidate, steps) for candidate in group]
        return Measured(tuple(e if isinstance(e, Score) else Score(e) for e in found), pace)

    def search(self, minutes=10.0, names=NAMES, folds=3, journal=None, **more):
        total = 60.0 * minutes
        usual = lambda: USUAL_STEPS
        found = spaces(names, DEFAULTS)
        return Search(found, folds, total, self, journal or Journal({}), usual, clock=self.clock, **more)

    def clock(self):
        return self.now


def rate(candidate):
    return dict(candidate.numbers)["rate_factor"]


def by_rate_and_width(candidate, steps):
    """The best is coda of width 16 with ten times the usual learning rate; more steps are better."""
    sizes = dict(candidate.shape.sizes)
    worse = (candidate.shape.method != "coda") + (sizes["width"] != 16)
    return (1 + worse + abs(math.log10(rate(candidate) / 10))) / steps


def test_the_search_finds_the_best_that_was_tried_and_keeps_the_time():
    fake = Fake(by_rate_and_width)
    run = fake.search(40)
    winner, plan = run.run(), run.journal.plan
    assert fake.now <= plan.ends[-1]
    assert winner.candidate.shape.method == "coda"
    assert rate(winner.candidate) == 10
    tried = [by_rate_and_width(candidate, 1) for candidate in run.journal.scores(0)]
    assert by_rate_and_width(winner.candidate, 1) == min(tried)
    assert len(tried) > 4 * 2 * GROUP
    assert winner.rung == 3
    scores = run.journal.scores(3)
    assert scores[winner.candidate].nmse == min(score.nmse for score in scores.values())
    assert set(run.defaults) <= set(scores), "the defaults are in the last rung"
    assert winner.steps == plan.steps[-1]
    assert fake.now + 1 + 0.012 * winner.steps <= 2400


def test_time_spent_on_preparing_counts():
    early, late = Fake().search(4), Fake().search(4, prepared=100.0)
    assert late.elapsed == early.elapsed + 100
    late.run()
    assert late.clock() + 100 <= 240
    early.run()
    assert len(late.journal.records) < len(early.journal.records)


def test_the_last_rung_adds_the_other_folds():
    """Scores are means over all folds; the first is known from the rung before."""
    fake = Fake()
    fake.error = lambda candidate, steps: float(fake.calls[-1][1])
    run = fake.search()
    run.run()
    last = run.journal.plan.steps[-1]
    assert {fold for _, fold, steps in fake.calls if steps < last} == {0}
    assert {fold for _, fold, steps in fake.calls if steps == last} == {0, 1, 2}
    assert {score.nmse for score in run.journal.scores(3).values()} == {1.0}  # (0 + 1 + 2) / 3
    assert len(set(fake.calls)) == len(fake.calls), "nothing is trained twice"


def test_more_time_means_more_candidates():
    def count(minutes):
        run = Fake(by_rate_and_width).search(minutes)
        run.run()
        return len(run.journal.scores(0))

    assert 4 * GROUP <= count(2) < count(10) < count(40)


def test_defaults_win_if_they_are_the_best():
    """Whatever is ahead in the first rungs: candidates are compared with the defaults in the last one."""

    def misleading(candidate, steps):
        default = candidate in fake_defaults
        return (0.5 if steps > 1500 else 9.0) if default else 1.0

    fake = Fake(misleading, pace=0.001)
    run = fake.search()
    fake_defaults = run.defaults
    assert run.run().candidate in run.defaults


def test_defaults_stay_if_nothing_is_clearly_better():
    """The best of many is better by chance: it has to be so on one trajectory after the other."""

    def lucky(candidate, steps):
        if candidate.shape.method == "leads" and rate(candidate) == 10:
            return Score(0.5, each=(2.0, 0.1, 0.1, 0.1, 0.2))  # a smaller mean, by four of five
        return Score(1.0, each=(1.0,) * 5)

    run = Fake(lucky).search(folds=1)
    winner = run.run()
    assert (winner.candidate, winner.steps) == (run.defaults[0], USUAL_STEPS)
    assert sentence(run.journal, run.defaults).startswith("The defaults of `leads` stay: their error is 100 % of the")
    assert tried_of(run.journal.records, run.defaults, winner.candidate)[0].candidate == run.defaults[0]

    def sure(candidate, steps):
        better = rate(candidate) == 10
        return Score(0.5, each=(0.5, 0.6, 0.4, 0.5, 0.5)) if better else Score(1.0, each=(1.0,) * 5)

    run = Fake(sure).search()
    winner = run.run()
    assert rate(winner.candidate) == 10
    assert winner.steps == run.journal.plan.steps[-1]


@pytest.mark.parametrize(
    ("mine", "expected"),
    [
        (Score(0.9, each=(0.9, 0.9)), True),  # a tenth better on both, to the last digit
        (Score(0.9, each=(0.9,)), False),  # one trajectory says nothing
        (Score(0.1, 1, (0.1, 0.1)), False),  # it diverged
        (Score(1.1, each=(0.1, 2.1)), False),  # the mean is worse
        (Score(0.5, each=(0.0, 1.0)), False),  # an error of zero is one trajectory, too
        (Score(0.9), True),  # without single errors the mean decides
    ],
)
def test_clearly_better(mine, expected):
    usual = Score(1.0, each=(1.0,) * len(mine.each))
    assert mine.clearly_better(usual) == expected
    assert mine.diverged or mine.clearly_better(Score(1.0, 1, usual.each)), "whatever does not diverge"


@pytest.mark.parametrize(("alone", "stays"), [(0.1, True), (1.0, False)])
def test_defaults_stay_if_they_were_judged_by_far_too_few_steps(alone, stays):
    """Groups are slow. Alone, the defaults may have time for all of their usual steps."""
    fake = Fake(lambda candidate, steps: 0.1 if rate(candidate) == 10 else 1.0, pace=1.0)
    inner = fake.__class__.__call__

    def call(group, fold, steps, should_stop):
        fake.pace = alone if len(group) == 1 else 1.0
        return inner(fake, group, fold, steps, should_stop)

    run = fake.search(10, names=("leads",))
    run.train, run.usual_steps = call, lambda: 1000
    winner = run.run()
    assert 3 * run.journal.plan.steps[-1] < 1000
    assert (winner.candidate == run.defaults[0]) == stays
    assert fake.now + winner.steps * alone <= 600
    assert ("too few to judge by" in sentence(run.journal, run.defaults)) == stays


def test_a_group_that_fails_is_no_crash():
    fake = Fake(by_rate_and_width, broken=frozenset({"coda", "leads"}))
    run = fake.search()
    winner = run.run()
    assert winner.candidate.shape.method not in fake.broken
    problems = {record.problem for record in run.journal.records if record.problem}
    assert problems == {"the loss is not finite"}
    assert all(record.rung == 0 for record in run.journal.records if record.problem), "they do not go on"
    assert "the defaults of leads could not be measured" in sentence(run.journal, run.defaults)


def test_if_everything_fails_the_first_default_is_trained():
    fake = Fake(broken=frozenset(NAMES))
    run = fake.search(1)
    assert run.run() == Winner(run.defaults[0], run.run().steps, None)
    assert sentence(run.journal, run.defaults).startswith("No candidate could be measured in time, so `leads width 64")


def test_a_diverged_candidate_does_not_win():
    lost = lambda candidate, steps: Score(0.001, 1) if rate(candidate) == 0.01 else Score(1.0)
    assert rate(Fake(lost).search().run().candidate) != 0.01


def test_when_time_is_over_early_the_best_so_far_wins():
    """The fake becomes a hundred times slower after the first rung."""
    fake = Fake(by_rate_and_width)
    run = fake.search()

    def slower(standing):
        if standing.rung == 2:
            fake.pace = 1.0

    run.watch = slower
    winner = run.run()
    assert winner.rung == 0
    first = run.journal.scores(0)
    assert first[winner.candidate].nmse == min(score.nmse for score in first.values())
    assert [record.problem for record in run.journal.records][-1] == "out of time"


def test_no_rung_is_climbed_that_a_default_cannot_come_to():
    """There is time for leads alone, but the winner would not be compared with the default of coda."""
    fake = Fake(by_rate_and_width, slow={"coda": 0.8})
    run = fake.search(names=("leads", "coda"))
    winner = run.run()
    assert {record.rung for record in run.journal.records} == {0, 1}
    assert set(run.defaults) <= set(run.journal.scores(0))
    assert run.defaults[1] not in run.journal.scores(1)
    assert winner.rung == 0


def test_a_search_that_was_killed_goes_on(tmp_path):
    """The same groups as without interruption, each once, but for the one that was lost."""
    whole = Fake(by_rate_and_width)
    expected = whole.search().run()
    first = Fake(by_rate_and_width, killed_at=7)
    with pytest.raises(KeyboardInterrupt):
        first.search(journal=Journal.open({"a": 1}, tmp_path)).run()
    again = Journal.open({"a": 1}, tmp_path)
    assert len(again.records) == 6
    assert again.seconds == first.now
    second = Fake(by_rate_and_width)
    assert second.search(journal=again).run() == expected
    assert first.calls + second.calls == whole.calls
    third = Fake()
    assert third.search(journal=Journal.open({"a": 1}, tmp_path)).run() == expected
    assert third.calls == []


def test_the_user_may_stop_it(tmp_path):
    fake = Fake(by_rate_and_width)
    run = fake.search(journal=Journal.open({}, tmp_path), should_stop=lambda: len(fake.calls) > 3)
    with pytest.raises(Interrupted, match=r"stopped after 2 groups; run the same command again to go on from"):
        run.run()
    assert len(Journal.open({}, tmp_path).records) == 2


# The file.


def test_the_journal_comes_back_as_it_was(tmp_path):
    a = candidates("a", 2, (("width", 4), ("rank", None)))
    record = Record(1, 300, 2, tuple(a), (Score(0.5, 0, (0.4, 0.6)), Score(math.inf, 3)), 1.5, 0.01)
    plan = Plan((100, 300), (1, 2), (15.0, 30.0), Pace(1.0, 0.5))
    journal = Journal({"x": 1}, tmp_path, plan, [record], Winner(a[0], 500, 1), 12.5)
    journal.save()
    found = Journal.open({"x": 1}, tmp_path)
    assert (found.plan, found.winner, found.seconds) == (plan, journal.winner, 12.5)
    assert found.records[0].group == record.group
    assert found.records[0].scores[0] == Score(0.5, 0, (0.4, 0.6))
    assert math.isnan(found.records[0].scores[1].nmse)
    assert found.records[0].scores[1].diverged == 3


def test_a_journal_that_was_changed_is_refused(tmp_path):
    Journal({"x": 1}, tmp_path, seconds=5.0).save()
    path = tmp_path / FILE
    path.write_text(path.read_text().replace("5.0", "6.0"))
    with pytest.raises(lx.InputError, match=r"search.json is damaged or was changed: remove it and run the same comm"):
        Journal.open({"x": 1}, tmp_path)
    path.write_text("{")
    with pytest.raises(lx.InputError, match="is damaged"):
        Journal.open({"x": 1}, tmp_path)


def test_another_search_or_run_is_refused(tmp_path):
    Journal({"minutes": 1}, tmp_path).save()
    with pytest.raises(lx.InputError, match="holds another run: its `minutes` is 1, but 2 was requested"):
        Journal.open({"minutes": 2}, tmp_path)
    (tmp_path / FILE).unlink()
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(lx.InputError, match="holds a run that is not a search: choose another --out"):
        Journal.open({"minutes": 1}, tmp_path)


# What is told.


def test_the_sentence_compares_with_the_defaults():
    a, b = candidates("a", 1)[0], candidates("b", 1)[0]
    record = Record(0, 100, 3, (a, b), (Score(0.25), Score(0.5)))
    journal = Journal({}, None, Plan((100,), (3,), (1.0,), Pace(1.0, 1.0)), [record], Winner(a, 100, 0))
    start = "`a rate factor 0` is the best of 2: its error is 25 % of the variance (3-fold cross-validation); "
    assert sentence(journal, [b]) == start + "with the defaults of b it is 2 times as large, 50 %."
    assert sentence(journal, [a]) == start + "these are the defaults."
    (c,) = candidates("c", 1)
    assert sentence(journal, [a, c]) == start + "these are the defaults. There was no time to try c."


@pytest.mark.parametrize(("error", "named"), [(1e-9, False), (0.5, True)])
def test_the_sentence_names_a_simple_forecast_that_is_better(error, named):
    """A linear equation is the law of exponentials: next to nothing is better."""
    task = Tuning.of(decays(), jr.key(0), ["leads"], 1, None, lx.Monitor())
    usual, plan = task.spaces[0].default, Plan((100,), (3,), (1.0,), Pace(1.0, 1.0))
    record = Record(0, 100, 3, (usual,), (Score(error),))
    found = Found(Journal({}, None, plan, [record], Winner(usual, 100, 0)), task)
    assert ("But it does not beat the simple forecast `linear`, whose error is" in found.sentence) == named


@pytest.mark.parametrize(("steps", "told"), [(40, True), (100_000, False)])
def test_the_sentence_says_that_time_was_short(steps, told):
    task = Tuning.of(decays(), jr.key(0), ["leads"], 1, None, lx.Monitor())
    found = Found(Journal({}, None, None, [], Winner(task.spaces[0].default, steps, None)), task)
    assert ("Time was left for 40 of the 1" in found.sentence) == told


def test_the_table_has_each_candidate_once_with_its_last_score():
    a = candidates("a", 3)
    records = [
        Record(0, 100, 1, tuple(a), (Score(0.3), Score(0.1), Score(math.nan))),
        Record(1, 300, 2, (a[0],), (Score(0.2),)),
        Record(1, 300, 2, (a[1],), (), problem="out of time"),
    ]
    lines = tried_of(records, [a[1]])
    assert [(line.candidate, line.nmse) for line in lines[:2]] == [(a[0], 0.2), (a[1], 0.1)]
    assert lines[2].to_json() == {
        "method": "a", "rate_factor": 2.0, "nmse": None, "diverged": 0, "rung": 1, "steps": 100, "folds": 1,
        "default": False,
    }  # fmt: skip
    assert lines[1].default
    json.dumps([line.to_json() for line in lines], allow_nan=False)


# All of it.


@pytest.mark.parametrize("minutes", [0, -1, math.inf, math.nan])
def test_time_must_be_positive(minutes):
    with pytest.raises(lx.InputError, match=r"`minutes` must be a positive number, got .*: tune needs time"):
        lx.tune(decays(), key=jr.key(0), minutes=minutes)


def test_data_that_cannot_be_divided():
    with pytest.raises(lx.InputError, match="there is nothing to validate on: tune needs two trajectories of every"):
        lx.tune(decays(trajectories=1, points=2), key=jr.key(0))


def test_what_is_hidden_is_decided_once_for_all_folds():
    """A single channel that rises and falls: held-out ends come with five points, for simple forecasts, too."""
    times = np.linspace(0, 6, 20)
    curves = np.stack([np.exp(-0.3 * times) - np.exp(-rate * times) for rate in (1.0, 2.0, 3.0)])
    data = lx.Trajectories.from_arrays(times, curves[:, None, :, None])
    task = Tuning.of(data, jr.key(0), ["leads"], 1, None, lx.Monitor())
    assert task.latent.hidden == 1
    ((past, future),) = task.folds
    assert np.isfinite(future.states[0, 0, :, 0]).sum() == 5 + 4
    assert task.simple_errors(0)["persistence"] == lx.yardsticks(past, future, warmup=5)["persistence"].nmse
    assert not Tuning.of(decays(), jr.key(0), ["leads"], 1, None, lx.Monitor()).latent.hidden


def test_no_methods():
    with pytest.raises(lx.InputError, match="there is nothing to choose from: name at least one method"):
        lx.tune(decays(), key=jr.key(0), methods=[])


def test_a_small_search(tmp_path, monkeypatch):
    """Real training, a few steps of it: the score is the error on the fold's held-out part; the result is a run."""
    monkeypatch.setattr("leadax.choose.rungs.SINGLE", 1)
    monkeypatch.setattr("leadax.choose.rungs.LONGEST", 4)
    monkeypatch.setattr("leadax.choose.rungs.SHORTEST", 4)
    data = decays(trajectories=1)
    arguments = {"key": jr.key(0), "methods": ["one-for-all"], "net": lx.Linear, "run": tmp_path / "r"}
    tuned = lx.tune(data, **arguments)
    assert [line.steps for line in tuned.tried] == [4] * GROUP
    assert sorted(rate(line.candidate) for line in tuned.tried) == [0.3, 1, 3, 10]
    assert tuned.model.training.config.train == data.fingerprint, "all data"
    assert (tmp_path / "r" / "result.json").exists()
    (past, future), fast = lx.folds(data)[0], next(line for line in tuned.tried if rate(line.candidate) == 10)
    assert past.fingerprint != data.fingerprint
    task = Tuning.of(data, jr.key(0), ["one-for-all"], 1, lx.Linear, lx.Monitor())
    method = task.space(fast.candidate).method(fast.candidate)
    alone = lx.fit(
        method,
        past,
        key=jr.key(0),
        steps=4,
        learning_rate=rate_of(fast.candidate),
        defaults=chosen_for(past, lx.Linear),
    )
    assert lx.evaluate(alone, future).nmse == pytest.approx(fast.nmse, rel=1e-4)
    assert lx.tune(data, **arguments).tried == tuned.tried
    with pytest.raises(lx.InputError, match="holds another run: its `seeds` is 1, but 2 was requested"):
        lx.tune(data, **arguments, seeds=2)
