"""Forecasts in files: small, read back, drawn; and curves on the way."""

import math
from pathlib import Path

import numpy as np
import pytest

from leadax import InputError, Trajectories
from leadax.experiments.results import curves
from leadax.experiments.results.curves import keep_curves, read_curves, thinned
from leadax.experiments.results.finished import write_finished
from leadax.experiments.results.forecasts import GRAIN, keep_forecasts, read_forecasts
from leadax.experiments.study import Options
from leadax.experiments.targets import figures
from leadax.records import Snapshot
from leadax.report.sequences import montage


class Off:
    """Forecasts that are off by a constant."""

    def __init__(self, truth, error):
        self.truth, self.error = truth, error

    def member(self, number):
        assert number == 0, "the first of several members"
        return self

    def predict(self, state, times, environment):
        return self.truth.states[self.truth.environments.index(environment), 0] + self.error


@pytest.fixture
def field():
    states = np.random.default_rng(0).uniform(size=(3, 1, 10, 32, 32, 2))
    return Trajectories.from_arrays(40.0 * np.arange(10), states, channels=("u", "v"), environments=("a", "b", "c"))


@pytest.fixture
def kept(field, tmp_path):
    path = tmp_path / "forecasts-gray-scott-paper.npz"
    errors = getattr(keep_forecasts, "__wrapped__", keep_forecasts)(
        {"leads": Off(field, 0.25), "ft-node": Off(field, 0.5)}, field, 1, path
    )
    return path, errors


def test_forecasts_survive_their_file(field, kept):
    path, errors = kept
    assert errors["ft-node"].tolist() == pytest.approx([0.25] * 3)
    found, channels = read_forecasts(path, ["ft-node", "leads", "coda"])
    assert channels == ("u",)
    assert [f.environment for f in found] == ["a", "b", "c"]
    assert list(found[0].predicted) == ["ft-node", "leads"], "in the order asked for, if there"
    np.testing.assert_allclose(found[1].truth, field.states[1, 0, ..., :1], atol=GRAIN)
    np.testing.assert_allclose(found[1].predicted["leads"] - found[1].truth, 0.25, atol=GRAIN)
    assert path.stat().st_size < 300_000, "even where every pixel is a surprise"


def test_pictures_have_the_scale_of_the_paper(kept):
    path, _ = kept
    rows = [{"system": "gray-scott", "protocol": "paper", "method": method} for method in ("ft-node", "leads")]
    found = figures.figures(rows, path.parent)
    name = "figures-gray-scott-paper"
    assert list(found) == [name, f"{name}-sequences", f"{name}-errors"]
    limits = {image.get_clim() for axis in found[f"{name}-errors"].axes for image in axis.images}
    assert limits == {(0.0, 0.6)}
    assert {(0.0, 0.6)} < {image.get_clim() for axis in found[name].axes for image in axis.images}
    assert [axis.get_title() for axis in found[f"{name}-sequences"].axes[:3]] == ["ft-node", "leads", "truth"]


def test_a_montage_is_read_from_left_to_right():
    times = np.arange(3.0)[:, None, None] * np.ones((3, 2, 2))
    picture = montage([times, times + 10])
    assert picture[0, [0, 4, 8]].tolist() == [0, 1, 2]
    assert picture[-1, [0, 4, 8]].tolist() == [10, 11, 12]
    assert np.isnan(picture[0, 2])


@pytest.mark.parametrize("content", [b"", b"PK nonsense", None])
def test_damaged_forecasts(content, tmp_path):
    path = tmp_path / "forecasts.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match="is not a file of forecasts, or is damaged"):
        read_forecasts(path, ["leads"])


def test_runs_are_of_the_models_of_table_1():
    (run,) = figures.runs(Options("hour", 4, 3000, "paper", system="gray-scott", exact=True))
    assert run.name == "gray-scott-one-per-env+ft-node+leads-paper-4x3000-0"
    names = [run.name for run in figures.runs(Options("hour", 4, 12_000, "clean"))]
    assert names[1] == "gray-scott-one-per-env+ft-node+leads-clean-4x600-0"


def test_curves_are_thinned_and_merged(tmp_path, monkeypatch):
    """A test error that is not finite is kept as one."""
    tests = [(1 / (k + 1), 2.0 if k < 499 else math.nan) for k in range(500)]
    history = [Snapshot(k + 1, (1.0,), (1.0,), (0.0,), test, float(k)) for k, test in enumerate(tests)]
    monkeypatch.setattr(curves, "history_of", lambda folder: history)
    setting = {"system": "gray-scott", "m": 3, "n": 10, "protocol": "paper", "steps": 500}
    for method in ("leads", "one-for-all"):
        (tmp_path / method).mkdir()
        write_finished(tmp_path / method, {}, [{**setting, "method": method, "seed": 0}])
        keep_curves([tmp_path / method, tmp_path / "unfinished"], tmp_path / "curves.csv")
    rows = read_curves(tmp_path / "curves.csv")
    assert {row["method"] for row in rows} == {"leads", "one-for-all"}
    assert len(rows) == 2 * 2 * len(thinned(500)) < 100
    assert rows[-1]["steps"] == 500
    assert math.isnan(rows[-1]["mse_test"])
    assert read_curves(Path("nowhere.csv")) == []
