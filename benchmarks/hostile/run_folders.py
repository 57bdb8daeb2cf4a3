"""Damage to the files of a run: finished, unfinished, or replaced by those of another run."""

import functools
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leadax import Trajectories

from .cases import Case, command
from .data_files import TIMES, decays, plain
from .harm import copied, files_in, harmed

NET = ("--net", "linear", "--solver", "euler", "--steps", "60", "--checkpoint-every", "20", "--look-every", "20")
RUN, HALF = Path("run"), Path("half")


def train(place: Path, folder: Path) -> Any:
    """What training says, and the bits of the model that it leaves."""
    from leadax.arrays import read_arrays

    data = str(place / "train.csv")
    said = command("train", data, "--test", data, "--out", str(folder), *NET)
    arrays = read_arrays(folder / "model.safetensors")[0]
    return said, {name: array.tobytes() for name, array in arrays.items()}


def evaluate(place: Path, folder: Path) -> Any:
    return command("evaluate", str(folder), str(place / "train.csv"))


def predict(place: Path, folder: Path) -> Any:
    return command("predict", str(folder), str(place / "train.csv"), "--out", "forecast.npz")


def adapt(place: Path, folder: Path) -> Any:
    more = ("--steps", "20", "--scheme", "mixture", "--at", "20")
    return command("adapt", str(folder), str(place / "new.csv"), "--out", "adapted", *more)


def report(place: Path, folder: Path) -> Any:
    command("report", str(folder), "--out", "page.html", "--overwrite")
    return "a page"


ON_FINISHED: dict[Callable[..., Any], float] = {train: 30, evaluate: 30, predict: 20, adapt: 2, report: 2}


def prepare(place: Path) -> None:
    """A finished run, one that was killed before its end, and one of other data, from which files are taken."""
    plain().save(place / "train.csv")
    Trajectories.from_arrays(TIMES, decays(0.7), environments=["new"]).save(place / "new.csv")
    Trajectories.from_arrays(TIMES, 2 * decays(0.8, 1.5)).save(place / "other.csv")
    train(place, place / RUN)
    shutil.copytree(place / RUN, place / HALF)
    for name in ("result.json", "model.safetensors", "yardsticks.safetensors"):
        (place / HALF / name).unlink()
    shutil.rmtree(place / HALF / "checkpoints" / "step-000000060")
    other = str(place / "other.csv")
    command("train", other, "--test", other, "--out", str(place / "other"), *NET)


@functools.cache
def _right(what: Callable[..., Any], place: Path, folder: Path) -> Any:
    """What comes of a command if nothing is damaged."""
    copy = copied(place / folder, Path("right"))
    found = what(place, copy)
    for left in ("forecast.npz", "page.html"):
        Path(left).unlink(missing_ok=True)
    shutil.rmtree("adapted", ignore_errors=True)
    shutil.rmtree(copy)
    return found


def case(place: Path, chance: random.Random) -> Case:
    """A command on a folder of which a file or two are not as they were written."""
    folder = chance.choice((RUN, HALF))
    (what,) = chance.choices([*ON_FINISHED], [*ON_FINISHED.values()]) if folder == RUN else [train]
    right = _right(what, place, folder)
    copied(place / folder, folder)
    done = [_harmed(place, folder, chance) for _ in range(chance.choice((1, 1, 1, 2)))]
    return Case(f"{what.__name__} {'; '.join(done)}", lambda: what(place, folder), right)


def _harmed(place: Path, folder: Path, chance: random.Random) -> str:
    file = chance.choice(files_in(folder))
    others = place / "other" / file.relative_to(folder)
    if chance.random() < 0.1 and others.exists():
        shutil.copy(others, file)
        return f"{file}: that of another run"
    return harmed(file, chance)
