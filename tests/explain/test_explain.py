"""Formulas from values: known laws are found again, and what is no law is not called one."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import leadax as lx
from leadax.explain.relations import predicted_share, relations
from leadax.explain.sparse import Quantity, law, laws
from leadax.explain.terms import library
from leadax.methods import Levels
from leadax.nets import Linear

RNG = np.random.default_rng(0)
POINTS = RNG.uniform([-2, -3], [2, 3], (400, 2))
THETA, OMEGA = POINTS.T
NOTHING = np.zeros((2, 2))


@pytest.mark.parametrize(
    ("values", "terms"),
    [
        (-0.25 * OMEGA * np.abs(OMEGA), {"omega |omega|": -0.25}),
        (-9.81 * np.sin(THETA) - OMEGA, {"omega": -1.0, "sin(theta)": -9.81}),
        (2.0 - 0.5 * THETA * OMEGA, {"1": 2.0, "theta omega": -0.5}),
        (0.3 * THETA**3, {"theta^3": 0.3}),
        (np.zeros(400), {}),
    ],
)
def test_laws_are_found_again(values, terms):
    """Although the library has many others, some of them much alike: theta³, theta and sin(theta)."""
    found = law(values, library(["theta", "omega"], POINTS))
    assert dict(zip(found.terms, np.round(found.coefficients, 6).tolist(), strict=True)) == pytest.approx(terms)
    assert found.r2 > 1 - 1e-9


def test_environments_have_the_same_law_unless_it_differs_much():
    terms = library(["theta", "omega"], POINTS)
    drag = lambda c, bend=0.0: -c * OMEGA * np.abs(OMEGA) + bend * np.sin(OMEGA)
    alike = [drag(0.2), drag(0.3), drag(0.25, bend=0.1)]
    assert len(law(alike[2], terms).terms) > 1
    other = 0.7 * THETA
    found = laws([Quantity(values, terms) for values in (*alike, other, np.zeros(400))])
    assert [each.terms for each in found] == [("omega |omega|",)] * 3 + [("theta",), ()]
    np.testing.assert_allclose([each.coefficients[0] for each in found[:4]], [-0.2, -0.3, -0.235, 0.7], atol=0.02)


def test_noise_is_no_law():
    values = -0.25 * OMEGA + 0.2 * RNG.normal(size=400)
    found = law(values, library(["theta", "omega"], POINTS))
    assert "omega" in found.terms
    assert found.r2 == pytest.approx(1 - 0.04 / (0.25**2 * 3 + 0.04), abs=0.05)
    assert law(RNG.normal(size=400), library(["theta", "omega"], POINTS)).r2 < 0.3
    assert law(1e-3 * OMEGA, library(["theta", "omega"], POINTS), negligible=1e-2).terms == ()


def data() -> lx.Trajectories:
    states = np.random.default_rng(1).normal([1.0, -1.0], [2.0, 0.5], (3, 1, 40, 2))
    numbers = {"size": np.array([1.0, 2.0, 4.0]), "other": np.array([1.0, -1.0, 1.0])}
    return lx.Trajectories.from_arrays(range(40), states, channels=["a", "b"], parameters=numbers)


def linear_model(shared, *specific) -> lx.Model:
    """f(z) = z F and g_e(z) = z G_e in standard units, which differ from those of the data."""
    net = Linear((2,), key=jr.key(0))
    weights = lambda matrices: jax.tree.map(
        lambda a: jnp.asarray(matrices) if a.ndim == 2 else jnp.zeros((*np.shape(matrices)[:-2], *a.shape)), net
    )
    levels = Levels(weights(np.array([shared])), weights(np.array([specific])))
    settings = {"environments": ("e0", "e1", "e2"), "channels": ("a", "b"), "state_shape": (2,), "longest_step": 1.0}
    units = lx.Units((1.0, -1.0), (2.0, 0.5), 3.0)
    return lx.Model(levels, lx.Leads(net=Linear, solver="rk4"), units, **settings, box=lx.chosen_for(data()).box)


@pytest.mark.parametrize("where", [data(), None], ids=["data", "region"])
def test_a_model_in_the_units_of_the_data(where):
    """g of e1 is −z_b in channel a: da/dt = −(2/3) (b + 1)/0.5 = −(4/3) (b + 1)."""
    model = linear_model(NOTHING, NOTHING, np.array([[0.0, 0.0], [-1.0, 0.0]]), NOTHING)
    found = lx.explain(model, where)
    laws = found.laws["e1"]
    assert laws["a"].terms == ("1", "b")
    np.testing.assert_allclose(laws["a"].coefficients, [-4 / 3, -4 / 3], rtol=1e-5)
    assert laws["b"].terms == ()
    assert found.to_json()["laws"]["e1"]["a"]["r2"] == pytest.approx(1)
    assert "e1: g in da/dt = -1.333 - 1.333 b   (R² = 1)" in str(found)
    assert lx.explain(model, where, part="shared").laws["all"]["a"].terms == ()


def test_numbers_of_environments_that_matter():
    """g_e is proportional to the size of an environment, and has nothing to do with its other number."""
    one = np.array([[0.0, 0.3], [-1.0, 0.2]])
    found = relations(linear_model(one, 1.0 * one, 2.0 * one, 4.0 * one), data())
    assert found.field["size"] == pytest.approx(1, abs=1e-6)
    assert found.field["other"] < 0.5
    assert predicted_share(np.array([1.0, 2.0, 3.0]), np.ones((3, 1))) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: lx.explain(model, part="all"), "unknown part"),
        (lambda model: lx.explain(model, functions=["tan"]), "unknown terms `tan`"),
        (lambda model: relations(model, data(), ["mass"]), "lack the number `mass`"),
        (lambda model: relations(model, data().select([0, 1])), "at least 3"),
    ],
)
def test_wrong_use(call, message):
    with pytest.raises(lx.InputError, match=message):
        call(linear_model(NOTHING, NOTHING, NOTHING, NOTHING))
