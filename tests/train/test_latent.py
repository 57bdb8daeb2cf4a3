"""`fit` where something is inferred: every method, fields, seeds, resuming, files, warm-up, and what it refuses."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.engine import decays, plainly, request_of, same_bits
from tests.methods.test_conformance import build

from leadax import (
    InputError,
    Latent,
    Leads,
    Linear,
    Model,
    Monitor,
    Recipe,
    Trajectories,
    adapt,
    evaluate,
    fit,
    hold_out,
)
from leadax.evaluate.errors import forecasts, known_points
from leadax.methods import METHODS
from leadax.methods.local import Local
from leadax.methods.population import Population, blank_population
from leadax.train import Interrupted
from leadax.train.request import chosen_defaults
from leadax.train.step import Span, advance
from leadax.train.trainer import Trainer

DATA = decays()
TEST = decays(trajectories=3)
ALL = Latent(noise=0.05, hidden=1, individual=1)
LINEAR = Leads(net=Linear, solver="euler", penalty_weight=0.0)


def train(method=LINEAR, data=DATA, latent=ALL, recipe=None, **settings):
    chosen = Recipe(**{"look_every": 4, "checkpoint_every": 4, **(recipe or {})})
    return fit(method, data, latent=latent, key=jr.key(0), recipe=chosen, **{"steps": 8, **settings})


@pytest.fixture(scope="module")
def fitted():
    return train(seeds=2, test=TEST)


def test_what_a_model_remembers(fitted):
    local = fitted.levels.local
    assert isinstance(local, Population)
    shapes = Population((2, 2, 3), (2, 2, 1), (2, 4, 4), (2, 2))
    assert jax.tree.map(jnp.shape, local) == shapes
    assert (fitted.layout.state, fitted.layout.noise, fitted.warmup) == (("x0", "x1", "hidden0"), (0.05, 0.05), 3)
    # Hidden starts and constants have learnt: they began as derivatives, and as zero.
    assert np.all(np.abs(np.asarray(local.individual)) > 0)
    assert fitted.parameter_count == 3 * 4 * 3, "what is local does not count"


def test_the_error_watched_is_that_of_evaluate(fitted):
    last = fitted.training.history[-1].test
    np.testing.assert_allclose(last, evaluate(fitted, TEST, warmup=3).mse_per_seed, rtol=1e-4)
    np.testing.assert_allclose(last, evaluate(fitted, TEST).mse_per_seed, rtol=1e-4)


def test_resumes_with_the_same_bits(fitted, tmp_path):
    def stop():
        calls.append(1)
        return len(calls) > 1

    calls: list[int] = []
    with pytest.raises(Interrupted):
        train(seeds=2, test=TEST, run=tmp_path / "run", monitor=Monitor(should_stop=stop), recipe={"look_every": 1})
    resumed = train(seeds=2, test=TEST, run=tmp_path / "run", recipe={"look_every": 1})
    assert same_bits(resumed.levels, fitted.levels)


def test_saves_and_loads(fitted, tmp_path):
    fitted.save(tmp_path / "model.safetensors")
    loaded = Model.load(tmp_path / "model.safetensors")
    assert same_bits(loaded.levels, fitted.levels)
    assert (loaded.layout, loaded.warmup) == (fitted.layout, 3)
    x, t = DATA.states[0, 0, 0], DATA.times[0, 0]
    assert same_bits(loaded.predict(x, t, environment=0).members, fitted.predict(x, t, environment=0).members)


def test_predict(fitted):
    x, t = DATA.states[1, 0, 0], DATA.times[1, 0]
    plain = fitted.predict(x, t, environment=1)
    whole = fitted.predict(x, t, environment=1, hidden=True)
    assert (plain.members.shape, whole.members.shape) == ((2, 6, 2), (2, 6, 3))
    np.testing.assert_array_equal(plain.members, whole.members[..., :2])
    np.testing.assert_allclose(whole.members[:, 0, 2], fitted.levels.local.start[:, 1, 2], rtol=1e-6)
    # From a whole state, and with constants of one's own.
    same = fitted.member(0).predict(np.asarray(whole.members[0, 0], float), t, environment=1)
    np.testing.assert_allclose(same.members[0], plain.members[0], rtol=1e-5)
    other = fitted.predict(x, t, environment=1, individual=np.array([3.0]))
    assert np.max(np.abs(np.asarray(other.members - plain.members))) > 1e-4
    with pytest.raises(InputError, match="`individual` must have 1 numbers"):
        fitted.predict(x, t, environment=1, individual=np.array([3.0, 4.0]))


def test_warmup_is_of_use():
    """Where all of a trajectory is noise around its decay, more points tell more of where it starts."""
    rng = np.random.default_rng(0)
    clean = decays(trajectories=6)
    noisy = dataclasses.replace(clean, states=clean.states + 0.1 * rng.standard_normal(clean.states.shape))
    settings = {"steps": 300, "learning_rate": 0.02, "defaults": plainly(clean), "recipe": {"look_every": 300}}
    model = train(latent=Latent(noise=0.3), data=clean, **settings)
    batch = model.batch(noisy)
    errors = []
    for warmup in (1, 5):
        found = forecasts(model.numbers, model.for_data(noisy), batch, known_points(batch, warmup))
        errors.append(np.mean((model.units.raw(np.asarray(found[0], float)) - clean.states) ** 2))
    assert errors[1] < 0.6 * errors[0]


def test_no_noise_is_as_before():
    """Bit by bit: what is not inferred is not in the program."""
    plain, given, zero = (
        train(latent=latent, defaults=plainly(DATA)) for latent in (None, Latent("none"), Latent(0.0))
    )
    assert plain.levels.local == given.levels.local == ()
    assert same_bits(plain.levels, given.levels)
    assert same_bits(zero.levels, given.levels)


@pytest.mark.parametrize("name", METHODS)
def test_every_method(name):
    """Only traced, since compiling all of them takes long: a step moves what is local, and a warm-up is inferred."""
    solver = {} if name == "ft-rnn" else {"solver": "euler"}
    defaults = chosen_defaults(DATA, None, ALL, ())
    trainer = Trainer.of(request_of(DATA, steps=4, defaults=defaults), [build(name, **solver)], [None])
    task, state = trainer.task, jax.eval_shape(trainer._first_state)
    assert isinstance(state.levels.local, Local)
    for stage in task.stages:
        assert "local" in stage.plan.trainable
    plan, span = task.stages[0].plan, Span(jnp.array(0), jnp.array(4))
    step = lambda state: advance(plan, task.method, state, task.batch, task.sampling, span, 2)
    assert jax.tree.map(jnp.shape, jax.eval_shape(step, state)[0]) == jax.tree.map(jnp.shape, state)
    population = jax.tree.map(lambda a: a[None].astype("float32"), blank_population(trainer.request.layout, 2))
    known = known_points(task.batch, 3)
    ask = lambda levels: forecasts(task.method, levels._replace(local=population), task.batch, known)
    assert jax.eval_shape(ask, state.levels).shape == (1, 2, 2, 6, 3)


def test_fields_with_a_hidden_channel_per_pixel():
    states = np.stack([decays().states[..., :1] * (1 + k) for k in range(3)], axis=3)
    data = Trajectories.from_arrays(decays().times[0, 0], states)
    model = train(data=data, latent=Latent(noise=0.05, hidden=1), steps=4)
    assert model.predict(states[0, 0, 0], data.times[0, 0], environment=0, hidden=True).members.shape == (1, 6, 3, 2)
    assert np.isfinite(evaluate(model, data, warmup=3).mse)


@pytest.mark.parametrize("told", [1, 5])
def test_held_out_ends_have_something_left_to_forecast(told):
    """Of 16 points, 13 are learnt from: the warm-up must not swallow the other three."""
    times = np.linspace(0, 3, 16)
    data = Trajectories.from_arrays(times, np.cos(np.array([1.0, 1.3])[:, None] * times)[:, None, :, None])
    past, future = hold_out(data, warmup=told)
    model = train(data=past, validation=future, latent=Latent(noise="none", hidden=1))
    assert model.warmup == {1: 3, 5: 5}[told]
    assert np.isfinite(model.training.history[-1].validation).all()
    # A new environment of so few points that a warm-up of 5 would leave nothing of its end.
    short = Trajectories.from_arrays(times[:8], data.states[:1, :, :8], environments=["new"])
    new = adapt(model, short, steps=4, key=jr.key(1))
    assert new.warmup == 4
    assert "held-out part" in new.training.reliability.reason


REFUSED = {
    "warm-up": (lambda m: evaluate(m, TEST, warmup=6), "a warm-up of 6 leaves nothing to forecast of"),
    "no warm-up": (lambda m: evaluate(m, TEST, warmup=0), "`warmup` must be a whole number from 1 on, got 0"),
    "in training": (lambda m: train(recipe={"warmup": 9}, test=TEST), "a warm-up of 9 leaves nothing to forecast of"),
    "match": (
        lambda m: train(recipe={"match": "spline"}),
        "derivatives of what is hidden or individual cannot be matched",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused(what, fitted):
    ask, text = REFUSED[what]
    with pytest.raises(InputError) as error:
        ask(fitted)
    assert text in str(error.value)
    assert "\n" not in str(error.value)
