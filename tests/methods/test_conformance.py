"""What every method must hold to, from its first parameters to new environments, on one set of small data."""

import dataclasses
import json
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from tests.engine import at, decays, forecast, random_levels, random_like, request_of, same_bits, tiny

from leadax import (
    Frobenius,
    InputError,
    Linear,
    Model,
    Monitor,
    Recipe,
    ScheduledSampling,
    Sizes,
    Trajectories,
    adapt,
    chosen_for,
    evaluate,
    fit,
)
from leadax.describe import describe, restore
from leadax.methods import METHODS, ContextPenalty
from leadax.nets import MLP
from leadax.train import Interrupted, Start, loop
from leadax.train.trainer import Trainer

DATA = decays()
NOVEL = Trajectories.from_arrays(DATA.times, 1.2 * DATA.states, environments=["new", "newer"])
RATE = 0.05
SGD = optax.sgd(RATE)  # one object: programs are compiled for it
RECIPE = Recipe(dtype="float64", look_every=2, sampling=ScheduledSampling(0.5), weight_decay=0.0)

# Which share nothing, which share all, whose environments all start alike: a new method is put where it belongs.
NOTHING_SHARED, ALL_SHARED, SAME_START = {"one-per-env"}, {"one-for-all"}, {"gbml", "maml", "coda"}
NO_FIELD = {"ft-rnn"}
WHERE_NEW_ONES_START = {"gbml": "zero", "maml": "zero", "coda": "zero", "ft-node": "mean", "ft-rnn": "mean"}
PENALISED = {
    "leads": lambda levels, e: at(levels.specific, e),
    "coda": lambda levels, e: (levels.shared.directions, levels.specific[e]),
}
# What else they need to be small, and not to depend on the number of environments.
OWN = {
    "leads": {"net": tiny, "penalty": Frobenius(), "penalty_weight": 0.1},
    "ft-rnn": {"width": 2, "rank": 2},
    "ft-node": {"net": Linear, "rank": 2},
    "coda": {"net": Linear, "penalty": ContextPenalty(0.1, 0.01, 0.01)},
}


def build(name, **settings):
    own = OWN.get(name, {"net": Linear})
    solver = {} if name in NO_FIELD else {"solver": "heun"}
    return METHODS[name](**{**solver, **own, **settings})


def levels_of(method, environments=2, seed=0):
    return random_levels(method, environments, seed)


def train(method, steps=6, **settings):
    return fit(method, DATA, key=jr.key(0), optimiser=SGD, recipe=RECIPE, steps=steps, **settings)


@pytest.fixture(params=METHODS)
def name(request):
    return request.param


def test_levels(name):
    """Of arrays of the specific level the first axis are environments; nothing else depends on their number."""
    shapes = lambda count: jax.eval_shape(lambda key: build(name).init(Sizes((2,), count), key=key), jr.key(0))
    (shared, three), (same, five) = shapes(3), shapes(5)
    assert shared == same
    for small, large in zip(jax.tree.leaves(three), jax.tree.leaves(five), strict=True):
        assert small.shape[0] == 3
        assert large.shape == (5, *small.shape[1:])
    assert (name in ALL_SHARED) == (not jax.tree.leaves(three))
    assert (name in NOTHING_SHARED) == (not jax.tree.leaves(shared))


def test_settings(name):
    method = build(name)
    assert restore(json.loads(json.dumps(describe(method)))) == method
    regulariser = method.regulariser()
    assert (regulariser is not None) == (name in PENALISED)
    if regulariser is not None:
        levels = levels_of(method)
        found = regulariser.subject(levels.shared, at(levels.specific, 1))
        assert same_bits(found, PENALISED[name](levels, 1))
        assert regulariser.weight == {"leads": 0.1, "coda": 1.0}[name]
        assert build(name, penalty_weight=0.0).regulariser() is None
    shares = [phase.share for phase in method.phases()]
    assert sum(shares) == pytest.approx(1)
    assert {level for phase in method.phases() for level in phase.trainable} >= {"shared", "specific"}


def test_new_environments(name):
    """Where they start, and what predicts where nothing is known of one."""
    method = build(name)
    known, start = levels_of(method).specific, WHERE_NEW_ONES_START.get(name)
    new = jax.jit(lambda known: method.new_environments(known, Sizes((2,), 3), key=jr.key(0)))(known)
    for old, found in zip(jax.tree.leaves(known), jax.tree.leaves(new), strict=True):
        assert found.shape == (3, *old.shape[1:])
        if start is not None:
            expected = np.mean(np.asarray(old), axis=0) * (start == "mean")
            np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), rtol=1e-12)
    if name in NOTHING_SHARED:
        with pytest.raises(InputError, match="OnePerEnv cannot predict from shared parameters alone"):
            method.without_specific(known)
        return
    for old, found in zip(jax.tree.leaves(known), jax.tree.leaves(method.without_specific(known)), strict=True):
        expected = np.mean(np.asarray(old), axis=0) * (start == "mean")
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


def test_first_parameters(name):
    """The same key gives the same ones, another key others; environments start apart, where they should."""
    request = lambda key: request_of(DATA, key=jr.key(key), optimiser=SGD, recipe=RECIPE)
    first = lambda key: Trainer.of(request(key), [build(name)], [None])._first_state()
    levels, again, other = (first(key).levels for key in (0, 0, 1))
    assert same_bits(levels, again)
    for weights in jax.tree.leaves(levels.specific):
        alike = name in SAME_START or np.ptp(weights) == 0  # biases start at zero
        assert len(np.unique(np.asarray(weights)[0], axis=0)) == (1 if alike else 2)
    for a, b in zip(jax.tree.leaves(levels), jax.tree.leaves(other), strict=True):
        assert np.ptp(a) == 0 or not np.any(np.asarray(a) == np.asarray(b))
    assert any(np.ptp(a) > 0 for a in jax.tree.leaves(levels))


def model_of(name) -> Model:
    """With random parameters, in the units of the data."""
    method, defaults = build(name), chosen_for(DATA)
    levels = jax.tree.map(lambda a: 0.5 * a[None], levels_of(method))
    settings = {"environments": DATA.environments, "channels": DATA.channels, "state_shape": (2,)}
    return Model(levels, method, defaults.units, **settings, longest_step=1e3, box=defaults.box)


def test_forecasts_follow_the_sum_of_both_fields(name):
    """Plain Heun steps with f + g_e, in the units of the data; f is that of all environments."""
    model, times = model_of(name), np.array([0.0, 0.1, 0.3, 0.4, 0.6, 0.7])
    start = DATA.states[0, 1, 0]
    found = [np.asarray(model.predict(start, times, environment=e)) for e in range(2)]
    assert np.allclose(found[0], found[1]) == (name in ALL_SHARED)
    if name in NO_FIELD:
        for ask in (lambda: model.shared(start), lambda: model.predict(start, times, environment=0, solver="tsit5")):
            with pytest.raises(InputError, match="has no vector field"):
                ask()
        return
    fields = jax.jit(lambda x: (model.shared(x), model.specific(0)(x), model.specific("e1")(x)))
    for e in range(2):
        field = lambda x, e=e: np.add(*(np.asarray(fields(jnp.asarray(x))[k]) for k in (0, 1 + e)))
        np.testing.assert_allclose(found[e], forecast(field, times, [start] * 6), rtol=1e-10)
    f, g, other = fields(jnp.asarray(start))
    assert np.all(np.asarray(f) == 0) == (name in NOTHING_SHARED)
    assert np.all(np.asarray(g) == 0) == (name in ALL_SHARED)
    assert np.allclose(g, other) == (name in ALL_SHARED)


def shifted(tree, length, direction):
    return jax.tree.map(lambda a, b: a + length * b, tree, direction)


def test_gradients_against_differences(name):
    """Of every level that learns, in each phase that has no look ahead; and only its own data teach an environment."""
    method = build(name)
    levels = jax.tree.map(lambda a: 0.5 * a[None], levels_of(method))
    for phase in method.phases():
        if phase.meta:
            continue

        def one_step(levels, trainable=phase.trainable):
            model = train(method, steps=1, start=Start(levels, trainable))
            return model.training.history[0].loss[0], model.levels

        _, after = one_step(levels)
        gradient = jax.tree.map(lambda a, b: (np.asarray(a) - np.asarray(b)) / RATE, levels, after)
        learns = lambda tree, trainable=phase.trainable: {n: t for n, t in tree._asdict().items() if n in trainable}
        frozen = lambda tree, trainable=phase.trainable: {n: t for n, t in tree._asdict().items() if n not in trainable}
        assert same_bits(frozen(after), frozen(levels))
        direction = random_like(learns(levels), 3)
        moved = lambda h, d=direction: levels._replace(**shifted(learns(levels), h, d))  # noqa: B023
        slope = sum(map(np.vdot, jax.tree.leaves(learns(gradient)), jax.tree.leaves(direction)))
        measured = (one_step(moved(1e-5))[0] - one_step(moved(-1e-5))[0]) / 2e-5
        np.testing.assert_allclose(slope, measured, rtol=1e-5)
        if jax.tree.leaves(levels.specific):
            others = jax.tree.map(lambda a: jnp.concatenate([a[:, :1], 0 * a[:, 1:]], axis=1), levels.specific)
            _, changed = one_step(levels._replace(specific=others))
            for a, b in zip(*map(jax.tree.leaves, (after.specific, changed.specific)), strict=True):
                np.testing.assert_allclose(a[:, 0], b[:, 0], rtol=1e-9, atol=1e-12)


def test_from_training_to_new_environments(name, tmp_path, monkeypatch):
    """Trained, stopped and resumed, saved and loaded, adapted: the same bits wherever they should be."""
    method, run = build(name), tmp_path / "run"
    whole = train(method)
    assert np.all(np.isfinite([snapshot.loss for snapshot in whole.training.history]))
    monkeypatch.setattr(loop, "SECONDS_PER_CALL", 0.0)
    for stop in (2, 1, 2):  # with two phases also at their boundary
        calls = iter(range(1, 100))
        with pytest.raises(Interrupted):
            train(method, run=run, monitor=Monitor(should_stop=lambda s=stop, a=calls: next(a) == s))
    resumed = train(method, run=run)
    assert same_bits(resumed, whole)
    loaded = Model.load(run / "model.safetensors")
    assert (loaded.method, loaded.units, loaded.box) == (whole.method, whole.units, whole.box)
    assert same_bits(loaded, whole)
    assert evaluate(loaded, DATA).mse == evaluate(whole, DATA).mse

    learn = partial(adapt, data=NOVEL, scheme="specific", key=jr.key(0), optimiser=SGD, recipe=RECIPE)
    if name in NOTHING_SHARED | ALL_SHARED:
        with pytest.raises(InputError, match=r"(shares nothing|nothing specific)"):
            learn(loaded)
        return
    new, half_way = (learn(loaded, steps=steps) for steps in (4, 2))
    assert same_bits(new.levels.shared, whole.levels.shared)
    assert (new.environments, new.units, new.method) == (("new", "newer"), whole.units, whole.method)
    # Every environment learns.
    for e in range(2):
        assert not same_bits(at(half_way.levels.specific, (0, e)), at(new.levels.specific, (0, e)))
    if name != "ft-rnn":  # where the first steps of a recurrent net have hardly a slope
        assert evaluate(new, NOVEL).mse < evaluate(learn(loaded, steps=1), NOVEL).mse


@pytest.mark.parametrize(
    ("name", "nets"), [("leads", 11), ("leads-no-min", 11), ("one-for-all", 2), ("one-per-env", 20)], ids=str
)
def test_parameters_of_the_papers_nets(name, nets):
    """Lotka-Volterra: 10 environments, f and g of four layers, 2-64-64-64-2, and three slopes."""
    one = (2 * 64 + 64) + 2 * (64 * 64 + 64) + (64 * 2 + 2) + 3
    levels = levels_of(METHODS[name](net=MLP), 10)
    count = lambda tree: sum(a.size for a in jax.tree.leaves(tree))
    assert count(levels) == nets * one
    # A forecast in any environment uses f and g: two nets.
    assert count(levels.shared) + count(levels.specific) // 10 == 2 * one


@pytest.mark.parametrize("name", ["ft-node", "ft-rnn"])
def test_factored_methods_have_the_parameters_of_leads(name):
    count = lambda method: sum(a.size for a in jax.tree.leaves(levels_of(method, 10)))
    defaults, sizes = chosen_for(DATA), Sizes((2,), 10)
    complete = lambda method, sizes=sizes: defaults.complete(method, sizes)
    method = complete(METHODS[name]())
    assert count(method) == pytest.approx(count(complete(METHODS["leads"]())), rel=0.02)
    # Fewer environments, fewer parameters of LEADS.
    assert complete(METHODS[name](), Sizes((2,), 3)).rank < method.rank
    assert complete(METHODS[name](rank=7)).rank == 7


def test_what_is_chosen_stays():
    """Settings that are given are kept, the others are filled in."""
    defaults, sizes = chosen_for(DATA), Sizes((2,), 2)
    given = build("leads", solver="euler")
    assert defaults.complete(given, sizes) == given
    filled = defaults.complete(METHODS["leads"](penalty=Frobenius()), sizes)
    assert (filled.solver, filled.kappa, filled.penalty_weight, filled.penalty) == ("rk4", 0.1, None, Frobenius())
    assert defaults.complete(METHODS["leads-no-min"](), sizes).kappa is None
    assert dataclasses.replace(filled, kappa=0.2) != filled
