"""Novel environments: what is shared stays to the bit, what is specific learns, in the units of the model.

`tests/methods/test_conformance.py` adapts a model of each method.
"""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.engine import LINEAR, at, decays, forecast, plain_net, random_levels, same_bits

from leadax import (
    InputError,
    Linear,
    Model,
    Monitor,
    OneForAll,
    OnePerEnv,
    Recipe,
    Trajectories,
    Units,
    adapt,
    evaluate,
)
from leadax.adapt.schemes import defaults_of
from leadax.data.units import Box
from leadax.methods import Gbml
from leadax.train import Interrupted, RunFolder, loop

KNOWN = decays(environments=3)
UNITS = Units.measured(KNOWN)
# Of another size than what the model was trained on: its units are not those of these data.
NOVEL = Trajectories.from_arrays(KNOWN.times[:2], 2.5 * KNOWN.states[:2], environments=["new", "newer"])
GBML = Gbml(net=Linear, solver="heun")


def model_of(method=LINEAR, members: int = 1, box=None, dtype="float32", seed=0) -> Model:
    """As if it had been trained on `KNOWN`."""
    rows = [random_levels(method, 3, seed + member) for member in range(members)]
    levels = jax.tree.map(lambda *a: jnp.stack(a).astype(dtype), *rows)
    settings = {"environments": KNOWN.environments, "channels": KNOWN.channels, "state_shape": (2,)}
    return Model(levels, method, UNITS, **settings, longest_step=0.2 / UNITS.time, box=box)


def learn(model, data=NOVEL, recipe=None, **settings):
    chosen = {"scheme": "specific", "steps": 4, "learning_rate": 0.02, "key": jr.key(0), **settings}
    return adapt(model, data, recipe=Recipe(look_every=2, **(recipe or {})), **chosen)


def test_only_what_is_specific_learns(tmp_path, monkeypatch):
    """With test data, in a run folder, stopped and resumed; in the units, steps and type of the model."""
    model = model_of()
    before, results = jax.tree.map(np.array, model.levels), []
    write = lambda folder, document, write=RunFolder.write_result: (results.append(document), write(folder, document))
    monkeypatch.setattr(RunFolder, "write_result", write)
    new = learn(model, test=NOVEL, run=tmp_path / "run")
    (result,) = results
    assert result["reliable"] is False
    assert same_bits(new.levels.shared, before.shared)
    assert same_bits(model.levels, before)
    assert (new.environments, new.training.steps, new.method) == (("new", "newer"), 4, model.method)
    assert (new.units, new.dtype) == (UNITS, np.float32)
    assert new.longest_step == pytest.approx(model.longest_step, rel=1e-6)
    assert jax.tree.map(lambda a: a.shape, new.levels.specific) == jax.tree.map(
        lambda a: (1, 2, *a.shape[2:]), before.specific
    )
    assert [snapshot.step for snapshot in new.training.history] == [2, 4]
    last = pytest.approx(new.training.history[-1].test[0], rel=1e-5)
    assert evaluate(new, NOVEL).mse == last
    assert RunFolder(tmp_path / "run").result()["test"]["last"] == last
    # The same from a file, and where it is stopped and resumed.
    model.save(tmp_path / "model.safetensors")
    loaded = Model.load(tmp_path / "model.safetensors")
    monkeypatch.setattr(loop, "SECONDS_PER_CALL", 0.0)
    with pytest.raises(Interrupted):
        learn(loaded, test=NOVEL, run=tmp_path / "again", monitor=Monitor(should_stop=lambda: True))
    assert same_bits(learn(loaded, test=NOVEL, run=tmp_path / "again"), new)


def test_several_at_once_are_as_each_alone():
    """Adam does not ask how large gradients are, and a mean over environments only makes them smaller."""
    model = model_of(GBML)
    together = learn(model)
    for e, name in enumerate(NOVEL.environments):
        alone = learn(model, NOVEL.select(name))
        jax.tree.map(
            partial(np.testing.assert_allclose, rtol=1e-3, atol=1e-5),
            at(together.levels.specific, (0, e)),
            at(alone.levels.specific, (0, 0)),
        )


def test_shared_alone(tmp_path):
    """f of LEADS predicts, in the units of the model, and nothing is learnt."""
    method = dataclasses.replace(LINEAR, solver="heun")
    model = model_of(method, members=2, dtype="float64")
    alone = learn(model, scheme="shared-only", run=tmp_path)
    assert same_bits(alone.levels.shared, model.levels.shared)
    assert not any(np.any(a) for a in jax.tree.leaves(alone.levels.specific))
    assert (alone.training.steps, alone.training.history) == (0, ())
    states, times = np.array([[1.0, 2.0], *np.zeros((3, 2))]), np.array([0.0, 0.1, 0.3, 0.4])
    mean, scale = np.array(UNITS.mean), np.array(UNITS.scale)
    field = lambda x, net: scale / UNITS.time * plain_net(net, (x - mean) / scale)
    nets = [at(model.levels.shared, k) for k in range(2)]
    expected = np.mean([forecast(partial(field, net=net), times, states) for net in nets], axis=0)
    for name in NOVEL.environments:
        np.testing.assert_allclose(alone.predict(states[0], times, environment=name).mean, expected, rtol=1e-10)
    assert RunFolder(tmp_path).result()["steps"] == 0
    assert same_bits(learn(model, scheme="shared-only", run=tmp_path), alone)
    # One-For-All has nothing else.
    one = model_of(OneForAll(net=Linear))
    assert same_bits(learn(one, scheme="shared-only").levels, one.levels)


def test_the_box_grows_with_the_new_data():
    """Forecasts of new environments must reach where their data are."""
    box = Box.around(KNOWN, UNITS)
    model = model_of(box=box)
    learnt = learn(model)
    assert all(np.array(learnt.box.high) > np.array(box.high))
    assert learnt.box == box.union(Box.around(NOVEL, UNITS))
    assert learn(model_of()).box is None


def test_steps_are_no_longer_than_those_of_the_model():
    """In the time of the data, however long its unit is."""
    slow = dataclasses.replace(UNITS, time=5.0)
    fields = {field.name: getattr(model_of(), field.name) for field in dataclasses.fields(Model)}
    model = Model(**fields | {"units": slow, "longest_step": 0.1 / slow.time})
    assert defaults_of(model, NOVEL).longest_step == pytest.approx(0.1)
    assert defaults_of(model, NOVEL).units == slow


def test_scratch_is_one_per_env_with_the_nets_of_the_model():
    model = learn(model_of(), scheme="scratch", steps=2)
    assert isinstance(model.method, OnePerEnv)
    assert (model.method.net, model.method.solver) == (LINEAR.net, LINEAR.solver)
    assert (model.levels.shared, model.units) == ((), UNITS)


@pytest.mark.parametrize(
    ("method", "wrong", "match"),
    [
        (OneForAll(net=Linear), {}, "OneForAll has nothing specific .*use the scheme `shared-only`"),
        (
            OnePerEnv(net=Linear),
            {},
            "OnePerEnv shares nothing .*use the scheme `mixture` or `scratch`",
        ),
        (OnePerEnv(net=Linear), {"scheme": "shared-only"}, "OnePerEnv shares nothing between environments"),
        (LINEAR, {"scheme": "sepcific"}, "unknown scheme `sepcific`: did you mean `specific`"),
        (
            LINEAR,
            {"data": Trajectories.from_arrays(range(3), np.ones((1, 1, 3, 3)))},
            "the data have the channels x0, x1, x2, the model",
        ),
        (
            LINEAR,
            {"data": Trajectories.from_arrays(range(3), np.ones((1, 1, 3, 2)), channels=["x1", "x0"])},
            "the channels are in another order, x1, x0, than those trained on, x0, x1",
        ),
        (
            LINEAR,
            {"data": Trajectories.from_arrays(range(3), np.ones((1, 1, 3, 2)), channels=["x0", "q"])},
            "the channels are x0, q, those trained on are x0, x1: choose them with `--channels`, or rename them",
        ),
        (
            LINEAR,
            {"data": Trajectories.from_arrays(range(2), np.array([[[[1, 1], [np.nan, np.nan]]]]))},
            "has 1 observed point: at least 2 are needed to learn from it",
        ),
        (
            LINEAR,
            {"data": Trajectories.from_arrays(range(2), np.array([[[[1, np.nan], [2, np.nan]]]]))},
            "channel `x1` has no observed value: leave it out",
        ),
        (LINEAR, {"test": KNOWN}, "the test data must have the environments"),
        (LINEAR, {"steps": 0}, "`steps` must be"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_refuses(method, wrong, match):
    with pytest.raises(InputError, match=match):
        learn(model_of(method), **wrong)


def test_the_folder_of_another_start_is_refused(tmp_path):
    model, other = model_of(), model_of(seed=1)
    for scheme in ("specific", "shared-only"):
        folder = tmp_path / scheme
        first = learn(model, run=folder, scheme=scheme)
        assert same_bits(learn(model, run=folder, scheme=scheme), first)
        with pytest.raises(InputError, match="holds another run: its `start` is"):
            learn(other, run=folder, scheme=scheme)
        with pytest.raises(InputError, match="holds another run"):
            learn(model, run=folder, scheme="shared-only" if scheme == "specific" else "specific")
        other_data = Trajectories.from_arrays(NOVEL.times, 2 * NOVEL.states, environments=NOVEL.environments)
        with pytest.raises(InputError, match="holds another run: its `train` is"):
            learn(model, other_data, run=folder, scheme=scheme)
