"""Data of each system that several tests look at.

Compiling a solver takes three seconds, running it almost none: there is one program per system and protocol, and what
does not depend on the solver is tested elsewhere, on a system with a closed form.
"""

import dataclasses
from functools import cache

import jax.random as jr
import numpy as np
import pytest

from leadax.data import Trajectories
from leadax.systems import SYSTEMS, System, navier_stokes, simulate
from leadax.systems.system import identity

# Fields take longer.
TRAJECTORIES = {"lotka-volterra": 32, "linear": 32, "gray-scott": 2, "navier-stokes": 2}


@cache
def system_of(name: str, protocol: str) -> System:
    """The system with two more points shortly after the second, all of its state, and for fields few points."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(navier_stokes, "SPIN_UP", 1.0)
        system = SYSTEMS[name](protocol)
    times = system.times if TRAJECTORIES[name] > 2 else system.times[:4]
    soon = times[1] * np.array([1.0001, 1.0002])
    return dataclasses.replace(system, times=np.sort([*times, *soon]), observe=identity)


@cache
def data_of(name: str, protocol: str, fewer: int = 0) -> Trajectories:
    """Its data, with the number of trajectories above, or one fewer: that makes batches of the same size."""
    return simulate(system_of(name, protocol), key=jr.key(0), trajectories=TRAJECTORIES[name] - fewer)
