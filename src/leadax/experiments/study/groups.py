"""Groups of environments of Lotka–Volterra (supplement D.3): m environments of n points each.

Eight environments are divided into groups of m. Each group is learnt by itself, all are tested on the same data, and
the error is the mean over all eight. The paper does not say which eight of its ten: here they are the first, in order.
1/λ is the one for m = 10 for all m, although Ω is summed over environments and the error averaged: Ω weighs less.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from ..results.rows import Row
from .learning import Contender, Data, columns_of, learn, result_rows
from .models import simulated
from .options import Options

SYSTEM = "lotka-volterra"
TOTAL = 8
SIZES = (1, 2, 4, 8)
TRAJECTORIES = (1, 2, 4, 8)


class Group(NamedTuple):
    """A group of environments.

    - `m`: what the table calls its size; `n`: trajectories per environment; `number`: which group it is;
    - `size`: how many environments it really has. A method whose error does not depend on m learns all at once.
    """

    m: int
    n: int
    number: int
    size: int

    def data(self, options: Options) -> Data:
        """Its training and test data. Fewer trajectories are a part of more."""
        train = simulated(SYSTEM, "train", options.protocol, options.seed, max(TRAJECTORIES))
        test = simulated(SYSTEM, "test", options.protocol, options.seed)
        names = train.environments[:TOTAL][self.number * self.size : (self.number + 1) * self.size]
        return Data(SYSTEM, train.select(names, slice(0, self.n)), test.select(names))


def run_name(options: Options, method: str, group: Group) -> str:
    """The name of a run's folder."""
    return f"{method.replace(' ', '-')}-m{group.m}-n{group.n}-group{group.number}-{options.work}"


def group_rows(options: Options, contender: Contender, name: str, group: Group, folder: Path) -> Sequence[Row]:
    """Learn one group, and return its results."""
    data = group.data(options)
    model = learn(contender, data, options, folder)
    columns = columns_of(SYSTEM, name, data.train, options.protocol) | {"m": group.m, "group": group.number}
    return result_rows(columns, model, data, options.first_seed)
