"""Several groups of a search at a time, in processes on this machine or elsewhere."""

import math
import time
from collections.abc import Callable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._atomic import one_line
from ..errors import LeadaxError
from ..train import Interrupted

if TYPE_CHECKING:
    from .search import Measured
    from .space import Group
    from .tuning import Tuning

LOOK = 0.5  # seconds between looks at what is trained elsewhere


def _never() -> bool:
    return False


def _for_ever() -> float:
    return math.inf


@dataclass(frozen=True)
class Stop:
    """Whether training should stop. It is asked about once a second.

    - `wanted`: whether the user wants to; `left`: the seconds that there is time for.
    """

    wanted: Callable[[], bool] = _never
    left: Callable[[], float] = _for_ever

    def __call__(self) -> bool:
        """Whether one of the two says so."""
        return self.wanted() or self.left() < 0


@dataclass(frozen=True)
class Elsewhere:
    """Trains groups in the processes of an executor.

    - `task`: what is to be done there, with a monitor that nobody hears.
    """

    executor: Executor
    task: "Tuning"

    def __call__(self, group: "Group", fold: int, steps: int, stop: Stop) -> "Measured":
        """Train a group on one fold in another process, and wait for it."""
        try:
            future = self.executor.submit(_train, self.task, group, fold, steps, stop.left())
            while not wait([future], LOOK).done:
                if stop.wanted():
                    future.cancel()
                    raise Interrupted("stopped")
            return future.result()
        except (BrokenExecutor, CancelledError) as error:
            what = one_line(error) or type(error).__name__
            raise LeadaxError(f"a process of the search was lost ({what}): run the same command again") from error


def _train(task: "Tuning", group: "Group", fold: int, steps: int, seconds: float) -> "Measured":
    """Train a group in this process, which knows nothing of the one that asked but how much time it has."""
    end = time.monotonic() + seconds
    return task(group, fold, steps, Stop(left=lambda: end - time.monotonic()))


class Lanes:
    """Does so many pieces of work at a time, in threads that wait for other processes; a single one at once."""

    def __init__(self, count: int):
        self._count, self._running = count, set[Future[None]]()
        self._threads = ThreadPoolExecutor(count) if count > 1 else None

    def wait(self) -> None:
        """Wait until one is free; raise what went wrong in another."""
        while len(self._running) >= self._count:
            done, self._running = wait(self._running, return_when=FIRST_COMPLETED)
            for future in done:
                future.result()

    def start(self, work: Callable[..., None], *arguments: Any) -> None:
        """Begin with a piece of work."""
        if self._threads is None:
            work(*arguments)
        else:
            self._running.add(self._threads.submit(work, *arguments))

    def __enter__(self) -> "Lanes":
        return self

    def __exit__(self, *problem: Any) -> None:
        if self._threads is not None:
            self._threads.shutdown()
        if problem[0] is None:
            for future in self._running:
                future.result()
