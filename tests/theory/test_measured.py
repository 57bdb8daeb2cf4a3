from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import leadax as lx
from leadax.nets import Scaled
from leadax.theory import kappa, lipschitz, measure, samples

TIMES = np.linspace(0, 1, 11)
DECAY = np.stack([np.exp(-rate * TIMES) for rate in (0.5, 1.0)])[:, None, :, None] * np.array([3.0, 4.0])


@pytest.fixture(scope="module")
def data():
    return lx.Trajectories.from_arrays(TIMES, DECAY)


def untrained(method: lx.Method, data: lx.Trajectories, seeds: int = 1) -> lx.Model:
    members = [method.init(data.state_shape, len(data.environments), key=jr.key(seed)) for seed in range(seeds)]
    parts = jax.tree.map(lambda *leaves: jnp.stack(leaves), *members)
    return lx.Model(method, parts, data.environments, data.channels, data.state_shape, time_step=0.1)


def test_of_a_linear_model(data):
    model = untrained(lx.Leads(net=lx.Linear), data, seeds=2)
    found = measure(model, data)
    f, g = model.parts.shared.dense.weight, model.parts.specific.dense.weight
    assert found.r == pytest.approx(float(jnp.sum(g**2, axis=(2, 3)).max()))
    assert found.r_shared == pytest.approx(float(jnp.sum(f**2, axis=(1, 2)).max()))
    assert (found.m, found.n, found.d, found.W, found.D) == (2, 11, 2, 4, 1)
    assert found.b == pytest.approx(5.0)
    # The steepest slope is 5 · 1 at the start of the second environment; the spline is off by less than 1e-3.
    assert found.c == pytest.approx((5 * np.sqrt(found.r) + 5 * np.sqrt(found.r_shared) + 5) ** 2, rel=1e-3)
    assert found.R <= 5 * found.L <= 5 * np.sqrt(found.r)
    assert found.error() > 0
    assert "so it guarantees nothing: only its trend" in found.looseness()


def test_of_networks(data):
    model = untrained(lx.Leads(net=partial(lx.MLP, width=4, depth=2)), data)
    found = measure(model, data)
    assert found.r is None
    assert samples(*found.spaces(), epsilon=1.0, m=2).n > found.n
    assert "from 11 points" in found.looseness()


def test_only_of_a_decomposition(data):
    with pytest.raises(lx.InputError, match="the theory needs a model f \\+ g_e, got one of OneForAll"):
        measure(untrained(lx.OneForAll(net=lx.Linear), data), data)


@pytest.mark.parametrize(
    "net",
    [
        lx.Linear((3,), key=jr.key(1)),
        lx.MLP((3,), width=8, factor=2.0, key=jr.key(1)),
        lx.FNO((6, 1), modes=2, width=2, depth=1, projection=2, grid_input=False, key=jr.key(1)),
        Scaled(lx.MLP((3,), width=8, key=jr.key(1)), np.zeros(3), np.array([1.0, 2.0, 5.0]), np.array([1.0, 3.0, 2.0])),
    ],
    ids=lambda net: type(net).__name__,
)
def test_no_two_points_are_further_apart_than_the_lipschitz_bound(net):
    shape = {"Linear": (3,), "MLP": (3,), "Scaled": (3,), "FNO": (6, 1)}[type(net).__name__]
    states, jacobian = jr.normal(jr.key(2), (5, *shape)), jax.jit(jax.jacobian(net))
    for x in states:
        stretch = np.linalg.norm(np.asarray(jacobian(x)).reshape(x.size, x.size), 2)
        assert stretch <= lipschitz(net) * (1 + 1e-3)
    if isinstance(net, lx.Linear):
        assert lipschitz(net) == pytest.approx(stretch)


def test_kappa(data):
    exact = sum(25 * rate / 2 * (1 - np.exp(-2 * rate)) for rate in (0.5, 1.0))
    assert kappa(data) == pytest.approx(exact, rel=4e-3)
