"""The loss against plain loops over ragged data, its gradient against differences, and scheduled sampling."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.engine import (
    LEADS,
    assert_close,
    at,
    plain_loss,
    plain_net,
    ragged,
    random_carry,
    random_levels,
    random_like,
    same_bits,
    tiny,
)

from leadax import EmpiricalNorm, InputError, Leads, OneForAll, ScheduledSampling, Trajectories, Units
from leadax.arrays import cast
from leadax.data.batch import with_slopes
from leadax.data.derivatives import ESTIMATES
from leadax.methods.prepare import prepare
from leadax.nets import ConvNet
from leadax.train.loss import first_carry, loss

BATCH = prepare(ragged(), Units.ones(2), LEADS, dtype=jnp.float64)
DRAWN = {
    "nowhere": np.zeros(6, bool),
    "everywhere": np.ones(6, bool),
    "random": np.array([False, True, False, False, True, True]),
}
MASKS = {where: jnp.asarray(row & np.asarray(BATCH.complete)) for where, row in DRAWN.items()}


@pytest.fixture(scope="module")
def found_by():
    """Compiled once: `(levels, carry, batch, restart) -> ((loss, (terms, carry)), gradient)`."""
    return jax.jit(jax.value_and_grad(partial(loss, LEADS), has_aux=True))


@pytest.fixture(scope="module")
def setting(found_by):
    """Levels, and power vectors that have converged."""
    levels = random_levels(LEADS, 2)
    carry = random_carry(LEADS, levels, 2)
    for _ in range(300):
        (_, (_, carry)), _ = found_by(levels, carry, BATCH, MASKS["nowhere"])
    return levels, carry


@pytest.mark.parametrize("where", MASKS)
def test_equals_a_plain_loop(where, found_by, setting):
    (found, (terms, _)), _ = found_by(*setting, BATCH, MASKS[where])
    expected, (errors, penalties) = plain_loss(setting[0], ragged(), DRAWN[where])
    np.testing.assert_allclose(terms.error, errors, rtol=1e-12)
    np.testing.assert_allclose(terms.penalty, penalties, rtol=1e-9)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    # The environments have 24 and 17 observed values: the mean over all is not the mean of their means.
    assert abs(found - np.mean(errors) - 0.5 * np.sum(penalties)) > 1e-4 * np.mean(errors)


def test_what_was_not_observed_has_no_influence(found_by, setting):
    garbage = 1e3 * np.random.default_rng(5).standard_normal(BATCH.states.shape)
    dirty = BATCH._replace(states=jnp.asarray(np.where(BATCH.observed, BATCH.states, garbage)))
    for mask in MASKS.values():
        # Bit by bit: value, terms, carry and gradient.
        assert same_bits(found_by(*setting, BATCH, mask), found_by(*setting, dirty, mask))


def test_gradient_against_differences_and_every_weight_has_one(found_by, setting):
    levels, carry = setting
    _, gradient = found_by(levels, carry, BATCH, MASKS["random"])
    for seed in range(5):
        direction = random_like(levels, seed)
        value = lambda h, d=direction: float(
            found_by(jax.tree.map(lambda a, b: a + h * b, levels, d), carry, BATCH, MASKS["random"])[0][0]
        )
        slope = sum(map(np.vdot, jax.tree.leaves(gradient), jax.tree.leaves(direction)))
        np.testing.assert_allclose(slope, (value(1e-5) - value(-1e-5)) / 2e-5, rtol=1e-6)
    assert all(np.all(np.abs(g) > 0) for g in jax.tree.leaves(gradient))


def test_padding_changes_nothing(found_by, setting):
    """More empty trajectories and times, as in a batch with a larger neighbour; and no restarts at all."""
    pad = lambda a, **how: np.pad(a, ([(0, 0), (0, 2), (0, 3)] + [(0, 0)] * a.ndim)[: a.ndim], **how)
    wider = jax.tree.map(pad, BATCH)._replace(times=pad(BATCH.times, mode="edge"))
    wider.states[:, 3:] = 7.0
    found = jax.jit(partial(loss, LEADS))(*setting, jax.tree.map(jnp.asarray, wider), None)
    expected, _ = found_by(*setting, BATCH, MASKS["nowhere"])
    assert_close(found, expected, rtol=1e-13)


@pytest.mark.parametrize("space", [(4, 3), (5,)], ids=["plane", "line"])
def test_fields_with_missing_pixels(space):
    """In float32, as they are trained; pixels and channels count alike."""
    rng = np.random.default_rng(0)
    times, states = np.array([0.0, 0.1, 0.3]), rng.uniform(0.5, 1.5, (2, 2, 3, *space, 2))
    states[0, 1, 1:][rng.uniform(size=(2, *space, 2)) < 0.3] = np.nan
    method = Leads(net=partial(ConvNet, depth=1), solver="euler", penalty=EmpiricalNorm(), penalty_weight=0.5)
    levels = cast(random_levels(method, 2, state_shape=states.shape[3:]), "float32")
    batch = prepare(Trajectories.from_arrays(times, states), Units.ones(2), method)
    step = jax.jit(jax.value_and_grad(partial(loss, method), has_aux=True))
    (_, (terms, _)), gradient = step(levels, (), batch, batch.complete)
    assert {leaf.dtype for leaf in jax.tree.leaves((terms, gradient))} == {np.dtype("float32")}
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))

    move = jax.jit(lambda f, g, x, h: x + h * (f(0.0, x) + g(0.0, x)))
    for e in range(2):
        squares = []
        for i in range(2):
            x = states[e, i, 0]
            for k, h in enumerate(np.diff(times)):
                start = x if np.isnan(states[e, i, k]).any() else states[e, i, k]
                x = move(levels.shared, at(levels.specific, e), start.astype("float32"), h.astype("float32"))
                x = np.asarray(x)
                squares.append((x - states[e, i, k + 1]) ** 2)
        seen = np.isfinite(states[e]).sum()
        np.testing.assert_allclose(terms.error[e], np.nansum(squares) / seen, rtol=1e-4)


def test_no_penalty_costs_nothing():
    for method in (Leads(net=tiny, penalty=LEADS.penalty, penalty_weight=0.0), OneForAll(net=tiny)):
        assert first_carry(method, random_levels(method, 2), jr.key(1), 2) == ()


def test_kappa_weighs_the_penalty_by_the_error(found_by, setting):
    """κ · error/Ω · Ω, of which only the last Ω has a gradient."""
    levels, carry = setting
    relative = dataclasses.replace(LEADS, penalty_weight=None, kappa=0.3)
    plain = dataclasses.replace(LEADS, penalty_weight=0.0)
    both = lambda method, carry: jax.value_and_grad(partial(loss, method), has_aux=True)(
        levels, carry, BATCH, MASKS["nowhere"]
    )
    ((value, (terms, _)), slope), ((error, _), slope_of_error) = jax.jit(
        lambda: (both(relative, carry), both(plain, ()))
    )()
    np.testing.assert_allclose(value, 1.3 * error, rtol=1e-12)
    # With 1/λ = 1/2 the gradient is that of the error + Ω/2: so is that of Ω known.
    (_, _), slope_of_both = found_by(levels, carry, BATCH, MASKS["nowhere"])
    weight = 0.3 * float(error) / float(np.sum(terms.penalty))
    expected = jax.tree.map(lambda a, b: a + weight * 2 * (b - a), slope_of_error, slope_of_both)
    assert_close(slope, expected, rtol=1e-8, atol=1e-12)
    with pytest.raises(InputError, match=r"`penalty_weight` .* or `kappa`, not both"):
        Leads(penalty_weight=0.1, kappa=0.1)


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_matching_derivatives_against_a_plain_loop(estimate):
    """Only where all of a state was observed can the field be asked, and only known slopes count."""
    levels = random_levels(LEADS, 2)
    plain = dataclasses.replace(LEADS, penalty_weight=0.0)
    batch = with_slopes(BATCH, ESTIMATES[estimate])
    value, (terms, _) = jax.jit(partial(loss, plain))(levels, (), batch, None)
    sums, counts = np.zeros(2), np.zeros(2)
    for e, i in np.ndindex(BATCH.times.shape[:2]):
        one = [np.asarray(a[e, i]) for a in BATCH[:4]]
        slopes, known = ESTIMATES[estimate](*one[:3])
        for k in np.flatnonzero(one[3]):
            field = plain_net(levels.shared, one[1][k]) + plain_net(at(levels.specific, e), one[1][k])
            sums[e] += np.sum(np.where(known[k], field - slopes[k], 0.0) ** 2)
            counts[e] += known[k].sum()
    assert_close(terms.error, sums / counts)
    assert_close(value, sums.sum() / counts.sum())


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


def test_draws_have_the_probability_and_differ_between_keys():
    complete = jnp.ones((1, 1, 100_000), bool)
    draw = jax.jit(lambda sampling, step, key: sampling.restart(step, complete, key))
    usual = ScheduledSampling()
    first, again, other = (np.asarray(draw(usual, jnp.array(500), jr.key(k))) for k in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)
    np.testing.assert_allclose(first.mean(), 0.99**51, atol=0.006)
    for decay in (0.0, 1.0):  # never, and always
        assert np.all(draw(ScheduledSampling(decay), jnp.array(0), jr.key(0)) == bool(decay))


@pytest.mark.parametrize(("last", "steps"), [(0.0, 10), (1.1, 10), (-0.1, 10), (0.1, 0)])
def test_falls_to_something_in_some_steps(last, steps):
    with pytest.raises(InputError, match=f"`last` must be above 0 .* got {last} and {steps}"):
        ScheduledSampling.falling_to(last, steps)


@pytest.mark.parametrize("wrong", [{"decay": -0.1}, {"decay": 1.5}, {"decay": float("nan")}, {"every": 0}])
def test_refuses_what_is_no_probability(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        ScheduledSampling(**wrong)
