"""A new environment as a mixture of known ones: exact where the field is linear in the environment's parameters."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.linalg import expm
from tests.engine import same_bits

from leadax import (
    InputError,
    Leads,
    Linear,
    Model,
    Monitor,
    OneForAll,
    OnePerEnv,
    Recipe,
    RunError,
    Sizes,
    Trajectories,
    Units,
    adapt,
    evaluate,
)
from leadax.adapt import trial
from leadax.adapt.learner import Learner
from leadax.adapt.reliability import examine
from leadax.adapt.trial import candidates, divided
from leadax.data.units import Box
from leadax.methods import Levels
from leadax.methods.mixture import Mixture, family_of

TIMES = np.linspace(0, 2, 11)
BASE, FIRST, SECOND = (np.array(m, float) for m in ([[-0.5, 1], [-1, -0.5]], [[-1, 0], [0, 0]], [[0, 0.5], [0, -0.5]]))
KNOWN = [(0.0, 0.0), (0.4, 0.0), (0.0, 0.6), (0.3, 0.3)]
METHOD = Leads(net=Linear, solver="rk4", penalty_weight=0.0)


def matrix(a: float, b: float) -> np.ndarray:
    return BASE + a * FIRST + b * SECOND


def trajectories(environments, starts, times=TIMES) -> Trajectories:
    solve = lambda m, x: np.stack([expm(m * t) @ x for t in times])
    states = np.stack([[solve(matrix(*p), np.array(x)) for x in starts] for p in environments])
    return Trajectories.from_arrays(times, states, environments=[f"n{i}" for i in range(len(states))])


def known_model(method=METHOD) -> Model:
    """The true fields: f is the base, g_e the rest. A `Linear` net multiplies rows from the right."""
    shape = jax.eval_shape(lambda: method.init(Sizes((2,), len(KNOWN)), key=jr.key(0)))
    fill = lambda tree, weights: jax.tree.map(
        lambda a: jnp.asarray(weights if a.shape[-2:] == (2, 2) else np.zeros(a.shape), jnp.float32), tree
    )
    specific = np.stack([(matrix(*p) - BASE).T for p in KNOWN])
    levels = Levels(fill(shape[0], BASE.T), fill(shape[1], specific))
    stacked = jax.tree.map(lambda a: a[None], levels)
    return Model(stacked, method, Units.ones(2), ("a", "b", "c", "d"), ("x0", "x1"), (2,), longest_step=0.2)


def test_known_environments_have_numbers_of_variance_one():
    model, method = known_model(), Mixture(METHOD, 4, 3)
    shared, specific, _ = jax.tree.map(lambda a: a[0], model.levels)
    states = jnp.asarray(np.random.default_rng(0).normal(size=(50, 2)), jnp.float32)
    family = family_of(method, shared, specific, states)
    # w = D c reproduces environment e, as a deviation from the mean, with these numbers.
    for e in range(4):
        numbers = 4 * family.directions[e]
        f, g = method.split(family, numbers)
        x = jnp.array([0.3, -0.7], jnp.float32)
        expected = matrix(*KNOWN[e]) @ np.asarray(x)
        np.testing.assert_allclose(f(jnp.zeros(()), x, None) + g(jnp.zeros(()), x, None), expected, atol=1e-5)
    np.testing.assert_allclose(np.mean(np.square(4 * family.directions), axis=0)[:2], 1.0, rtol=1e-5)


def test_an_environment_between_known_ones_is_learnt_from_one_trajectory(tmp_path):
    model, new = known_model(), [(0.2, 0.5)]
    one, others = trajectories(new, [(1.0, 0.5)]), trajectories(new, [(-1.0, 1.0), (0.2, -1.5)])
    learnt = adapt(model, one, scheme="mixture", steps=400, key=jr.key(0))
    assert isinstance(learnt.method, Mixture)
    alone = adapt(model, one, scheme="shared-only", key=jr.key(0))
    assert evaluate(learnt, others).nmse < 1e-3
    assert evaluate(alone, others).nmse > 0.02
    assert same_bits(learnt.levels.shared.shared, model.levels.shared)
    learnt.save(tmp_path / "new.safetensors")
    again = Model.load(tmp_path / "new.safetensors")
    assert same_bits(again.levels, learnt.levels)
    assert again.training.reliability == learnt.training.reliability


def test_auto_says_what_can_be_trusted(tmp_path):
    model, recipe = known_model(), Recipe(look_every=50)
    how = {"steps": 200, "recipe": recipe, "key": jr.key(0)}
    good = adapt(model, trajectories([(0.2, 0.5)], [(1.0, 0.5)]), run=tmp_path / "run", **how)
    assert good.training.reliability.reliable, good.training.reliability
    assert "held-out part was forecast" in good.training.reliability.reason
    assert adapt(model, trajectories([(0.2, 0.5)], [(1.0, 0.5)]), run=tmp_path / "run", **how).training == good.training
    # Something that no mixture of rotations can be.
    noise = np.random.default_rng(0).normal(size=(1, 1, 11, 2))
    bad = adapt(model, Trajectories.from_arrays(TIMES, noise), **how).training.reliability
    assert not bad.reliable
    assert "the error on the held-out part is" in bad.reason
    few = adapt(model, trajectories([(0.2, 0.5)], [(1.0, 0.5)], TIMES[:4]), **how).training.reliability
    assert (few.reliable, "too few points" in few.reason) == (False, True)


def test_a_forecast_that_runs_away_is_not_reliable():
    """The held-out part may be fine, and other forecasts not."""
    model, data = known_model(), trajectories([(0.2, 0.5)], [(1.0, 0.5)])
    push = lambda a: a[:, :1] + (5 * np.eye(2, dtype=np.float32)[None, None] if a.shape[-2:] == (2, 2) else 0)
    explosive = jax.tree.map(push, model.levels.specific)
    new = dataclasses.replace(model, levels=model.levels._replace(specific=explosive), environments=("n0",))
    for box in (None, Box((-5.0, -5.0), (5.0, 5.0))):  # which hides how far a forecast would run
        verdict = examine(dataclasses.replace(new, box=box), dataclasses.replace(model, box=box), data, 1e-3)
        assert not verdict.reliable
        assert "leave their region" in verdict.reason
    calm = dataclasses.replace(
        model,
        levels=model.levels._replace(specific=jax.tree.map(lambda a: a[:, :1], model.levels.specific)),
        environments=("n0",),
    )
    assert examine(calm, model, data, 1e-3).reliable


def test_what_is_at_rest_tells_nothing():
    model, still = known_model(), Trajectories.from_arrays(TIMES, np.ones((1, 1, len(TIMES), 2)), environments=["n0"])
    calm = dataclasses.replace(
        model,
        levels=model.levels._replace(specific=jax.tree.map(lambda a: a[:, :1], model.levels.specific)),
        environments=("n0",),
    )
    verdict = examine(calm, model, still, 1e-4)
    assert (verdict.reliable, "that of the mean of the rest 0" in verdict.reason) == (False, True), verdict


@pytest.mark.parametrize(
    ("stretch", "held_out", "reliable", "reason"),
    [
        (1.0, 0.015, True, "was forecast with an error of 0.015"),
        (1.0, 0.05, False, "is 0.05 of the variance, that of the mean of the rest 0.22"),
        (1.5, 0.015, False, "lies outside the known environments"),
        (1.5, 0.005, True, "was forecast with an error of 0.005"),
        (4.0, 0.0001, False, "unlike any known environment (4 times as far"),
    ],
)
def test_outside_the_known_environments(stretch, held_out, reliable, reason):
    """The furthest known environment, moved away from the mean of all of them."""
    model, data = known_model(), trajectories([(0.2, 0.5)], [(1.0, 0.5)])
    sizes = [np.linalg.norm(matrix(*known) - np.mean([matrix(*k) for k in KNOWN], axis=0)) for known in KNOWN]
    e = int(np.argmax(sizes))
    away = lambda a: (stretch * a[:, e : e + 1] + (1 - stretch) * a.mean(axis=1, keepdims=True)).astype(a.dtype)
    moved = model.levels._replace(specific=jax.tree.map(away, model.levels.specific))
    new = dataclasses.replace(model, levels=moved, environments=("n0",))
    verdict = examine(new, model, data, held_out)
    assert (verdict.reliable, reason in verdict.reason) == (reliable, True), verdict


def test_which_ways_suit_a_model():
    assert candidates(known_model()) == ["specific", "mixture"]  # four numbers are fewer than a mixture needs
    one = OneForAll(net=Linear)
    blank = known_model()
    single = dataclasses.replace(blank, method=one, levels=Levels(blank.levels.shared, ()))
    assert candidates(single) == ["shared-only"]
    alone = dataclasses.replace(
        blank, method=OnePerEnv(net=Linear), levels=Levels((), (blank.levels.specific, blank.levels.specific))
    )
    assert candidates(alone) == ["mixture"]
    with pytest.raises(InputError, match="cannot be mixed"):
        adapt(single, trajectories([(0.2, 0.5)], [(1.0, 0.5)]), scheme="mixture", key=jr.key(0))


def test_a_part_is_held_out_where_there_are_enough_points():
    assert divided(trajectories([(0, 0)], [(1, 1)], TIMES[:4])) is None
    past, future = divided(trajectories([(0, 0)], [(1, 1)]))
    known = lambda part: int(np.isfinite(part.states[0, 0, :, 0]).sum())
    assert (known(past), known(future)) == (8, 4)
    assert past.times.shape == future.times.shape  # one program for both


@pytest.mark.parametrize(
    ("errors", "chosen"),
    [((1.0, 0.6), "specific"), ((1.0, 0.4), "mixture"), ((None, 0.4), "mixture"), ((1.0, None), "specific")],
)
def test_more_parameters_must_be_much_better(monkeypatch, errors, chosen):
    """The first of the two has fewer parameters; None stands for one that failed."""
    found = dict(zip(("specific", "mixture"), errors, strict=True))
    outcome = lambda scheme, *rest: None if found[scheme] is None else trial.Outcome(scheme, found[scheme], 1)
    monkeypatch.setattr(trial, "_tried", outcome)
    data = trajectories([(0.2, 0.5)], [(1.0, 0.5)])
    learner = Learner(known_model(), data, jr.key(0), None, "adam", Recipe(), Monitor())
    best = trial.best_scheme(learner, 10, None)
    assert best.scheme == chosen


def test_if_every_way_fails_there_is_no_model(monkeypatch):
    monkeypatch.setattr(trial, "_tried", lambda *given: None)
    with pytest.raises(RunError, match="every scheme failed to learn"):
        adapt(known_model(), trajectories([(0.2, 0.5)], [(1.0, 0.5)]), key=jr.key(0))
