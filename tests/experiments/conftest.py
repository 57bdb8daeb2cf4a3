"""What tests of experiments share."""

import numpy as np
import pytest

from leadax import Trajectories
from leadax.experiments import table1


@pytest.fixture
def cheap_data(monkeypatch):
    """Data with the shapes of a system and none of its dynamics: to compile those takes longer than the tests."""

    def simulated(system, *, key, split, trajectories=None):
        count = trajectories or system.trajectories[split]
        environments = tuple(system.environments_of(split))
        shape = (len(environments), count, len(system.times), len(system.channels))
        states = np.random.default_rng(len(split)).uniform(1, 2, shape)
        attributes = {"system": system.name, "protocol": system.protocol}
        return Trajectories.from_arrays(
            system.times, states, environments=environments, channels=system.channels, attributes=attributes
        )

    monkeypatch.setattr(table1, "simulate", simulated)
    table1.data.cache_clear()
    yield
    table1.data.cache_clear()
