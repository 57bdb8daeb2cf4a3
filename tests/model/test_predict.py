"""Models: forecasts against plain loops and SciPy, files to the bit, and what is refused."""

import dataclasses
import functools
import json
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from leadax.penalty import Frobenius
from scipy.integrate import solve_ivp
from tests.engine import LEADS, at, forecast, full_disk, plain_net, random_parts, same_bits, tiny

from leadax import InputError, Model, RunError
from leadax.arrays import read_arrays, write_tree
from leadax.describe import scaled
from leadax.methods import METHODS, Leads, Parts
from leadax.nets import FNO, MLP, ConvNet, Linear, Scales

STEP = 0.25
GOLDEN = Path(__file__).parent / "golden"


def build(method=LEADS, seeds=2, state_shape=(2,), dtype=np.float64, wild=False) -> Model:
    """A model that was never trained. If `wild`, nothing in environment `c` stays bounded for long."""
    rows = [random_parts(method, 3, seed, state_shape) for seed in range(seeds)]
    parts = jax.tree.map(lambda *a: jnp.asarray(np.stack(a), dtype), *rows)
    if wild:
        large = lambda a: jnp.asarray(np.array([1, 1, 100])[(None, ..., *[None] * (a.ndim - 2))] * np.asarray(a))
        parts = parts._replace(specific=jax.tree.map(large, parts.specific))
    channels = tuple(f"x{i}" for i in range(state_shape[-1]))
    about = {"protocol": "clean", "looks": [{"step": 1, "loss": [0.1]}], "key": [0, 7]}
    return Model(method, parts, ("a", "é", "c"), channels, state_shape, STEP, about)


@pytest.fixture(scope="module")
def model():
    return build(wild=True)


def field(model, e, seed):
    f, g = at(jax.tree.map(np.asarray, model.parts), seed)
    return lambda x, g=at(g, e): plain_net(f, x) + plain_net(g, x)


def expected(model, e, times, state):
    return np.mean([forecast(field(model, e, s), times, [state] * len(times)) for s in range(2)], axis=0)


# Forecasts

STATES = np.random.default_rng(0).uniform(0.5, 1.5, (2, 3, 2))


@pytest.mark.parametrize(("environment", "e"), [("a", 0), ("é", 1), (1, 1)])
def test_forecast_equals_plain_steps(environment, e, model):
    times = np.array([0.0, 0.1, 0.35, 0.4, 0.65])
    found = model.predict(STATES, times, environment=environment)
    assert found.shape == (2, 3, 5, 2)
    for i, j in np.ndindex(2, 3):
        np.testing.assert_allclose(found[i, j], expected(model, e, times, STATES[i, j]), rtol=1e-12)


def test_forecast_of_one_state(model):
    times = np.array([0.0, 0.1, 0.35, 0.4, 0.65])
    one = model.predict(STATES[0, 0], times, environment="a")
    assert one.shape == (5, 2)
    np.testing.assert_array_equal(one[0], STATES[0, 0])
    np.testing.assert_allclose(one, model.predict(STATES, times, environment="a")[0, 0], rtol=1e-13)
    # The field knows no time: only differences count, also of dates.
    np.testing.assert_allclose(model.predict(STATES[0, 0], times + 2**31, environment="a"), one, rtol=1e-6)


def test_no_step_is_longer_than_in_training(model):
    coarse = np.array([0.0, 0.5, 1.25, 1.5])
    fine = np.arange(7) * STEP
    whole = expected(model, 0, fine, STATES[0, 0])
    found = model.predict(STATES[0, 0], coarse, environment="a")
    np.testing.assert_allclose(found, whole[[0, 2, 5, 6]], rtol=1e-12)
    # What is a little longer by rounding is not divided.
    nearly = model.predict(STATES[0, 0], np.array([0.0, STEP * (1 + 1e-9)]), environment="a")
    np.testing.assert_allclose(nearly, whole[:2], rtol=1e-8)


def test_the_state_itself_is_the_forecast_at_its_own_time(model):
    np.testing.assert_array_equal(model.predict(STATES, np.array([3.0]), environment="a"), STATES[:, :, None])


def test_adaptive_forecast_against_scipy(model):
    times = np.linspace(0, 2, 9)
    found = model.predict(STATES[0], times, environment="a", solver="tsit5")
    options = {"t_eval": times, "rtol": 1e-10, "atol": 1e-10}
    for k in range(3):
        exact = [solve_ivp(lambda t, x: field(model, 0, s)(x), (0, 2), STATES[0, k], **options).y.T for s in range(2)]  # noqa: B023
        np.testing.assert_allclose(found[k], np.mean(exact, axis=0), rtol=1e-6)
    # Small fixed steps come close to it, those of training less so.
    finely = model.predict(STATES[0], np.linspace(0, 2, 801), environment="a")[:, ::100]
    coarsely = model.predict(STATES[0], times, environment="a")
    np.testing.assert_allclose(finely, found, rtol=1e-5)
    assert 10 * np.abs(finely - found).max() < np.abs(coarsely - found).max()

    with pytest.raises(
        RunError, match=r"the solver 'tsit5' stopped at t = .* on its way to t = 1002.*in solution 0 of 6"
    ):
        model.predict(STATES[0], 1000 + times, environment="c", solver="tsit5")
    # It was compiled once, for all states, times and environments.
    assert model._compiled_adaptive._cache_size() == 1


def test_fixed_steps_may_end_in_infinity(model):
    found = model.predict(STATES[0], np.linspace(0, 50, 201), environment="c")
    assert np.all(np.isfinite(found[:, 0]))
    assert not np.any(np.isfinite(found[:, -1]))


@pytest.mark.parametrize(
    ("state", "times", "match"),
    [
        (np.ones(3), [0.0, 1.0], r"`state` must have the shape \(…, \(2,\)\) of the model, got \(3,\)"),
        (np.ones(()), [0.0, 1.0], "`state` must have the shape"),
        (np.array([1, np.nan]), [0.0, 1.0], "`state` must be finite"),
        (np.array([1, np.inf]), [0.0, 1.0], "`state` must be finite"),
        (np.ones(2), [0.0, 0.0], "`times` must be one-dimensional, finite and increase"),
        (np.ones(2), [0.0, 2.0, 1.0], "`times` must"),
        (np.ones(2), [0.0, np.nan], "`times` must"),
        (np.ones(2), [0.0, np.inf], "`times` must"),
        (np.ones(2), [], "`times` must"),
    ],
)
def test_refuses_to_predict(state, times, match, model):
    with pytest.raises(InputError, match=match):
        model.predict(state, np.array(times), environment="a")


@pytest.mark.parametrize("environment", ["z", 3, -1])
def test_refuses_environments_it_has_never_seen(environment, model):
    with pytest.raises(InputError, match=f"never seen environment `{environment}`: it knows a, é, c; .*adapt"):
        model.predict(np.ones(2), np.array([0.0, 1.0]), environment=environment)


def test_refuses_a_solver_it_does_not_know(model):
    with pytest.raises(InputError, match="tsit55"):
        model.predict(np.ones(2), np.array([0.0, 1.0]), environment="a", solver="tsit55")


def test_decomposition(model):
    x = jnp.asarray(STATES[0, 0])
    for e, name in enumerate(("a", "é")):
        f, g = model.shared, model.specific(name)
        np.testing.assert_allclose(f(x) + g(x), field(model, e, 0)(STATES[0, 0]), rtol=1e-12)
        np.testing.assert_allclose(f(x), plain_net(at(model.parts.shared, 0), STATES[0, 0]), rtol=1e-12)
    assert same_bits(model.member(1, "c").specific, jax.tree.map(lambda a: a[1, 2], model.parts.specific))
    for seed in (2, -1):
        with pytest.raises(InputError, match=f"no seed number {seed}: the model has 2"):
            model.member(seed)


def test_sizes(model):
    one = 2 * 8 + 8 + 8 * 2 + 2 + 1
    assert (model.seeds, model.parameters) == (2, 4 * one)


# Files


def assert_same(found: Model, given: Model) -> None:
    assert jax.tree.structure(found.parts) == jax.tree.structure(given.parts)
    assert same_bits(found.parts, given.parts)
    for name in ("environments", "channels", "state_shape", "time_step", "about"):
        assert getattr(found, name) == getattr(given, name), name
    for name in ("solver", "substeps", "penalty", "penalty_weight"):
        assert getattr(found.method, name) == getattr(given.method, name), name


ODD_SCALES = Scales(np.array([3.0, -7.0]), np.array([1e-3, 1e6]), np.array([0.1, 4.0]))


@pytest.mark.parametrize(
    ("method", "state_shape"),
    [
        *((METHODS[name](net=tiny, solver="heun", substeps=2), (2,)) for name in METHODS),
        (
            Leads(net=functools.partial(ConvNet, width=3, factor=1e-3), penalty=Frobenius(), penalty_weight=0.1),
            (6, 6, 2),
        ),
        (Leads(net=functools.partial(FNO, modes=2, width=3), solver="euler"), (8, 1)),
        (Leads(net=Linear), (4,)),
        (Leads(net=scaled(tiny, ODD_SCALES)), (2,)),
    ],
    ids=[*METHODS, "conv", "fno", "linear", "scaled"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_file_returns_the_same_bits(method, state_shape, dtype, tmp_path):
    given = build(method, state_shape=state_shape, dtype=dtype)
    given.save(tmp_path / "a.safetensors")
    found = Model.load(tmp_path / "a.safetensors")
    assert_same(found, given)
    # Readable for whom the user lets read their files.
    (tmp_path / "plain").touch()
    assert (tmp_path / "a.safetensors").stat().st_mode == (tmp_path / "plain").stat().st_mode
    # And again, from what was loaded.
    found.save(tmp_path / "b.safetensors")
    assert_same(Model.load(tmp_path / "b.safetensors"), given)


def test_loaded_model_predicts_the_same(model, tmp_path):
    model.save(tmp_path / "a.safetensors")
    times = np.array([0.0, 0.1, 0.35, 0.4, 0.65])
    found = Model.load(tmp_path / "a.safetensors").predict(STATES, times, environment="é")
    np.testing.assert_array_equal(found, model.predict(STATES, times, environment="é"))


class Own(MLP):
    """An architecture that Leadax does not know."""


def test_a_net_of_your_own(tmp_path):
    path = tmp_path / "own.safetensors"
    own = functools.partial(Own, width=8, depth=2)
    given = build(Leads(net=own))
    given.save(path)
    with pytest.raises(InputError, match=r"Own` is not one of mlp.*net=MyNet"):
        Model.load(path)
    assert_same(Model.load(path, net=own), given)
    with pytest.raises(InputError, match=r"own.safetensors does not fit this model: `.*` has shape"):
        Model.load(path, net=functools.partial(Own, width=9, depth=2))
    with pytest.raises(InputError, match=r"own.safetensors does not fit this model: `.*` is in one of them only"):
        Model.load(path, net=Linear)


def outcome(path: Path, given: Model) -> str:
    """Refused in one line that names the file, or loaded to the bit; anything else is a bug."""
    try:
        found = Model.load(path)
    except InputError as error:
        return "refused" if str(path) in str(error) and "\n" not in str(error) else f"WRONG: {error}"
    assert_same(found, given)
    return "same"


def test_flipped_bytes_are_noticed(tmp_path):
    given, path = build(seeds=1, dtype=np.float32), tmp_path / "a.safetensors"
    given.save(path)
    original = path.read_bytes()
    places = np.sort(np.random.default_rng(0).choice(len(original), 150, replace=False)).tolist()
    places += list(range(12))  # the length of the header, and its first characters
    outcomes = {}
    for place, mask in zip(places, [0x01, 0x20, 0x80, 0xFF] * len(places), strict=False):
        path.write_bytes(original[:place] + bytes([original[place] ^ mask]) + original[place + 1 :])
        outcomes[place, mask] = outcome(path, given)
    assert set(outcomes.values()) <= {"refused", "same"}, outcomes
    assert list(outcomes.values()).count("same") < 5, outcomes


def test_cut_files_are_noticed(tmp_path):
    given, path = build(seeds=1), tmp_path / "a.safetensors"
    given.save(path)
    original = path.read_bytes()
    for length in (0, 4, 8, 100, len(original) // 2, len(original) - 1):
        path.write_bytes(original[:length])
        assert outcome(path, given) == "refused", length


def test_refuses_what_is_no_model(tmp_path):
    text = tmp_path / "a.safetensors"
    text.write_text("hello " * 1000)
    with pytest.raises(InputError, match=r"a.safetensors is damaged or not a safetensors file"):
        Model.load(text)
    with pytest.raises(InputError, match=r"b.safetensors does not exist"):
        Model.load(tmp_path / "b.safetensors")
    with pytest.raises(InputError, match=r"does not exist"):
        Model.load(tmp_path)
    from safetensors.numpy import save_file

    save_file({"a": np.ones(3)}, text)
    with pytest.raises(InputError, match=r"a.safetensors was not written by Leadax"):
        Model.load(text)
    write_tree(text, {"a": np.ones(3)}, {"kind": "checkpoint", "schema": 1, "step": 3})
    with pytest.raises(InputError, match=r"a.safetensors holds a `checkpoint`, expected a model"):
        Model.load(text)


def test_refuses_a_newer_format(tmp_path):
    path, given = tmp_path / "a.safetensors", build(seeds=1)
    given.save(path)
    arrays, about = read_arrays(path)
    write_tree(path, {}, {**about, "format": about["format"] + 1, "method": "of a kind that nobody knows yet"})
    with pytest.raises(InputError, match=r"of format 2, this version of Leadax reads up to 1: install a newer"):
        Model.load(path)
    assert len(arrays) == len(jax.tree.leaves(given.parts))


def test_float64_needs_float64(tmp_path):
    build(dtype=np.float64).save(tmp_path / "a.safetensors")
    build(dtype=np.float32).save(tmp_path / "b.safetensors")
    with jax.enable_x64(False):
        with pytest.raises(InputError, match=r"a model in float64: call `jax\.config\.update"):
            Model.load(tmp_path / "a.safetensors")
        assert Model.load(tmp_path / "b.safetensors").seeds == 2


def test_a_full_disk_leaves_the_old_file(tmp_path):
    path, given = tmp_path / "a.safetensors", build(seeds=1)
    given.save(path)
    with full_disk(1000), pytest.raises(RunError, match=r"a.safetensors could not be written: .*untouched"):
        dataclasses.replace(given, about={}).save(path)
    assert_same(Model.load(path), given)
    assert [found.name for found in tmp_path.iterdir()] == ["a.safetensors"]


def test_overwriting(tmp_path):
    path, given = tmp_path / "a.safetensors", build(seeds=1)
    given.save(path)
    with pytest.raises(InputError, match="exists"):
        given.save(path, overwrite=False)
    dataclasses.replace(given, time_step=0.5).save(path)
    assert Model.load(path).time_step == 0.5
    with pytest.raises(InputError, match="does not exist: create it first"):
        given.save(tmp_path / "nowhere" / "a.safetensors")


# A file of the first format, which all later versions must read. Made once, by `write_golden`; never make it anew.


def golden_forecasts(model: Model) -> list:
    state, times = np.array([1.0, 0.5]), np.array([0.0, 0.25, 0.5, 1.5])
    return [model.predict(state, times, environment=name).tolist() for name in model.environments]


def write_golden() -> None:
    """`python -c "from tests.test_model import write_golden; write_golden()"` wrote tests/golden/model-1.*."""
    method = Leads(net=scaled(tiny, ODD_SCALES), solver="rk4-38", penalty=LEADS.penalty, penalty_weight=0.5)
    rows = [random_parts(method, 3, seed) for seed in range(2)]
    parts = jax.tree.map(lambda *a: jnp.asarray(np.stack(a), np.float32), *rows)
    scales = [np.array(row, np.float32) for row in ([1.0, -2.0], [2.0, 0.5], [1.0, 3.0])]
    places = lambda net: (net.mean, net.scale, net.rate)
    units = lambda net: [jnp.asarray(np.broadcast_to(a, net.mean.shape)) for a in scales]
    parts = Parts(*(eqx.tree_at(places, half, units(half)) for half in parts))
    model = Model(method, parts, ("a", "é", "c"), ("u", "v"), (2,), STEP, {"protocol": "clean", "steps": 3})
    model.save(GOLDEN / "model-1.safetensors")
    (GOLDEN / "model-1.json").write_text(json.dumps(golden_forecasts(model)) + "\n")


def test_golden_model():
    model = Model.load(GOLDEN / "model-1.safetensors")
    assert (model.environments, model.channels, model.seeds) == (("a", "é", "c"), ("u", "v"), 2)
    assert (model.time_step, model.about) == (STEP, {"protocol": "clean", "steps": 3})
    assert (model.method.solver, model.method.penalty) == ("rk4-38", LEADS.penalty)
    recorded = json.loads((GOLDEN / "model-1.json").read_text())
    np.testing.assert_allclose(golden_forecasts(model), recorded, rtol=1e-6, atol=1e-6)
