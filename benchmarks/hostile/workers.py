"""Many cases in one process, which is a fork of this one and is replaced when it hangs or dies.

Cases are told apart by their number alone: each makes its own random choices from it, so that any can be done again.
"""

import json
import os
import random
import resource
import select
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from .cases import HUNG, TRACEBACK, judged

SECONDS = 30.0  # that a case may compute
WAITING = 60.0  # that it may do nothing at all
STARTING = 90.0  # the same of the first cases of a process, which compile
CASES_PER_PROCESS = 1_000  # compiled programs are kept in memory
MEMORY = 16 << 30


def answers(group: ModuleType, place: Path, numbers: list[int], seed: int) -> Iterator[tuple[int, str, str, str]]:
    """The number of each case, what it did, how it ended, and details."""
    left = list(numbers)
    while left:
        batch, left = left[:CASES_PER_PROCESS], left[CASES_PER_PROCESS:]
        done = 0
        for answer in _of_one_process(group, place, batch, seed):
            yield answer
            done += 1
        left = batch[done:] + left


def _of_one_process(
    group: ModuleType, place: Path, numbers: list[int], seed: int
) -> Iterator[tuple[int, str, str, str]]:
    """The answers of a process until it hangs or dies: the case at fault is the last one."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        apart(lambda: _work(group, place, numbers, seed, writing))
    os.close(writing)
    lines, begin = _lines(reading, child), time.monotonic()
    try:
        for number in numbers:
            what, limit = None, STARTING if time.monotonic() - begin < STARTING else SECONDS
            for line in lines(limit):
                if "ended" in line:
                    yield number, what, line["ended"], line["details"]
                    break
                what = line["what"]
            else:
                if what is None:
                    raise SystemExit(f"{group.__name__}: case {number} could not be made")
                yield number, what, *_fate(child)
                return
    finally:
        _end(child)
        os.close(reading)


def _fate(child: int) -> tuple[str, str]:
    """What became of a process that does not answer."""
    time.sleep(0.2)
    if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        return HUNG, f"no answer after {SECONDS:.0f} s of computing, or {WAITING:.0f} s of waiting"
    return TRACEBACK, "the process died"


def _end(child: int) -> None:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _computed(child: int) -> float:
    """The seconds that a process has computed: on a busy machine much less than what has passed."""
    fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _lines(descriptor: int, child: int) -> Any:
    """A function that waits so long for the next lines; it yields nothing more once the time is over."""
    rest = b""

    def lines(limit: float) -> Iterator[dict[str, str]]:
        nonlocal rest
        before = last = _computed(child)
        moved = time.monotonic()
        while True:
            line, found, after = rest.partition(b"\n")
            if found:
                rest = after
                yield json.loads(line)
                continue
            ready = select.select([descriptor], [], [], 1.0)[0]
            more = os.read(descriptor, 1 << 16) if ready else b""
            if ready and not more:
                return
            if (now := _computed(child)) > last:
                last, moved = now, time.monotonic()
            if not ready and (now - before > limit or time.monotonic() - moved > WAITING):
                return
            rest += more

    return lines


def apart(work: Callable[[], None]) -> None:
    """Do this and end, whatever happens: a child must not return into what its parent was doing."""
    try:
        work()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def _work(group: ModuleType, place: Path, numbers: list[int], seed: int, answering: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    tell = lambda **line: os.write(answering, json.dumps(line).encode() + b"\n")
    scratch = place / f"scratch-{os.getpid()}"
    for number in numbers:
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        os.chdir(scratch)
        case = group.case(place, random.Random(f"{seed} {group.__name__} {number}"))
        tell(what=case.what)
        ended, details = judged(case)
        tell(ended=ended, details=details[-3000:])
    os.chdir(place)
    shutil.rmtree(scratch, ignore_errors=True)
