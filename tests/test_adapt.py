"""Novel environments: what is shared stays to the bit, what is specific learns, in the units of the model."""

import dataclasses
import re
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from leadax.penalty import Frobenius
from tests.engine import at, compiled_once, decays, forecast, random_parts, same_bits

from leadax import InputError, Model, OnePerEnv, Trajectories, adapt, evaluate
from leadax.describe import describe_method, scaled
from leadax.methods import METHODS, ContextPenalty
from leadax.nets import Linear, measure

KNOWN = decays(environments=3)
SCALES = measure(KNOWN.states, KNOWN.times)
# Of another size than what the model was trained on: its units are not those of these data.
NOVEL = Trajectories.from_arrays(KNOWN.times[:2, :1], 2.5 * KNOWN.states[:2, :1], environments=["new", "newer"])


@pytest.fixture(autouse=True, scope="module")
def _compile_once():
    with compiled_once():
        yield


def model_of(name: str, seeds: int = 1) -> Model:
    """As if it had been trained on `KNOWN`, of unknown scale: numbers from NumPy, and the units of the data."""
    own = {"coda": {"penalty": ContextPenalty()}, "ft-rnn": {"rank": 2, "width": 2}, "ft-node": {"rank": 2}}
    settings = {"penalty": Frobenius(), "penalty_weight": 0.01, **own.get(name, {})}
    method = METHODS[name](net=scaled(Linear, SCALES), solver="heun", **settings)
    no_units = name in ("gbml", "maml")

    def in_units(place, leaf):
        where = jax.tree_util.keystr(place)
        unit = re.search(r"\.(mean|scale|rate)$", where)
        if unit is None:
            return jnp.asarray(leaf)
        values = getattr(SCALES, unit[1]) * (not (no_units and where.startswith(".specific")))
        return jnp.broadcast_to(values, leaf.shape)

    drawn = [random_parts(method, 3, seed) for seed in range(seeds)]
    parts = jax.tree_util.tree_map_with_path(in_units, jax.tree.map(lambda *rows: np.stack(rows), *drawn))
    about = {"error_scale": SCALES.scale.tolist(), "protocol": "clean"}
    return Model(method, parts, KNOWN.environments, KNOWN.channels, (2,), 0.2, about)


def learn(model, data=NOVEL, **settings):
    chosen = {"steps": 4, "learning_rate": 0.02, "decay": "constant", "key": jr.key(0), **settings}
    return adapt(model, data, **chosen)


def units_of(tree):
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [leaf for place, leaf in leaves if re.search(r"\.(mean|scale|rate)$", jax.tree_util.keystr(place))]


@pytest.mark.parametrize("name", ["leads", "ft-rnn", "ft-node", "gbml", "maml", "coda"])
def test_only_what_is_specific_learns(name, tmp_path):
    model = model_of(name)
    before = jax.tree.map(np.array, model.parts)
    new = learn(model, test=NOVEL, look_every=2)
    assert same_bits(new.parts.shared, before.shared)
    assert same_bits(model.parts, before)
    assert (new.environments, new.about["steps"]) == (("new", "newer"), 4)
    assert describe_method(new.method) == describe_method(model.method)
    assert len(new.about["looks"]) == 2
    shapes = jax.tree.map(lambda a: (1, 2, *a.shape[2:]), before.specific)
    assert jax.tree.map(lambda a: a.shape, new.parts.specific) == shapes
    # It learns, in each environment, but not the units, which are still those of the model.
    half_way = learn(model, steps=2).parts.specific
    for e in range(2):
        assert not same_bits(at(half_way, (0, e)), at(new.parts.specific, (0, e)))
    for found, known in zip(units_of(new.parts.specific), units_of(before.specific), strict=True):
        np.testing.assert_array_equal(found, known[:, :2])
    # The same from a file, whose method does not know the units, and after another one.
    model.save(tmp_path / "model.safetensors")
    again = learn(Model.load(tmp_path / "model.safetensors"), test=NOVEL, look_every=2)
    assert same_bits(again.parts, new.parts)
    again.save(tmp_path / "new.safetensors")
    loaded = Model.load(tmp_path / "new.safetensors")
    assert same_bits(loaded.parts, new.parts)
    assert evaluate(loaded, NOVEL).mse == pytest.approx(new.about["looks"][-1]["test"][0], rel=1e-12)


@pytest.mark.parametrize("name", ["gbml", "coda", "ft-node"])
def test_several_at_once_are_as_each_alone(name):
    """Adam does not ask how large gradients are, and a mean over environments only makes them smaller."""
    model = model_of(name)
    if name == "coda":
        model = dataclasses.replace(model, method=dataclasses.replace(model.method, penalty_weight=0.0))
    together = learn(model)
    for e, name in enumerate(NOVEL.environments):
        alone = learn(model, NOVEL.select(name))
        jax.tree.map(
            partial(np.testing.assert_allclose, rtol=1e-5, atol=1e-7),
            at(together.parts.specific, (0, e)),
            at(alone.parts.specific, (0, 0)),
        )


def test_shared_alone():
    """f of LEADS predicts, in the units of the model, and nothing is learnt."""
    model = model_of("leads", seeds=2)
    alone = learn(model, scheme="shared-only")
    assert same_bits(alone.parts.shared, model.parts.shared)
    assert (alone.about["steps"], alone.about["looks"]) == (0, [])
    states, times = np.array([[1.0, 2.0], *np.zeros((3, 2))]), np.array([0.0, 0.1, 0.3, 0.4])
    field = lambda x, w: SCALES.rate * ((x - SCALES.mean) / SCALES.scale @ w)
    weights = np.asarray(model.parts.shared.net.dense.weight)
    expected = np.mean([forecast(partial(field, w=w), times, states) for w in weights], axis=0)
    for name in NOVEL.environments:
        np.testing.assert_allclose(alone.predict(states[0], times, environment=name), expected, rtol=1e-10)


@pytest.mark.parametrize("name", ["ft-rnn", "ft-node", "gbml", "coda", "one-for-all"])
def test_what_no_environment_has(name):
    """A change of zero, the context zero, the mean of the known codes; all of One-For-All."""
    model = model_of(name)
    alone = learn(model, scheme="shared-only").parts
    assert same_bits(alone.shared, model.parts.shared)
    for known, found in zip(*map(jax.tree.leaves, (model.parts.specific, alone.specific)), strict=True):
        expected = np.asarray(known).mean(axis=1, keepdims=True) * name.startswith("ft")
        np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), rtol=1e-12)


def test_scratch_is_one_per_env_in_units_of_the_new_data():
    model = learn(model_of("leads"), scheme="scratch", steps=2)
    assert isinstance(model.method, OnePerEnv)
    assert model.parts.shared == ()
    net, scales = model.method.build((2,), jr.key(0)), measure(NOVEL.states, NOVEL.times)
    for name in scales._fields:
        np.testing.assert_allclose(getattr(net, name), getattr(scales, name), rtol=1e-12)


@pytest.mark.parametrize(
    ("name", "wrong", "match"),
    [
        ("one-for-all", {}, "OneForAll has nothing specific that could learn: use the scheme `shared-only`"),
        ("one-per-env", {}, "OnePerEnv shares nothing between environments: .* use the scheme `scratch`"),
        ("one-per-env", {"scheme": "shared-only"}, "OnePerEnv shares nothing between environments"),
        ("leads", {"scheme": "sepcific"}, "unknown scheme `sepcific`: did you mean `specific`"),
        ("leads", {"data": Trajectories.from_arrays(range(3), np.ones((1, 1, 3, 3)))}, r"states of shape \(3,\), the"),
        (
            "leads",
            {"data": Trajectories.from_arrays(range(3), np.ones((1, 1, 3, 2)), channels=["x1", "x0"])},
            "the channels are in another order, x1, x0, than those trained on, x0, x1",
        ),
        ("leads", {"test": KNOWN}, "the test data must have the environments"),
        ("leads", {"steps": 0}, "`steps` must be positive"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_refuses(name, wrong, match):
    with pytest.raises(InputError, match=match):
        learn(model_of(name), **wrong)


def test_the_folder_of_another_start_is_refused(tmp_path):
    model, other = model_of("gbml"), model_of("gbml", seeds=2)
    other = dataclasses.replace(other, parts=jax.tree.map(lambda a: a[1:], other.parts))
    for scheme in ("specific", "shared-only"):
        folder = tmp_path / scheme
        first = learn(model, run=folder, scheme=scheme)
        assert same_bits(learn(model, run=folder, scheme=scheme).parts, first.parts)
        with pytest.raises(InputError, match="holds another run: its `start` is"):
            learn(other, run=folder, scheme=scheme)
        with pytest.raises(InputError, match="holds another run"):
            learn(model, run=folder, scheme="shared-only" if scheme == "specific" else "specific")
        other_data = Trajectories.from_arrays(NOVEL.times, 2 * NOVEL.states, environments=NOVEL.environments)
        with pytest.raises(InputError, match="holds another run: its `train` is"):
            learn(model, other_data, run=folder, scheme=scheme)


def test_a_method_that_shares_nothing_cannot_predict_with_it():
    with pytest.raises(InputError, match="OnePerEnv cannot predict with what is shared alone"):
        OnePerEnv().neutral(())
