"""Fixed steps: restarts, padding, gradients, compilations, wrong input."""

import inspect
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.rollout.textbook import ends_of_steps, plain_rollout

from leadax.errors import InputError
from leadax.rollout import TABLEAUX, Restart, Steps, Tableau, rollout, steps_between


def wavy(t, x, u, lib=jnp):
    return lib.sin(3 * x + t) - x**2 + (0.0 if u is None else 0.5 * u)


forecast = jax.jit(partial(rollout, wavy, tableau="bosh3"))


def observations(seed, *shape, length=7):
    """States near 1, irregular times from 0, restarts at some of them, inputs at both ends of each interval."""
    rng = np.random.default_rng(seed)
    times = np.cumsum([0.0, *rng.uniform(0.05, 0.4, length - 1)])
    restart = Restart(np.arange(length) % 3 == 1, 1 + 0.3 * rng.normal(size=(length, *shape)))
    return times, restart, rng.normal(size=(length - 1, 2, *shape))


# Restarts


@pytest.mark.parametrize(("shape", "longest"), [((2,), None), ((3, 4, 2), 0.15)])
def test_restarts_as_in_a_plain_loop(shape, longest):
    """One step per interval without inputs; one to three with inputs on a grid. The start is not an observation."""
    times, restart, inputs = observations(0, *shape)
    restart, start = restart._replace(where=np.arange(7) % 3 == 0), np.full(shape, 0.7)
    counts = np.maximum(1, np.ceil(np.diff(times) / (longest or 9))).astype(int)
    assert set(counts) == ({1} if longest is None else {1, 2, 3})
    steps = steps_between(times, longest=longest, dtype=np.float64)
    if longest is not None:
        steps = steps._replace(inputs=ends_of_steps(inputs, counts))
    table = TABLEAUX["bosh3"].a, TABLEAUX["bosh3"].b, TABLEAUX["bosh3"].c
    plain = plain_rollout(partial(wavy, lib=np), table, start, times, counts, inputs * (longest is not None), restart)
    np.testing.assert_allclose(forecast(jnp.asarray(start), steps, restart), plain, rtol=0, atol=1e-13)


def test_last_restart_and_unused_states_do_not_matter():
    times, restart, _ = observations(2, 2)
    start, steps = jnp.asarray(restart.states[0]), steps_between(times, dtype=np.float64)
    nowhere = np.zeros(7, bool)
    ends = nowhere | (np.arange(7) % 6 == 0)
    free = forecast(start, steps)
    for where, states in [(nowhere, restart.states), (ends, restart.states), (nowhere, np.full((7, 2), 1e30))]:
        np.testing.assert_array_equal(forecast(start, steps, Restart(where, states)), free)
    np.testing.assert_array_equal(free[0], start)


def test_gradient_stops_at_restarts():
    """Restarted everywhere, each prediction depends on the observation just before it and on no other."""
    times, restart, _ = observations(6, 2)
    steps = steps_between(times, dtype=np.float64)
    restarted = lambda states: rollout(wavy, states[0], steps, Restart(jnp.ones(7, bool), states))[:, 0]
    depends = jax.jit(jax.jacobian(restarted))(jnp.asarray(restart.states))[:, :, 0] != 0
    np.testing.assert_array_equal(depends, np.eye(7, k=-1, dtype=bool) | (np.arange(49).reshape(7, 7) == 0))


def test_default_is_the_papers_rule():
    assert inspect.signature(rollout).parameters["tableau"].default == "rk4-38"


def test_one_point_is_returned_as_it_is():
    start = jnp.ones(2)
    for times, longest in [(np.zeros(1), None), (np.zeros(1), 0.1)]:
        steps = steps_between(times, longest=longest, dtype=np.float64)
        restart = Restart(jnp.ones(1, bool), start[None])
        np.testing.assert_array_equal(rollout(wavy, start, steps, restart), start[None])


def test_the_state_decides_the_type():
    steps = Steps(np.zeros(3), np.ones(3), np.ones((3, 2, 1)))
    seen = []
    field = lambda t, x, u: seen.append((t.dtype, x.dtype, u.dtype)) or u - t * x
    states = jax.eval_shape(partial(rollout, field), jnp.ones(1, jnp.float32), steps)
    assert {states.dtype, *(dtype for row in seen for dtype in row)} == {jnp.dtype("float32")}


# Padding and gradients


def test_padding_holds_the_state_and_leaves_gradients_alone():
    """The field is not even finite at the state, time and inputs of the padding, and must not be evaluated there."""
    field = lambda theta: lambda t, x, u: -theta * u * jnp.sqrt(x) / (2.4 - t)  # NaN below zero
    divided = steps_between(np.array([0.0, 0.4, 0.9, 2.3, 2.3, 2.3]), longest=1.0, dtype=np.float64)
    steps = jax.tree.map(np.asarray, divided._replace(inputs=np.ones((4, 2, 1))))
    pad = lambda rows, value: np.concatenate([rows, np.full((2, *rows.shape[1:]), value, rows.dtype)])
    padded = Steps(*map(pad, steps[:3], (2.4, 0.0, np.nan)), steps.landing, pad(steps.departure, -1))
    states = np.array([1.0, 0.8, 0.5, 0.2, -5.0, -5.0])[:, None]

    @jax.jit
    @partial(jax.value_and_grad, argnums=(0, 1, 2), has_aux=True)
    def loss(theta, states, inputs, steps):
        restart = Restart(np.arange(6) == 1, states)
        predictions = rollout(field(theta), states[0], steps._replace(inputs=inputs), restart, tableau="euler")
        return jnp.sum(predictions[:4] ** 2), predictions

    (value, short), gradients = jax.tree.map(np.asarray, loss(1.0, states, steps.inputs, steps))
    (value_padded, long), gradients_padded = loss(1.0, states, padded.inputs, padded)
    assert short[-1] < 0, "the test wants a last state where the field is NaN"
    assert value_padded == value
    np.testing.assert_array_equal(long, short)
    np.testing.assert_array_equal(short[4:], short[[3, 3]])
    assert all(np.isfinite(gradient).all() and gradient.any() for gradient in gradients)
    np.testing.assert_array_equal(gradients[1][4:], 0)
    for found, expected in zip(gradients_padded, (*gradients[:2], pad(gradients[2], 0.0)), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_gradients_against_finite_differences_and_compilations():
    """With respect to all that is a number: weights, start, times, sizes, inputs, observations."""
    times, restart, inputs = observations(4, 2, length=4)
    steps = steps_between(times, substeps=2, dtype=np.float64)._replace(inputs=ends_of_steps(inputs, [2] * 3))
    traces = []

    def loss(weights, start, times, sizes, inputs, states):
        traces.append(1)
        field = lambda t, x, u: jnp.tanh(weights @ x + u * jnp.sin(t))
        along = steps._replace(times=times, sizes=sizes, inputs=inputs)
        return jnp.mean(rollout(field, start, along, Restart(restart.where, states), tableau="heun") ** 2)

    @jax.jit
    def derivatives(point, direction):
        forward = jax.jvp(loss, point, direction)
        return *forward, jax.grad(loss, argnums=range(6))(*point)

    rng = np.random.default_rng(5)
    point = (rng.normal(size=(2, 2)), restart.states[0], *map(np.asarray, steps[:3]), restart.states)
    for _ in range(2):
        direction = tuple(rng.normal(size=part.shape) for part in point)
        low, high = (tuple(x + size * v for x, v in zip(point, direction, strict=True)) for size in (-1e-5, 1e-5))
        numeric = (derivatives(high, direction)[0] - derivatives(low, direction)[0]) / 2e-5
        _, forward, gradient = derivatives(point, direction)
        np.testing.assert_allclose(forward, numeric, rtol=1e-7)
        np.testing.assert_allclose(sum(map(np.vdot, gradient, direction)), numeric, rtol=1e-7)
    assert all(np.any(part != 0) for part in gradient)
    assert len(traces) == 2, "both derivatives are traced once"


# Wrong input


def test_unknown_tableau_is_answered_with_the_known_ones():
    steps = Steps(jnp.zeros(1), jnp.ones(1))
    with pytest.raises(InputError, match=r"unknown tableau `RK4_38`: did you mean `rk4-38`\? Known: euler, .*rk4-38"):
        rollout(wavy, jnp.ones(3), steps, tableau="RK4_38")


@pytest.mark.parametrize("wrong", [lambda x: x[:1], lambda x: x.astype(jnp.float32), lambda x: (x, x)])
def test_field_must_give_a_tangent(wrong):
    with pytest.raises(InputError, match=r"`field` must map a state of shape \(2,\) and type float64 to a tangent"):
        rollout(lambda t, x, u: wrong(x), jnp.ones(2), Steps(jnp.zeros(1), jnp.ones(1)))


def test_a_tableau_of_ones_own():
    """Any consistent table can be passed without being registered."""
    table = Tableau("my-euler", 1, np.zeros((1, 1)), np.ones(1))
    ours = rollout(lambda t, x, u: -x, jnp.ones(1), Steps(jnp.arange(2.0), jnp.ones(2)), tableau=table)
    np.testing.assert_array_equal(ours[:, 0], [1, 0, 0])
