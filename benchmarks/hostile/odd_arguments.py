"""Odd arguments for public functions: each must be refused by an error of Leadax.

A word that a function does not know at all is Python's to refuse.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import leadax as lx

from . import odd_uses
from .cases import Case
from .data_files import TIMES, decays, plain

COUNTS = (0, -1, 1.5, "10", None, True, float("nan"), 2**40, [], {}, np.array([1, 2]))
PATHS = ("", "nowhere", "nowhere.csv", ".", None, 3, [], b"x.csv", "a\0b.csv", "x" * 5000 + ".csv")
OPEN = (None, 3, "x", [], {}, object())
FRACTIONS = (0, 1, -0.5, 2, "x", None, float("nan"), [], {})
WEIGHTS = (-1, float("nan"), float("inf"), "x", [], True)
ARRAYS = (
    "x",
    None,
    [],
    3,
    [[1, 2], [3]],
    np.zeros(3),
    np.zeros((2, 2)),
    np.array(["a"]),
    np.full((1, 1, 3, 1), np.inf),
)


def _fit(**odd: Any) -> Any:
    import jax.random as jr

    given = {"method": lx.Leads(net=lx.Linear, solver="euler"), "train": plain(), "key": jr.key(0), "steps": 4, **odd}
    return lx.fit(given.pop("method"), given.pop("train"), **given)


def _adapt(**odd: Any) -> Any:
    import jax.random as jr

    given = {"model": None, "data": plain(), "key": jr.key(0), "steps": 4, **odd}
    return lx.adapt(given.pop("model"), given.pop("data"), **given)


Table = dict[str, tuple[Callable[..., Any], dict[str, tuple[Any, ...]]]]
FUNCTIONS: Table = {
    "load": (lx.load, {"path": PATHS}),
    "Model.load": (lx.Model.load, {"path": PATHS}),
    "from_arrays": (
        lambda times=TIMES, states=decays(1.0), **odd: lx.Trajectories.from_arrays(times, states, **odd),
        {"times": ARRAYS, "states": ARRAYS, "environments": (["a", "a"], [], ["a", "b", "c"]),
         "channels": (["a", "b"], []), "parameters": ({"a": [1, 2, 3]}, {"a": "x"})},
    ),
    "hold_out": (lambda how="auto", data=plain(): lx.hold_out(data, how), {"how": FRACTIONS, "data": OPEN}),
    "folds": (lambda count: lx.folds(plain(), count), {"count": COUNTS[:7]}),
    "fit": (_fit, {"steps": COUNTS, "seeds": COUNTS, "method": OPEN, "train": OPEN, "test": OPEN[1:], "key": OPEN,
                   "learning_rate": ("x", -1, float("nan"), 0), "optimiser": OPEN[1:3], "run": (3, "a\0b")}),
    "Recipe": (lx.Recipe, {"decay": (3, "x"), "match": OPEN, "protocol": OPEN, "look_every": COUNTS,
                           "checkpoint_every": COUNTS, "on_divergence": OPEN}),
    "Leads": (lx.Leads, {"net": (3, "x", []), "solver": (3, "x"), "substeps": COUNTS, "penalty_weight": WEIGHTS,
                         "kappa": WEIGHTS}),
    "preset": (lambda name: lx.preset(name, plain()), {"name": ("x", "", None, 3)}),
    "chosen_for": (lx.chosen_for, {"data": OPEN}),
    "evaluate": (lambda model: lx.evaluate(model, plain()), {"model": OPEN}),
    "adapt": (_adapt, {"model": OPEN}),
}  # fmt: skip


def prepare(place: Path) -> None:
    """A model for the functions that need one."""
    odd_uses.prepare(place)


def case(place: Path, chance: random.Random) -> Case:
    """A function with one odd argument."""
    odd_uses.PLACE[:] = [place]
    name, (function, arguments) = chance.choice([*FUNCTIONS.items(), *odd_uses.USES.items()])
    argument = chance.choice([*arguments])
    value = chance.choice(arguments[argument])
    return Case(f"{name}({argument}={value!r:.80})", lambda: function(**{argument: value}))
