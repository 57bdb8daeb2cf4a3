"""What every system in the registry promises."""

import sys

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.systems.simulated import data_of, system_of

from leadax.errors import InputError, RunError
from leadax.systems import SPLITS, SYSTEMS, System, get_system, simulate

CASES = [(name, protocol) for name in SYSTEMS for protocol in ("paper", "clean")]
# Variants have the equation and the solver of another system, and the paper's solver is the same for all ODEs.
VARIANTS = ("lotka-volterra-coda", "navier-stokes-text")
SIMULATED = [case for case in CASES if case[0] not in VARIANTS and case != ("linear", "paper")]
DECAYED = np.exp(-np.outer([1.0, 2.0, 3.0], np.arange(3.0)))


def decay(**changes) -> System:
    """dx/dt = −rate·x, with its closed form as the solver: nothing to compile but a product."""
    settings = {
        "name": "decay",
        "channels": ("x",),
        "times": np.arange(3.0),
        "environments": {"a": {"rate": 1.0}, "b": {"rate": 2.0}, "c": {"rate": 3.0}},
        "tangent": lambda x, p: -p["rate"] * x,
        "initial_state": lambda key: 1 + jr.uniform(key, (1,)),
        "solve": lambda x, p, times: x[None] * jnp.exp(-p["rate"] * times)[:, None],
    }
    return System(**(settings | changes))


@pytest.mark.parametrize(("name", "protocol"), SIMULATED)
def test_data_of_a_system(name, protocol):
    system, data, fewer = system_of(name, protocol), data_of(name, protocol), data_of(name, protocol, fewer=1)
    same = data.states[:, :-1]
    np.testing.assert_allclose(fewer.states, same, rtol=1e-9, atol=1e-9, err_msg="same seed, same data")
    assert np.ptp(data.states[:, :, 0], axis=0).max() == 0, "the i-th initial state is the same in every environment"
    assert np.abs(data.states[0, 0] - data.states[1, 0]).max() > 1e-3, "but what follows is not"
    assert np.abs(data.states[0, 0, 0] - data.states[0, 1, 0]).max() > 1e-3, "initial states differ"
    assert data.attributes["system"] == name
    assert data.attributes["protocol"] == protocol
    assert data.channels == system.channels
    assert data.environments == tuple(system.environments)


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_splits_share_neither_initial_states_nor_novel_environments(name, protocol):
    system = get_system(name, protocol)
    draws = jnp.concatenate([system.draws(jr.key(0), split, 3) for split in SPLITS])
    numbers = jr.key_data(draws) if jnp.issubdtype(draws.dtype, jax.dtypes.prng_key) else draws
    assert len(np.unique(numbers.reshape(len(draws), -1), axis=0)) == len(draws)
    parameters = lambda environments: {tuple(p.values()) for p in environments.values()}
    assert not parameters(system.environments) & parameters(system.novel)


@pytest.mark.parametrize("name", [name for name, protocol in SIMULATED if protocol == "clean"])
def test_tangent_is_what_the_solver_solves(name):
    """A central difference over a step that is small on the scale of the data, after the first rough moments."""
    system, data = system_of(name, "clean"), data_of(name, "clean")
    before, middle, after = np.moveaxis(data.states[:, 0, 1:4], 1, 0)
    expected = (after - before) / (data.times[0, 0, 3] - data.times[0, 0, 1])
    parameters = {name: jnp.asarray(values) for name, values in data.parameters.items()}
    measured = jax.jit(jax.vmap(system.tangent))(jnp.asarray(middle), parameters)
    for e, environment in enumerate(data.environments):
        error = np.abs(measured[e] - expected[e]).max() / np.abs(expected[e]).max()
        assert error < 1e-5, f"{environment}: relative error {error:.1e}, allowed 1e-5"


def test_seeds_differ():
    data = data_of("lotka-volterra", "clean")
    other = simulate(system_of("lotka-volterra", "clean"), key=jr.key(1), trajectories=int(data.counts[0]))
    assert not np.allclose(other.states, data.states)


def test_any_number_of_trajectories_and_environments():
    """However they are divided into batches, and however full the last one is."""
    everything = simulate(decay(), key=jr.key(0), trajectories=7).states
    np.testing.assert_allclose(everything[..., 0], everything[:, :, :1, 0] * DECAYED[:, None, :], rtol=1e-12)
    assert len(np.unique(everything[0, :, 0, 0])) == 7
    for count in (1, 3):
        data = simulate(decay(), key=jr.key(0), trajectories=count, environments=2)
        assert data.environments == ("a", "b")
        np.testing.assert_allclose(data.states, everything[:2, :count], rtol=1e-12)


def test_progress_counts_trajectories_up_to_the_total(monkeypatch):
    # Two states in each of three environments.
    monkeypatch.setattr(sys.modules["leadax.systems.simulate"], "BATCH_NUMBERS", 6)
    seen = []
    simulate(decay(), key=jr.key(0), trajectories=5, progress=lambda *step: seen.append(step))
    assert seen == [(2, 5), (4, 5), (5, 5)]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"trajectories": 0}, "`trajectories` must be a whole number from 1 to 2147483647, got 0"),
        ({"trajectories": -3}, "got -3"),
        ({"environments": 11}, "from 1 to 10, got 11"),
        ({"split": "validation"}, "train, test, novel"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(InputError, match=words):
        simulate(get_system("lotka-volterra"), key=jr.key(0), **arguments)


def test_unknown_names():
    with pytest.raises(InputError, match="did you mean `lotka-volterra`"):
        get_system("lotka-voltera")
    with pytest.raises(InputError, match="unknown protocol"):
        get_system("linear", "papr")


def test_blow_up_says_where():
    """With the solver that a system has by default."""
    system = System(
        name="explosion",
        channels=("x",),
        times=0.75 * np.arange(5),
        environments={"calm": {"rate": 0.1}, "wild": {"rate": 1.0}},
        tangent=lambda x, p: p["rate"] * x**2,  # x(t) = 1/(1 − rate·t)
        initial_state=lambda key: jnp.ones(1),
    )
    with pytest.raises(RunError, match=r"blows up in environment `wild`, trajectory 0, before time 1\.5"):
        simulate(system, key=jr.key(0))


def test_float64_without_touching_the_global_setting():
    expected = data_of("lotka-volterra", "clean")
    with jax.enable_x64(False):
        data = simulate(system_of("lotka-volterra", "clean"), key=jr.key(0), trajectories=int(expected.counts[0]))
        assert jnp.ones(1).dtype == jnp.float32
    assert data == expected


def test_paper_seeds_are_all_different():
    draw = get_system("lotka-volterra", "paper").draws
    states = [draw(jr.key(seed), "train", 1)[0] for seed in (0, 1, 10_000, 2**31)]
    assert len({tuple(np.asarray(state)) for state in states}) == 4


def test_an_environment_may_have_no_parameters():
    system = decay(environments={"only": {}}, solve=lambda x, p, times: x[None] * jnp.exp(-times)[:, None])
    data = simulate(system, key=jr.key(0))
    np.testing.assert_allclose(data.states[0, 0, :, 0], data.states[0, 0, 0, 0] * np.exp(-np.arange(3.0)))
    assert dict(data.parameters) == {}


def test_a_system_is_checked_when_it_is_made():
    with pytest.raises(
        InputError, match="`b` of system `decay` must have the same parameters as the first one, rate; got r"
    ):
        decay(environments={"a": {"rate": 1.0}, "b": {"r": 1.0}})
    with pytest.raises(InputError, match="`times` of system `decay`"):
        decay(times=np.array([0.0, 0.0]))
