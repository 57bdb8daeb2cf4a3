"""Kill one of two Dask workers in the middle of training: the other must take its run over, and the command must end.

    python -m benchmarks.lost_worker [--steps 1000] [--nanny]

It trains LEADS and One-Per-Env on Lotka–Volterra, once with both workers alive and once with the one that trains LEADS
killed by SIGKILL at a quarter of the steps. Both times all files must have the same bits (but for times). With
`--nanny` Dask starts the killed worker again. Everything stays on this machine. Linux only.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .kills import compare

LOCK, ROWS = ".run.lock", "rows.json"
LIMIT = 300.0  # seconds after the kill; more is a hang


def waited(condition: Callable[[], object], seconds: float, what: str) -> float:
    """How long it took until this was so."""
    begin = time.monotonic()
    while not condition():
        if time.monotonic() - begin > seconds:
            raise SystemExit(f"{what}: not within {seconds:.0f} s")
        time.sleep(0.05)
    return time.monotonic() - begin


@contextmanager
def cluster(nanny: bool) -> Iterator[str]:
    """The address of a scheduler with two workers, which end with the block."""
    start = lambda *words: subprocess.Popen([sys.executable, "-m", "dask", *words], **quiet)
    with tempfile.TemporaryDirectory(prefix="dask-") as folder:
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
        file = Path(folder, "scheduler.json")
        known = ("--scheduler-file", str(file), "--no-dashboard")
        worker = ("worker", "--nworkers", "1", "--nthreads", "1", "--nanny" if nanny else "--no-nanny")
        processes = [start("scheduler", "--host", "127.0.0.1", "--port", "0", *known)]
        processes += [start(*worker, *known, "--death-timeout", "60") for _ in range(2)]
        try:
            waited(file.exists, 60, "the scheduler starts")
            yield json.loads(file.read_text())["address"]
        finally:
            for process in processes:  # told to end together with its scheduler, a worker of Dask may wait for ever
                process.kill()
                process.wait()


def begin(place: Path, address: str, steps: int) -> subprocess.Popen[bytes]:
    """The command, with its runs and results in this folder."""
    chosen = ("--system", "lotka-volterra", "--methods", "leads,one-per-env", "--protocol", "paper", "--seeds", "1")
    where = ("--scheduler", address, "--runs", str(place / "runs"), "--results", str(place / "results"))
    words = [sys.executable, "-m", "leadax.cli", "reproduce", "table1", *chosen, "--steps", str(steps), *where]
    with Path(f"{place}.log").open("w") as log:
        return subprocess.Popen(words, stdout=log, stderr=log)


def holder(lock: Path) -> int | None:
    """The process that has this file open."""
    for descriptor in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if descriptor.readlink() == lock:
                return int(descriptor.parts[2])
        except OSError:
            continue
    return None


def lose(place: Path, steps: int) -> float:
    """Kill the worker that trains LEADS, once it has a checkpoint of a quarter of the steps. Returns the moment."""
    saved = lambda: place.glob("runs/table1/*-leads-*/checkpoints/step-*")
    waited(lambda: any(int(folder.name[5:]) >= steps / 4 for folder in saved()), LIMIT, "a quarter of the training")
    (lock,) = place.glob(f"runs/table1/*-leads-*/{LOCK}")
    victim = holder(lock)
    if victim is None or list(lock.parent.glob(ROWS)):
        raise SystemExit("LEADS ended before its worker could be killed: take more --steps")
    os.kill(victim, signal.SIGKILL)
    return time.monotonic()


def timed(place: Path, steps: int, *, nanny: bool, kill: bool) -> str:
    """Run the command in this folder; say how long it took."""
    with cluster(nanny) as address:
        command, start = begin(place, address, steps), time.monotonic()
        if kill:
            start = lose(place, steps)
        waited(lambda: len([*place.glob(f"runs/table1/*/{ROWS}")]) == 2, LIMIT, "both runs")
        done = time.monotonic() - start
        status = command.wait(timeout=LIMIT)
        ended = time.monotonic() - start
    if status != 0:
        raise SystemExit(f"status {status}: {Path(f'{place}.log').read_text()[-2000:]}")
    since = "the death" if kill else "the start"
    return f"seconds since {since}: {done:.1f} to both results, {ended:.1f} to the end of the command"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--nanny", action="store_true", help="let Dask start the killed worker again")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="lost-") as folder:
        whole, cut = Path(folder, "whole"), Path(folder, "cut")
        for place in (whole, cut):
            print(timed(place, options.steps, nanny=options.nanny, kill=place == cut), flush=True)
        compare(whole, cut)
    print("all files have the same bits")


if __name__ == "__main__":
    main()
