"""Groups of a search that are trained in other processes, on this machine or elsewhere."""

import time
from concurrent.futures import BrokenExecutor, CancelledError, Executor, wait
from dataclasses import dataclass

from .._atomic import one_line
from ..errors import LeadaxError
from ..train import Interrupted
from .lanes import Stop
from .search import Measured
from .space import Group
from .tuning import Tuning

LOOK = 0.5  # seconds between looks at what is trained elsewhere


@dataclass(frozen=True)
class Elsewhere:
    """Trains groups in the processes of an executor.

    - `task`: what is to be done there, with a monitor that nobody hears.
    """

    executor: Executor
    task: Tuning

    def __call__(self, group: Group, fold: int, steps: int, stop: Stop) -> Measured:
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


def _train(task: Tuning, group: Group, fold: int, steps: int, seconds: float) -> Measured:
    """Train a group in this process, which knows nothing of the one that asked but how much time it has."""
    end = time.monotonic() + seconds
    return task(group, fold, steps, Stop(left=lambda: end - time.monotonic()))
