"""Writing models: to the bit, whole or not at all, in one type of number; and files that are no models."""

import dataclasses
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from safetensors.numpy import save_file
from tests.engine import full_disk, same_bits, tiny, untrained

from leadax import FNO, ConvNet, Frobenius, InputError, Leads, Linear, Model, RunError, Units
from leadax.arrays import read_arrays, write_tree
from leadax.data.units import Box
from leadax.records import Config, Snapshot, Training

GOLDEN = Path(__file__).parents[1] / "golden"
CONFIG = Config(
    method={}, units={}, steps=3, learning_rate=0.1, decay="cosine", optimiser="adam", clip=None, longest_step=None,
    box=None, sampling={}, batch_size=None, match="trajectories", trainable=("specific",), look_every=5, seeds=2,
    key=(0, 7), protocol="paper", dtype="float64", train="abc", test=None,
)  # fmt: skip
SNAPSHOT = Snapshot(2, (0.5, float("nan")), (0.25, 0.5), (0.0, 0.0), (float("inf"), 1.0), 0.25)


def replaced(model: Model, **changes) -> Model:
    fields = {field.name: getattr(model, field.name) for field in dataclasses.fields(model)}
    return Model(**fields | changes)


def assert_same(found: Model, given: Model) -> None:
    assert same_bits(found, given)
    for field in dataclasses.fields(Model):
        if field.name not in ("levels", "training"):
            assert getattr(found, field.name) == getattr(given, field.name), field.name


@pytest.mark.parametrize(
    ("method", "state_shape"),
    [
        (Leads(net=partial(ConvNet, width=3, factor=1e-3), penalty=Frobenius(), kappa=0.1), (6, 6, 2)),
        (Leads(net=partial(FNO, modes=2, width=3), solver="euler"), (8, 1)),
        (Leads(net=Linear, substeps=2), (4,)),
    ],
    ids=["conv", "fno", "linear"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_file_returns_the_same_bits(method, state_shape, dtype, tmp_path):
    channels = state_shape[-1]
    units, box = Units((0.1,) * channels, (1e-7,) * channels, 3.0), Box((-1.0,) * channels, (0.3,) * channels)
    given = untrained(method, state_shape=state_shape, dtype=dtype, units=units, box=box)
    given.save(tmp_path / "a.safetensors")
    found = Model.load(tmp_path / "a.safetensors")
    assert_same(found, given)
    assert found.dtype == dtype
    # Readable for whom the user lets read their files.
    (tmp_path / "plain").touch()
    assert (tmp_path / "a.safetensors").stat().st_mode == (tmp_path / "plain").stat().st_mode
    # And again, from what was loaded.
    found.save(tmp_path / "b.safetensors")
    assert_same(Model.load(tmp_path / "b.safetensors"), given)


def test_what_was_recorded_of_the_training(tmp_path):
    """Also numbers that JSON does not have: not finite ones come back as not a number."""
    given = replaced(untrained(), training=Training(CONFIG, 3, (SNAPSHOT,), (2, 1)))
    assert given.protocol == "paper"
    given.save(tmp_path / "a.safetensors")
    found = Model.load(tmp_path / "a.safetensors").training
    assert (found.config, found.steps, found.kept, found.seconds) == (CONFIG, 3, (2, 1), 0.25)
    (snapshot,) = found.history
    assert (snapshot.step, snapshot.error, snapshot.validation) == (2, (0.25, 0.5), None)
    assert snapshot.loss[0] == 0.5
    assert np.isnan([snapshot.loss[1], snapshot.test[0]]).all()
    assert found.smallest_test_errors[1] == 1.0
    assert Model.load(tmp_path / "a.safetensors").member(1).members == 1


@pytest.mark.parametrize("kept", [[None], [1.5], ["x"], [True], 3, [10**400]])
def test_a_forged_record_is_refused_in_one_line(kept):
    document = Training(CONFIG, 3, (SNAPSHOT,), (2, 1)).to_json()
    with pytest.raises(InputError, match="`kept` of a file") as caught:
        Training.from_json({**document, "kept": kept}, "a file")
    assert "\n" not in str(caught.value)


def test_models_of_one_kind_are_trees_of_one_structure():
    """However each was trained: they are mapped over together, and share programs."""
    model = untrained(members=1)
    one, other = (replaced(model, training=Training(CONFIG, steps)) for steps in (1, 2))
    assert one.training != other.training
    both = jax.tree.map(lambda a, b: (a + b) / 2, one, jax.tree.map(lambda a: 3 * a, other))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, 2 * b, rtol=1e-12), both.levels, model.levels)
    assert both.training == one.training
    assert jax.tree.map(lambda a: a, other).training == other.training
    total = jax.jit(lambda model: sum(jnp.sum(a) for a in jax.tree.leaves(model)))
    assert total(one) == total(other)
    assert total._cache_size() == 1


def test_refuses_what_is_no_model(tmp_path):
    path = tmp_path / "a.safetensors"
    path.write_text("hello " * 1000)
    with pytest.raises(InputError, match=r"a.safetensors is damaged or not a safetensors file"):
        Model.load(path)
    for missing in (tmp_path / "b.safetensors", tmp_path):
        with pytest.raises(InputError, match=r"does not exist"):
            Model.load(missing)
    save_file({"a": np.ones(3)}, path)
    with pytest.raises(InputError, match=r"a.safetensors was not written by Leadax"):
        Model.load(path)
    write_tree(path, {"a": np.ones(3)}, {"kind": "checkpoint", "schema": 1, "step": 3})
    with pytest.raises(InputError, match=r"a.safetensors holds a `checkpoint`, expected a model"):
        Model.load(path)
    untrained().save(path)
    whole = path.read_bytes()
    for length in (0, 4, 8, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match=r"a.safetensors"):
            Model.load(path)


def test_other_formats_are_refused_in_one_line(tmp_path):
    with pytest.raises(InputError, match=r"model-1.safetensors .* Leadax 0\.1 .*train again") as caught:
        Model.load(GOLDEN / "model-1.safetensors")
    assert "\n" not in str(caught.value)
    path = tmp_path / "a.safetensors"
    untrained().save(path)
    arrays, about = read_arrays(path)
    write_tree(path, arrays, {**about, "format": about["format"] + 1, "method": "of a kind that nobody knows yet"})
    with pytest.raises(InputError, match=r"of format 3, this version reads 2: install a newer"):
        Model.load(path)


def test_a_model_of_other_shapes_is_refused(tmp_path):
    path = tmp_path / "a.safetensors"
    untrained(Leads(net=Linear)).save(path)
    with pytest.raises(InputError, match=r"a.safetensors does not fit this model: `.*` is in "):
        Model.load(path, method=Leads(net=tiny))
    arrays, about = read_arrays(path)
    arrays[".shared.dense.weight"] = arrays[".shared.dense.weight"].astype(np.float32)
    write_tree(path, arrays, about)
    with pytest.raises(InputError, match=r"does not fit this model"):
        Model.load(path)


def test_float64_needs_float64(tmp_path):
    for dtype in (np.float64, np.float32):
        untrained(dtype=dtype).save(tmp_path / f"{dtype.__name__}.safetensors")
    with jax.enable_x64(False):
        with pytest.raises(InputError, match=r"a model in float64: call `jax\.config\.update"):
            Model.load(tmp_path / "float64.safetensors")
        assert Model.load(tmp_path / "float32.safetensors").members == 2


def test_whole_or_not_at_all(tmp_path):
    path, given = tmp_path / "a.safetensors", untrained(members=1)
    given.save(path)
    with full_disk(1000), pytest.raises(RunError, match=r"a.safetensors could not be written: .*untouched"):
        replaced(given, longest_step=3.0).save(path)
    assert_same(Model.load(path), given)
    assert [found.name for found in tmp_path.iterdir()] == ["a.safetensors"]
    with pytest.raises(InputError, match="exists"):
        given.save(path, overwrite=False)
    replaced(given, longest_step=0.5).save(path)
    assert Model.load(path).longest_step == 0.5
    with pytest.raises(InputError, match="does not exist: create it first"):
        given.save(tmp_path / "nowhere" / "a.safetensors")
