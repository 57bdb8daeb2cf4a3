"""The loss against plain loops over ragged data, its gradient against differences, and scheduled sampling."""

import dataclasses
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.engine import (
    LEADS,
    assert_close,
    at,
    plain_objective,
    ragged,
    random_carry,
    random_like,
    random_parts,
    same_bits,
    tiny,
)

from leadax.data import Trajectories
from leadax.data.batch import to_batch, with_slopes
from leadax.derivatives import ESTIMATES
from leadax.errors import InputError
from leadax.experiments import settings_for
from leadax.methods import Leads, OneForAll, Parts
from leadax.model import cast
from leadax.nets import ConvNet, measure
from leadax.objective import ScheduledSampling, init_carry, objective
from leadax.penalty import EmpiricalNorm

ONES = jnp.ones(2)
BATCH = to_batch(ragged(), jnp.float64)
DRAWN = {
    "nowhere": np.zeros(6, bool),
    "everywhere": np.ones(6, bool),
    "random": np.array([False, True, False, False, True, True]),
}
MASKS = {where: row & np.asarray(BATCH.complete) for where, row in DRAWN.items()}


@pytest.fixture(scope="module")
def loss():
    """Compiled once: `(parts, carry, batch, restart, error_scale) -> ((loss, (terms, carry)), gradient)`."""
    return jax.jit(jax.value_and_grad(partial(objective, LEADS), has_aux=True))


@pytest.fixture(scope="module")
def setting(loss):
    """Parts, and power vectors that have converged."""
    parts = random_parts(LEADS, 2)
    carry = random_carry(LEADS, parts, 2)
    for _ in range(300):
        (_, (_, carry)), _ = loss(parts, carry, BATCH, MASKS["nowhere"], ONES)
    return parts, carry


@pytest.mark.parametrize("where", MASKS)
def test_equals_a_plain_loop(where, loss, setting):
    scale = np.array([0.5, 3.0])
    (found, (terms, _)), _ = loss(*setting, BATCH, MASKS[where], jnp.asarray(scale))
    expected, (errors, penalties) = plain_objective(setting[0], ragged(), DRAWN[where], scale)
    np.testing.assert_allclose(terms.error, errors, rtol=1e-12)
    np.testing.assert_allclose(terms.penalty, penalties, rtol=1e-9)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    # The environments have 24 and 17 observed values: the mean over all is not the mean of their means.
    assert abs(found - np.mean(errors) - 0.5 * np.sum(penalties)) > 1e-4 * np.mean(errors)


def test_error_scale_divides_before_squaring(loss, setting):
    (_, (plain, _)), _ = loss(*setting, BATCH, MASKS["nowhere"], ONES)
    (_, (halved, _)), _ = loss(*setting, BATCH, MASKS["nowhere"], 2 * ONES)
    np.testing.assert_allclose(halved.error, np.asarray(plain.error) / 4, rtol=1e-13)
    np.testing.assert_array_equal(halved.penalty, plain.penalty)


def test_what_was_not_observed_has_no_influence(loss, setting):
    garbage = 1e3 * np.random.default_rng(5).standard_normal(BATCH.states.shape)
    dirty = BATCH._replace(states=jnp.asarray(np.where(BATCH.observed, BATCH.states, garbage)))
    for mask in MASKS.values():
        # Bit by bit: value, terms, carry and gradient.
        assert same_bits(loss(*setting, BATCH, mask, ONES), loss(*setting, dirty, mask, ONES))


def test_gradient_against_differences(loss, setting):
    parts, carry = setting
    _, gradient = loss(parts, carry, BATCH, MASKS["random"], ONES)
    for seed in range(5):
        direction = random_like(parts, seed)
        value = lambda h, d=direction: float(
            loss(jax.tree.map(lambda a, b: a + h * b, parts, d), carry, BATCH, MASKS["random"], ONES)[0][0]
        )
        slope = sum(map(np.vdot, jax.tree.leaves(gradient), jax.tree.leaves(direction)))
        np.testing.assert_allclose(slope, (value(1e-5) - value(-1e-5)) / 2e-5, rtol=1e-6)


def test_every_weight_has_a_gradient(loss, setting):
    _, gradient = loss(*setting, BATCH, MASKS["nowhere"], ONES)
    assert all(np.all(np.abs(g) > 0) for g in jax.tree.leaves(gradient))


def test_padding_changes_nothing(loss, setting):
    """More empty trajectories and times, as in a batch with a larger neighbour; and no restarts at all."""
    pad = lambda a, **how: np.pad(a, [(0, 0), (0, 2), (0, 3)] + [(0, 0)] * (a.ndim - 3), **how)
    wider = jax.tree.map(pad, BATCH)._replace(times=pad(BATCH.times, mode="edge"))
    wider.states[:, 3:] = 7.0
    found = jax.jit(partial(objective, LEADS))(*setting, jax.tree.map(jnp.asarray, wider), None, ONES)
    expected, _ = loss(*setting, BATCH, MASKS["nowhere"], ONES)
    assert_close(found, expected, rtol=1e-13)


@pytest.mark.parametrize("space", [(4, 3), (5,)], ids=["plane", "line"])
def test_fields_with_missing_pixels(space):
    """In float32, as they are trained; pixels and channels count alike."""
    rng = np.random.default_rng(0)
    times, states = np.array([0.0, 0.1, 0.3]), rng.uniform(0.5, 1.5, (2, 2, 3, *space, 2))
    states[0, 1, 1:][rng.uniform(size=(2, *space, 2)) < 0.3] = np.nan
    method = Leads(net=partial(ConvNet, depth=1), solver="euler", penalty=EmpiricalNorm(), penalty_weight=0.5)
    init = lambda key: cast(method.init(states.shape[3:], 2, key=key), "float32")
    parts = random_like(jax.eval_shape(init, jr.key(0)))
    carry = random_carry(method, parts, 2)
    batch = to_batch(Trajectories.from_arrays(times, states))
    step = jax.jit(jax.value_and_grad(partial(objective, method), has_aux=True))
    (_, (terms, _)), gradient = step(parts, carry, batch, batch.complete, jnp.ones(2, "float32"))
    assert {leaf.dtype for leaf in jax.tree.leaves((terms, gradient))} == {np.dtype("float32")}
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))

    move = jax.jit(lambda f, g, x, h: x + h * (f(x) + g(x)))
    for e in range(2):
        squares = []
        for i in range(2):
            x = states[e, i, 0]
            for k, h in enumerate(np.diff(times)):
                start = x if np.isnan(states[e, i, k]).any() else states[e, i, k]
                x = np.asarray(move(parts.shared, at(parts.specific, e), start.astype("float32"), h.astype("float32")))
                squares.append((x - states[e, i, k + 1]) ** 2)
        seen = np.isfinite(states[e]).sum()
        np.testing.assert_allclose(terms.error[e], np.nansum(squares) / seen, rtol=1e-4)


def test_no_penalty_costs_nothing():
    for method in (Leads(net=tiny, penalty=LEADS.penalty, penalty_weight=0.0), OneForAll(net=tiny, penalty_weight=1.0)):
        assert init_carry(method, random_parts(method, 2), jr.key(1), 2) == ()


def rescaled(data: Trajectories) -> Trajectories:
    """The same in other units: grams for tonnes, degrees Celsius for kelvin, hours after another midnight."""
    return Trajectories.from_arrays(
        50 + 24 * data.times,
        data.states * np.array([1e6, 1.0]) + np.array([0.0, 273.0]),
        environments=data.environments,
    )


def test_units_do_not_matter_to_a_scaled_net():
    values = []
    method = Leads(net=settings_for(ragged()).net, solver="heun", penalty=LEADS.penalty, penalty_weight=0.5)
    weights = random_parts(method, 2)
    carry = random_carry(method, weights, 2)
    value = jax.jit(jax.value_and_grad(partial(objective, method), has_aux=True))
    for data in (ragged(), rescaled(ragged())):
        scales = dict(zip(("mean", "scale", "rate"), measure(data.states, data.times), strict=True))
        parts = Parts(*(_with(net, scales) for net in weights))
        batch, scale = to_batch(data, jnp.float64), jnp.asarray(settings_for(data).error_scale)
        (loss, (terms, _)), gradient = value(parts, carry, batch, batch.complete, scale)
        values.append((loss, terms, gradient.shared.net, gradient.specific.net))
        # The scales are no weights: they do not learn.
        assert all(np.all(np.asarray(getattr(half, name)) == 0) for half in gradient for name in scales)
    assert_close(values[1], values[0], rtol=1e-8, atol=1e-12)


def _with(net, scales):
    """The same net in these units."""
    places = lambda net: [getattr(net, name) for name in scales]
    return eqx.tree_at(places, net, [np.broadcast_to(a, getattr(net, name).shape) for name, a in scales.items()])


# Scheduled sampling


def test_probability():
    found = {step: float(ScheduledSampling().probability(jnp.array(step))) for step in (0, 9, 10, 25, 999, 12_000)}
    expected = {step: 0.99 ** (1 + step // 10) for step in found}
    np.testing.assert_allclose(list(found.values()), list(expected.values()), rtol=1e-6)
    assert found[0] == found[9] != found[10]
    np.testing.assert_allclose(ScheduledSampling(0.5, every=2).probability(jnp.array(5)), 0.125)


def test_one_draw_for_all_and_only_whole_states():
    complete = jnp.asarray(np.random.default_rng(0).uniform(size=(3, 4, 50)) < 0.7)
    draw = jax.jit(ScheduledSampling(0.5, every=100).restart)
    for k in range(5):
        restart = np.asarray(draw(jnp.array(3), complete, jr.key(k)))
        chosen = restart.any(axis=(0, 1))
        np.testing.assert_array_equal(restart, chosen & np.asarray(complete))
        assert 5 < chosen.sum() < 45


@pytest.mark.parametrize(("last", "steps"), [(0.0, 10), (1.1, 10), (-0.1, 10), (0.1, 0)])
def test_falls_to_something_in_some_steps(last, steps):
    with pytest.raises(InputError, match=f"`last` must be above 0 .* got {last} and {steps}"):
        ScheduledSampling.falling_to(last, steps)


def test_draws_have_the_probability_and_differ_between_keys():
    complete = jnp.ones((1, 1, 100_000), bool)
    draw = jax.jit(ScheduledSampling().restart)
    first, again, other = (
        np.asarray(draw(jnp.array(s), complete, jr.key(k))) for s, k in ((500, 0), (500, 0), (500, 1))
    )
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    np.testing.assert_allclose(first.mean(), 0.99**51, atol=0.006)


@pytest.mark.parametrize(("decay", "expected"), [(0.0, False), (1.0, True)])
def test_never_and_always(decay, expected):
    complete = jnp.ones((2, 2, 30), bool)
    assert np.all(ScheduledSampling(decay).restart(jnp.array(0), complete, jr.key(0)) == expected)


@pytest.mark.parametrize("wrong", [{"decay": -0.1}, {"decay": 1.5}, {"decay": float("nan")}, {"every": 0}])
def test_refuses_what_is_no_probability(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        ScheduledSampling(**wrong)


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_matching_derivatives_against_a_plain_loop(estimate):
    """Only where all of a state was observed can the field be asked, and only known slopes count."""
    parts = jax.tree.map(jnp.asarray, random_parts(LEADS, 2))
    plain = dataclasses.replace(LEADS, penalty_weight=0.0)
    batch = with_slopes(BATCH, ESTIMATES[estimate])
    loss, (terms, _) = jax.jit(partial(objective, plain))(parts, (), batch, MASKS["random"], jnp.array([1.0, 2.0]))
    sums, counts = np.zeros(2), np.zeros(2)
    for e, i in np.ndindex(BATCH.times.shape[:2]):
        one = [np.asarray(a[e, i]) for a in BATCH[:4]]
        slopes, known = ESTIMATES[estimate](*one[:3])
        for k in np.flatnonzero(one[3]):
            x = jnp.asarray(one[1][k])
            field = np.asarray(parts.shared(x) + at(parts.specific, e)(x))
            sums[e] += np.sum(np.where(known[k], (field - slopes[k]) / [1.0, 2.0], 0.0) ** 2)
            counts[e] += known[k].sum()
    assert_close(terms.error, sums / counts)
    assert_close(loss, sums.sum() / counts.sum())
