"""Models in files: the same bits there and back, classes of one's own, and nothing in a file is ever executed."""

import dataclasses
import functools
import importlib
import json
import subprocess
import sys

import jax
import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from tests.engine import random_levels

import leadax as lx
from leadax.arrays import _digest
from leadax.data.units import Box, Units
from leadax.errors import InputError
from leadax.methods import METHODS, Sizes
from leadax.nets import MLP

TINY = functools.partial(MLP, width=4, depth=2)


def model(method=None, members=2) -> lx.Model:
    """A model with random weights, without training."""
    method = method or lx.Leads(net=TINY, solver="euler", penalty_weight=0.5, penalty=lx.Omega())
    rows = [random_levels(method, 3, seed) for seed in range(members)]
    levels = jax.tree.map(lambda *a: np.stack(a).astype("float32"), *rows)
    box = Box((-9.0, -9.0), (9.0, 9.0))
    return lx.Model(levels, method, Units((5.0, 0.0), (2.0, 1.0), 3.0), ("a", "b", "c"), ("u", "v"), (2,), 0.5, box)


def rewritten(path, change):
    """The file with another description, and a checksum that fits it."""
    with safe_open(path, "numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        about = json.loads(file.metadata()["leadax"])
    about = change(about) or about
    text = json.dumps(about, sort_keys=True)
    save_file(arrays, path, metadata={"leadax": text, "sha256": _digest(arrays, text)})


def test_there_and_back(tmp_path):
    before = model()
    before.save(tmp_path / "m.safetensors")
    after = lx.Model.load(tmp_path / "m.safetensors")
    jax.tree.map(np.testing.assert_array_equal, before.levels, after.levels)
    assert jax.tree.structure(before) == jax.tree.structure(after)
    state, times = np.array([4.0, 1.0]), np.linspace(0, 2, 5)
    ours, theirs = (m.predict(state, times, environment="b").members for m in (before, after))
    np.testing.assert_array_equal(ours, theirs)


OWN = """
import equinox as eqx, jax, jax.numpy as jnp
import leadax as lx

class Drift(lx.Net):
    weight: jax.Array
    factor: float = eqx.field(static=True)
    def __init__(self, state_shape, *, key, function=jnp.tanh):
        self.weight, self.factor = 0.1 * jax.random.normal(key, state_shape), 1.0
    @property
    def layers(self):
        return ()
    def __call__(self, t, x, u=None):
        return self.weight * x

class Shrink(lx.Penalty):
    strength: float = 1.0
    def init(self, net, *, key):
        return ()
    def __call__(self, net, points, weights, carry):
        return self.strength * jnp.sum(net.weight**2), carry

class Offsets(lx.Method):
    size: float = 0.1
    def init(self, sizes, *, key):
        shape = (sizes.environments, *sizes.state_shape)
        return jnp.zeros(sizes.state_shape), self.size * jax.random.normal(key, shape)
    def dynamics(self, shared, specific):
        f, g = self.split(shared, specific)
        return lx.Flow(lambda t, x, u: f(t, x, u) + g(t, x, u), "euler")
    def split(self, shared, specific):
        return lambda t, x, u: shared * x, lambda t, x, u: specific + 0 * x

def wave(x):
    return jnp.sin(x)
"""
RECIPE = lx.Recipe(checkpoint_every=2, dtype="float64")
TIMES = np.linspace(0, 1, 6)
DATA = lx.Trajectories.from_arrays(TIMES, np.stack([a + np.exp(-TIMES) for a in (1, 2)])[:, None, :, None])


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A user's module outside the package."""
    (tmp_path / "their_own.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("their_own")
    sys.modules.pop("their_own", None)


def test_a_method_a_net_and_a_penalty_of_ones_own(own, tmp_path, monkeypatch):
    train = functools.partial(lx.fit, train=DATA, steps=4, key=jax.random.key(0), recipe=RECIPE)
    for name, method in {
        "method": own.Offsets(size=0.2),
        "net and penalty": lx.Leads(net=own.Drift, penalty=own.Shrink(2.0), penalty_weight=0.1),
    }.items():
        once = iter([True])
        stop = lx.Monitor(should_stop=lambda once=once: next(once, False))
        with pytest.raises(lx.LeadaxError, match="stopped at step"):
            train(method, run=tmp_path / name, monitor=stop)
        resumed, whole = train(method, run=tmp_path / name), train(method)
        jax.tree.map(np.testing.assert_array_equal, resumed.levels, whole.levels)
        path = tmp_path / name / "model.safetensors"
        loaded = lx.Model.load(path)  # its classes have been imported
        assert lx.evaluate(loaded, DATA).mse == lx.evaluate(whole, DATA).mse
        with monkeypatch.context() as patch:
            patch.delitem(sys.modules, "their_own")
            with pytest.raises(InputError, match=r"their_own:.* has not been imported"):
                lx.Model.load(path)
            assert lx.Model.load(path, using=[own.Offsets, own.Drift, own.Shrink]).method == loaded.method
        assert lx.Model.load(path, method=method).method == method


def test_a_function_as_a_setting_must_be_given_to_load(own, tmp_path):
    path = tmp_path / "m.safetensors"
    net = functools.partial(own.Drift, function=own.wave)
    model(lx.Leads(net=net, solver="euler", penalty_weight=0)).save(path)
    with pytest.raises(InputError, match="their_own:wave"):
        lx.Model.load(path)
    assert dict(lx.Model.load(path, using=[own.wave]).method.net.options)["function"] is own.wave


def test_what_a_script_defined_is_found_elsewhere_by_its_name(own, tmp_path, monkeypatch):
    """A script is `__main__` while it runs; its classes live in a module for everyone else."""
    path = tmp_path / "m.safetensors"
    with monkeypatch.context() as script:
        script.setattr(own.Offsets, "__module__", "__main__")
        model(own.Offsets(0.3)).save(path)
    with pytest.raises(InputError, match=r"`Offsets` was defined in a script .* `--using your_module:Offsets`"):
        lx.Model.load(path)
    assert lx.Model.load(path, using=[own.Drift, own.Offsets]).method == own.Offsets(0.3)


def test_a_file_never_causes_an_import_or_a_call(tmp_path, monkeypatch):
    mark = tmp_path / "mark"
    (tmp_path / "wicked.py").write_text(f"open({str(mark)!r}, 'w')\nclass Thing: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "m.safetensors"
    model().save(path)
    for name in ("wicked:Thing", "os:system", "builtins:exec", "subprocess:Popen", "leadax.cli:main"):
        for place in ("method", "net", "option"):

            def forged(about, name=name, place=place):
                if place == "method":
                    about["method"]["type"] = name
                elif place == "net":
                    about["method"]["net"]["build"] = {"object": name}
                else:
                    about["method"]["net"]["options"] = [["width", {"object": name}]]

            model().save(path)
            rewritten(path, forged)
            with pytest.raises(InputError):
                lx.Model.load(path)
    assert not mark.exists()
    assert "wicked" not in sys.modules


def forgeries(about):
    """Single changes, each of which must be refused: every entry missing, and every entry of another type."""
    for key in about:
        yield f"without {key}", {k: v for k, v in about.items() if k != key}
        for value in (None, 7.5, "x", [], {}, [1, None], {"type": "leads"}, True):
            allowed = {"training": (None,), "box": (None,), "longest_step": (7.5,)}
            if value not in allowed.get(key, ()) and value != about[key]:
                yield f"{key} is {value!r}", {**about, key: value}
    for value in (0, -1, float("nan"), float("inf")):
        yield f"longest_step {value}", {**about, "longest_step": value}
    for value in (0, -1, 10**30, 3):
        yield f"members {value}", {**about, "members": value}
    for key in ("mean", "scale", "time", "origin"):
        yield f"units without {key}", {**about, "units": {k: v for k, v in about["units"].items() if k != key}}
    for value in (False, {"number": "x"}, {"mapping": 3}, 10**400):
        yield f"a bound {value!r:.20}", {**about, "box": {**about["box"], "high": [value, 9.0]}}
        yield f"a setting {value!r:.20}", {**about, "method": {**about["method"], "kappa": value}}
    yield "another shape", {**about, "state_shape": [3]}
    yield "a huge shape", {**about, "state_shape": [10**9, 10**9, 2]}
    yield "fewer environments", {**about, "environments": ["a"]}
    yield "another format", {**about, "format": 3}
    for key in about["method"]:
        yield f"method without {key}", {**about, "method": {k: v for k, v in about["method"].items() if k != key}}
    yield "another width", {**about, "method": {**about["method"], "net": {"type": "net", "build": {"object": "mlp"}}}}


def test_forged_models_are_refused_in_one_line(tmp_path):
    path = tmp_path / "m.safetensors"
    model().save(path)
    with safe_open(path, "numpy") as file:
        about = json.loads(file.metadata()["leadax"])
    harmless = {"method without substeps", "method without kappa", "method without penalty"}
    harmless |= {"method without penalty_weight", "method without solver"}  # optional settings: the defaults
    for what, document in forgeries(about):
        rewritten(path, lambda _, document=document: document)
        if what in harmless:
            lx.Model.load(path)
            continue
        with pytest.raises(InputError) as refused:
            lx.Model.load(path)
        assert "\n" not in str(refused.value), what


def test_weights_that_are_not_finite_are_refused(tmp_path):
    path = tmp_path / "m.safetensors"
    before = model()
    levels = jax.tree.map(lambda a: np.full_like(a, np.nan), before.levels)
    dataclasses.replace(before, levels=levels).save(path)
    with pytest.raises(InputError, match="not finite"):
        lx.Model.load(path)


def test_a_flipped_bit_is_noticed(tmp_path):
    path = tmp_path / "m.safetensors"
    model().save(path)
    whole = path.read_bytes()
    for place in np.linspace(0, len(whole) - 1, 40).astype(int):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(InputError):
            lx.Model.load(path)


def test_all_methods_are_described_and_restored(tmp_path):
    for name, build in METHODS.items():
        fields = {"net": TINY} if hasattr(build(), "net") else {}
        fields |= {"rank": 2} if hasattr(build(), "rank") else {}
        method = lx.chosen_for(DATA).complete(build(**fields), Sizes((2,), 3))
        model(method, members=1).save(tmp_path / "m.safetensors")
        assert lx.Model.load(tmp_path / "m.safetensors").method == method, name


def test_all_methods_are_known_to_a_process_that_only_loads():
    """Also those that no list of names has: a mixture is made by `adapt`, and used by programs that never adapt."""
    code = "import leadax.model; from leadax.registry import class_named; class_named('mixture')"
    subprocess.run([sys.executable, "-c", code], check=True)
