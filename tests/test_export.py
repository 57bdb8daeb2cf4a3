"""What is exported runs without Leadax, and gives the same numbers."""

import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import leadax as lx
from leadax.cli import run

TIMES = np.linspace(0, 2, 5)
STATES = np.random.default_rng(0).uniform(0.5, 1.5, (3, 2)).astype(np.float32)

# In a process that cannot import Leadax.
ELSEWHERE = """
import json, sys
sys.modules["leadax"] = None
import jax, numpy as np

exported = jax.export.deserialize(bytearray(open(sys.argv[1], "rb").read()))
states = np.array(json.loads(sys.argv[2]), np.float32)
print(json.dumps(np.asarray(exported.call(np.int32(1), states)).tolist()))
"""


@pytest.fixture(scope="module")
def model():
    states = np.random.default_rng(1).uniform(0.5, 1.5, (2, 2, 5, 2))
    data = lx.Trajectories.from_arrays(TIMES, states, environments=["a", "b"], channels=["u", "v"])
    return lx.fit(lx.Leads(net=lx.Linear, solver="euler"), data, steps=3, seeds=2, key=jr.key(0))


def test_a_file_gives_the_same_forecast_in_a_process_without_leadax(model, tmp_path, capsys):
    model.save(tmp_path / "model.safetensors")
    out = tmp_path / "model.jax"
    arguments = ["export", str(tmp_path / "model.safetensors"), "--out", str(out), "--times", "0:2:0.5", "--json"]
    assert run(arguments) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["environments"] == ["a", "b"]
    assert document["bytes"] == out.stat().st_size
    command = [sys.executable, "-c", ELSEWHERE, str(out), json.dumps(STATES.tolist())]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = np.asarray(model.predict(STATES, TIMES, environment="b"))
    assert not np.allclose(expected, model.predict(STATES, TIMES, environment="a"), atol=1e-4)
    np.testing.assert_allclose(json.loads(told.stdout), expected, atol=1e-5)


def test_a_field_gives_the_same_tangents(model):
    field = jax.export.deserialize(lx.export_field(model).serialize())
    found = field.call(np.int32(0), STATES, np.float32(0))
    expected = jax.vmap(model.field("a"))(STATES)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    parts = jax.vmap(lambda x: model.shared(x) + model.specific("a")(x))(jnp.asarray(STATES))
    np.testing.assert_allclose(found, parts, atol=1e-6)


def test_the_parts_of_a_field_in_xarray(model):
    found = model.to_xarray(STATES)
    assert found["shared"].dims == ("environment", "point", "channel")
    here = found.sel(environment="b")
    np.testing.assert_allclose(
        (here.shared + here.specific).to_numpy(), jax.vmap(model.field("b"))(STATES), atol=1e-6, rtol=0
    )
    with pytest.raises(lx.InputError, match=r"\(point, 2\), got \(3, 1\)"):
        model.to_xarray(STATES[:, :1])


def test_the_text_of_the_program(model, tmp_path):
    model.save(tmp_path / "model.safetensors")
    out = tmp_path / "field.mlir"
    assert run(["export", str(tmp_path / "model.safetensors"), "--out", str(out), "--what", "field"]) == 0
    assert "stablehlo" in out.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "a.jax"], "a forecast needs `--times`"),
        (["--out", "a.jax", "--what", "field", "--times", "0:1:1"], "a field takes none"),
        (["--out", "nowhere/a.jax", "--times", "0:1:1"], "nowhere does not exist"),
        (["--out", "a.jax", "--times", "1"], "two or more finite numbers"),
    ],
)
def test_what_cannot_be_exported(model, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    model.save("model.safetensors")
    assert run(["export", "model.safetensors", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "a.jax").exists()


def test_hidden_states_and_inputs(model):
    layout = model.layout.__class__(model.channels, hidden=1)
    with pytest.raises(lx.InputError, match="hidden states"):
        lx.export_field(jax.tree.map(lambda a: a, model).__class__(**(vars(model) | {"layout": layout})))
    layout = model.layout.__class__(model.channels, inputs=("force",), kinds=("linear",))
    with pytest.raises(lx.InputError, match="Export a field"):
        lx.export_forecast(model.__class__(**(vars(model) | {"layout": layout})), TIMES)
