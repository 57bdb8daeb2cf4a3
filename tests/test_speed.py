"""The benchmark: how operations are counted, data of other sizes, and the command."""

import json
from dataclasses import replace
from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from leadax import speed
from leadax.cli import run
from leadax.cli.bench import NAMES
from leadax.data import Trajectories
from leadax.data.batch import to_batch
from leadax.data.units import Units
from leadax.defaults import PRESETS
from leadax.nets import MLP, ConvNet, Linear
from leadax.speed import SYSTEMS, Problem, operations_of, product_rate, reference, stretched

SYSTEM = "lotka-volterra"
products = lambda *sizes: 2 * sum(a * b for a, b in pairwise(sizes))


@pytest.fixture
def small(monkeypatch):
    """Random data of the system's shapes, and a net that compiles in no time."""

    def simulated(system, *, key):
        shape = (len(system.environments), 1, len(system.times), len(system.channels))
        states = np.asarray(jr.uniform(key, shape, minval=1.0, maxval=2.0), float)
        return Trajectories.from_arrays(system.times, states, channels=system.channels)

    monkeypatch.setattr(speed, "simulate", simulated)
    monkeypatch.setitem(PRESETS, SYSTEM, replace(PRESETS[SYSTEM], net=Linear, solver="euler"))


def test_operations_of_a_net():
    """A third of the products forward, two thirds backward; the rest are biases and activations."""
    count = lambda net, shape: operations_of(jax.eval_shape(lambda: net(shape, key=jr.key(0))), shape)
    assert count(Linear, (8,)) == 3 * products(8, 8)
    assert 1 < count(MLP, (2,)) / (3 * products(2, 64, 64, 64, 2)) < 1.15
    of_convolutions = lambda width: (
        count(partial(ConvNet, width=width), (32, 32, 2)) / (3 * 32**2 * 9 * products(2, width, width, width, 2))
    )
    assert 1 < of_convolutions(8) < 1.15
    assert 0.4 < of_convolutions(64) < 0.6  # by Winograd's algorithm


def test_operations_of_a_step_of_other_sizes(small):
    """Of f and g at each stage of 4 intervals, and of g at 5 points, in 3 environments with 2 trajectories."""
    problem = Problem.of(SYSTEM, environments=3, trajectories=2, points=5)
    assert problem.batch.states.shape == (3, 2, 5, 2)
    assert np.all(np.diff(problem.batch.times) > 0)
    assert jax.tree.leaves(problem.levels.specific)[0].shape[0] == 3
    of_net = operations_of(problem.levels.shared, (2,))
    assert problem.operations == of_net * 6 * (2 * 1 * 4 + 5)
    of_four_stages = replace(problem, method=replace(problem.method, solver="rk4-38"))
    assert of_four_stages.operations == of_net * 6 * (2 * 4 * 4 + 5)


def test_a_larger_grid():
    data = Trajectories.from_arrays(range(3), np.arange(24.0).reshape(1, 1, 3, 2, 4, 1))
    batch = stretched(to_batch(data, Units.ones(1), jnp.float32), environments=2, grid=4)
    assert batch.states.shape == batch.observed.shape == (2, 1, 3, 4, 4, 1)
    np.testing.assert_array_equal(batch.states[1, 0, 0, :2], batch.states[0, 0, 0, 2:])


def test_a_step_of_several_seeds(small):
    """The loss is that of the gradient's own program, and steps can be taken again and again."""
    problem = Problem.of(SYSTEM, environments=2, points=3)
    value, gradient = problem.loss_and_gradient()
    assert np.isfinite(value)
    assert jax.tree.structure(gradient) == jax.tree.structure(problem.levels)
    run = problem.program(seeds=2)
    run(1)
    run(2)


def test_command(small, capsys, monkeypatch):
    rate = product_rate()
    assert rate > 1e8
    monkeypatch.setattr(speed, "product_rate", lambda: rate)
    assert NAMES == SYSTEMS == tuple(reference())
    assert run(["bench", "--system", SYSTEM, "--seconds", "0.01", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)[SYSTEM]
    assert 0 < row["share_of_limit"] < 1
    assert row["times_the_reference"] == pytest.approx(reference()[SYSTEM]["leadax_ms"] / row["ms_per_step"])


@pytest.mark.parametrize("wrong", [["--system", "lorenz"], ["--seconds", "0"]])
def test_wrong_use(wrong, capsys):
    assert run(["bench", *wrong]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
