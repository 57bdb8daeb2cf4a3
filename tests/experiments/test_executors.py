"""Runs that are done elsewhere: in a pool of processes, or by a Dask cluster one of whose workers is killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from tests.experiments.fake_runs import WORKED, fail, slow_runs, vanish

from leadax import InputError, RunError
from leadax.cli import executors
from leadax.cli.executors import cluster, pool, workers_for
from leadax.experiments.study import Run, carry_out
from leadax.experiments.study.runs import ERROR, do

ROOT = Path(__file__).parents[2]
NUMBERS = [(k, part) for k in range(6) for part in range(2)]
quietly = lambda *ignored: None


def numbers(rows):
    return [(row["number"], row["part"]) for row in rows]


@pytest.fixture(autouse=True)
def workers_find_the_tests(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), str(ROOT / "src")]))


def test_a_pool_of_processes(tmp_path):
    """Several do the runs. When one dies, its run and those that wait fail, and finished ones are kept."""
    told = []
    with pool(2, seeds=1) as executor:
        runs = [*slow_runs(6, 0.3), Run("bad", fail)]
        outcome = carry_out(runs, tmp_path, lambda *what: told.append(what), executor)
        broken = carry_out([*runs[:6], Run("vanishing", vanish)], tmp_path, quietly, executor)
    assert numbers(outcome.rows) == NUMBERS, "in the order of the runs, whoever was first"
    processes = {(tmp_path / f"run{k}" / WORKED).read_text() for k in range(6)}
    assert len(processes) == 2
    assert f"{os.getpid()}\n" not in processes
    assert [(done, total) for done, total, _ in told] == [(k, 7) for k in range(8)]
    with pytest.raises(RunError, match="run bad failed: the loss is not finite; finished runs are kept"):
        outcome.raise_if_failed()
    assert numbers(broken.rows) == NUMBERS
    with pytest.raises(RunError, match="run vanishing failed: BrokenProcessPool"):
        broken.raise_if_failed()


def test_workers_end_with_a_process_that_is_killed(tmp_path):
    command = [sys.executable, "-m", "tests.experiments.orphans", str(tmp_path)]
    parent = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: len(list(tmp_path.iterdir())) == 2 or parent.poll() is not None)
        workers = [int(file.name) for file in tmp_path.iterdir()]
        assert len(workers) == 2
        assert all(map(alive, workers))
    finally:
        parent.kill()
        parent.wait(timeout=20)
    wait_until(lambda: not any(map(alive, workers)), seconds=20)


def test_workers_watch_their_parent_before_anything_that_takes_time(monkeypatch):
    def watched():
        raise StopIteration

    monkeypatch.setattr(executors, "end_with_parent", watched)
    with pytest.raises(StopIteration):
        executors._start(None, 1, 1)


def alive(process: int) -> bool:
    """Whether a process is there and more than a record that nobody has asked for yet."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False


def test_a_failure_leaves_the_others_alone(tmp_path):
    def broken(folder):
        raise ZeroDivisionError("a mistake of ours")

    outcome = carry_out([Run("a", broken), Run("b", fail), *slow_runs(1, 0.0)], tmp_path, quietly)
    assert numbers(outcome.rows) == NUMBERS[:2]
    with pytest.raises(RunError, match="run a and 1 more failed: ZeroDivisionError: a mistake of ours"):
        outcome.raise_if_failed()
    assert "ZeroDivisionError" in (tmp_path / "a" / ERROR).read_text(), "where to look for the line"


def test_who_comes_second_waits_and_takes_the_rows(tmp_path):
    """As when a scheduler gives a run to another worker while the first is still at it."""
    (run,) = slow_runs(1, 0.5)
    found = []
    both = [threading.Thread(target=lambda: found.append(do(run, tmp_path / "run0"))) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join(timeout=20)
    assert found[0] == found[1]
    assert len((tmp_path / "run0" / WORKED).read_text().splitlines()) == 1


def test_by_default_a_process_per_core_where_there_are_several_runs(monkeypatch):
    monkeypatch.setattr("leadax.cli.executors._cores", lambda: [0, 1])
    for runs, workers, pooled in ((0, None, False), (1, None, False), (2, None, True), (5, 1, False)):
        with workers_for(runs, 1, workers, None) as executor:
            assert isinstance(executor, ProcessPoolExecutor) == pooled


def test_wrong_use(monkeypatch):
    for options, what in [
        ((0, None), "`--workers` must be at least 1, got 0"),
        ((2, "tcp://127.0.0.1:1"), "leave one of them out"),
        ((None, "tcp://127.0.0.1:1"), "no Dask scheduler answers at `tcp://127.0.0.1:1`"),
        ((None, "nonsense://x"), "no Dask scheduler answers"),
    ]:
        monkeypatch.setattr("leadax.cli.executors.CONNECTING_SECONDS", 1)
        with pytest.raises(InputError, match=what), workers_for(2, 1, *options):
            pass
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"a cluster needs Dask: pip install 'leadax\[distributed\]'"), cluster("x", 1):
        pass


@pytest.fixture
def dask(tmp_path):
    """The file with the address of a scheduler, and its two worker processes, without nannies to start them again."""
    file = tmp_path / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    start = lambda *arguments: subprocess.Popen(
        [sys.executable, "-m", "dask", *arguments, "--scheduler-file", str(file)], **quiet
    )
    scheduler = start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard")
    worker = ("worker", "--nworkers", "1", "--nthreads", "1", "--no-nanny", "--no-dashboard")
    processes = [scheduler, *(start(*worker, "--death-timeout", "60") for _ in range(2))]
    try:
        # It is there before it is written; its last character is a brace.
        wait_until(lambda: file.exists() and file.read_text().rstrip().endswith("}"))
        yield file, processes[1:]
    finally:
        for process in processes:
            process.kill()
            process.wait(timeout=20)


def wait_until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.05)


def test_a_cluster_loses_a_worker(tmp_path, dask):
    """No run is lost, and none is in the results twice."""
    import json

    file, workers = dask
    address = json.loads(file.read_text())["address"]
    runs, outcomes = slow_runs(6, 0.5), []
    begun = lambda: {line for log in tmp_path.glob(f"runs/*/{WORKED}") for line in log.read_text().split()}

    def carry():
        with cluster(address, seeds=1) as executor:
            outcomes.append(carry_out(runs, tmp_path / "runs", quietly, executor))

    thread = threading.Thread(target=carry, daemon=True)
    thread.start()
    wait_until(lambda: len(begun()) == 2)  # both are at work
    victim = next(worker for worker in workers if str(worker.pid) in begun())
    victim.send_signal(signal.SIGKILL)
    thread.join(timeout=60)
    assert not thread.is_alive(), "the command must end, too"
    assert numbers(outcomes[0].rows) == NUMBERS
    assert not outcomes[0].failures
    logs = [log.read_text().split() for log in tmp_path.glob(f"runs/*/{WORKED}")]
    assert any(len(log) == 2 and log[0] == str(victim.pid) for log in logs), "another worker took over what was cut off"
