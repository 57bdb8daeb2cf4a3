"""The models of Table 1: what they are trained on, and where other targets find them."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import jax.random as jr

from ...data import Trajectories
from ...model import Model
from ...systems import get_system, simulate
from ..results.curves import Curves
from .contenders import CONTENDERS
from .learning import Data, learn
from .options import Options
from .protocols import PROTOCOLS

SYSTEMS = ("lotka-volterra", "gray-scott", "navier-stokes")
BUDGETS = {"smoke": (2, 40), "hour": (4, 12_000), "paper": (4, 120_000)}
# A step on a field costs a hundred times one on a vector. These shares are enough for the protocol `fast`; for the
# others they are what an hour or two can give.
SHARE_OF_STEPS = {"lotka-volterra": 1.0, "gray-scott": 1 / 20, "navier-stokes": 2 / 15}
# The folder of these runs, among those of the other targets.
FOLDER = "table1"


@cache
def simulated(system: str, split: str, protocol: str, seed: int, trajectories: int | None = None) -> Trajectories:
    """The data of an experiment, as `leadax simulate` makes them."""
    rules = PROTOCOLS[protocol].rules
    return simulate(get_system(system, rules), key=jr.key(seed), split=split, trajectories=trajectories)


def data_of(options: Options, system: str) -> Data:
    """The training and test data of a system."""
    train, test = (simulated(system, split, options.protocol, options.seed) for split in ("train", "test"))
    return Data(system, train, test)


def trained(options: Options, system: str, method: str, folder: Path) -> Model:
    """The model of a run: trained, resumed, or found finished in its folder."""
    options = options.for_system(system, SHARE_OF_STEPS)
    return learn(CONTENDERS[method], data_of(options, system), options, folder)


def run_name(options: Options, system: str, method: str) -> str:
    """The name of a run's folder."""
    name = method.replace(" (", "-").replace(")", "").replace(" ", "-")
    return f"{system}-{name}-{options.for_system(system, SHARE_OF_STEPS).work}"


def of_table1(options: Options) -> Options:
    """The options of Table 1's models for another target that starts from them."""
    steps = options.model_steps or BUDGETS[options.budget][1]
    return replace(options, steps=steps, exact=options.model_steps is not None)


def trained_for_table1(options: Options, system: str, method: str, runs: Path) -> Model:
    """The model of Table 1 that another target starts from; `runs` holds the folders of all targets."""
    options = of_table1(options)
    return trained(options, system, method, runs / FOLDER / run_name(options, system, method))


def in_order(curves: Curves) -> Curves:
    """Curves in the order of systems and protocols, whichever was measured first."""
    systems, protocols = list(SYSTEMS), list(PROTOCOLS)
    place = lambda item: (systems.index(item[0][0]), protocols.index(item[0][1]))
    return dict(sorted(curves.items(), key=place))
