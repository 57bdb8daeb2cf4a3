"""Groups of environments of the linear system (supplement D.3), and the matrices behind them."""

from functools import cache
from typing import NamedTuple

import jax.random as jr
import numpy as np

from ...data import Trajectories
from ...systems import get_system, simulate
from ...systems.linear import matrix
from .learning import Data
from .options import Options
from .protocols import PROTOCOLS

SYSTEM = "linear"
POINTS = 20
TRAJECTORIES = (2, 4)
TEST_TRAJECTORIES = 32


class Group(NamedTuple):
    """A group of m environments with n trajectories each; at m = 1 all groups in one, since nothing is shared."""

    m: int
    n: int
    number: int

    @property
    def names(self) -> list[str]:
        """Its environments."""
        size = self.m if self.m > 1 else len(truth())
        return list(truth())[self.number * size : (self.number + 1) * size]

    def data(self, options: Options) -> Data:
        """Its training and test data. The trajectories of n = 2K are a part of those of n = 4K."""
        train = simulated("train", max(TRAJECTORIES), options.protocol, options.seed)
        test = simulated("test", TEST_TRAJECTORIES, options.protocol, options.seed)
        return Data(SYSTEM, train.select(self.names, slice(0, self.n)), test.select(self.names))


def truth() -> dict[str, np.ndarray]:
    """F_e of each environment."""
    return {name: np.asarray(matrix(values)) for name, values in get_system(SYSTEM).environments.items()}


@cache
def simulated(split: str, trajectories: int, protocol: str, seed: int) -> Trajectories:
    """All environments, each from initial states of its own, where `simulate` starts them all from the same ones.

    With the same states everywhere, the direction that does not decay in one environment would hardly be seen in any
    other, and the shared part would learn it from the one environment where it is an exception.
    """
    system = get_system(SYSTEM, PROTOCOLS[protocol].rules)
    count = len(system.environments)
    drawn = simulate(system, key=jr.key(seed), split=split, trajectories=trajectories * count)
    states = [drawn.states[e, e * trajectories : (e + 1) * trajectories] for e in range(count)]
    return Trajectories.from_arrays(
        system.times,
        np.stack(states),
        environments=drawn.environments,
        channels=drawn.channels,
        parameters=drawn.parameters,
        attributes=drawn.attributes,
    )
