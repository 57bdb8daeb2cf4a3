"""Forecasts in a small file of their own, so that they can be drawn again without a model.

A .npz file without pickles: `times`, `environments`, `channels`, `truth` of shape (env, time, *space, channel), and an
array of the same shape for each method, under its name.
"""

import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..._atomic import replacing
from ...data import Trajectories
from ...errors import InputError
from ...model import Model
from ...report.forecasts import Forecasts

# States are rounded to multiples of this: far less than a colour can show, and the file is half as large.
GRAIN = 2.0**-11


class Kept(NamedTuple):
    """The contents of a file: for each environment the truth and all forecasts, and the names of the channels."""

    forecasts: list[Forecasts]
    channels: tuple[str, ...]


def keep_forecasts(models: Mapping[str, Model], test: Trajectories, channels: int, path: Path) -> dict[str, np.ndarray]:
    """Write down forecasts of the first trajectory of each environment; returns mean squared errors, `(env,)`.

    The first member of each model makes them: the mean over several members would be better than any method is.

    **Arguments**

    - `channels`: only the first so many are kept.
    """
    times, truth = test.times[0, 0], test.states[:, 0]
    predict = lambda model: np.stack(
        [np.asarray(model.predict(truth[e, 0], times, environment=name)) for e, name in enumerate(test.environments)]
    )
    predicted = {name: predict(model.member(0)) for name, model in models.items()}
    shown = {"truth": truth, **predicted}
    arrays = {name: _rounded(states[..., :channels]) for name, states in shown.items()}
    about = {"times": times, "environments": test.environments, "channels": test.channels[:channels]}
    _write(path, {**{k: np.asarray(v) for k, v in about.items()}, **arrays})
    axes = tuple(range(1, truth.ndim))
    return {name: np.mean((states - truth) ** 2, axis=axes) for name, states in predicted.items()}


def add_forecasts(source: Path, path: Path) -> None:
    """Add the forecasts in one file to another, which keeps those of other methods if the truth is the same."""
    new, before = _arrays(source), _arrays(path) if path.exists() else {}
    same = before and np.array_equal(before["truth"], new["truth"])
    _write(path, {**before, **new} if same else new)


def read_forecasts(path: Path, methods: Sequence[str]) -> Kept:
    """What `keep_forecasts` wrote, for those of the methods that are there."""
    arrays = _arrays(path)
    with _damage_named(path):
        names, times = [str(name) for name in arrays["environments"]], arrays["times"]
        predicted = {name: arrays[name] for name in methods if name in arrays}
        forecasts = [
            Forecasts(name, times, arrays["truth"][e], {method: states[e] for method, states in predicted.items()})
            for e, name in enumerate(names)
        ]
        return Kept(forecasts, tuple(str(name) for name in arrays["channels"]))


def _arrays(path: Path) -> dict[str, np.ndarray]:
    with _damage_named(path), np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, EOFError, ValueError, KeyError, IndexError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"{path} is not a file of forecasts, or is damaged: make it again") from error


def _write(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    with replacing(path, overwrite=True) as temporary, temporary.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def _rounded(states: np.ndarray) -> np.ndarray:
    return (np.round(states / GRAIN) * GRAIN).astype(np.float32)
