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
from tests.engine import RANDOM_STATE, at, compiled_once, decays, ragged, same_bits

from leadax import fit, job
from leadax.arrays import read_arrays
from leadax.checkpoint import STATE
from leadax.data.batch import to_batch
from leadax.job import Interrupted
from leadax.methods import Gbml, Maml
from leadax.nets import Linear
from leadax.objective import ScheduledSampling
from leadax.training import Recipe, _halves, init_state, next_phase, train_step

GBML = Gbml(net=Linear, solver="euler", first_share=0.4)
BOUNDARY = 8
SETTINGS = {"steps": 20, "look_every": 5, "learning_rate": 0.02, "key": jr.key(0)}


@pytest.fixture(autouse=True, scope="module")
def _compile_once():
    with compiled_once(RANDOM_STATE):
        yield


def train(run=None, method=GBML, **settings):
    return fit(method, decays(), run=run, **{**SETTINGS, **settings})


@pytest.fixture(scope="module")
def whole():
    return train()


def saved(folder: Path, step: int, half: str) -> dict[str, np.ndarray]:
    arrays, _ = read_arrays(folder / "checkpoints" / f"step-{step:09d}" / STATE)
    return {name: array for name, array in arrays.items() if name.startswith(f".parts.{half}")}


def stopped(folder: Path, step: int, monkeypatch, begin: int = 0) -> None:
    monkeypatch.setattr(job, "SECONDS_PER_CALL", 0.0)
    done = iter(range(begin + 1, 1000))
    with pytest.raises(Interrupted, match=f"stopped at step {step} of 20"):
        train(folder, should_stop=lambda: next(done) == step)


@pytest.mark.parametrize("stops", [(7,), (8,), (9,), (3, 8, 12), (7, 8, 9)], ids=str)
def test_resumed_before_at_and_after_the_boundary(stops, whole, tmp_path, monkeypatch):
    for begin, stop in itertools.pairwise((0, *stops)):
        stopped(tmp_path, stop, monkeypatch, begin)
    assert same_bits(train(tmp_path).parts, whole.parts)


def test_first_what_is_shared_then_what_is_specific(whole, tmp_path, monkeypatch):
    stopped(tmp_path, BOUNDARY, monkeypatch)
    assert not any(np.any(a) for a in saved(tmp_path, BOUNDARY, "specific").values())
    last = train(tmp_path, checkpoint_every=19).parts
    assert same_bits(last, whole.parts)
    # After the boundary nothing shared moves, everything specific does.
    before = saved(tmp_path, 19, "shared")
    assert same_bits(list(before.values()), jax.tree.leaves(last.shared))
    assert all(np.all(np.asarray(a) != 0) for a in jax.tree.leaves(last.specific))
    assert len(np.unique(np.asarray(last.specific[0].dense.weight)[0], axis=0)) == 2


def test_in_the_first_phase_gbml_is_one_for_all(whole, tmp_path, monkeypatch):
    """The same bits as a run of the first phase alone, in which the learning rate falls to zero."""
    stopped(tmp_path, BOUNDARY, monkeypatch)
    alone = train(steps=BOUNDARY, trainable=("shared",))
    assert same_bits(list(saved(tmp_path, BOUNDARY, "shared").values()), jax.tree.leaves(alone.parts.shared))


class Caught(Exception):
    """Carries a job out of `fit`."""


def caught(job, *given):
    raise Caught(job, *given)


@pytest.mark.parametrize(
    ("share", "steps", "stages"),
    [
        (0.5, 7, [(4, ("shared",)), (7, ("specific",))]),
        (0.1, 1, [(1, ("specific",))]),
        (0.9, 1, [(1, ("shared",))]),
        (0.3, 1000, [(300, ("shared",)), (1000, ("specific",))]),
    ],
    ids=str,
)
def test_shares_of_the_steps(share, steps, stages, monkeypatch):
    """A step cannot be divided, and a phase without a step is left out."""
    monkeypatch.setattr(job.Job, "first_state", caught)
    with pytest.raises(Caught) as carrier:
        train(method=Gbml(net=Linear, solver="euler", first_share=share), steps=steps)
    assert [(stage.end, stage.recipe.trainable) for stage in carrier.value.args[0].stages] == stages


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


@pytest.mark.parametrize("good", [7, 8, 9], ids=["before", "at", "after"])
def test_going_back_across_the_boundary(good, monkeypatch):
    monkeypatch.setattr(job, "RETRIES", 1000)
    settings = {"optimiser": JUMP, "sampling": ScheduledSampling(0.0), "checkpoint_every": good}
    warned: list[str] = []
    model = train(**settings, on_divergence="retry", warn=warned.append)
    assert warned
    assert all(f"the last good checkpoint is of step {good}: going on" in text for text in warned)
    assert [look["step"] for look in model.about["looks"]] == [5, 10, 15, 20]
    # As the steps of both phases are, one after the other, with the rate that came out.
    monkeypatch.setattr(job.Job, "run", caught)
    with pytest.raises(Caught) as carrier:
        train(**settings)
    caught_job, state, _ = carrier.value.args
    scale = lambda: jnp.asarray([0.5 ** len(warned)], jnp.float32)  # each is donated to a call
    state, _ = caught_job.advance[0](state, caught_job.batch, min(good, BOUNDARY))
    if good < BOUNDARY:
        state, _ = caught_job.advance[0](state._replace(rate_scale=scale()), caught_job.batch, BOUNDARY - good)
    state = jax.vmap(partial(next_phase, caught_job.stages[1].recipe))(state)
    if good > BOUNDARY:
        state, _ = caught_job.advance[1](state, caught_job.batch, good - BOUNDARY)
    state, _ = caught_job.advance[1](state._replace(rate_scale=scale()), caught_job.batch, 20 - max(good, BOUNDARY))
    assert same_bits(state.parts, model.parts)


# Meta-learning


@pytest.mark.parametrize("data", [decays(3, 1), decays(2, 2), decays(2, 5), ragged()], ids=["1", "2", "5", "3 and 2"])
def test_halves(data):
    """Disjoint and together all, as even as can be; twice the same where there is only one."""
    batch = to_batch(data, jnp.float64)
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
    for half in _halves(to_batch(data, jnp.float64), jr.key(0)):
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
    recipe = Recipe(
        method, optax.sgd(1.0), ScheduledSampling(0.0), trainable=("shared",), meta=True, error_scale=np.ones(2)
    )
    parts = jax.tree.map(jnp.asarray, method.init((2,), 2, key=jr.key(3)))
    state = init_state(recipe, parts, 2, jr.key(1))
    after, progress = jax.jit(partial(train_step, recipe))(state, to_batch(data, jnp.float64))
    theta = sum(np.asarray(net.dense.weight) for net in parts.shared)
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
        gradient = np.asarray(parts.shared[net].dense.weight) - np.asarray(after.parts.shared[net].dense.weight)
        np.testing.assert_allclose(gradient, short if first_order else exact, rtol=1e-7)
    assert same_bits(after.parts.specific, parts.specific)
    assert at(after, ()).step == 1


def test_maml_looks_ahead_first_and_then_fits():
    method = Maml(net=Linear, solver="euler", first_share=0.5)
    assert [(phase.share, phase.trainable, phase.meta) for phase in method.phases] == [
        (0.5, ("shared",), True),
        (0.5, ("specific",), False),
    ]
    assert [phase.meta for phase in GBML.phases] == [False, False]
    model = train(method=method)
    assert all(np.all(np.asarray(a) != 0) for a in jax.tree.leaves(model.parts.specific))
    assert np.all(np.isfinite([look["loss"] for look in model.about["looks"]]))
