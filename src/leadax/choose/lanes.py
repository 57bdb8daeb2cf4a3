"""When groups of a search should stop, and several of them at a time."""

import math
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any


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
