"""Damage to data files of all formats. Those that Leadax wrote are sealed: every change must be noticed or harmless."""

import random
from pathlib import Path

import numpy as np

from leadax import Trajectories, load

from .cases import Case
from .harm import copied, files_in, harmed

TABLES = ("csv", "parquet")
FORMATS = (*TABLES, "npz", "nc", "zarr")
TIMES = np.linspace(0, 2, 12)


def decays(*rates: float) -> np.ndarray:
    """Decays at one rate per environment, from three starts."""
    return np.stack([[start * np.exp(-rate * TIMES) for start in (1.0, 2.0, 1.5)] for rate in rates])[..., None]


def plain() -> Trajectories:
    return Trajectories.from_arrays(TIMES, decays(0.5, 1.0))


def ragged() -> Trajectories:
    states = [[np.arange(10.0).reshape(5, 2), np.ones((3, 2))], [np.full((4, 2), 0.1)]]
    states[0][0][2, 1] = np.nan
    times = [[np.arange(5) / 3, np.arange(3) ** 2], [np.arange(4) * 1e-3]]
    more = {"parameters": {"rate": [1, np.nan]}, "attributes": {"system": "none, é", "a/b": "c"}}
    names = [["one", "two"], ["three"]]
    return Trajectories.from_arrays(times, states, channels=["u", "v"], trajectory_names=names, **more)


def driven() -> Trajectories:
    inputs = np.stack([np.sin(TIMES), np.where(TIMES > 1, 1.0, np.nan)], -1) + np.zeros((2, 3, 1, 1))
    kinds = {"input_names": ["force", "dose"], "input_kinds": ["held", "impulse:x0"]}
    return Trajectories.from_arrays(TIMES, decays(0.5, 1.0), inputs=inputs, **kinds)


def dated() -> Trajectories:
    return Trajectories.from_arrays(TIMES + 18_000, decays(1.0), attributes={"time": "days since 1970-01-01"})


def grid() -> Trajectories:
    return Trajectories.from_arrays(TIMES, np.arange(12.0)[:, None, None, None] + np.zeros((2, 1, 1, 4, 4, 2)))


VARIANTS = {"plain": plain, "ragged": ragged, "driven": driven, "dated": dated, "grid": grid}


def prepare(place: Path) -> None:
    """Each kind of data in each format."""
    for name, make in VARIANTS.items():
        for ending in FORMATS if name != "grid" else FORMATS[2:]:
            make().save(place / f"{name}.{ending}")


def case(place: Path, chance: random.Random) -> Case:
    """One damaged file, loaded."""
    ending = chance.choice(FORMATS)
    name = chance.choice([*VARIANTS] if ending not in TABLES else [*VARIANTS][:-1])
    file = copied(place / f"{name}.{ending}", Path(f"{name}.{ending}"))
    said = harmed(chance.choice(files_in(file)), chance)
    return Case(f"load {said}", lambda: load(file).fingerprint, VARIANTS[name]().fingerprint)
