"""Runs that cost nothing, in a module of their own so that worker processes find them."""

import os
import time
from functools import partial
from pathlib import Path
from typing import Any

from leadax import RunError
from leadax.experiments.study import Run

WORKED = "worked.txt"


def work(number: int, seconds: float, folder: Path) -> list[dict[str, Any]]:
    """Leave a line with the id of the process, take a while, and say which run this was."""
    with (folder / WORKED).open("a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(seconds)
    return [{"number": number, "part": part} for part in range(2)]


def fail(folder: Path) -> list[dict[str, Any]]:
    raise RunError("the loss is not finite")


def vanish(folder: Path) -> list[dict[str, Any]]:
    os._exit(1)


def slow_runs(count: int, seconds: float) -> list[Run]:
    return [Run(f"run{k}", partial(work, k, seconds)) for k in range(count)]
