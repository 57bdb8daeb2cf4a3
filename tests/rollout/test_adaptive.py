"""Adaptive steps: SciPy, closed forms, failures, compilations.

A solve takes seconds to compile. So most tests share one field of many terms, one form of inputs, and seven times; each
solver is compiled once; and Bosh3 and Dopri5 are only compared with their tables.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

from leadax.errors import InputError, RunError
from leadax.rollout import SOLVERS, TABLEAUX, predict, raise_if_failed, solve


def terms(t, x, u, lib):
    return lib.stack([x[0], x[1], x[0] * x[1], x[0] ** 2 * x[1], x[0] ** 2, u[0], lib.sin(t)])


class Planar(eqx.Module):
    """dx/dt = W (x, y, xy, x²y, x², u, sin t)."""

    weights: jax.Array

    def __call__(self, t, x, u):
        return self.weights @ terms(t, x, u, jnp)


class Wave(eqx.Module):
    """u(t) = a cos(3 t), and rises[k] more from edges[k] on."""

    amplitude: jax.Array
    edges: jax.Array
    rises: jax.Array

    def __call__(self, t):
        level = jnp.sum(jnp.where(t >= self.edges, self.rises, 0.0))
        return (self.amplitude * jnp.cos(3 * t) + level)[None]


FORCED_PREDATION = np.array([[0.5, 0, -0.5, 0, 0, 0.3, 0], [0, -0.5, 0.5, 0, 0, 0, 0.2]])
VAN_DER_POL = np.array([[0.0, 1, 0, 0, 0, 0, 0], [-1, 1000, 0, -1000, 0, 0, 0]])
RELAXATION = np.array([[-1.0, 0, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0, 0]])
SQUARE = np.array([[0.0, 0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0, 0]])

IRREGULAR = np.array([0.0, 0.1, 0.7, 3.0, 3.01, 6.5, 10.0])
PREY = np.array([1.2, 1.9])


def planar(weights, start, times, amplitude=1.0, edges=(97, 98, 99), rises=(0, 0, 0), **settings):
    wave = Wave(*(jnp.array(values, float) for values in (amplitude, edges, rises)))
    field, jumps = Planar(jnp.asarray(weights)), np.array(edges, float)
    return predict(field, jnp.asarray(start), times, inputs=wave, jumps=jumps, **{"solver": "dopri8"} | settings)


def scipy_states(weights, start, times, begin=0.0, **settings):
    field = lambda t, x: weights @ terms(begin + t, x, [np.cos(3 * t)], np)
    return solve_ivp(field, (times[0], times[-1]), start, t_eval=times, **settings).y.T


@pytest.fixture(scope="module")
def reference():
    return scipy_states(FORCED_PREDATION, PREY, IRREGULAR, begin=5.0, rtol=1e-12, atol=1e-13, method="DOP853")


@pytest.mark.parametrize(
    ("solver", "tolerance", "allowance"),
    # Of first order: many small steps, hence many small errors.
    [("dopri8", 1e-7, 1), ("dopri8", 1e-10, 1), ("kvaerno3", 1e-7, 10), ("implicit-euler", 1e-4, 1000)],
)
def test_predict_against_scipy(solver, tolerance, allowance, reference):
    """The error may exceed what each step may add to it, but not by much over ten time units.

    Interpolating between steps, instead of landing on the times, would make that of Dopri8 13 times its tolerance.
    """
    settings = {"solver": solver, "rtol": tolerance, "atol": tolerance}
    states = planar(FORCED_PREDATION, PREY, IRREGULAR, begin=5.0, **settings)
    error = np.abs(states - reference).max()
    assert error < allowance * tolerance, f"{solver}: asked for {tolerance}, got {error}"
    np.testing.assert_allclose(states[0], PREY, rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["bosh3", "tsit5", "dopri5", "dopri8"])
def test_explicit_solvers_are_the_fixed_ones_with_an_error_estimate(name):
    """The names mean the same methods, whose orders are measured in `test_tableaux`."""
    ours, theirs = TABLEAUX[name], SOLVERS[name].tableau
    np.testing.assert_array_equal(ours.b, theirs.b_sol[: len(ours.b)])
    np.testing.assert_array_equal(ours.a[-1, :-1], theirs.a_lower[len(ours.b) - 2])


def test_jumps_cost_no_accuracy():
    """dx/dt = u − x for a square wave that jumps between observations, at one, and at the last."""
    edges, levels = np.array([0.0, 1.0, 2.5, 4.0]), np.array([0.0, 1.0, -2.0, 50.0])
    times, start = np.array([0.0, 0.7, 0.8, 1.3, 2.5, 3.0, 4.0]), np.array([3.0, 0.0])
    wave = {"amplitude": 0.0, "edges": edges[1:], "rises": np.diff(levels)}
    states = planar(RELAXATION, start, times, **wave, rtol=1e-9, atol=1e-9)
    at_edges = [3.0]
    for level, length in zip(levels[:-1], np.diff(edges), strict=True):
        at_edges.append(level + (at_edges[-1] - level) * np.exp(-length))
    piece = np.searchsorted(edges[:-1], times, side="right") - 1
    expected = levels[piece] + (np.array(at_edges)[piece] - levels[piece]) * np.exp(edges[piece] - times)
    error = np.abs(states[:, 0] - expected).max()
    assert error < 2e-10, f"got {error}; 6e-9 if jumps are ignored, 7e-10 if the one at the last time is"


def test_float32_compilations_and_many_times():
    """Steps that only land on a time asked for do not count against `max_steps`; other values do not compile again."""
    traces = []

    class Decay(eqx.Module):
        rate: jax.Array

        def __call__(self, t, x, u):
            assert u is None
            traces.append((t.dtype, x.dtype))
            return -self.rate * x

    after, single = [], jnp.float32
    for rate in (0.5, 1.0, 2.0):
        days = np.linspace(0, 1 / rate, 300)
        field, start = Decay(jnp.array(rate, single)), jnp.array([rate], single)
        states = predict(field, start, days, begin=2_460_000.0 + rate, rtol=1e-5 * rate, max_steps=20)
        assert states.dtype == single
        np.testing.assert_allclose(states[:, 0], rate * np.exp(-rate * days), rtol=0, atol=3e-5)
        after.append(len(traces))
    assert set(traces) == {(jnp.dtype(single), jnp.dtype(single))}
    assert after == [after[0]] * 3


# Failures


def test_implicit_solver_bears_what_explicit_ones_do_not():
    start, times = np.array([2.0, 0.0]), np.linspace(0, 1000, 7)
    with pytest.raises(RunError, match=r"t = 1000: 16394 steps were not enough; .* try solver='kvaerno5'") as info:
        planar(VAN_DER_POL, start, times)
    assert "\n" not in str(info.value)
    states = planar(VAN_DER_POL, start, times, solver="kvaerno3", rtol=1e-7, atol=1e-7)
    expected = scipy_states(VAN_DER_POL, start, times, rtol=1e-9, atol=1e-9, method="Radau")
    np.testing.assert_allclose(states, expected, rtol=1e-5, atol=1e-7)


def test_blow_up_is_named_with_its_time():
    """dx/dt = x² from 1 at t = 10 has no solution at t = 11; the solver must get there and say so."""
    with pytest.raises(RunError) as info:
        planar(SQUARE, np.array([1.0, 0.0]), np.linspace(0, 2, 7), begin=10.0)
    message = str(info.value)
    stopped = float(message.split("t = ")[1].split()[0])
    assert stopped == pytest.approx(11, abs=1e-6), message
    assert "on its way to t = 12: no step is small enough there, where the largest |x| is " in message
    assert "float64" not in message


def test_field_without_values_stops_at_once():
    with pytest.raises(RunError, match=r"stopped at t = 1 on its way to t = 3: no step is small enough"):
        planar(SQUARE * np.nan, np.ones(2), np.linspace(0, 2, 7), begin=1.0)


def test_solve_in_a_batch_with_failures_and_padding():
    """From x₀, dx/dt = x² blows up at t = 1/x₀ and not before: x(t) = x₀ / (1 − x₀ t).

    In float32 an implicit solver must not lose its equations in rounding. Even rows are padded after t = 0.25.
    """
    starts = jnp.linspace(0.5, 2, 24, dtype=jnp.float32)[:, None]
    times = np.tile(np.array([0.0, 0.25, 3.0], np.float32), (24, 1))
    times[::2, 2] = 0.25
    run = lambda start, times: solve(lambda t, x, u: x**2, start, times, solver="kvaerno5")
    batch = jax.jit(jax.vmap(run))(starts, jnp.asarray(times))
    np.testing.assert_array_equal(batch.status, np.tile([0, 2], 12))
    np.testing.assert_array_equal(batch.until, times[:, 2])
    np.testing.assert_allclose(batch.stopped, np.where(batch.status == 0, 0.25, 1 / starts[:, 0]), rtol=1e-4)
    expected = np.array(starts / (1 - starts * np.minimum(times, 0.25)))
    expected[1::2, 2] = np.nan
    np.testing.assert_allclose(batch.states[..., 0], expected, rtol=1e-4)
    with pytest.raises(RunError, match=r"solution 1 of 24 \(12 failed\): no step .* or compute in float64"):
        raise_if_failed(batch, solver="kvaerno5")
    raise_if_failed(jax.tree.map(lambda leaf: leaf[::2], batch))


# Wrong input


def test_unknown_solvers_are_answered_with_the_known_ones():
    field = lambda t, x, u: x
    with pytest.raises(InputError, match=r"unknown solver `kvarno5`: did you mean `kvaerno5`\? Known: .*kvaerno5"):
        predict(field, jnp.ones(3), np.arange(2.0), solver="kvarno5")
    with pytest.raises(InputError, match=r"unknown solver `leapfrog`: Known"):
        solve(field, jnp.ones(3), jnp.arange(2.0), solver="leapfrog")


@pytest.mark.parametrize(
    ("times", "message"),
    [
        ([0.0, 1.0, 1.0], r"got 1 followed by 1 at position 2"),
        ([0.0, 2.0, 1.0], r"got 2 followed by 1 at position 2"),
        ([0.0, np.nan], "must be finite"),
        ([3.0, 4.0], "must count from the start, with 0 first; got 3: subtract it, and pass it as `begin`"),
        ([], "at least the time of the start"),
    ],
)
def test_times_must_increase_from_zero(times, message):
    with pytest.raises(InputError, match=message):
        predict(jnp.add, jnp.ones(3), np.array(times))


def test_start_must_be_finite():
    with pytest.raises(InputError, match="`start` must be finite"):
        predict(jnp.add, jnp.array([1.0, jnp.nan, 1.0]), np.arange(2.0))


@pytest.mark.parametrize("wrong", [lambda x: x[:1], lambda x: x.astype(jnp.float32), lambda x: (x, x)])
def test_field_must_give_a_tangent(wrong):
    with pytest.raises(InputError, match=r"`field` must map a state of shape \(2,\) and type float64 to a tangent"):
        solve(lambda t, x, u: wrong(x), jnp.ones(2), jnp.arange(3.0))
