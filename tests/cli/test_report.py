"""`leadax report` of runs: simple forecasts that learnt from the same data are in its table."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import leadax as lx
from leadax.cli.report import _baselines
from leadax.yardsticks import Yardsticks

TIMES = np.linspace(0, 2, 5)
DATA = lx.Trajectories.from_arrays(
    TIMES, np.exp(-TIMES)[None, None, :, None] * np.array([1.0, 2.0])[None, :, None, None]
)


def fitted_on(data: str) -> SimpleNamespace:
    """What is asked of a model here."""
    return SimpleNamespace(training=SimpleNamespace(config=SimpleNamespace(train=data)), protocol="clean", warmup=1)


@pytest.fixture
def runs(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        Yardsticks.learnt(DATA).save(tmp_path / name / "yardsticks.safetensors")
        (tmp_path / name / "model.safetensors").touch()  # where there is none, there is no run
    return tmp_path


def test_baselines_of_a_run_and_of_a_folder_of_runs(runs):
    expected = Yardsticks.learnt(DATA).errors(DATA)
    for place in (runs / "a", runs):
        found = _baselines(place, {"a": fitted_on(DATA.fingerprint), "b": fitted_on(DATA.fingerprint)}, DATA)
        assert list(found) == list(expected)
        assert found["linear"].nmse == pytest.approx(expected["linear"].nmse, rel=1e-4)


def test_runs_on_different_data_have_no_common_baselines(runs):
    assert _baselines(runs, {"a": fitted_on(DATA.fingerprint), "b": fitted_on("y")}, DATA) == {}


def test_a_model_file_has_no_baselines(runs):
    assert _baselines(runs / "a" / "model.safetensors", {"a": fitted_on(DATA.fingerprint)}, DATA) == {}


def test_of_many_trajectories_only_the_quick_ones(runs, monkeypatch):
    monkeypatch.setattr(sys.modules["leadax.cli.report"], "MANY", 1)
    assert list(_baselines(runs, {"a": fitted_on(DATA.fingerprint)}, DATA)) == ["persistence", "mean", "mean curve"]
