"""Kill commands with SIGKILL at random moments, resume them, and compare what they leave with one never killed.

    python benchmarks/kills.py [--kills 1000] [--jobs train,adapt,compare,reproduce] [--journal runs/kills.json]

Every file must end with the same bits (but for times), none may be left over, and no process may outlive its parent.
Counts are kept in the journal: the same command goes on from there. Commands run in a fork of this process, which has
imported the libraries but not started JAX: a life then takes about three seconds. Linux only.
"""

import argparse
import importlib
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# Imported before the fork, so that no child has to; but not by the workers of a pool, which import this module, too.
LIBRARIES = ("adapt", "choose", "data", "evaluate", "experiments.targets", "report", "train")

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
SHARES = {"train": 0.4, "adapt": 0.25, "compare": 0.25, "reproduce": 0.1}
TIMES = {"seconds", "steps_per_second", "minutes", "run", "sha256", "model_sha256"}


class Difference(Exception):
    """A killed job did not end as one that was never killed."""


class Life(NamedTuple):
    """One child, from its fork to its end."""

    job: str
    folder: Path
    log: Path

    def begin(self) -> int:
        child = os.fork()
        if child:
            return child
        os.setsid()
        with self.log.open("w") as log:
            os.dup2(log.fileno(), 1), os.dup2(log.fileno(), 2)
        out = ["--runs", str(self.folder)] if self.job == "reproduce" else ["--out", str(self.folder)]
        from leadax.cli import run

        status = run([*JOBS[self.job], *out])
        sys.stdout.flush()
        os._exit(status)

    def whole(self) -> None:
        """From beginning to end, without a kill."""
        status = os.waitstatus_to_exitcode(os.waitpid(self.begin(), 0)[1])
        if status != 0:
            raise Difference(f"{self.job} failed with status {status}: {self.log.read_text()[-2000:]}")

    def cut_short(self, chance: random.Random) -> bool:
        """Kill it at some moment. Returns whether it lived so long."""
        child, before = self.begin(), self._checkpoints()
        if chance.random() < 0.8:  # most kills come after a new checkpoint, the others anywhere
            while self._checkpoints() <= before and not _ended(child):
                time.sleep(0.002)
        time.sleep(chance.uniform(0.0, chance.choice((0.05, 0.5, 3.0))))
        if _ended(child):
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if status != 0:
                raise Difference(f"{self.job} failed with status {status}: {self.log.read_text()[-2000:]}")
            return False
        family = _descendants(child)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        limit = time.monotonic() + 10
        while any(map(_alive, family)):
            if time.monotonic() > limit:
                raise Difference(f"{self.job} left processes behind: {[p for p in family if _alive(p)]}")
            time.sleep(0.01)
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


def _descendants(process: int) -> list[int]:
    try:
        tasks = Path(f"/proc/{process}/task").glob("*/children")
        children = [int(child) for task in tasks for child in task.read_text().split()]
    except OSError:
        return []
    return [*children, *(inner for child in children for inner in _descendants(child))]


def make_data() -> None:
    """Small data in the current folder, and a model to adapt."""
    from leadax import Trajectories

    t = np.linspace(0, 2, 12)
    decays = lambda *rates: np.stack([[a * np.exp(-r * t) for a in (1.0, 2.0, 1.5)] for r in rates])[..., None]
    Trajectories.from_arrays(t, decays(0.5, 1.0)).save("train.csv", overwrite=True)
    Trajectories.from_arrays(t, decays(0.7), environments=["new"]).save("new.csv", overwrite=True)
    JOBS["model"] = ["train", "train.csv", "--steps", "50", *NET]
    Life("model", Path("model"), Path("log")).whole()


def kill_often(job: str, count: int, chance: random.Random, done: dict[str, int], keep: Any) -> None:
    """Kill one job so often, beginning anew whenever it came to its end."""
    reference = Life(job, Path(f"{job}-whole"), Path("log"))
    reference.whole()
    number = 0
    while done["kills"] < count:
        life = Life(job, Path(f"{job}-{number}"), Path("log"))
        ended = False
        while not ended and done["kills"] < count:
            ended = not life.cut_short(chance)
            done["kills"] += not ended
            keep()
        if not ended:
            life.whole()
        compare(reference.folder, life.folder)
        done["ends"] += 1
        keep()
        print(f"{job}: {done['kills']} kills, {done['ends']} ends with the same bits, nothing left over", flush=True)
        number += 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--journal", type=Path)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    journal = json.loads(options.journal.read_text()) if options.journal and options.journal.exists() else {}
    keep = lambda: options.journal and options.journal.absolute().write_text(json.dumps(journal, indent=2) + "\n")
    options.journal = options.journal and options.journal.absolute()
    chance = random.Random(options.seed)
    for name in LIBRARIES:
        importlib.import_module(f"leadax.{name}")
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        make_data()
        chosen = options.jobs.split(",")
        for job in chosen:
            share = SHARES[job] / sum(SHARES[name] for name in chosen)
            done = journal.setdefault(job, {"kills": 0, "ends": 0})
            kill_often(job, round(share * options.kills), chance, done, keep)
    total = {key: sum(done[key] for done in journal.values()) for key in ("kills", "ends")}
    print(f"{total['kills']} kills, {total['ends']} ends: all bit-identical, nothing left over, no orphan")


if __name__ == "__main__":
    main()
