"""Groups of a search that are trained at the same time, in other processes."""

import pickle
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace

import jax.random as jr
import pytest
from tests.choose.test_tune import NAMES, Fake, by_rate_and_width, decays

import leadax as lx
from leadax.choose.elsewhere import Elsewhere
from leadax.choose.lanes import Lanes, Stop
from leadax.choose.search import Measured
from leadax.choose.tuning import Tuning
from leadax.errors import LeadaxError
from leadax.train import Interrupted

AWHILE = 10.0  # seconds, after which something hangs


def test_so_many_pieces_of_work_at_a_time():
    together, most, lock = [], [], threading.Lock()
    both = threading.Barrier(2)

    def work(number):
        with lock:
            together.append(number)
            most.append(len(together))
        both.wait(AWHILE)  # nobody gets past it alone
        with lock:
            together.remove(number)

    with Lanes(2) as lanes:
        for number in range(6):
            lanes.wait()
            lanes.start(work, number)
    assert max(most) == 2
    assert together == []


def test_one_lane_is_this_thread():
    found = []
    with Lanes(1) as lanes:
        lanes.wait()
        lanes.start(lambda: found.append(threading.current_thread()))
        assert found == [threading.main_thread()]


def test_what_goes_wrong_in_a_lane_is_said():
    def failed():
        raise LeadaxError("no more")

    def at_the_end():
        with Lanes(2) as lanes:
            lanes.start(failed)

    def on_the_way():
        with Lanes(2) as lanes:
            for work in (failed, failed, time.sleep):
                lanes.wait()
                lanes.start(work)

    for some in (at_the_end, on_the_way):
        with pytest.raises(LeadaxError, match="no more"):
            some()


@dataclass
class TwoAtATime(Fake):
    """Waits for another group, once the pace is known and as long as there is a rung of several."""

    def __post_init__(self):
        self.both, self.lock, self.pairs = threading.Barrier(2), threading.Lock(), 0

    def __call__(self, group, fold, steps, stop):
        if len(self.calls) and self.pairs < 2:
            first = self.both.wait(AWHILE) == 0
            with self.lock:
                self.pairs += first
        with self.lock:
            return super().__call__(group, fold, steps, stop)


def test_a_search_with_two_lanes_trains_two_groups_at_a_time():
    """The barrier would break if groups came one after the other; the best is found all the same."""
    fake = TwoAtATime(by_rate_and_width)
    run = fake.search(40, lanes=2)
    winner = run.run()
    tried = [by_rate_and_width(candidate, 1) for candidate in run.journal.scores(0)]
    assert fake.pairs == 2
    assert by_rate_and_width(winner.candidate, 1) == min(tried)
    assert {record.group[0].shape.method for record in run.journal.records} == set(NAMES)


class Waiting(Executor):
    """Never begins."""

    def submit(self, fn, /, *args, **kwargs):
        return Future()


class Broken(Executor):
    """Its processes are gone."""

    def submit(self, fn, /, *args, **kwargs):
        raise BrokenExecutor("killed")


class Pickling(ThreadPoolExecutor):
    """Hands on what another process would see."""

    def submit(self, fn, /, *args, **kwargs):
        return super().submit(*pickle.loads(pickle.dumps((fn, *args))), **kwargs)


def small_task():
    monitor = lx.Monitor(listen=lambda snapshot, steps: None)
    return Tuning.of(decays(trajectories=1), jr.key(0), ["one-for-all"], 1, lx.Linear, monitor)


def test_elsewhere_the_same_comes_out():
    task = small_task()
    group = (task.spaces[0].default,)
    here = task(group, 0, 3, Stop())
    with Pickling(1) as executor:
        elsewhere = Elsewhere(executor, replace(task, monitor=lx.Monitor()))
        assert elsewhere(group, 0, 3, Stop()).scores == here.scores
        with pytest.raises(Interrupted):
            elsewhere(group, 0, 3, Stop(left=lambda: -1.0))
    assert isinstance(here, Measured)


def test_whoever_waits_can_be_stopped_and_hears_of_lost_processes():
    task = small_task()
    with pytest.raises(Interrupted):
        Elsewhere(Waiting(), task)((), 0, 3, Stop(wanted=lambda: True))
    with pytest.raises(LeadaxError, match=r"a process of the search was lost \(killed\): run the same command again"):
        Elsewhere(Broken(), task)((), 0, 3, Stop())


def test_workers_need_an_executor():
    with pytest.raises(lx.InputError, match="`workers=2` needs an `executor` that has so many"):
        lx.tune(decays(), key=jr.key(0), workers=2)
    with pytest.raises(lx.InputError, match="`workers` must be"):
        lx.tune(decays(), key=jr.key(0), workers=0)
