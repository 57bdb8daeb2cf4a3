"""New environments of which only covariates are known."""

import dataclasses
import functools

import jax.random as jr
import numpy as np
import pytest

import leadax as lx

TIMES = np.linspace(0, 1, 6)
WEIGHTS = np.array([1.0, 2.0, 3.0])


@functools.cache
def model() -> lx.Model:
    states = np.exp(-TIMES[None] / WEIGHTS[:, None])[:, None, :, None] * np.ones(2)
    data = lx.Trajectories.from_arrays(TIMES, states, parameters={"weight": WEIGHTS})
    method = lx.Leads(net=lx.Linear, solver="euler")
    return lx.fit(method, data, covariates=["weight"], steps=2, key=jr.key(0))


def adapted(**arguments) -> lx.Model:
    return lx.adapt(model(), key=jr.key(1), **arguments)


def test_what_is_shared_forecasts_with_the_covariates(tmp_path):
    new = adapted(covariates={"ann": {"weight": 1.5}, "bob": {"weight": 2.0}}, run=tmp_path / "run")
    assert new.environments == ("ann", "bob")
    start, ahead = np.ones(2), np.array([0.0, 1e-3])
    slopes = {
        name: np.diff(new.predict(start, ahead, environment=name)[:], axis=0)[0] / 1e-3 for name in ("ann", "bob")
    }
    # f alone, with the covariate: that of the known environment with the same weight.
    np.testing.assert_allclose(slopes["bob"], model().shared_in("e1")(start), rtol=1e-2, atol=1e-4)
    assert np.abs(slopes["ann"] - slopes["bob"]).max() > 1e-4
    assert not new.training.reliability.reliable
    again = lx.Model.load(tmp_path / "run" / "model.safetensors")
    assert again.covariates == ((1.5,), (2.0,))
    assert "is beyond" not in new.training.reliability.reason


def test_beyond_what_is_known():
    reason = adapted(covariates={"ann": {"weight": 5.0}}).training.reliability.reason
    assert reason.endswith("`weight` = 5 of `ann` is beyond those trained with, 1 to 3")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "there is no environment to adapt to"),
        ({"covariates": {"ann": {}}}, "`ann` needs the covariates weight, got none"),
        ({"covariates": {"ann": {"weight": float("nan")}}}, "must be a number, got nan"),
        ({"covariates": {"ann": {"weight": 1.0}}, "scheme": "mixture"}, "stand in place of data"),
    ],
)
def test_wrong_use(arguments, message):
    with pytest.raises(lx.InputError, match=message):
        adapted(**arguments)


def test_a_model_without_covariates():
    plain = dataclasses.replace(model(), layout=lx.Layout(model().channels), covariates=())
    with pytest.raises(lx.InputError, match="trained without covariates"):
        lx.adapt(plain, covariates={"ann": {"weight": 1.0}}, key=jr.key(0))
