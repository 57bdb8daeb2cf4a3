"""Kill commands with SIGKILL at random moments, resume them, and compare what they leave with one never killed.

    python benchmarks/kills.py [--kills 1000] [--jobs train,adapt,compare,reproduce] [--journal FILE] [--minutes M]

Every file must end with the same bits (but for times), none may be left over, and no process may outlive its parent.
Counts are kept in the journal: the same command goes on from there. One life in ten begins in a fork of this process,
which has imported the libraries but not started JAX, and takes three seconds or more; so do all lives of `reproduce`,
whose workers are processes of their own, and of `adapt`, which compiles in every life. The others begin in a fork of a
process that has done the job once, so that nothing is compiled again: half a second. Where something is, such a fork is
stuck; it is killed, and the next life of its folder is a new process. All use one core, since threads of JAX do not
survive a fork. Linux only.
"""

import argparse
import importlib
import json
import math
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# Imported before the fork, so that no child has to; but not by the workers of a pool, which import this module, too.
LIBRARIES = ("adapt", "choose", "cli", "data", "evaluate", "experiments.targets", "report", "train")

NET = ("--net", "linear", "--solver", "euler")
OFTEN = ("--checkpoint-every", "2", "--look-every", "10")
DATA = ("train.csv", "--test", "train.csv")
SMOKE = ("--methods", "one-per-env", "--budget", "smoke", "--seeds", "1")
JOBS = {
    "train": ["train", *DATA, "--steps", "1000", *NET, *OFTEN],
    "adapt": ["adapt", "model", "new.csv", "--steps", "400", *OFTEN],
    "compare": ["compare", *DATA, "--methods", "leads,one-for-all", "--steps", "400", *NET, *OFTEN],
    "reproduce": ["reproduce", "linear", "--workers", "2", "--steps", "400", *SMOKE],
}
SHARES = {"train": 0.45, "adapt": 0.1, "compare": 0.4, "reproduce": 0.05}
COLD = {"adapt": 1.0, "reproduce": 1.0}  # the share of lives that start JAX anew
LIMIT = 300.0  # seconds that a life may take
POOLS: list[Any] = []
IDLE = 10.0  # seconds without any work after which it is stuck
TIMES = {"seconds", "steps_per_second", "minutes", "run", "sha256", "model_sha256", "yardsticks_sha256"}


class Difference(Exception):
    """A killed job did not end as one that was never killed."""


class Life(NamedTuple):
    """One child, from its fork to its end."""

    job: str
    folder: Path
    log: Path

    def begin(self, *, anew: bool = False) -> int:
        """A child at work: a fork, or a command of its own."""
        child = os.fork()
        if child:
            return child
        os.setsid()
        with self.log.open("w") as log:
            os.dup2(log.fileno(), 1), os.dup2(log.fileno(), 2)
        if lowering := sys.modules.get("jax._src.interpreters.mlir"):  # the threads of its pool are not in a fork
            POOLS.append(lowering.global_thread_pool)  # which would wait for them if it were destroyed
            lowering.global_thread_pool = lowering.ir.ThreadPool()
        if anew:
            os.execv(sys.executable, [sys.executable, "-m", "leadax.cli", *self.words()])
        status = self.here()
        sys.stdout.flush()
        os._exit(status)

    def here(self) -> int:
        """In this process."""
        from leadax.cli import run

        return run(self.words())

    def words(self) -> list[str]:
        """What is typed after `leadax`."""
        return [*JOBS[self.job], "--runs" if self.job == "reproduce" else "--out", str(self.folder)]

    def whole(self, *, anew: bool = False) -> None:
        """To the end, without a kill."""
        status = os.waitstatus_to_exitcode(os.waitpid(self.begin(anew=anew), 0)[1])
        if status != 0:
            raise Difference(f"{self.job} failed with status {status}: {self.log.read_text()[-2000:]}")

    def cut_short(self, chance: random.Random, *, anew: bool = False) -> str:
        """Kill it at some moment. Returns whether it `ended` before, was `killed`, or was `stuck` and then killed."""
        child, fate = self.begin(anew=anew), "killed"
        if chance.random() < 0.8 and not self._wait_for_checkpoint(child):
            # A fork of a process that has compiled something cannot compile: its threads are gone.
            if anew:
                raise Difference(f"{self.job} hangs: {self.log.read_text()[-2000:]}")
            fate = "stuck"
        time.sleep(chance.uniform(0.0, chance.choice((0.02, 0.2, 1.0))))
        if _ended(child):
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if status != 0:
                raise Difference(f"{self.job} failed with status {status}: {self.log.read_text()[-2000:]}")
            return "ended"
        family = _descendants(child)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        limit = time.monotonic() + 10
        while any(map(_alive, family)):
            if time.monotonic() > limit:
                raise Difference(f"{self.job} left processes behind: {[p for p in family if _alive(p)]}")
            time.sleep(0.01)
        return fate

    def _wait_for_checkpoint(self, child: int) -> bool:
        """Most kills come after a new checkpoint. Returns False if the child computes nothing any more."""
        before, begin, computed, asked = self._checkpoints(), time.monotonic(), 0.0, 0.0
        moved = begin
        while self._checkpoints() <= before and not _ended(child):
            time.sleep(0.01)
            if time.monotonic() - asked < 1.0:  # asked more often, this process would take the time of its children
                continue
            asked = time.monotonic()
            if (now := _computed([child, *_descendants(child)])) != computed:
                computed, moved = now, asked
            if asked - moved > IDLE or asked - begin > LIMIT:
                return False
        return True

    def _checkpoints(self) -> set[str]:
        # Not `glob`, which fails where a folder goes away under its hands.
        places = (Path(folder, name) for folder, inner, _ in os.walk(self.folder) for name in inner)
        return {str(place) for place in places if place.name.startswith("step-")}


def compare(first: Path, second: Path) -> None:
    """Both folders must have the same files with the same contents."""
    names = [{path.relative_to(place).as_posix() for path in place.rglob("*")} for place in (first, second)]
    if odd := sorted(names[0] ^ names[1]):
        raise Difference(f"{second}: only one of the two has {', '.join(odd[:5])}")
    for name in sorted(names[0]):
        if (first / name).is_file() and _contents(first / name) != _contents(second / name):
            raise Difference(f"{second / name} differs from that of a run that was never killed")


def _contents(path: Path) -> Any:
    """What is in a file, without times. Of pages and pictures only that they exist: they show times, too."""
    from leadax.arrays import read_arrays

    if path.suffix == ".safetensors":
        arrays, about = read_arrays(path)
        return {name: array.tobytes() for name, array in arrays.items()}, _without_times(about)
    if path.suffix == ".json":
        return _without_times(json.loads(path.read_text()))
    if path.suffix == ".jsonl":
        return [_without_times(json.loads(line)) for line in path.read_text().splitlines()]
    if path.suffix == ".csv":
        header, *lines = (line.split(",") for line in path.read_text().splitlines())
        return [dict(zip(header, line, strict=False)) | dict.fromkeys(TIMES) for line in lines]
    return None


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_times(inner) for key, inner in value.items() if key not in TIMES}
    return [_without_times(inner) for inner in value] if isinstance(value, list) else value


def _ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _alive(process: int) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def _computed(processes: list[int]) -> float:
    """The time that processes have computed, in ticks of the clock."""
    total = 0.0
    for process in processes:
        with suppress(OSError):
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            total += int(fields[11]) + int(fields[12])
    return total


def _descendants(process: int) -> list[int]:
    try:
        tasks = Path(f"/proc/{process}/task").glob("*/children")
        children = [int(child) for task in tasks for child in task.read_text().split()]
    except OSError:
        return []
    return [*children, *(inner for child in children for inner in _descendants(child))]


def alone() -> None:
    """Import the libraries, and settle that JAX computes in one thread: a fork has no other."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # as the command line does
    # Commands of their own begin in another folder.
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    # Lives that start JAX anew find all programs that the run without a kill compiled.
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    for name in LIBRARIES:
        importlib.import_module(f"leadax.{name}")
    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", False)
    warnings.filterwarnings("ignore", "os.fork", RuntimeWarning)


def make_data() -> None:
    """Small data in the current folder, and a model to adapt."""
    from leadax import Trajectories

    t = np.linspace(0, 2, 12)
    decays = lambda *rates: np.stack([[a * np.exp(-r * t) for a in (1.0, 2.0, 1.5)] for r in rates])[..., None]
    Trajectories.from_arrays(t, decays(0.5, 1.0)).save("train.csv", overwrite=True)
    Trajectories.from_arrays(t, decays(0.7), environments=["new"]).save("new.csv", overwrite=True)
    JOBS["model"] = ["train", "train.csv", "--steps", "50", *NET]
    Life("model", Path("model"), Path("log")).whole()


class Count:
    """How often a job was killed and came to its end, kept in the journal."""

    def __init__(self, job: str, journal: Path, until: float):
        self.job, self.journal, self.until = job, journal, until

    def add(self, kind: str, number: int = 1) -> int:
        """Count one more; the number so far."""
        found = json.loads(self.journal.read_text()) if self.journal.exists() else {}
        done = found.setdefault(self.job, {}).setdefault(kind, 0) + number
        found[self.job][kind] = done
        self.journal.write_text(json.dumps(found, indent=2) + "\n")
        return done

    def over(self, kind: str, wanted: int) -> bool:
        """Whether there were enough of them, or the time is over."""
        return self.add(kind, 0) >= wanted or time.monotonic() > self.until


def kill_often(reference: Path, kind: str, wanted: int, count: Count, chance: random.Random) -> None:
    """Kill a job so often, beginning anew whenever it came to its end; `kind` of kills: cold or warm."""
    number = 0
    while not count.over(kind, wanted):
        life = Life(count.job, Path(f"{count.job}-{kind}-{number}"), Path("log"))
        fate = ""
        while fate != "ended" and not count.over(kind, wanted):
            fate = life.cut_short(chance, anew=fate == "stuck")
            count.add(kind, fate != "ended")
        if fate != "ended":
            life.whole(anew=True)
        compare(reference, life.folder)
        shutil.rmtree(life.folder)
        ends = count.add("ends")
        print(f"{count.job}: {count.add(kind, 0)} kills ({kind}), {ends} ends with the same bits", flush=True)
        number += 1


def _results(life: Life) -> list[Path]:
    """The results of all parts of a job, the oldest first."""
    return sorted(life.folder.rglob("result.json"), key=lambda path: path.stat().st_mtime_ns)


def warm(work: Callable[[], None], job: str) -> None:
    """Do this in a fork that has done the job from its beginning and from its end: a child of it cannot compile."""
    child = os.fork()
    if child:
        if os.waitpid(child, 0)[1] != 0:
            raise SystemExit(f"{job}: not as it should be, see above")
        return
    try:
        life = Life(job, Path(f"{job}-warm"), Path("log"))
        life.here()
        for first in range(len(_results(life))):  # as if killed in its first part, in its second …
            for lost in (0, 1):  # from the last checkpoint, and from the one before it
                for result in _results(life)[first:]:
                    result.unlink()
                    saved = sorted(result.parent.glob("checkpoints/step-*"))
                    for place in saved[len(saved) - lost :]:
                        shutil.rmtree(place)
                life.here()
        life.here()  # and once it is finished
        work()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def do(job: str, wanted: int, count: Count, chance: random.Random) -> None:
    """Kill one job as often as wanted."""
    cold = round(COLD.get(job, 0.1) * wanted)
    if count.over("cold", cold) and count.over("warm", wanted - cold):
        return
    reference = Life(job, Path(f"{job}-whole"), Path("log"))
    reference.whole()
    kill_often(reference.folder, "cold", cold, count, chance)
    if not count.over("warm", wanted - cold):
        warm(lambda: kill_often(reference.folder, "warm", wanted - cold, count, chance), job)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--minutes", type=float, default=math.inf, help="stop after so long; the journal says where")
    options = parser.parse_args()
    until = time.monotonic() + 60 * options.minutes
    alone()
    with tempfile.TemporaryDirectory() as place:
        journal = options.journal.absolute() if options.journal else Path(place, "journal.json")
        os.chdir(place)
        os.environ["LEADAX_CACHE"] = str(Path(place, "programs"))
        make_data()
        for job in options.jobs.split(","):
            share = SHARES[job] / sum(SHARES[name] for name in options.jobs.split(","))
            do(job, round(share * options.kills), Count(job, journal, until), random.Random(options.seed))
        counts = json.loads(journal.read_text())
    kills = sum(done.get("cold", 0) + done.get("warm", 0) for done in counts.values())
    ends = sum(done.get("ends", 0) for done in counts.values())
    print(f"{kills} kills, {ends} ends: all bit-identical, nothing left over, no orphan")


if __name__ == "__main__":
    main()
