"""Where the runs of a study are done: in this process, in several on this machine, or on a Dask cluster."""

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from typing import Any

from .._atomic import one_line
from ..errors import InputError
from .checks import check_count
from .parent import end_with_parent
from .runtime import prepare

CONNECTING_SECONDS = 10


@contextmanager
def workers_for(runs: int, seeds: int, workers: int | None, scheduler: str | None) -> Iterator[Executor | None]:
    """An executor for so many runs: by default one process per core. None is this process; seeds then use all cores."""
    check_count("--workers", workers)
    if scheduler is not None and workers is not None:
        raise InputError("`--workers` are processes on this machine, `--scheduler` has its own: leave one of them out")
    workers = min(workers or len(_cores()), runs)
    if scheduler is not None:
        with cluster(scheduler, seeds) as executor:
            yield executor
    elif workers > 1:
        with pool(workers, seeds) as executor:
            yield executor
    else:
        yield None


@contextmanager
def lanes_for(seeds: int, workers: int | None, scheduler: str | None) -> Iterator[tuple[Executor | None, int]]:
    """An executor for a search, and how many groups it trains at a time; None and 1 for this process."""
    if workers is None and scheduler is None:
        yield None, 1
        return
    with workers_for(workers or 1, seeds, workers, scheduler) as executor:
        yield executor, executor.workers if isinstance(executor, _Prepared) else workers or 1


@contextmanager
def pool(workers: int, seeds: int) -> Iterator[Executor]:
    """Processes on this machine, each with its own cores. They end with the block; after an error, at once."""
    context = multiprocessing.get_context("spawn")  # JAX has threads, which do not survive a fork
    numbers: Any = context.Queue()
    for number in range(workers):
        numbers.put(number)
    before = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(workers, context, initializer=_start, initargs=(numbers, workers, seeds))
    try:
        yield executor
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    executor.shutdown()


def _start(numbers: Any, workers: int, seeds: int) -> None:
    """What a process of the pool does first."""
    end_with_parent()  # before JAX is imported: that takes seconds, in which nobody would end it
    # Ctrl-C reaches all processes of the group: these end at once, and the one that the user started says so.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    own = _cores()[numbers.get() :: workers]
    if own and hasattr(os, "sched_setaffinity"):  # pinned, two processes on two cores do 1.4 times as much as unpinned
        os.sched_setaffinity(0, own)
    prepare(seeds, cores=max(1, len(own)))


def _cores() -> list[int]:
    """The cores that this process may use."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))


@contextmanager
def cluster(address: str, seeds: int) -> Iterator[Executor]:
    """The workers of a Dask scheduler. The folder of runs must have the same path for them as for us."""
    try:
        from distributed import Client
    except ImportError as error:
        raise InputError("a cluster needs Dask: pip install 'leadax[distributed]'") from error
    try:
        client = Client(address, timeout=CONNECTING_SECONDS)
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at `{address}`: {one_line(error)}") from error
    with client:
        # Not pure: the same work must be done again if its folder is gone.
        yield _Prepared(client.get_executor(pure=False), seeds, _count(client))


def _count(client: Any) -> int:
    """The workers that a cluster has now."""
    return max(1, len(client.ncores()))


class _Prepared(Executor):
    """Another executor, whose workers first settle what must be settled before JAX starts; how many there are now."""

    def __init__(self, inner: Executor, seeds: int, workers: int):
        self._inner, self._seeds, self.workers = inner, seeds, workers

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        return self._inner.submit(_prepared, self._seeds, fn, *args, **kwargs)


def _prepared(seeds: int, work: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    prepare(seeds)
    return work(*args, **kwargs)
