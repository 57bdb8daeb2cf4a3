"""Odd arguments for what is done with a trained model, for simulations and for searches."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import leadax as lx

from .data_files import TIMES, decays, plain

COUNTS = (0, -1, 1.5, "10", True, float("nan"), [], {})
OPEN = (None, 3, "x", [], {}, object())
SERIES = ("x", 3, [[1.0, 2.0]], [0.0, float("nan")], [0.0, float("inf")], ["a"], {}, object())
STATES = ("x", None, [], [1.0, 2.0], [float("nan")], [[["a"]]], {}, object())
NAMES = ("x", "", 3, [], object())
# Where the model is, once it is known.
PLACE: list[Path] = []


@functools.cache
def model() -> lx.Model:
    return lx.Model.load(PLACE[0] / "model.safetensors")


def prepare(place: Path) -> None:
    """A small model."""
    import jax.random as jr

    method = lx.Leads(net=lx.Linear, solver="euler")
    lx.fit(method, plain(), steps=4, key=jr.key(0), run=place / "run").save(place / "model.safetensors")


def _one(odd: dict[str, Any]) -> Any:
    """The odd model, or the right one."""
    return odd.pop("model") if "model" in odd else model()


def _new() -> lx.Trajectories:
    return lx.Trajectories.from_arrays(TIMES, decays(0.7), environments=["new"])


def _adapt(**odd: Any) -> Any:
    import jax.random as jr

    given = {"model": model(), "data": _new(), "key": jr.key(0), "steps": 4, "scheme": "mixture", **odd}
    return lx.adapt(given.pop("model"), given.pop("data"), **given)


def _tune(**odd: Any) -> Any:
    import jax.random as jr

    given = {"train": plain(), "key": jr.key(0), "minutes": 0.01, **odd}
    return lx.tune(given.pop("train"), **given)


def _side_by_side(**odd: Any) -> Any:
    import jax.random as jr

    method = lx.Leads(net=lx.Linear, solver="euler")
    given = {"methods": [method], "train": plain(), "key": jr.key(0), "steps": 4, **odd}
    return lx.fit_side_by_side(given.pop("methods"), given.pop("train"), **given)


def _simulate(**odd: Any) -> Any:
    import jax.random as jr

    from leadax.systems import SYSTEMS

    given = {"system": SYSTEMS["lotka-volterra"]("clean"), "key": jr.key(0), "trajectories": 1, **odd}
    return lx.simulate(given.pop("system"), **given)


def _predict(state: Any = (1.0,), times: Any = TIMES, environment: Any = "e0", **odd: Any) -> Any:
    return model().predict(state, times, environment=environment, **odd)


Table = dict[str, tuple[Callable[..., Any], dict[str, tuple[Any, ...]]]]
USES: Table = {
    "predict": (_predict, {"state": STATES, "times": SERIES, "environment": ("x", 7, -3, None, 1.5, []),
                           "solver": ("x", 3, "", []), "inputs": ([1.0], "x"), "individual": ([1.0], "x")}),
    "specific": (lambda environment: model().specific(environment), {"environment": ("x", 7, None, 1.5, [])}),
    "member": (lambda number: model().member(number), {"number": (1, -5, None, "x", 1.5)}),
    "save": (lambda path: model().save(path), {"path": ("", None, 3, "a\0b", "no/such/x.safetensors", "/")}),
    "forecast": (
        lambda data=plain(), **odd: lx.forecast(_one(odd), data, **odd),
        {"model": OPEN, "data": OPEN, "times": SERIES, "solver": NAMES, "warmup": COUNTS},
    ),
    "evaluate": (
        lambda data=plain(), **odd: lx.evaluate(model(), data, **odd),
        {"data": (*OPEN, _new()), "protocol": NAMES, "warmup": COUNTS},
    ),
    "adapt": (_adapt, {"data": OPEN[1:], "scheme": NAMES, "steps": COUNTS,
                       "test": OPEN[1:], "key": OPEN, "learning_rate": ("x", -1, 0), "run": (3, "a\0b")}),
    "explain": (
        lambda data=plain(), **odd: lx.explain(_one(odd), data, **odd),
        {"model": OPEN, "data": OPEN[1:], "part": NAMES, "degree": (-1, 1.5, "x", 10**9),
         "functions": (["x"], [3])},
    ),
    "relations": (
        lambda data=plain(), names=(): lx.relations(model(), data, names),
        {"data": OPEN, "names": (["nowhere"], 3, [3])},
    ),
    "export_field": (lx.export_field, {"model": OPEN}),
    "export_forecast": (lambda times: lx.export_forecast(model(), times), {"times": (*SERIES, None, [])}),
    "yardsticks": (
        lambda train=plain(), test=plain(), **odd: lx.yardsticks(train, test, **odd),
        {"train": OPEN, "test": (*OPEN, _new()), "protocol": NAMES, "warmup": COUNTS},
    ),
    "tune": (_tune, {"train": OPEN, "key": OPEN, "minutes": (0, -1, "x", float("nan"), []), "methods": (["x"], [], 3),
                     "seeds": COUNTS}),
    "fit_side_by_side": (_side_by_side, {"methods": ([], ["x"], 3, None), "steps": COUNTS, "seeds": COUNTS,
                                         "learning_rates": ([], ["x"], [0.1, 0.2], 3, [-1])}),
    "simulate": (_simulate, {"system": OPEN, "key": OPEN, "split": NAMES, "trajectories": COUNTS,
                             "environments": (*COUNTS, 10**6)}),
    "Clock": (lx.Clock, {"period": (0, -1, "x", float("nan"), [])}),
    "Latent": (lx.Latent, {"noise": ("x", -1, float("nan"), []), "hidden": (-1, 1.5, "x"), "individual": (-1, "x")}),
    "Omega": (lx.Omega, {"norm": OPEN, "lipschitz": OPEN, "alpha": (-1, "x", float("nan"))}),
    "SpectralNorm": (lx.SpectralNorm, {"iterations": COUNTS, "operator": NAMES}),
    "ScheduledSampling": (lx.ScheduledSampling, {"decay": (-1, 2, "x", float("nan")), "every": COUNTS}),
    "Coda": (lx.Coda, {"dimension": COUNTS, "direction_std": (-1, "x", float("nan"))}),
    "FtNode": (lx.FtNode, {"rank": COUNTS}),
    "FtRnn": (lx.FtRnn, {"width": COUNTS, "rank": COUNTS}),
    "Maml": (lx.Maml, {"inner_steps": COUNTS, "first_share": (-1, 2, "x"), "inner_rate": (-1, "x", float("nan"))}),
}  # fmt: skip
