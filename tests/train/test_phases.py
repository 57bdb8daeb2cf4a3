"""Training in phases: what learns when, going on from anywhere, and the look ahead of meta-learning."""

import itertools
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from tests.engine import decays, ragged, random_levels, request_of, same_bits

from leadax import Gbml, Linear, Maml, Monitor, Recipe, ScheduledSampling, Units, fit
from leadax.arrays import read_arrays
from leadax.methods.prepare import prepare
from leadax.train import Interrupted, Start, loop
from leadax.train.optimisers import Optimiser
from leadax.train.run_folder import STATE
from leadax.train.step import Plan, Span, _halves, first_state, train_step
from leadax.train.trainer import Trainer

GBML = Gbml(net=Linear, solver="euler", first_share=0.4)
BOUNDARY = 8


def train(run=None, method=GBML, recipe=None, monitor=Monitor(), **settings):
    recipe = Recipe(**{"look_every": 5, "sampling": ScheduledSampling(), **(recipe or {})})
    chosen = {"steps": 20, "learning_rate": 0.02, "key": jr.key(0), **settings}
    return fit(method, decays(), run=run, recipe=recipe, monitor=monitor, **chosen)


@pytest.fixture(scope="module")
def whole():
    return train()


def saved(folder: Path, step: int, level: str) -> list[np.ndarray]:
    arrays, _ = read_arrays(folder / "checkpoints" / f"step-{step:09d}" / STATE)
    return [array for name, array in arrays.items() if f".levels.{level}" in name]


def stopped(folder: Path, step: int, monkeypatch, begin: int = 0) -> None:
    monkeypatch.setattr(loop, "SECONDS_PER_CALL", 0.0)
    done = iter(range(begin + 1, 1000))
    with pytest.raises(Interrupted, match=f"stopped at step {step} of 20"):
        train(folder, monitor=Monitor(should_stop=lambda: next(done) == step))


@pytest.mark.parametrize("stops", [(7,), (8,), (9,), (3, 8, 12), (7, 8, 9)], ids=str)
def test_resumed_before_at_and_after_the_boundary(stops, whole, tmp_path, monkeypatch):
    for begin, stop in itertools.pairwise((0, *stops)):
        stopped(tmp_path, stop, monkeypatch, begin)
    assert same_bits(train(tmp_path), whole)


def test_first_what_is_shared_then_what_is_specific(whole, tmp_path, monkeypatch):
    stopped(tmp_path, BOUNDARY, monkeypatch)
    assert not any(np.any(a) for a in saved(tmp_path, BOUNDARY, "specific"))
    # In the first phase it is One-For-All: as a run of that phase alone, in which the learning rate falls to zero.
    first = request_of(decays())
    start = Start(Trainer.of(first, [GBML], [None])._first_state().levels, ("shared",))
    alone = train(steps=BOUNDARY, start=start)
    # Only the draws of points differ where the key is used otherwise: it is the same here.
    assert same_bits(saved(tmp_path, BOUNDARY, "shared"), jax.tree.leaves(alone.levels.shared))
    # After the boundary nothing shared moves, everything specific does.
    last = train(tmp_path, recipe={"checkpoint_every": 19}).levels
    assert same_bits(last, whole.levels)
    assert same_bits(saved(tmp_path, 19, "shared"), jax.tree.leaves(last.shared))
    assert all(np.all(np.asarray(a) != 0) for a in jax.tree.leaves(last.specific))
    assert len(np.unique(np.asarray(last.specific[0].dense.weight)[0], axis=0)) == 2


@pytest.mark.parametrize(
    ("share", "steps", "stages"),
    [
        (0.5, 7, [(0, 4, ("shared", "local")), (4, 7, ("specific", "local"))]),
        (0.1, 1, [(0, 1, ("specific", "local"))]),
        (0.9, 1, [(0, 1, ("shared", "local"))]),
        (0.3, 1000, [(0, 300, ("shared", "local")), (300, 1000, ("specific", "local"))]),
    ],
    ids=str,
)
def test_shares_of_the_steps(share, steps, stages):
    """A step cannot be divided, and a phase without a step is left out."""
    request = request_of(decays(), steps=steps)
    task = Trainer.of(request, [Gbml(net=Linear, first_share=share)], [None]).task
    assert [(stage.begin, stage.end, stage.plan.trainable) for stage in task.stages] == stages


# In the second phase one step is much too long, and lets the next ones overflow.
JUMP = optax.GradientTransformation(
    lambda params: jnp.zeros((), jnp.int32),
    lambda gradient, step, params: (
        jax.tree.map(
            lambda g: (
                -0.01 * g if jax.tree.leaves(gradient.shared) else jnp.where(step == 1, -1e5 * jnp.sign(g), -0.01 * g)
            ),
            gradient,
        ),
        step + 1,
    ),
)


@pytest.mark.parametrize(
    ("recipe", "good"),
    [
        ({"look_every": 4}, 4),
        ({"look_every": 11, "checkpoint_every": 8}, 8),
        ({"look_every": 11, "checkpoint_every": 9}, 9),
    ],
    ids=["before", "at", "after"],
)
def test_going_back_across_the_boundary(recipe, good, monkeypatch):
    """To the last checkpoint, or to the look before the last one, with the tenth step too long."""
    monkeypatch.setattr(loop, "RETRIES", 1000)
    recipe, warned = {"sampling": ScheduledSampling(0.0), **recipe}, []
    model = train(optimiser=JUMP, learning_rate=None, recipe=recipe, monitor=Monitor(warn=warned.append))
    assert warned
    assert {int(text.split("the last good step is ")[1].split(":")[0]) for text in warned} == {good}
    every = recipe["look_every"]
    assert [snapshot.step for snapshot in model.training.history] == sorted({20, *range(every, 20, every)})
    # As the steps of both phases are, one after the other, with the rate that came out.
    request = request_of(decays(), optimiser=JUMP, recipe=Recipe(**recipe))
    trainer = Trainer.of(request, [GBML], [None])
    state = by_hand(trainer.task, trainer._first_state(), {good: 0.5 ** len(warned)})
    assert same_bits(state.levels, model.levels)


def by_hand(task, state, factors):
    """All steps one by one, with the rate multiplied at some of them."""
    for stage in task.stages:
        if stage.begin:
            state = jax.vmap(partial(loop.next_phase, stage.plan))(state)
        span = Span(*(jnp.asarray(n, jnp.int32) for n in (stage.begin, stage.end - stage.begin)))
        for step in range(stage.begin, stage.end):
            if step in factors:
                state = state._replace(rate=state.rate * factors[step])
            state, _ = loop.advance(stage.plan, task.method, state, task.batch, task.sampling, span, 1)
    return state


# Meta-learning


@pytest.mark.parametrize("data", [decays(3, 1), decays(2, 2), decays(2, 5), ragged()], ids=["1", "2", "5", "3 and 2"])
def test_halves(data):
    """Disjoint and together all, as even as can be; twice the same where there is only one."""
    batch = prepare(data, Units.ones(2), GBML, dtype=jnp.float64)
    observed, seen = np.asarray(batch.observed), set()
    divide = jax.jit(_halves)
    for k in range(20):
        support, query = (np.asarray(half.observed) for half in divide(batch, jr.key(k)))
        for e, count in enumerate(data.counts):
            chosen, others = (half[e, :count].any(axis=(1, 2)) for half in (support, query))
            if count == 1:
                assert chosen.all()
                assert others.all()
            else:
                assert not np.any(chosen & others)
                assert np.all(chosen | others)
                assert chosen.sum() == (count + 1) // 2
            seen.add((e, tuple(chosen)))
        np.testing.assert_array_equal(support | query, observed)
    if data.counts[0] == 2:
        assert len(seen) == 4


def test_an_environment_of_one_trajectory_among_larger_ones():
    states = np.ones((3, 2)) + np.arange(3)[:, None]
    data = decays().from_arrays([[range(3)] * 3, [range(3)]], [[states] * 3, [states]])
    for half in _halves(prepare(data, Units.ones(2), GBML, dtype=jnp.float64), jr.key(0)):
        assert np.asarray(half.observed)[1].any()
        assert np.asarray(half.observed)[0].any()


def plain_error(matrix, times, states):
    """The sum of squared errors of Euler's method; also for complex numbers, whose imaginary part is a slope."""
    x, total = states[0], 0.0
    for k, duration in enumerate(np.diff(times)):
        x = x + duration * (x @ matrix)
        total = total + np.sum((x - states[k + 1]) ** 2)
    return total


def slope_of(function, matrix):
    slope, tiny = np.zeros_like(matrix), 1e-30
    for place in np.ndindex(matrix.shape):
        step = np.zeros(matrix.shape, complex)
        step[place] = 1j * tiny
        slope[place] = np.imag(function(matrix + step)) / tiny
    return slope


def plain_meta(theta, data, support, query, steps, rate, frozen=None):
    """The loss after some steps of each environment, where f and g both take the same step; and the steps taken."""
    size, total, count, moves = data.states[0, 0].size, 0.0, 0, []
    for e in range(len(data.environments)):
        times, states = data.times[e], data.states[e]
        own = lambda a, t=times, s=states, i=support[e]: plain_error(a, t[i], s[i]) / size
        matrix = theta
        for _ in range(steps):
            matrix = matrix - 2 * rate * slope_of(own, matrix)
        moves.append(matrix - theta)
        final = matrix if frozen is None else theta + frozen[e]
        total, count = total + plain_error(final, times[query[e]], states[query[e]]), count + size
    return total / count, moves


@pytest.mark.parametrize(("steps", "first_order"), [(1, False), (1, True), (2, False)], ids=str)
def test_meta_gradient(steps, first_order):
    """The slope of the loss after the steps, with respect to where they start from."""
    data, rate = decays(2, 2, 4), 0.3
    method = Maml(net=Linear, solver="euler", inner_steps=steps, inner_rate=rate, first_order=first_order)
    plan = Plan(Optimiser(optax.sgd(1.0)), trainable=("shared",), meta=True)
    levels = random_levels(method, 2)
    levels = levels._replace(specific=jax.tree.map(jnp.zeros_like, levels.specific))
    state = first_state(plan, method, levels, 2, jr.key(1), jnp.ones(()))
    batch = prepare(data, Units.ones(2), method, dtype=jnp.float64)
    after, progress = jax.jit(partial(train_step, plan, method))(
        state, batch, ScheduledSampling(0.0), Span(jnp.array(0, jnp.int32), jnp.array(9, jnp.int32))
    )
    theta = sum(np.asarray(net.dense.weight) for net in levels.shared)
    # Of the possible halves, one gives the loss.
    halves = list(itertools.product([0, 1], repeat=2))
    divisions = [(support, [1 - i for i in support]) for support in halves]
    losses = [plain_meta(theta, data, *division, steps, rate)[0] for division in divisions]
    (match,) = np.flatnonzero(np.abs(np.array(losses) / float(progress.loss) - 1) < 1e-10)
    moves = plain_meta(theta, data, *divisions[match], steps, rate)[1]
    exact, short = np.zeros((2, 2, 2))
    for place in np.ndindex(2, 2):
        step = np.zeros((2, 2))
        step[place] = 1e-5
        for found, frozen in ((exact, None), (short, moves)):
            value = lambda a, f=frozen: plain_meta(a, data, *divisions[match], steps, rate, f)[0]
            found[place] = (value(theta + step) - value(theta - step)) / 2e-5
    assert not np.allclose(exact, short, rtol=0.05)
    for net in range(2):
        gradient = np.asarray(levels.shared[net].dense.weight) - np.asarray(after.levels.shared[net].dense.weight)
        np.testing.assert_allclose(gradient, short if first_order else exact, rtol=1e-7)
    assert same_bits(after.levels.specific, levels.specific)
    assert after.step == 1


def test_maml_looks_ahead_first_and_then_fits():
    method = Maml(net=Linear, solver="euler", first_share=0.5)
    assert [(phase.share, phase.trainable, phase.meta) for phase in method.phases()] == [
        (0.5, ("shared",), True),
        (0.5, ("specific",), False),
    ]
    assert [phase.meta for phase in GBML.phases()] == [False, False]
    model = train(method=method)
    assert all(np.all(np.asarray(a) != 0) for a in jax.tree.leaves(model.levels.specific))
    assert np.all(np.isfinite([snapshot.loss for snapshot in model.training.history]))
