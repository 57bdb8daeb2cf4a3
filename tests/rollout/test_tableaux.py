"""The tables of the fixed-step methods: other libraries' tables, textbook formulas, measured orders."""

from functools import partial

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import RK23, RK45
from scipy.special import ellipj
from tests.rollout.textbook import ends_of_steps, plain_rollout, plain_step

from leadax.rollout import TABLEAUX, Steps, rollout, runge_kutta_step, steps_between

DIFFRAX = {
    "heun": diffrax.Heun,
    "midpoint": diffrax.Midpoint,
    "ralston": diffrax.Ralston,
    "bosh3": diffrax.Bosh3,
    "tsit5": diffrax.Tsit5,
    "dopri5": diffrax.Dopri5,
    "dopri8": diffrax.Dopri8,
}


def published(name):
    """a, b and c with all stages, as Diffrax has them; our own for the rest, which are checked by hand below."""
    if name not in DIFFRAX:
        return TABLEAUX[name].a, TABLEAUX[name].b, TABLEAUX[name].c
    table = DIFFRAX[name].tableau
    stages = len(table.b_sol)
    rows = [np.pad(row, (0, stages - len(row))) for row in (np.zeros(0), *table.a_lower)]
    return np.stack(rows), table.b_sol, np.array([0, *table.c])


@pytest.mark.parametrize("name", TABLEAUX)
def test_tableau_is_consistent(name):
    table = TABLEAUX[name]
    assert table.name == name
    np.testing.assert_allclose(table.c, published(name)[2][: len(table.c)], rtol=0, atol=1e-14)
    np.testing.assert_allclose(table.b.sum(), 1, rtol=0, atol=1e-14)
    assert (np.triu(table.a) == 0).all(), "not explicit"
    assert table.c.max() <= 1, "a stage beyond the end of the step"
    # Quadrature conditions Σ bᵢ cᵢᵏ⁻¹ = 1/k, necessary for order p.
    for k in range(1, table.order + 1):
        np.testing.assert_allclose(table.b @ table.c ** (k - 1), 1 / k, rtol=0, atol=1e-13)
    assert table.b[-1] != 0, "the last stage feeds nothing"


@pytest.mark.parametrize(("name", "theirs"), [("bosh3", RK23), ("dopri5", RK45)])
def test_tables_agree_with_scipy(name, theirs):
    table = TABLEAUX[name]
    np.testing.assert_allclose(table.a[:, : theirs.A.shape[1]], theirs.A, rtol=0, atol=1e-15)
    np.testing.assert_allclose(table.b, theirs.B, rtol=0, atol=1e-15)


def speed(t, u, lib):
    return 1 + 0.5 * lib.cos(t) + u


def top(t, x, u):
    """Euler's spinning top, nonlinear and coupled: x(t) = (sn φ, cn φ, dn φ) with φ' = 1 + cos(t)/2 + u."""
    return speed(t, u, np) * np.array([x[1] * x[2], -x[0] * x[2], -0.5 * x[0] * x[1]])


def tangent(t, x, u, lib=jnp):
    """x(t) = tan(φ/4) with the same φ, which compiles faster."""
    return speed(t, u, lib) * (1 + x * x) / 4


def test_rules_by_hand():
    t, x, h, u = 0.4, np.array([0.5, 0.1, 0.7]), 0.3, lambda s: 0.2 + s
    f = lambda s, x: top(t + s * h, x, u(s))
    k1 = f(0, x)
    euler = x + h * k1
    k2 = f(1 / 2, x + h / 2 * k1)
    k3 = f(1 / 2, x + h / 2 * k2)
    rk4 = x + h * (k1 + 2 * k2 + 2 * k3 + f(1, x + h * k3)) / 6
    k2 = f(1 / 3, x + h * k1 / 3)
    k3 = f(2 / 3, x + h * (k2 - k1 / 3))
    rk4_38 = x + h * (k1 + 3 * k2 + 3 * k3 + f(1, x + h * (k1 - k2 + k3))) / 8
    for name, expected in [("euler", euler), ("rk4", rk4), ("rk4-38", rk4_38)]:
        ours = plain_step(top, *published(name), t, x, h, (u(0), u(1)))
        np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-15)


KNOTS = np.array([0.0, 0.7, 1.5, 2.2, 3.0])
INPUTS = {
    "piecewise linear": np.array([[0.0, 0.4], [0.4, -0.2], [-0.2, 0.5], [0.5, 0.1]]),
    "piecewise constant, with jumps": np.array([[0.3, 0.3], [-0.2, -0.2], [0.5, 0.5], [0.1, 0.1]]),
}


def phase(inputs):
    """φ at the knots."""
    return KNOTS + 0.5 * np.sin(KNOTS) + np.cumsum([0, *np.diff(KNOTS) * inputs.mean(axis=1)])


@pytest.mark.parametrize("name", TABLEAUX)
def test_order_of_convergence(name):
    """Of the textbook loop, for a field of t, x and u, with inputs that have kinks or jumps between steps."""
    coarse, start = 3 if name == "dopri8" else 8, np.array([0.0, 1.0, 1.0])
    table = TABLEAUX[name].a, TABLEAUX[name].b, TABLEAUX[name].c
    for what, inputs in INPUTS.items():
        exact = np.stack(ellipj(phase(inputs), 0.5)[:3], axis=1)
        found = [plain_rollout(top, table, start, KNOTS, [n] * 4, inputs) for n in (coarse, 2 * coarse)]
        errors = [np.abs(states - exact).max() for states in found]
        order, stated = np.log2(errors[0] / errors[1]), TABLEAUX[name].order
        assert -0.2 < order - stated < 0.6, f"{what}: stated order {stated}, measured {order:.3f}, errors {errors}"


def divided(inputs, substeps, total):
    """`substeps` per interval between knots, padded to `total` steps; there is no number to use in the padding."""
    steps = jax.tree.map(np.asarray, steps_between(KNOTS, substeps=substeps, dtype=np.float64))
    pad = lambda rows, value: np.concatenate([rows, np.full((total - len(rows), *rows.shape[1:]), value)])
    inputs = ends_of_steps(inputs, [substeps] * 4)
    return Steps(pad(steps.times, np.nan), pad(steps.sizes, 0.0), pad(inputs, np.nan), steps.landing)


@pytest.mark.parametrize("name", TABLEAUX)
def test_rollout_is_the_textbook_loop(name):
    """To the last digits, so it has the same order; the first of two step sizes is padded."""
    start, counts = np.zeros(1), (2, 4)
    steps = [divided(inputs, n, 16) for inputs in INPUTS.values() for n in counts]
    run = jax.jit(jax.vmap(lambda steps: rollout(tangent, jnp.asarray(start), steps, tableau=name)))
    states = iter(np.asarray(run(jax.tree.map(lambda *rows: np.stack(rows), *steps))))
    for inputs in INPUTS.values():
        for n in counts:
            plain = plain_rollout(partial(tangent, lib=np), published(name), start, KNOTS, [n] * 4, inputs)
            np.testing.assert_allclose(next(states), plain, rtol=0, atol=1e-13)


def test_zeros_of_a_table_are_not_computed():
    """Classical RK4 has four evaluations and no more multiplications than nonzero entries."""
    step = lambda x, h: runge_kutta_step(lambda t, x, u: jnp.sin(x), TABLEAUX["rk4"], h, x, h)
    jaxpr = jax.make_jaxpr(step)(jnp.ones(2), jnp.ones(()))
    names = [equation.primitive.name for equation in jaxpr.eqns]
    assert names.count("sin") == 4
    assert names.count("mul") == 3 + 4 + 7, "c h, h Σ a k and h Σ b k per stage, and 7 weights"
