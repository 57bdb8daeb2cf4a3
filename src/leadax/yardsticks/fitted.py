"""All yardsticks, fitted to training data: their errors on test data, and a small file to keep them in."""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._atomic import replacing
from ..arrays import read_arrays, write_tree
from ..data import Trajectories
from ..data.batch import Batch
from ..data.forcing import check_inputs
from ..data.latent import units_for
from ..data.layout import Layout
from ..data.units import Box, Units
from ..describe import describe, restore
from ..errors import InputError, expect, lookup
from ..evaluate import Evaluation, summarise
from ..evaluate.errors import check_warmup, first_points
from ..records import entry, texts
from ..systems.system import Protocol
from . import sparse
from .history import History, acting, outside, to_history, with_whole_starts
from .rules import YARDSTICKS, Numbers, Yardstick

SPARSE = "sindy"


@dataclass(frozen=True)
class Yardsticks:
    """What the yardsticks have learnt: for each of them the arrays of each environment, in standard units.

    Their forecasts are kept in the region of the data, as those of a model are.

    - `layout`: of the data, with what acts on them; `train`: their fingerprint. None in files of earlier releases.

    >>> t = np.linspace(0, 2, 9)
    >>> decays = Trajectories.from_arrays(t, np.exp(-t)[None, None, :, None])
    >>> errors = Yardsticks.learnt(decays).errors(decays)
    >>> errors["linear"].nmse < 1e-4 < errors["persistence"].nmse
    True
    """

    learnt_numbers: Mapping[str, tuple[Numbers, ...]]
    environments: tuple[str, ...]
    units: Units
    box: Box
    train: str | None = None
    layout: Layout | None = None

    @classmethod
    def learnt(cls, train: Trajectories, *, sparse_regression: bool = False) -> "Yardsticks":
        """Fit all yardsticks that suit the data to each environment.

        - `sparse_regression`: also by pysindy, if it is installed: it takes seconds.
        """
        whole = with_whole_starts(train)
        data, layout = acting(train if whole is None else whole)
        units = units_for(data, Units.measured(data), layout)
        if whole is None:
            return cls({}, train.environments, units, Box.around(train, units), train.fingerprint, layout)
        batch, size = to_history(data, units, layout), int(np.prod(train.state_shape))
        histories = [History(batch, e) for e in range(len(train.environments))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pysindy comments on data that are hard for it
            numbers = {
                name: tuple(dict(rule.learn(history)) for history in histories)
                for name, rule in known().items()
                if size <= rule.largest and (name != SPARSE or (sparse_regression and sparse.installed()))
            }
        return cls(numbers, train.environments, units, Box.around(train, units), train.fingerprint, layout)

    def document(self, test: Trajectories, *, protocol: str = "clean", warmup: int = 1) -> dict[str, float | None]:
        """Their normalised errors as JSON, named as in `"mean_curve"`; null for one that is not finite."""
        found = self.errors(test, protocol=protocol, warmup=warmup)
        errors = {name.replace(" ", "_"): e.nmse for name, e in found.items()}
        return {name: error if math.isfinite(error) else None for name, error in errors.items()}

    def errors(self, test: Trajectories, *, protocol: str = "clean", warmup: int = 1) -> dict[str, Evaluation]:
        """The errors of all yardsticks on test data, measured as those of a model are; of whole starts only.

        - `warmup`: how many of the first points of a trajectory they are told: they forecast from the last of these.
        """
        missing = [name for name in test.environments if name not in self.environments]
        if missing:
            seen = ", ".join(self.environments[:4]) + (", …" if len(self.environments) > 4 else "")
            raise InputError(f"no training data of environment `{missing[0]}`: simple forecasts are of {seen} only")
        whole = with_whole_starts(test)
        if whole is None:
            return {}
        data, layout = acting(whole)
        if self.layout is not None:
            check_inputs(data, self.layout)
        batch = to_history(data, self.units, self.layout or Layout(layout.channels))
        rest = (batch, self.units, data, protocol, warmup, self.box)
        first = _last_known(batch, warmup)
        places = [self.environments.index(name) for name in test.environments]
        return {
            name: summarise(self._squares(known()[name], [numbers[e] for e in places], batch, first), *rest)
            for name, numbers in self.learnt_numbers.items()
        }

    def save(self, path: str | Path) -> None:
        """Write them to a safetensors file."""
        arrays = {
            f"{name}/{e}/{array}": np.asarray(values)
            for name, numbers in self.learnt_numbers.items()
            for e, of_one in enumerate(numbers)
            for array, values in of_one.items()
        }
        about = {
            "yardsticks": list(self.learnt_numbers),
            "environments": list(self.environments),
            "units": describe(self.units),
            "box": describe(self.box),
            "train": self.train,
            "layout": None if self.layout is None else describe(self.layout),
        }
        with replacing(path, overwrite=True) as temporary:
            write_tree(temporary, arrays, about)

    @classmethod
    def load(cls, path: str | Path) -> "Yardsticks":
        """From a file that `save` wrote."""
        arrays, about = read_arrays(Path(path))
        names, environments = texts(about, "yardsticks", str(path)), texts(about, "environments", str(path))
        numbers: dict[str, list[dict[str, np.ndarray]]] = {name: [{} for _ in environments] for name in names}
        for place, values in arrays.items():
            name, e, array = place.removeprefix("['").removesuffix("']").split("/")
            numbers[name][int(e)][array] = values
        units, box = (restore(entry(about, name, dict, str(path))) for name in ("units", "box"))
        layout = about.get("layout")
        return cls(
            {name: tuple(of_all) for name, of_all in numbers.items()},
            environments,
            units,
            box,
            about.get("train"),
            None if layout is None else restore(layout),
        )

    def _squares(self, rule: Yardstick, numbers: list[Numbers], wanted: Batch, first: np.ndarray) -> Array:
        """The squared errors of one yardstick, summed over space, in standard units.

        - `first`: the point that each forecast starts from.
        """
        times, shape = np.asarray(wanted.times, float), wanted.states.shape
        states = np.asarray(wanted.states, float).reshape(*times.shape, -1)
        low, high = (np.broadcast_to(side, shape[3:]).reshape(-1) for side in (self.box.low, self.box.high))
        squares, driven = np.zeros(states.shape), outside(wanted)
        # What was added before the start is in it.
        later = np.arange(times.shape[2]) >= first[..., None]
        driven = driven._replace(impulses=np.where(later[..., None], driven.impulses, 0.0))
        for e, known in enumerate(np.asarray(wanted.complete)[:, :, 0]):
            # Time stands still until the start: what comes before it does not count.
            begin = np.take_along_axis(times[e, known], first[e, known, None], axis=1)
            starts = np.take_along_axis(states[e, known], first[e, known, None, None], axis=1)[:, 0]
            since = np.maximum(times[e, known] - begin, 0.0) if rule.autonomous else times[e, known]
            forecast = np.nan_to_num(rule.forecast(numbers[e], starts, since, driven.of(e).of((known,))), nan=np.inf)
            squares[e, known] = (np.clip(forecast, low, high) - states[e, known]) ** 2
        squares = np.where(np.asarray(wanted.observed).reshape(states.shape), squares, 0.0)
        return jnp.asarray(squares.reshape(*times.shape, -1, shape[-1]).sum(axis=-2)[None])


def _last_known(batch: Batch, warmup: int) -> np.ndarray:
    """The last point of each trajectory that is known and whole, by position."""
    usable = np.asarray(first_points(batch, warmup) & batch.complete)
    return np.max(np.where(usable, np.arange(usable.shape[-1]), 0), axis=-1)


def yardsticks(
    train: Trajectories, test: Trajectories, *, protocol: str = "clean", warmup: int = 1
) -> dict[str, Evaluation]:
    """The errors of all yardsticks that learn from `train` and forecast `test`, of which they are told `warmup` points.

    >>> t = np.linspace(0, 2, 9)
    >>> decays = Trajectories.from_arrays(t, np.exp(-t)[None, None, :, None])
    >>> list(yardsticks(decays, decays))[:4]
    ['persistence', 'mean', 'mean curve', 'linear']
    """
    expect("train", train, Trajectories, "leadax.load(FILE)")
    expect("test", test, Trajectories, "leadax.load(FILE)")
    lookup("protocol", protocol, dict.fromkeys(get_args(Protocol)))
    check_warmup(warmup, test)
    return Yardsticks.learnt(train, sparse_regression=True).errors(test, protocol=protocol, warmup=warmup)


def known() -> Mapping[str, Yardstick]:
    """All yardsticks by name."""
    return {**YARDSTICKS, SPARSE: sparse.SPARSE}
