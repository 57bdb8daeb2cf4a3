"""The benchmark's arithmetic: operations that are counted, data of other sizes, and the command."""

import json

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from leadax.cli import run
from leadax.cli.bench import NAMES
from leadax.data import Trajectories
from leadax.data.batch import to_batch
from leadax.nets import Convolution, Dense, SpectralConvolution
from leadax.speed import SYSTEMS, Problem, reference, stretched

LAYERS = {
    "dense": (Dense(5, 7, key=jr.key(0)), (8, 6)),
    "convolution on a plane": (Convolution((8, 6), 5, 7, key=jr.key(0)), (8, 6)),
    "convolution on a line": (Convolution((9,), 5, 7, key=jr.key(0)), (9,)),
    "spectral on a plane": (SpectralConvolution((16, 12), 5, 7, modes=3, key=jr.key(0)), (16, 12)),
    "spectral on a line": (SpectralConvolution((16,), 5, 7, modes=3, key=jr.key(0)), (16,)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_operations_are_those_of_the_products(name):
    """Counted in the program that JAX traces: 2 · (free of both sides) · (summed over) for each product."""
    layer, space = LAYERS[name]
    x = jnp.ones((*space, 5))
    traced = jax.make_jaxpr(layer.linear)(x)
    found = sum(_product(equation) for equation in _equations(traced.jaxpr))
    assert layer.operations(space) == found


def _equations(jaxpr):
    for equation in jaxpr.eqns:
        yield equation
        for value in equation.params.values():
            inner = getattr(value, "jaxpr", None)
            if inner is not None:
                yield from _equations(getattr(inner, "jaxpr", inner))


def _product(equation) -> int:
    if equation.primitive.name != "dot_general":
        return 0
    (contracted, _), _ = equation.params["dimension_numbers"]
    left = equation.invars[0].aval.shape
    return 2 * int(np.prod(equation.outvars[0].aval.shape)) * int(np.prod([left[axis] for axis in contracted]))


def test_operations_of_a_step():
    """Lotka-Volterra: 2-64-64-64-2, four stages of 19 intervals of f and g, and g at 20 points, in 10 environments."""
    per_state = 2 * (2 * 64 + 64 * 64 + 64 * 64 + 64 * 2)
    assert Problem.of("lotka-volterra").operations == 3 * per_state * 10 * (2 * 4 * 19 + 20)


def test_other_sizes():
    problem = Problem.of("lotka-volterra", environments=3, trajectories=2, points=5)
    assert problem.batch.states.shape == (3, 2, 5, 2)
    assert np.all(np.diff(problem.batch.times) > 0)
    assert jax.tree.leaves(problem.parts.specific)[0].shape[0] == 3


def test_a_larger_grid():
    data = Trajectories.from_arrays(range(3), np.arange(24.0).reshape(1, 1, 3, 2, 4, 1))
    batch = stretched(to_batch(data, jnp.float32), environments=2, grid=4)
    assert batch.states.shape == batch.observed.shape == (2, 1, 3, 4, 4, 1)
    np.testing.assert_array_equal(batch.states[1, 0, 0, :2], batch.states[0, 0, 0, 2:])


def test_command(capsys):
    assert NAMES == SYSTEMS == tuple(reference())
    assert run(["bench", "--system", "lotka-volterra", "--seconds", "0.01", "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["lotka-volterra"]
    assert 0 < row["share_of_limit"] < 1
    assert row["times_the_reference"] == pytest.approx(reference()["lotka-volterra"]["leadax_ms"] / row["ms_per_step"])


@pytest.mark.parametrize("wrong", [["--system", "lorenz"], ["--seconds", "0"]])
def test_wrong_use(wrong, capsys):
    assert run(["bench", *wrong]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
