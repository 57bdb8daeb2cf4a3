"""Fixed steps: orders, other libraries, restarts, padding, gradients, compilations. Adaptive steps: SciPy, failures."""

import diffrax
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.test_util import check_grads
from scipy.integrate import solve_ivp
from scipy.special import ellipj

from leadax.errors import InputError, RunError
from leadax.rollout import (
    SOLVERS,
    TABLEAUX,
    Tableau,
    predict,
    raise_if_failed,
    rollout,
    rollout_free,
    runge_kutta_step,
    solve,
)

# Problems


def top(x):
    """Euler's equations of a spinning top, nonlinear and coupled: x(t) = (sn t, cn t, dn t) from (0, 1, 1)."""
    return jnp.stack([x[1] * x[2], -x[0] * x[2], -0.5 * x[0] * x[1]])


TOP_START = jnp.array([0.0, 1.0, 1.0])


class Quadratic(eqx.Module):
    """dx/dt = b x + c x², one compiled solve for decay, growth, blow-up and NaN; counts how often it is traced."""

    b: jax.Array
    c: jax.Array
    traces: list = eqx.field(static=True, default_factory=list)

    def __call__(self, x):
        self.traces.append(1)
        return self.b * x + self.c * x**2


TRACES = []


def quadratic(b, c, dtype="float64"):
    return Quadratic(jnp.array(b, dtype), jnp.array(c, dtype), TRACES)


def lotka_volterra(x):
    return jnp.stack([0.5 * x[0] - 0.5 * x[0] * x[1], 0.5 * x[0] * x[1] - 0.5 * x[1]])


class Planar(eqx.Module):
    """Cubic fields of two channels, one compiled solve for all: dx/dt = W (x, y, xy, x²y)."""

    weights: jax.Array

    def __call__(self, state):
        x, y = state
        return self.weights @ jnp.stack([x, y, x * y, x**2 * y])


PREDATION = np.array([[0.5, 0, -0.5, 0], [0, -0.5, 0.5, 0]])
VAN_DER_POL = np.array([[0.0, 1, 0, 0], [-1, 1000, 0, -1000]])


def scipy_states(weights, start, times, **settings):
    field = lambda t, x: weights @ [x[0], x[1], x[0] * x[1], x[0] ** 2 * x[1]]
    return solve_ivp(field, (times[0], times[-1]), start, t_eval=times, **settings).y.T


def plain_step(field, table, x, h):
    """Textbook Runge–Kutta in NumPy, nothing skipped."""
    tangents = []
    for i in range(len(table.b)):
        z = x + h * sum((table.a[i, j] * tangents[j] for j in range(i)), np.zeros_like(x))
        tangents.append(np.asarray(field(z)))
    return x + h * sum(b * k for b, k in zip(table.b, tangents, strict=True))


def plain_rollout(field, states, times, restart, table, substeps=1):
    predictions = [states[0]]
    for k in range(len(times) - 1):
        x = states[k] if restart[k] else predictions[-1]
        for _ in range(substeps):
            x = plain_step(field, table, x, (times[k + 1] - times[k]) / substeps)
        predictions.append(x)
    return np.stack(predictions)


# Tableaux


@pytest.mark.parametrize("name", TABLEAUX)
def test_tableau_is_consistent(name):
    table = TABLEAUX[name]
    assert table.name == name
    np.testing.assert_allclose(table.a.sum(axis=1), table.c, rtol=0, atol=1e-14)
    np.testing.assert_allclose(table.b.sum(), 1, rtol=0, atol=1e-14)
    assert (np.triu(table.a) == 0).all(), "not explicit"
    # Quadrature conditions Σ bᵢ cᵢᵏ⁻¹ = 1/k, necessary for order p.
    for k in range(1, table.order + 1):
        np.testing.assert_allclose(table.b @ table.c ** (k - 1), 1 / k, rtol=0, atol=1e-13)
    assert table.b[-1] != 0, "the last stage feeds nothing"


@pytest.mark.parametrize("name", TABLEAUX)
def test_order_of_convergence(name):
    order, coarse = TABLEAUX[name].order, 8 if name == "dopri8" else 32
    final = jax.jit(lambda times: rollout_free(top, TOP_START, times, tableau=name)[-1])
    exact = np.array(ellipj(4.0, 0.5)[:3])
    error = [np.linalg.norm(final(jnp.linspace(0.0, 4.0, n + 1)) - exact) for n in (coarse, 2 * coarse)]
    measured = np.log2(error[0] / error[1])
    assert abs(measured - order) < 0.2, f"{name}: stated order {order}, measured {measured:.3f}, errors {error}"


DIFFRAX = {
    "euler": diffrax.Euler,
    "heun": diffrax.Heun,
    "midpoint": diffrax.Midpoint,
    "ralston": diffrax.Ralston,
    "bosh3": diffrax.Bosh3,
    "tsit5": diffrax.Tsit5,
    "dopri5": diffrax.Dopri5,
    "dopri8": diffrax.Dopri8,
}


@pytest.mark.parametrize("name", DIFFRAX)
def test_agrees_with_diffrax_at_fixed_steps(name):
    @jax.jit
    def theirs(times):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, x, args: top(x)),
            DIFFRAX[name](),
            t0=times[0],
            t1=times[-1],
            dt0=times[1],
            y0=TOP_START,
            saveat=diffrax.SaveAt(t0=True, steps=True),
            stepsize_controller=diffrax.ConstantStepSize(),
            max_steps=7,
        ).ys

    times = 0.3 * jnp.arange(8.0)
    ours = jax.jit(lambda times: rollout_free(top, TOP_START, times, tableau=name))
    np.testing.assert_allclose(ours(times), theirs(times), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["rk4", "rk4-38"])
def test_fourth_order_rules_by_hand(name):
    x, h, f = np.array([0.5, 0.1, 0.7]), 0.3, lambda x: np.asarray(top(x))
    k1 = f(x)
    if name == "rk4":
        k2 = f(x + h / 2 * k1)
        k3 = f(x + h / 2 * k2)
        expected = x + h * (k1 + 2 * k2 + 2 * k3 + f(x + h * k3)) / 6
    else:
        k2 = f(x + h * k1 / 3)
        k3 = f(x + h * (k2 - k1 / 3))
        expected = x + h * (k1 + 3 * k2 + 3 * k3 + f(x + h * (k1 - k2 + k3))) / 8
    ours = runge_kutta_step(top, TABLEAUX[name], jnp.asarray(x), jnp.asarray(h))
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-15)


def test_zeros_of_a_table_are_not_computed():
    """Classical RK4 has four evaluations and no more multiplications than nonzero entries."""
    jaxpr = jax.make_jaxpr(lambda x, h: runge_kutta_step(jnp.sin, TABLEAUX["rk4"], x, h))(jnp.ones(2), jnp.ones(()))
    names = [equation.primitive.name for equation in jaxpr.eqns]
    assert names.count("sin") == 4
    assert names.count("mul") == 4 + 7, "one product with h per stage after the first and one at the end; 7 weights"


# Rollouts with restarts


def observations(key, *shape, length=7):
    """States near 1, irregular times, and a mask of restarts."""
    a, b, c = jr.split(key, 3)
    times = jnp.cumsum(jr.uniform(a, (length,), minval=0.05, maxval=0.4))
    return 1 + 0.3 * jr.normal(b, (length, *shape)), times, jr.bernoulli(c, 0.5, (length,))


@pytest.mark.parametrize(("shape", "substeps"), [((2,), 1), ((3, 4, 2), 1), ((2,), 3)])
def test_restarts_as_in_a_plain_loop(shape, substeps):
    states, times, restart = observations(jr.key(0), *shape)
    field = lambda x: jnp.sin(3 * x) - x**2
    ours = rollout(field, states, times, restart, tableau="bosh3", substeps=substeps)
    plain = plain_rollout(field, *map(np.asarray, (states, times, restart)), TABLEAUX["bosh3"], substeps)
    assert restart[1:-1].any()
    assert not restart[1:-1].all()
    np.testing.assert_allclose(ours, plain, rtol=0, atol=1e-13)


def test_first_and_last_restart_and_unused_states_do_not_matter():
    states, times, _ = observations(jr.key(2), 2)
    nowhere = jnp.zeros(7, bool)
    free = rollout(lotka_volterra, states, times)
    junk = states.at[1:].set(1e30)
    for given, restart in [(states, nowhere), (states, nowhere.at[0].set(True).at[-1].set(True)), (junk, nowhere)]:
        np.testing.assert_array_equal(rollout(lotka_volterra, given, times, restart), free)
    np.testing.assert_array_equal(rollout_free(lotka_volterra, states[0], times), free)
    np.testing.assert_array_equal(free[0], states[0])


def test_default_is_the_papers_rule():
    states, times, restart = observations(jr.key(3), 2)
    ours = rollout(lotka_volterra, states, times, restart)
    np.testing.assert_array_equal(ours, rollout(lotka_volterra, states, times, restart, tableau=TABLEAUX["rk4-38"]))
    assert jnp.abs(ours - rollout(lotka_volterra, states, times, restart, tableau="rk4")).max() > 1e-9


def test_one_point_is_returned_as_it_is():
    states = jnp.ones((1, 2))
    np.testing.assert_array_equal(rollout(lotka_volterra, states, jnp.zeros(1), jnp.ones(1, bool)), states)


def test_vmap_is_a_loop_and_jit_is_eager():
    batch = [observations(jr.key(seed), 2) for seed in range(2)]
    stacked = [jnp.stack(part) for part in zip(*batch, strict=True)]
    one = lambda *args: rollout(lotka_volterra, *args, substeps=2)
    expected = jnp.stack([one(*args) for args in batch])
    np.testing.assert_allclose(jax.jit(jax.vmap(one))(*stacked), expected, rtol=0, atol=1e-14)


def test_float32_stays_float32_and_keeps_the_digits_of_large_times():
    times = 2_460_000.5 + 0.1 * np.arange(5)
    states = jnp.full((5, 2), 1.5, jnp.float32)
    late = rollout(lotka_volterra, states, jnp.asarray(times))
    assert late.dtype == jnp.float32
    early = rollout(lotka_volterra, states, jnp.asarray(times - times[0]))
    np.testing.assert_allclose(late, early, rtol=0, atol=1e-7)


# Padding and gradients


def test_padding_holds_the_state_and_leaves_gradients_alone():
    """The field is not even finite where the trajectory ends, and padding must not evaluate it there."""
    field = lambda theta: lambda x: -theta * jnp.sqrt(x)  # NaN below zero, infinite slope at zero
    states, times = jnp.linspace(1.0, 0.2, 4)[:, None], jnp.array([0.0, 0.4, 0.9, 2.4])
    restart = jnp.array([False, True, False, False])
    pad = lambda array, value: jnp.concatenate([array, jnp.full((3, *array.shape[1:]), value, array.dtype)])
    padded = pad(states, -5.0), pad(times, times[-1]), pad(restart, False)

    def loss(theta, states, times, restart):
        predictions = rollout(field(theta), states, times, restart, tableau="euler")
        return jnp.sum(predictions[:4] ** 2), predictions

    theta = jnp.array(1.0)
    (value, short), gradient = jax.value_and_grad(loss, has_aux=True)(theta, states, times, restart)
    (value_padded, long), gradient_padded = jax.value_and_grad(loss, has_aux=True)(theta, *padded)
    assert short[-1] < 0, "the test wants a last state where the field is NaN"
    np.testing.assert_array_equal(long, jnp.concatenate([short, jnp.broadcast_to(short[-1], (3, 1))]))
    assert (value_padded, gradient_padded) == (value, gradient)
    assert jnp.isfinite(gradient)
    by_states = jax.grad(lambda states: loss(theta, states, *padded[1:])[0])(padded[0])
    assert jnp.isfinite(by_states).all()
    np.testing.assert_array_equal(by_states[4:], 0)


def test_gradients_against_finite_differences():
    states, times, restart = observations(jr.key(4), 2, length=5)

    @jax.jit
    def loss(weights, states, times):
        field = lambda x: jnp.tanh(weights @ x)
        return jnp.mean(rollout(field, states, times, restart, tableau="bosh3", substeps=2) ** 2)

    weights = jr.normal(jr.key(5), (2, 2))
    check_grads(loss, (weights, states, times), order=1, modes=["fwd", "rev"], atol=1e-7, rtol=1e-7)


def test_gradient_stops_at_restarts():
    """Restarted everywhere, each prediction depends on the observation just before it and on no other."""
    states, times, _ = observations(jr.key(6), 1, length=5)
    restarted = lambda states: rollout(jnp.sin, states, times, jnp.ones(5, bool))[:, 0]
    depends = jax.jacobian(restarted)(states)[:, :, 0] != 0
    expected = np.eye(5, k=-1, dtype=bool)
    expected[0, 0] = True
    np.testing.assert_array_equal(depends, expected)


# Compilations


def test_rollout_compiles_once():
    after = []
    step = jax.jit(jax.grad(lambda b, *data: jnp.sum(rollout(Quadratic(b, b, TRACES), *data))))
    for seed in range(3):
        step(jnp.array(-0.5 - seed), *observations(jr.key(seed), 2))
        after.append(len(TRACES))
    assert after[0] > 0
    assert after == [after[0]] * 3


def test_predict_compiles_once():
    after = []
    for rate in (0.5, 1.0, 2.0):
        times = np.array([0.0, rate, 3.0])
        states = predict(quadratic(-rate, 0.0), jnp.array([rate]), times, rtol=1e-7 * rate)
        np.testing.assert_allclose(states[:, 0], rate * np.exp(-rate * times), atol=1e-6)
        after.append(len(TRACES))
    assert after[0] > 0
    assert after == [after[0]] * 3


# Adaptive steps

IRREGULAR = np.array([3.0, 3.1, 3.7, 6.0, 6.01, 9.5, 13.0])
PREY = np.array([1.2, 1.9])


@pytest.fixture(scope="module")
def reference():
    return scipy_states(PREDATION, PREY, IRREGULAR, rtol=1e-12, atol=1e-13, method="DOP853")


def test_predict_against_scipy(reference):
    states = predict(Planar(jnp.asarray(PREDATION)), jnp.asarray(PREY), IRREGULAR, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(states, reference, rtol=0, atol=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_keeps_its_tolerance(solver, reference):
    """The error may exceed what each step may add to it, but not by much over ten time units."""
    # Of first order: many small steps, hence many small errors.
    tolerance, allowance = (1e-4, 1000) if solver == "implicit-euler" else (1e-7, 10)
    settings = {"solver": solver, "rtol": tolerance, "atol": tolerance}
    states = predict(Planar(jnp.asarray(PREDATION)), jnp.asarray(PREY), IRREGULAR, **settings)
    error = np.abs(states - reference).max()
    assert error < allowance * tolerance, f"{solver}: asked for {tolerance}, got {error}"
    np.testing.assert_allclose(states[0], PREY, rtol=0, atol=1e-15)


def test_predict_in_float32_far_from_time_zero_at_many_times():
    """Times keep their digits, and steps that only land on a time asked for are not counted against `max_steps`."""
    days, start = np.linspace(0, 1, 300), jnp.ones(1, jnp.float32)
    states = predict(quadratic(-1.0, 0.0, "float32"), start, 2_460_000.0 + days, max_steps=20)
    assert states.dtype == jnp.float32
    np.testing.assert_allclose(states[:, 0], np.exp(-days), rtol=0, atol=1e-5)


def test_implicit_solver_bears_what_explicit_ones_do_not():
    field, start, times = Planar(jnp.asarray(VAN_DER_POL)), np.array([2.0, 0.0]), np.linspace(0, 1000, 7)
    with pytest.raises(RunError, match=r"t = 1000: 16391 steps were not enough; .* try solver='kvaerno5'") as info:
        predict(field, jnp.asarray(start), times)
    assert "\n" not in str(info.value)
    states = predict(field, jnp.asarray(start), times, solver="kvaerno5")
    reference = scipy_states(VAN_DER_POL, start, times, rtol=1e-9, atol=1e-9, method="Radau")
    np.testing.assert_allclose(states, reference, rtol=1e-5, atol=1e-7)


def test_blow_up_is_named_with_its_time():
    """dx/dt = x² from 1 at t = 10 has no solution at t = 11; the solver must get there and say so."""
    with pytest.raises(RunError) as info:
        predict(quadratic(0.0, 1.0), jnp.array([1.0]), np.array([10.0, 10.5, 12.0]))
    message = str(info.value)
    stopped = float(message.split("t = ")[1].split()[0])
    assert stopped == pytest.approx(11, abs=1e-6), message
    assert "on its way to t = 12: no step is small enough there, where the largest |x| is " in message
    assert "float64" not in message


def test_implicit_solver_has_enough_digits_in_float32():
    """Its equations must not get lost in rounding: from x₀, dx/dt = x² blows up at t = 1/x₀ and not before."""
    starts = jnp.linspace(0.5, 2, 24, dtype=jnp.float32)[:, None]
    times = jnp.array([0.0, 0.25, 3.0], jnp.float32)
    batch = jax.jit(jax.vmap(lambda start: solve(jnp.square, start, times, solver="kvaerno5")))(starts)
    np.testing.assert_allclose(batch.stopped, 1 / starts[:, 0], rtol=1e-4)
    with pytest.raises(RunError, match=r"solution 0 of 24 \(24 failed\): no step .* or compute in float64"):
        raise_if_failed(batch, solver="kvaerno5")


def test_field_without_values_stops_at_once():
    with pytest.raises(RunError, match=r"stopped at t = 1 on its way to t = 3: no step is small enough"):
        predict(quadratic(jnp.nan, 0.0), jnp.array([1.0]), np.array([1.0, 2.0, 3.0]))


def test_solve_in_a_batch_with_failures_and_padding():
    """x(t) = x₀ / (1 − x₀ t): only the third start blows up before t = 2; the second is padded after t = 1."""
    starts = jnp.array([[0.1], [0.2], [1.0], [-1.0]])
    times = jnp.tile(jnp.array([0.0, 1.0, 2.0]), (4, 1)).at[1, 2].set(1.0).at[2, 1].set(0.5)
    batch = jax.jit(jax.vmap(lambda start, times: solve(jnp.square, start, times)))(starts, times)
    np.testing.assert_array_equal(batch.status, [0, 0, 2, 0])
    np.testing.assert_array_equal(batch.until, [2, 1, 2, 2])
    np.testing.assert_allclose(batch.stopped, [2, 1, 1, 2], atol=1e-6)
    expected = np.array(starts / (1 - starts * times))
    expected[2, 2] = np.nan
    np.testing.assert_allclose(batch.states[..., 0], expected, rtol=1e-6)
    with pytest.raises(RunError, match=r"stopped at t = 1 .*t = 2 in solution 2 of 4 \(1 failed\)"):
        raise_if_failed(batch)
    raise_if_failed(jax.tree.map(lambda leaf: leaf[:2], batch))


# Wrong input


def test_unknown_names_are_answered_with_the_known_ones():
    with pytest.raises(InputError, match=r"unknown tableau `RK4_38`: did you mean `rk4-38`\? Known: euler, .*rk4-38"):
        rollout_free(top, jnp.ones(3), jnp.arange(2.0), tableau="RK4_38")
    with pytest.raises(InputError, match=r"unknown solver `kvarno5`: did you mean `kvaerno5`\? Known: .*kvaerno5"):
        predict(top, jnp.ones(3), np.arange(2.0), solver="kvarno5")
    with pytest.raises(InputError, match=r"unknown solver `leapfrog`: Known"):
        solve(top, jnp.ones(3), jnp.arange(2.0), solver="leapfrog")


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0.0, 1.0, 1.0], r"got 1 followed by 1 at position 2"),
        ([0.0, 2.0, 1.0], r"got 2 followed by 1 at position 2"),
        ([0.0, np.nan], "must be finite"),
        ([], "at least the time of `state0`"),
    ],
)
def test_times_must_increase(times, message):
    with pytest.raises(InputError, match=message):
        predict(top, jnp.ones(3), np.array(times))


def test_state_must_be_finite():
    with pytest.raises(InputError, match="`state0` must be finite"):
        predict(top, jnp.array([1.0, jnp.nan, 1.0]), np.arange(2.0))


@pytest.mark.parametrize("field", [lambda x: x[:1], lambda x: x.astype(jnp.float32), lambda x: (x, x)])
def test_field_must_give_a_tangent(field):
    for run in (rollout_free, solve):
        with pytest.raises(InputError, match=r"`field` must map a state of shape \(2,\) and type float64 to a tangent"):
            run(field, jnp.ones(2), jnp.arange(3.0))


def test_substeps_must_be_positive():
    with pytest.raises(InputError, match="`substeps` must be at least 1; got 0"):
        rollout_free(top, jnp.ones(3), jnp.arange(3.0), substeps=0)


def test_a_tableau_of_ones_own():
    """Any consistent table can be handed over without being registered."""
    table = Tableau("half-euler", 1, np.zeros((1, 1)), np.ones(1), np.zeros(1))
    ours = rollout_free(jnp.negative, jnp.ones(1), jnp.arange(3.0), tableau=table)
    np.testing.assert_array_equal(ours[:, 0], [1, 0, 0])
