"""What keeps training on data of any kind on its feet: hold-outs, the best model, steps that follow gaps."""

import json
from functools import partial

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.engine import LINEAR, decays, same_bits

from leadax import Monitor, Recipe, Trajectories, evaluate, fit, hold_out
from leadax.methods import Levels
from leadax.train import Interrupted, Start
from leadax.train.loop import Best

DATA = decays(trajectories=3)
fast = partial(fit, LINEAR, key=jr.key(0), recipe=Recipe(look_every=5, checkpoint_every=5))


def test_the_best_member_is_kept_one_by_one():
    levels = lambda *values: Levels({"w": jnp.array(values)[:, None]}, ())
    best = Best(levels(0.0, 0.0, 0.0), jnp.array([1.0, 1.0, 1.0]), jnp.array([0, 0, 0], jnp.int32))
    found = best.improved(levels(1.0, 2.0, 3.0), np.array([0.5, 2.0, np.nan]), 7)
    assert found.levels.shared["w"][:, 0].tolist() == [1.0, 0.0, 0.0]
    assert found.error.tolist() == [0.5, 1.0, 1.0]
    assert found.step.tolist() == [7, 0, 0]


def test_the_model_kept_is_the_best_on_the_validation_data(tmp_path):
    """Of each of two seeds, on a trajectory that was held out."""
    train, validation = hold_out(DATA, 0.3)
    assert (train.counts.tolist(), validation.counts.tolist()) == ([2, 2], [1, 1])
    # A rate so high that the error goes up and down.
    how = {"validation": validation, "learning_rate": 0.5, "seeds": 2, "steps": 20}
    model = fast(train, **how)
    history = np.array([snapshot.validation for snapshot in model.training.history])
    steps = [snapshot.step for snapshot in model.training.history]
    assert model.training.kept == tuple(steps[i] for i in history.argmin(axis=0))
    np.testing.assert_allclose(evaluate(model, validation).mse_per_seed, history.min(axis=0), rtol=1e-5)
    # Stopped half-way and resumed it is the same.
    once = iter([False, True])
    with pytest.raises(Interrupted, match="stopped at step"):
        fast(train, run=tmp_path, monitor=Monitor(should_stop=lambda: next(once)), **how)
    resumed = fast(train, run=tmp_path, **how)
    assert resumed.training.kept == model.training.kept
    assert same_bits(resumed, model)


def test_the_model_that_is_kept_does_not_depend_on_units():
    """Each channel counts by its own variance: that a millimetre is a thousandth of a metre changes nothing."""
    small = Trajectories.from_arrays(DATA.times[0, 0], DATA.states * np.array([1.0, 1e-3]))
    kept, errors = [], []
    for data in (DATA, small):
        train, validation = hold_out(data, 0.3)
        model = fast(train, validation=validation, learning_rate=0.5, seeds=4, steps=40)
        kept.append(model.training.kept)
        errors.append([snapshot.validation for snapshot in model.training.history])
    assert kept[0] == kept[1]
    raw = [np.argmin(each, axis=0).tolist() for each in errors]
    assert raw[0] != raw[1], "by raw errors it would depend on them"


def test_what_training_only_makes_worse_is_kept_as_it_began():
    train, validation = hold_out(DATA, 0.3)
    right = fast(train, steps=400, learning_rate=0.03)
    warned: list[str] = []
    how = {"validation": validation, "learning_rate": 1.0, "steps": 10, "monitor": Monitor(warn=warned.append)}
    model = fast(train, start=Start(right.levels), **how)
    assert model.training.kept == (0,)
    assert same_bits(model.levels, right.levels)
    assert warned == [], "forecasts were finite: there is nothing to warn of"


def test_both_validation_errors_are_recorded(tmp_path):
    train, validation = hold_out(DATA, 0.3)
    model = fast(train, validation=validation, learning_rate=0.5, steps=20, run=tmp_path)
    document = json.loads((tmp_path / "result.json").read_text())["validation"]
    assert document["kept"] == list(model.training.kept)
    assert document["mse_of_last_step"] == pytest.approx(model.training.history[-1].validation[0], rel=1e-6)
    assert document["mse"] <= document["mse_of_last_step"]


def test_long_gaps_are_divided_into_steps():
    uneven = Trajectories.from_arrays([0.0, 0.1, 0.2, 0.3, 0.4, 1.0], decays().states)
    model = fast(uneven, steps=1)
    assert model.longest_step * model.units.time == pytest.approx(0.1, rel=1e-5)
