"""Quantities of the propositions, measured on models whose parameters are known."""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import leadax as lx
from leadax.theory import kappa, lipschitz, measure, samples

TIMES = np.linspace(0, 1, 11)
DECAY = np.stack([np.exp(-rate * TIMES) for rate in (0.5, 1.0)])[:, None, :, None] * np.array([3.0, 4.0])
DATA = lx.Trajectories.from_arrays(TIMES, DECAY)
ONES = lx.Units.ones(2)
OTHER = lx.Units(mean=(1.0, -2.0), scale=(0.5, 4.0), time=0.1)


def untrained(method: lx.Method, units: lx.Units, members: int = 1) -> lx.Model:
    init = lambda key: method.init(lx.Sizes(DATA.state_shape, len(DATA.environments)), key=key)
    shapes = jax.eval_shape(jax.vmap(init), jr.split(jr.key(0), members))
    # From NumPy: to draw them takes JAX longer than all else here.
    draw = np.random.default_rng(0).standard_normal
    levels = lx.Levels(*jax.tree.map(lambda a: jnp.asarray(0.3 * draw(a.shape)), shapes))
    return lx.Model(levels, method, units, DATA.environments, DATA.channels, DATA.state_shape, longest_step=0.1)


@jax.jit
def jacobians(field, states):
    return jax.vmap(jax.jacobian(field))(states)


def norm(matrices) -> float:
    return float(np.linalg.norm(matrices, 2, axis=(-2, -1)).max())


@pytest.mark.parametrize("units", [ONES, OTHER], ids=["ones", "other"])
def test_a_linear_model_in_the_units_of_the_data(units):
    model = untrained(lx.Leads(net=lx.Linear), units, members=2)
    found = measure(model, DATA)
    # By differentiation of fields in the units of the data, not by their weights.
    members = [model.member(k) for k in range(2)]
    f = np.concatenate([jacobians(m.shared, DECAY[0, 0, :1]) for m in members])
    g = np.concatenate([jacobians(m.specific(e), DECAY[0, 0, :1]) for m in members for e in range(2)])
    np.testing.assert_allclose(found.r, np.sum(g**2, axis=(1, 2)).max())
    np.testing.assert_allclose(found.r_shared, np.sum(f**2, axis=(1, 2)).max())
    np.testing.assert_allclose([found.L, found.L_shared], [norm(g), norm(f)])
    assert found.b == pytest.approx(np.linalg.norm(DECAY - np.array(units.mean), axis=-1).max())
    # The steepest slope is 5 · 1 at the start of the second environment; the spline is off by less than 1e-3.
    assert found.c == pytest.approx((found.b * (np.sqrt(found.r) + np.sqrt(found.r_shared)) + 5) ** 2, rel=1e-3)
    assert (found.m, found.n, found.d, found.W, found.D) == (2, 11, 2, 4, 1)


def test_the_bound_of_a_linear_model():
    found = measure(untrained(lx.Leads(net=lx.Linear), ONES), DATA)
    assert found.error() > found.c
    assert "so it guarantees nothing: only its trend" in found.looseness()


@pytest.mark.parametrize("units", [ONES, OTHER], ids=["ones", "other"])
def test_networks_in_the_units_of_the_data(units):
    model = untrained(lx.Leads(net=partial(lx.MLP, width=4, depth=2)), units)
    found = measure(model, DATA)
    assert found.r is None
    fields = [model.specific(e) for e in range(2)]
    tangents = np.stack([jax.jit(jax.vmap(field))(x) for field, x in zip(fields, DECAY[:, 0], strict=True)])
    np.testing.assert_allclose(found.R, np.linalg.norm(tangents, axis=-1).max())
    assert max(norm(jacobians(field, x)) for field, x in zip(fields, DECAY[:, 0], strict=True)) <= found.L
    assert samples(*found.spaces(), epsilon=1.0, m=2).n > found.n
    assert "from 11 points" in found.looseness()


def with_polynomial(net: lx.MLP) -> lx.MLP:
    """A polynomial past the layers that is not zero."""
    return eqx.tree_at(lambda n: n.polynomial.weight, net, jr.normal(jr.key(3), net.polynomial.weight.shape))


def test_only_a_decomposition_can_be_measured():
    with pytest.raises(lx.InputError, match="the theory needs a model f \\+ g_e, got one of OneForAll"):
        measure(untrained(lx.OneForAll(net=lx.Linear), ONES), DATA)


@pytest.mark.parametrize(
    ("net", "shape"),
    [
        (lx.Linear((3,), key=jr.key(1)), (3,)),
        (lx.MLP((3,), width=8, factor=2.0, key=jr.key(1)), (3,)),
        (with_polynomial(lx.MLP((3,), width=8, degree=1, key=jr.key(1))), (3,)),
        (with_polynomial(lx.MLP((3,), width=8, degree=3, region=((-1.0,) * 3, (2.0,) * 3), key=jr.key(1))), (3,)),
        (lx.FNO((6, 1), modes=2, width=2, depth=1, projection=2, grid_input=False, key=jr.key(1)), (6, 1)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_no_net_stretches_more_than_its_lipschitz_bound(net, shape):
    states = jr.normal(jr.key(2), (5, *shape))
    found = jax.jit(jax.vmap(jax.jacobian(lambda x: net(0.0, x))))(states)
    stretch = norm(np.asarray(found).reshape(5, states[0].size, -1))
    assert stretch <= lipschitz(net) * (1 + 1e-3)
    if isinstance(net, lx.Linear):
        assert lipschitz(net) == pytest.approx(stretch)


def test_kappa():
    exact = sum(25 * rate / 2 * (1 - np.exp(-2 * rate)) for rate in (0.5, 1.0))
    assert kappa(DATA) == pytest.approx(exact, rel=4e-3)
