"""What every system in the registry promises."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from leadax.errors import InputError, RunError
from leadax.systems import SPLITS, SYSTEMS, System, get_system, simulate

CASES = [(name, protocol) for name in SYSTEMS for protocol in ("paper", "clean") if name != "navier-stokes-text"]


def short(name: str, protocol: str) -> System:
    """The system, observed three times only: what is tested here does not depend on the horizon."""
    system = get_system(name, protocol)
    return dataclasses.replace(system, times=system.times[:3])


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_data_of_a_system(name, protocol):
    system = short(name, protocol)
    data, more = (simulate(system, key=jr.key(1), trajectories=n) for n in (2, 3))
    np.testing.assert_allclose(more.states[:, :2], data.states, rtol=1e-9, atol=1e-9, err_msg="same seed, same data")
    assert np.ptp(data.states[:, :, 0], axis=0).max() == 0, "the i-th initial state is the same in every environment"
    assert np.abs(data.states[0, 0] - data.states[1, 0]).max() > 1e-3, "but what follows is not"
    assert data.attributes["system"] == name
    assert data.attributes["protocol"] == protocol
    assert data.channels == system.channels
    assert data.environments == tuple(system.environments)


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_splits_share_neither_initial_states_nor_novel_environments(name, protocol):
    system = get_system(name, protocol)
    draws = jnp.concatenate([system.draws(jr.key(0), split, 3) for split in SPLITS])
    states = np.asarray(jax.vmap(system.initial_state)(draws)).reshape(len(draws), -1)
    distance = np.linalg.norm(states[:, None] - states[None], axis=-1) + np.eye(len(states))
    assert distance.min() > 1e-6
    parameters = lambda environments: {tuple(p.values()) for p in environments.values()}
    assert not parameters(system.environments) & parameters(system.novel)


@pytest.mark.parametrize("name", SYSTEMS)
def test_tangent_is_what_the_solver_solves(name):
    system = get_system(name)
    assert system.solve is not None
    state = system.initial_state(jr.key(0))
    parameters = {k: jnp.asarray(float(v)) for k, v in list(system.environments.values())[-1].items()}
    # A central difference over a step that is small on the scale of the data, after the first rough moments.
    h = 1e-4 * (system.times[1] - system.times[0])
    state = system.solve(state, parameters, system.times[:2])[-1]
    before, middle, after = system.solve(state, parameters, np.array([0.0, h, 2 * h]))
    expected = (after - before) / (2 * h)
    measured = system.tangent(middle, parameters)
    assert float(jnp.max(jnp.abs(measured - expected))) < 1e-5 * float(jnp.max(jnp.abs(expected)))


def test_seeds_differ():
    system = short("lotka-volterra", "clean")
    assert not np.allclose(simulate(system, key=jr.key(0)).states, simulate(system, key=jr.key(1)).states)


def test_first_environments_only():
    data = simulate(short("linear", "clean"), key=jr.key(0), environments=3, trajectories=1)
    assert data.environments == ("zero=1", "zero=2", "zero=3")


def test_progress_counts_trajectories_up_to_the_total():
    seen = []
    simulate(short("gray-scott", "paper"), key=jr.key(0), trajectories=5, progress=lambda *step: seen.append(step))
    assert seen[-1] == (5, 5)
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert len(seen) > 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"trajectories": 0}, "`trajectories` must be at least 1, got 0"),
        ({"trajectories": -3}, "got -3"),
        ({"environments": 11}, "between 1 and 10, got 11"),
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
    with jax.enable_x64(False):
        data = simulate(short("lotka-volterra", "clean"), key=jr.key(0), environments=1)
        assert jnp.ones(1).dtype == jnp.float32
    with jax.enable_x64(True):
        same = simulate(short("lotka-volterra", "clean"), key=jr.key(0), environments=1)
    assert data == same


def test_paper_seeds_are_all_different():
    draw = get_system("lotka-volterra", "paper").draws
    states = [draw(jr.key(seed), "train", 1)[0] for seed in (0, 1, 10_000, 2**31)]
    assert len({tuple(np.asarray(state)) for state in states}) == 4


def a_system(**changes):
    settings = {
        "name": "decay",
        "channels": ("x",),
        "times": np.arange(3.0),
        "environments": {"a": {"rate": 1.0}, "b": {"rate": 2.0}},
        "tangent": lambda x, p: -p["rate"] * x,
        "initial_state": lambda key: jnp.ones(1),
    }
    return System(**(settings | changes))


def test_an_environment_may_have_no_parameters():
    data = simulate(a_system(environments={"only": {}}, tangent=lambda x, p: -x), key=jr.key(0))
    np.testing.assert_allclose(data.states[0, 0, :, 0], np.exp(-np.arange(3.0)), atol=1e-7)
    assert dict(data.parameters) == {}


def test_a_system_is_checked_when_it_is_made():
    with pytest.raises(
        InputError, match="`b` of system `decay` must have the same parameters as the first one, rate; got r"
    ):
        a_system(environments={"a": {"rate": 1.0}, "b": {"r": 1.0}})
    with pytest.raises(InputError, match="`times` of system `decay`"):
        a_system(times=np.array([0.0, 0.0]))
