"""What a protocol stands for, and that every part of an experiment asks it."""

from typing import get_args, get_type_hints

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from leadax import Leads, Trajectories
from leadax.cli import run
from leadax.cli.reproduce import reproduce
from leadax.experiments import learning, norms
from leadax.experiments.presets import PRESETS
from leadax.experiments.protocols import PROTOCOLS
from leadax.experiments.rows import reported
from leadax.experiments.study import Options
from leadax.experiments.table1 import SYSTEMS, data
from leadax.experiments.targets import TARGETS
from leadax.nets import MLP, Scaled
from leadax.penalty import EmpiricalNorm, Omega
from leadax.systems.system import Protocol


def test_every_one_can_be_asked_for_and_has_known_rules():
    choices, _ = get_args(get_type_hints(reproduce)["protocol"])  # or None
    assert set(PROTOCOLS) == set(get_args(choices))
    assert {protocol.rules for protocol in PROTOCOLS.values()} == set(get_args(Protocol))


def test_targets_without_fields_have_no_fast():
    for name, target in TARGETS.items():
        assert ("fast" in target.protocols) == ("gray-scott" in target.systems), name
    assert run(["reproduce", "linear", "--protocol", "fast"]) == 2


def test_fast_has_the_data_and_errors_of_paper(cheap_data):
    assert (
        data("lotka-volterra", "train", "fast", 0).fingerprint
        == data("lotka-volterra", "train", "paper", 0).fingerprint
    )
    assert norms.penalty(2, "paper") != norms.penalty(2, "clean")
    line = {"mse_minimum": 1.0, "mse_minimum_std_over_seeds": 0.1, "mse_test": 2.0, "mse_std_over_seeds": 0.2}
    found = {name: reported({**line, "protocol": name}) for name in PROTOCOLS}
    assert found == {"paper": (1.0, 0.1), "fast": (1.0, 0.1), "clean": (2.0, 0.2)}


def test_fast_standardises_the_one_system_whose_states_need_it(cheap_data):
    settings = {name: PROTOCOLS["fast"].settings(data(name, "train", "fast", 0)) for name in SYSTEMS}
    net = lambda name: settings[name].net((8, 8, 2) if name == "gray-scott" else (2,), key=jr.key(0))
    assert isinstance(net("gray-scott"), Scaled)
    assert isinstance(net("lotka-volterra"), MLP)
    assert settings["gray-scott"].solver == "midpoint"
    assert settings["navier-stokes"].net == PRESETS["navier-stokes"].net


def test_the_penalty_of_fast_is_not_divided_by_fields_that_cross_zero(cheap_data):
    for name in SYSTEMS:
        omega = PROTOCOLS["fast"].settings(data(name, "train", "fast", 0)).penalty("paper")
        assert isinstance(omega, Omega)
        assert isinstance(omega.norm, EmpiricalNorm)
        assert omega.norm.relative == (name == "lotka-volterra"), name


@pytest.mark.parametrize("name", PROTOCOLS)
def test_training_is_as_the_protocol_says(name, tmp_path, monkeypatch):
    """Fields are learnt in few steps by `fast`, vectors as in `paper`."""
    field, vector = (Trajectories.from_arrays(range(3), np.ones((1, 1, 3, *shape))) for shape in ((8, 8, 1), (2,)))
    given = []

    class Stop(Exception):
        pass

    def fit(*_, **options):
        given.append(options)
        raise Stop

    monkeypatch.setattr(learning, "fit", fit)
    for train in (field, vector):
        with pytest.raises(Stop):
            learning.learn(Leads(), train, None, Options("hour", 1, 400, name), tmp_path)
    assert {options["protocol"] for options in given} == {PROTOCOLS[name].rules}
    assert ["learning_rate" in options for options in given] == [name == "fast", False]
    if name == "fast":
        probability = given[0]["sampling"].probability
        np.testing.assert_allclose([probability(jnp.array(s)) for s in (0, 399)], [0.9925, 0.05], rtol=1e-3)
