"""What tests of experiments share: data and nets that cost nothing."""

from dataclasses import replace

import numpy as np
import pytest

from leadax import Trajectories
from leadax.defaults import PRESETS
from leadax.experiments.study import models
from leadax.nets import Linear


@pytest.fixture
def cheap_data(monkeypatch):
    """Data with the shapes of a system and none of its dynamics: compiling those takes longer than the tests."""

    def simulate(system, *, key, split, trajectories=None):
        count = trajectories or system.trajectories[split]
        environments = tuple(system.environments_of(split))
        shape = (len(environments), count, len(system.times), len(system.channels))
        states = np.random.default_rng(len(split)).uniform(1, 2, shape)
        return Trajectories.from_arrays(system.times, states, environments=environments, channels=system.channels)

    monkeypatch.setattr(models, "simulate", simulate)
    models.simulated.cache_clear()
    yield
    models.simulated.cache_clear()


@pytest.fixture
def cheap_nets(monkeypatch):
    """The paper's settings for vectors, but with a net and a solver that compile in no time."""
    for name, preset in PRESETS.items():
        if not preset.on_grid:
            monkeypatch.setitem(PRESETS, name, replace(preset, net=Linear, solver="euler"))
