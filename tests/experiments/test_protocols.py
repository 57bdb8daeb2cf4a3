"""What a protocol stands for, and that every part of an experiment asks it."""

from typing import get_args, get_type_hints

import jax.numpy as jnp
import numpy as np
import pytest

from leadax import Trajectories
from leadax.cli import run
from leadax.cli.reproduce import reproduce
from leadax.data.units import Units
from leadax.defaults import KAPPA, PRESETS
from leadax.experiments.study import Options, learning
from leadax.experiments.study.learning import Data
from leadax.experiments.study.models import CONTENDERS, SYSTEMS, simulated
from leadax.experiments.study.protocols import PRESET_OF, PROTOCOLS, reported
from leadax.experiments.targets import TARGETS, norms
from leadax.nets import ConvNet
from leadax.nets.architecture import architecture
from leadax.penalties import EmpiricalNorm, Omega
from leadax.systems import SYSTEMS as ALL_SYSTEMS
from leadax.systems.system import Protocol

SHAPES = {"lotka-volterra": (2,), "gray-scott": (8, 8, 2), "navier-stokes": (8, 8, 1)}


def data_of(system):
    states = np.random.default_rng(0).uniform(1, 2, (2, 1, 4, *SHAPES[system]))
    return Trajectories.from_arrays(range(4), states)


def test_every_one_can_be_asked_for_and_has_known_rules():
    choices, _ = get_args(get_type_hints(reproduce)["protocol"])  # or None
    assert set(PROTOCOLS) == set(get_args(choices))
    assert {protocol.rules for protocol in PROTOCOLS.values()} == set(get_args(Protocol))


def test_every_system_has_settings():
    assert {PRESET_OF.get(system, system) for system in ALL_SYSTEMS} == set(PRESETS)
    for protocol in PROTOCOLS.values():
        for system in ALL_SYSTEMS:
            protocol.describe(system)
    paper, fast = (PROTOCOLS[name] for name in ("paper", "fast"))
    assert fast.describe("navier-stokes-text") == fast.describe("navier-stokes") != paper.describe("navier-stokes")
    assert fast.describe("lotka-volterra-coda") == paper.describe("lotka-volterra")


def test_targets_without_fields_have_no_fast():
    for name, target in TARGETS.items():
        assert ("fast" in target.protocols) == ("gray-scott" in target.systems), name
    assert run(["reproduce", "linear", "--protocol", "fast"]) == 2


def test_fast_has_the_data_and_errors_of_paper(cheap_data):
    found = [simulated("lotka-volterra", "train", name, 0).fingerprint for name in ("fast", "paper")]
    assert found[0] == found[1]
    penalties = [norms.contender("leads p=2", name).method.penalty for name in ("paper", "clean")]
    assert penalties[0] != penalties[1]
    line = {"mse_minimum": 1.0, "mse_minimum_std_over_seeds": 0.1, "mse_test": 2.0, "mse_std_over_seeds": 0.2}
    errors = {name: reported({**line, "protocol": name}) for name in PROTOCOLS}
    assert errors == {"paper": (1.0, 0.1), "fast": (1.0, 0.1), "clean": (2.0, 0.2)}


def test_the_paper_has_the_units_of_the_data_and_its_own_penalty():
    for system in SYSTEMS:
        data = data_of(system)
        paper, clean = (PROTOCOLS[name].defaults(system, data) for name in ("paper", "clean"))
        assert paper.units == Units.ones(len(data.channels))
        assert paper.penalty_weight == PRESETS[system].penalty_weight
        assert paper.penalty.norm.per_pixel
        assert (paper.clip, paper.longest_step, paper.kappa, paper.box) == (None,) * 4
        if data.space:
            assert (clean.penalty_weight, clean.kappa) == (None, KAPPA)  # chosen on no test set
            assert clean.units == PROTOCOLS["fast"].defaults(system, data).units
        else:
            assert clean.units == paper.units
            assert clean.penalty_weight == paper.penalty_weight
            assert not clean.penalty.norm.per_pixel


def test_fast_standardises_the_one_system_whose_states_need_it():
    found = {system: PROTOCOLS["fast"].defaults(system, data_of(system)) for system in SYSTEMS}
    assert found["gray-scott"].units == Units.measured(data_of("gray-scott"))
    assert (found["gray-scott"].net, found["gray-scott"].solver) == (architecture(ConvNet), "midpoint")
    assert found["navier-stokes"].units == Units.ones(1)
    assert found["navier-stokes"].net == architecture(PRESETS["navier-stokes"].net)
    assert found["lotka-volterra"] == PROTOCOLS["paper"].defaults("lotka-volterra", data_of("lotka-volterra"))


def test_the_penalty_of_fast_is_not_divided_by_fields_that_cross_zero():
    for system, alpha in {"lotka-volterra": 1e-2, "gray-scott": 1.0, "navier-stokes": 1e-3}.items():
        defaults = PROTOCOLS["fast"].defaults(system, data_of(system))
        assert isinstance(defaults.penalty, Omega)
        assert isinstance(defaults.penalty.norm, EmpiricalNorm)
        assert defaults.penalty.norm.relative == (system == "lotka-volterra"), system
        assert defaults.penalty.alpha == alpha
        assert defaults.penalty_weight == (2e-4 if system == "lotka-volterra" else 1e-3)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_training_is_as_the_protocol_says(name, tmp_path, monkeypatch):
    """Fields learn in few steps but in `paper`, vectors always as there. Recurrent nets see standardised states."""
    calls = []

    class Stop(Exception):
        pass

    def fit(method, train, **how):
        calls.append(how)
        raise Stop

    monkeypatch.setattr(learning, "fit", fit)
    for system, method in (("gray-scott", "leads"), ("lotka-volterra", "leads"), ("lotka-volterra", "ft-rnn")):
        data = Data(system, data_of(system), data_of(system))
        with pytest.raises(Stop):
            learning.learn(CONTENDERS[method], data, Options("hour", 1, 400, name), tmp_path)
    assert {how["recipe"].protocol for how in calls} == {PROTOCOLS[name].rules}
    assert ["learning_rate" in how for how in calls] == [name != "paper", False, False]
    assert [how["defaults"].units == Units.ones(2) for how in calls] == [name == "paper", True, False]
    if name != "paper":
        field, vector, _ = (how["recipe"] for how in calls)
        assert (calls[0]["optimiser"], field.decay, field.batch_size) == ("muon", "one-cycle", 1)
        assert (vector.decay, vector.batch_size) == (None, None)
        probability = field.sampling.probability
        np.testing.assert_allclose([probability(jnp.array(s)) for s in (0, 399)], [0.9925, 0.05], rtol=1e-3)
