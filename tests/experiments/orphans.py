"""Start two worker processes, which write their ids to a folder, and wait to be killed."""

import multiprocessing
import os
import sys
import time
from pathlib import Path

from leadax.cli.executors import pool
from leadax.cli.parent import end_with_parent


def wait_in(folder: Path) -> None:
    (folder / str(os.getpid())).touch()
    time.sleep(120)


def wait_elsewhere(folder: Path) -> None:
    """As on a platform whose kernel does not watch parents."""
    sys.platform = "other"
    end_with_parent()
    wait_in(folder)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    multiprocessing.get_context("spawn").Process(target=wait_elsewhere, args=(place,)).start()
    with pool(1, seeds=1) as executor:
        executor.submit(wait_in, place).result()
