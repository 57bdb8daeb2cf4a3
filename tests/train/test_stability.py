"""What keeps training on data of any kind on its feet: κ, clipping, explosions, hold-outs, steps that follow gaps."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest

from leadax import Leads, Monitor, Recipe, RunError, Trajectories, chosen_for, evaluate, fit, hold_out
from leadax.methods import Levels, Sizes
from leadax.methods.prepare import prepare
from leadax.nets import MLP
from leadax.train.loop import Best
from leadax.train.loss import first_carry, loss
from leadax.train.optimisers import Optimiser

TINY = functools.partial(MLP, width=8, depth=2)
TIMES = np.linspace(0, 1, 6)
STATES = np.stack([np.stack([s * np.exp(-a * TIMES) for s in (1, 2, 3, 4)]) for a in (0.5, 1.5)])[..., None]
DATA = Trajectories.from_arrays(TIMES, np.concatenate([STATES, 0.5 * STATES**2], axis=-1))
fast = functools.partial(fit, key=jr.key(0), recipe=Recipe(look_every=5, checkpoint_every=5))


@functools.cache
def problem(kappa):
    method = chosen_for(DATA).complete(Leads(net=TINY, kappa=kappa), Sizes((2,), 2))
    levels = Levels(*method.init(Sizes((2,), 2), key=jr.key(0)))
    batch = prepare(DATA, chosen_for(DATA).units, method, dtype=jnp.float64)
    return method, levels, batch, first_carry(method, levels, jr.key(1), 2)


def test_kappa_weighs_omega_relative_to_the_error_and_is_not_differentiated():
    method, levels, batch, carry = problem(0.3)
    value, (terms, _) = loss(method, levels, carry, batch, None)
    error = float(jnp.mean(terms.error))  # environments are of equal size here
    assert float(value) == pytest.approx(1.3 * error, rel=1e-9)
    # Its gradient is that of a penalty with the weight κ · error/Ω, held fixed.
    fixed = dataclasses.replace(method, kappa=None, penalty_weight=0.3 * error / float(jnp.sum(terms.penalty)))
    gradient = lambda m: jax.grad(lambda levels: loss(m, levels, carry, batch, None)[0])(levels)
    jax.tree.map(
        lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-12), gradient(method), gradient(fixed)
    )


def test_gradients_are_clipped_to_a_length():
    rule = Optimiser("adam", "constant", clip=0.5).transformation()
    plain = Optimiser("adam", "constant").transformation()
    weights = {"a": jnp.zeros(3), "b": jnp.zeros(2)}
    long, short = {"a": jnp.full(3, 3.0), "b": jnp.full(2, 4.0)}, {"a": jnp.full(3, 0.1), "b": jnp.zeros(2)}
    length = float(optax.tree.norm(long))
    with jax.numpy_dtype_promotion("standard"):
        step = lambda rule, *gradients: functools.reduce(
            lambda s, g: rule.update(g, s[1], weights), gradients, (None, rule.init(weights))
        )
        found = step(rule, long, short)[0]
        expected = step(plain, jax.tree.map(lambda g: g * 0.5 / length, long), short)[0]
        other = step(plain, long, short)[0]
    np.testing.assert_allclose(found["a"], expected["a"], rtol=1e-6)
    assert not np.allclose(found["a"], other["a"], rtol=1e-3)


def exploding(steps=20, **how):
    """Steps so large that the parameters, and with them the error, leave all bounds."""
    defaults = dataclasses.replace(chosen_for(DATA), clip=None, box=None)
    return fast(Leads(net=TINY), DATA, steps=steps, optimiser=optax.sgd(1e3), defaults=defaults, **how)


def test_a_loss_that_explodes_is_sent_back_with_half_the_rate():
    said = []
    model = exploding(monitor=Monitor(warn=said.append), recipe=Recipe(look_every=2, on_divergence="retry"))
    assert said
    assert all("half the learning rate" in line for line in said)
    assert model.training.steps == 20
    assert evaluate(model, DATA).nmse < 100
    with pytest.raises(RunError, match=r"(explodes|not finite) at step"):
        exploding(recipe=Recipe(look_every=2, on_divergence="stop"))


def test_the_best_member_is_kept_one_by_one():
    levels = lambda *values: Levels({"w": jnp.array(values)[:, None]}, ())
    best = Best(levels(0.0, 0.0, 0.0), jnp.array([1.0, 1.0, 1.0]), jnp.array([0, 0, 0], jnp.int32))
    found = best.improved(levels(1.0, 2.0, 3.0), np.array([0.5, 2.0, np.nan]), 7)
    assert found.levels.shared["w"][:, 0].tolist() == [1.0, 0.0, 0.0]
    assert found.error.tolist() == [0.5, 1.0, 1.0]
    assert found.step.tolist() == [7, 0, 0]


def test_the_model_kept_is_the_best_on_the_validation_data(tmp_path):
    train, validation = hold_out(DATA, 0.25)
    # A rate so high that the error goes up and down.
    how = {"validation": validation, "learning_rate": 0.05, "seeds": 2, "steps": 20}
    model = fast(Leads(net=TINY), train, **how)
    looks = np.array([look.validation for look in model.training.looks])
    steps = [look.step for look in model.training.looks]
    assert model.training.kept == tuple(steps[i] for i in looks.argmin(axis=0))
    np.testing.assert_allclose(evaluate(model, validation).mse_per_seed, looks.min(axis=0), rtol=1e-5)
    # Stopped half-way and resumed it is the same.
    once = iter([False, True])
    with pytest.raises(Exception, match="stopped at step"):
        fast(Leads(net=TINY), train, run=tmp_path, monitor=Monitor(should_stop=lambda: next(once)), **how)
    resumed = fast(Leads(net=TINY), train, run=tmp_path, **how)
    assert resumed.training.kept == model.training.kept
    jax.tree.map(np.testing.assert_array_equal, resumed.levels, model.levels)
    assert resumed.training.to_json()["looks"][0]["validation"] == model.training.to_json()["looks"][0]["validation"]


def test_long_gaps_are_divided_into_steps():
    uneven = Trajectories.from_arrays([0.0, 0.1, 0.2, 0.3, 0.4, 1.0], DATA.states)
    model = fast(Leads(net=TINY), uneven, steps=1)
    assert model.longest_step * model.units.time == pytest.approx(0.1, rel=1e-5)
