"""One step against plain loops and plain Adam; many steps: the same bits however they are divided, one program."""

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from tests.engine import LEADS, assert_close, at, compiled, plain_loss, ragged, random_levels, random_like, same_bits

from leadax import Frobenius, InputError, Leads, Linear, OneForAll, ScheduledSampling, Trajectories, Units
from leadax.methods.prepare import prepare, side_by_side
from leadax.train.optimisers import Optimiser
from leadax.train.step import Plan, Span, advance, first_state

BATCH = prepare(ragged(), Units.ones(2), LEADS, dtype=jnp.float64)
RATE = 1e-3
SPAN = Span(jnp.array(0, jnp.int32), jnp.array(1000, jnp.int32))
# A draw of points that the loss itself reveals: half of them, at every step.
HALF = ScheduledSampling(0.5, every=10_000)


def recording(optimiser):
    """The same optimiser, with the last gradient in its state."""
    init = lambda params: (optimiser.init(params), jax.tree.map(jnp.zeros_like, params))

    def update(gradient, state, params):
        updates, inner = optimiser.update(gradient, state[0], params)
        return updates, (inner, gradient)

    return optax.GradientTransformation(init, update)


PLAN = Plan(Optimiser(recording(optax.adam(RATE))))
CHEAP = Leads(net=Linear, solver="euler", penalty=Frobenius(), penalty_weight=0.1)
CHEAP_PLAN = Plan(Optimiser(optax.adam(0.1)))


def start(method=LEADS, plan=PLAN, seeds=(0,)):
    """A state at step 0 of these seeds, with power vectors that have converged."""

    def one(seed):
        levels = random_levels(method, 2, seed)
        shapes = jax.eval_shape(lambda: first_state(plan, method, levels, 2, jr.key(0), jnp.ones(())))
        zeros = jax.tree.map(lambda a: np.zeros(a.shape, a.dtype), shapes)
        carry = ((), tuple(np.linalg.svd(a.weight)[0][..., 0] for a in levels.specific.layers)) if shapes.carry else ()
        key = np.asarray(jr.key_data(jr.key(seed)))
        return zeros._replace(levels=levels, carry=carry, key=key, rate=np.ones(()))

    return jax.tree.map(lambda *rows: jnp.asarray(np.stack(rows)), *map(one, seeds))


def go(state, steps, method=LEADS, plan=PLAN, sampling=HALF):
    members = side_by_side([method], len(state.step), jnp.float64)
    # The state is used up.
    return advance(plan, members, jax.tree.map(jnp.array, state), BATCH, sampling, SPAN, steps)


def test_one_step_is_adam_on_the_plain_loss():
    before = start()
    after, progress = go(before, 1)
    levels = at(before.levels, 0)
    # The loss is that of one of the possible draws, shared by all trajectories and environments.
    draws = [np.array([False, *draw, False]) for draw in itertools.product([False, True], repeat=4)]
    losses = np.array([plain_loss(levels, ragged(), draw)[0] for draw in draws])
    (match,) = np.flatnonzero(np.abs(losses / progress.loss[0] - 1) < 1e-9)
    # The gradient is that of the plain loss, along any direction,
    gradient = at(after.optimiser[1], 0)
    for seed in range(3):
        direction = random_like(levels, seed)
        moved = lambda h, d=direction: jax.tree.map(lambda a, b: np.asarray(a) + h * np.asarray(b), levels, d)
        value = lambda h: plain_loss(moved(h), ragged(), draws[match])[0]  # noqa: B023
        slope = sum(map(np.vdot, jax.tree.leaves(gradient), jax.tree.leaves(direction)))
        np.testing.assert_allclose(slope, (value(1e-5) - value(-1e-5)) / 2e-5, rtol=1e-6)
    # and the first step of Adam is against it, of the size of the rate.
    for new, old, g in zip(*map(jax.tree.leaves, (after.levels, before.levels, after.optimiser[1])), strict=True):
        g = np.asarray(g)
        np.testing.assert_allclose(new, np.asarray(old) - RATE * g / (np.abs(g) + 1e-8), rtol=1e-12, atol=1e-15)
    assert after.step.tolist() == [1]


def test_later_steps_are_plain_adam():
    state = start()
    levels = [np.array(a) for a in jax.tree.leaves(state.levels)]
    means, squares = [[np.zeros_like(a) for a in levels] for _ in range(2)]
    for step in range(1, 5):
        state, _ = go(state, 1)
        for k, g in enumerate(map(np.asarray, jax.tree.leaves(state.optimiser[1]))):
            means[k], squares[k] = 0.9 * means[k] + 0.1 * g, 0.999 * squares[k] + 0.001 * g**2
            mean, square = means[k] / (1 - 0.9**step), squares[k] / (1 - 0.999**step)
            levels[k] = levels[k] - RATE * mean / (np.sqrt(square) + 1e-8)
    assert_close(jax.tree.leaves(state.levels), levels, rtol=1e-12, atol=1e-14)


def test_power_vectors_are_carried_from_step_to_step():
    lost = start()._replace(carry=jax.tree.map(jnp.ones_like, start().carry))
    first, last = (go(lost, steps)[1].terms.penalty[0] for steps in (1, 150))
    exact = plain_loss(at(lost.levels, 0), ragged())[1][1]
    assert np.max(np.abs(first / np.array(exact) - 1)) > 0.01
    before, _ = go(lost, 149)
    np.testing.assert_allclose(last, plain_loss(at(before.levels, 0), ragged())[1][1], rtol=1e-4)


def test_same_state_same_bits_and_any_division_into_calls():
    whole, progress = go(start(), 7)
    again, _ = go(start(), 7)
    assert same_bits(whole, again)
    for calls in ([1] * 7, [3, 4], [0, 6, 1]):
        state = start()
        for count in calls:
            state, last = go(state, count)
        assert same_bits(state, whole), calls
        assert same_bits(last, progress), calls


def test_draws_depend_on_the_key_and_the_step():
    of_key = {float(go(start()._replace(key=jr.key_data(jr.key(k))[None]), 1)[1].loss[0]) for k in range(4)}
    of_step = {float(go(start()._replace(step=jnp.full((1,), s, jnp.int32)), 1)[1].loss[0]) for s in range(4)}
    assert len(of_key) > 1
    assert len(of_step) > 1


def test_numbers_do_not_compile_again():
    """Neither the number of steps nor λ, the sampling or the learning rate."""
    go(start(), 1)
    slower, count = start()._replace(rate=jnp.array([0.5])), len(compiled)
    assert "jit(_advance)" in compiled
    for steps in (1, 2, 5, 50):
        state, _ = go(start(), steps)
        assert state.step.tolist() == [steps]
    state, other = go(state, 3, dataclasses.replace(LEADS, penalty_weight=0.25), sampling=ScheduledSampling(0.9))
    _, halved = go(slower, 3)
    assert compiled[count:] == []
    assert not np.allclose(other.loss, halved.loss)


def test_the_rate_scales_the_step():
    before = start()
    whole, half = (go(before._replace(rate=jnp.array([rate])), 1)[0] for rate in (1.0, 0.5))
    delta = lambda after: jax.tree.map(lambda a, b: np.asarray(a) - np.asarray(b), after.levels, before.levels)
    assert_close(delta(half), jax.tree.map(lambda d: d / 2, delta(whole)), rtol=1e-9)


def test_stops_before_a_step_that_is_not_finite():
    wild = start()._replace(levels=jax.tree.map(lambda a: a * 1e200, start().levels))
    after, progress = go(wild, 5)
    assert progress.finite.tolist() == [False]
    assert same_bits(after, wild)


def test_seeds_in_one_program_are_each_as_alone():
    seeds, run = (0, 1, 2), lambda state: go(state, 20, CHEAP, CHEAP_PLAN)
    together, progress = run(start(CHEAP, CHEAP_PLAN, seeds))
    for k, seed in enumerate(seeds):
        alone, of_one = run(start(CHEAP, CHEAP_PLAN, (seed,)))
        assert_close(at(together, k), at(alone, 0), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(progress.loss[k], of_one.loss[0], rtol=1e-9)
    assert not np.allclose(progress.loss[0], progress.loss[1])

    # One that goes wrong stops all of them, at the same step.
    wild = start(CHEAP, CHEAP_PLAN, seeds)
    factors = lambda a: np.array([1, 1e200, 1]).reshape(-1, *[1] * (a.ndim - 1))
    after, progress = run(wild._replace(levels=jax.tree.map(lambda a: jnp.asarray(factors(a) * a), wild.levels)))
    assert progress.finite.tolist() == [True, False, True]
    assert after.step.tolist() == [0, 0, 0]


def chosen(*rows) -> Trajectories:
    """The ragged data with only these trajectories of each environment."""
    data = ragged()
    cut = lambda array: [[array[e, i, : data.lengths[e, i]] for i in row] for e, row in enumerate(rows)]
    return Trajectories.from_arrays(cut(data.times), cut(data.states))


def test_minibatches_are_of_real_trajectories_without_repetition():
    """At a rate of zero the losses of the steps are those of the possible draws, and of no others."""
    method, still = dataclasses.replace(LEADS, net=Linear), Plan(Optimiser(optax.sgd(0.0)), batch_size=2)
    state, losses = start(method, still), []
    for _ in range(40):
        state, progress = go(state, 1, method, still, ScheduledSampling(0.0))
        losses.append(float(progress.loss[0]))
    # The second environment has but two trajectories, and one that is padding.
    levels = at(start(method, still).levels, 0)
    possible = sorted(plain_loss(levels, chosen(pair, (0, 1)))[0] for pair in ((0, 1), (0, 2), (1, 2)))
    np.testing.assert_allclose(sorted({round(loss, 9) for loss in losses}), possible, rtol=1e-8)
    counts = [sum(abs(loss - one) < 1e-8 for loss in losses) for one in possible]
    assert min(counts) >= 5, counts


def test_only_the_trainable_level_learns():
    plan = dataclasses.replace(CHEAP_PLAN, trainable=("specific",))
    before = start(CHEAP, plan)
    after, _ = go(before, 3, CHEAP, plan)
    assert same_bits(after.levels.shared, before.levels.shared)
    for new, old in zip(*map(jax.tree.leaves, (after.levels.specific, before.levels.specific)), strict=True):
        assert np.all(np.asarray(new) != np.asarray(old))
    # What does not learn takes no room in the optimiser: its two moments, and the count.
    assert len(jax.tree.leaves(after.optimiser)) == 1 + 2 * len(jax.tree.leaves(before.levels.specific))
    # A method without that level stays as it is.
    method = OneForAll(net=Linear, solver="euler")
    after, progress = go(start(method, plan), 2, method, plan)
    assert same_bits(after.levels, start(method, plan).levels)
    assert progress.finite.tolist() == [True]


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"batch_size": 0}, "`batch_size` must be at least 1, got 0"),
        ({"trainable": ("everything",)}, "`trainable` must name some of shared, specific, local"),
        ({"trainable": ()}, "`trainable` must name"),
    ],
)
def test_refuses(wrong, match):
    with pytest.raises(InputError, match=match):
        Plan(**wrong)
