"""Which model is kept: what is held out, what lines and sheet say, and a run of a few steps."""

import numpy as np
import pytest

from leadax.experiments.study import Options, carry_out
from leadax.experiments.study.models import data_of
from leadax.experiments.targets import validation


@pytest.mark.parametrize("protocol", ["paper", "clean"])
def test_what_is_held_out(protocol):
    """Ends are missing in training; other states are neither in training nor in test data."""
    options = Options("smoke", 2, 4, protocol)
    whole, test = data_of(options, validation.SYSTEM)[1:]
    train, held = validation.ends(options)
    assert train.lengths.max() == 16
    np.testing.assert_array_equal(train.states[:, :, :16], whole.states[:, :, :16])
    assert np.isnan(held.states[:, :, 1:16]).all()
    np.testing.assert_array_equal(held.states[:, :, 16:], whole.states[:, :, 16:])
    train, held = validation.other_states(options)
    assert train is whole
    assert held.states.shape[1] == validation.OTHERS
    starts = lambda data: set(map(tuple, data.states[:, :, 0].reshape(-1, 2)))
    assert not starts(held) & (starts(whole) | starts(test))


def test_lines():
    setting = {"system": validation.SYSTEM, "method": "leads (ends)", "m": 10, "n": 16, "protocol": "clean"}
    errors = {"steps": 100, "mse_train": 0.0, "std_over_trajectories": 0.0, "mse_validation": 0.5}
    rows = [
        {**setting, **errors, "environment": e, "seed": s, "mse_test": (1 + e) * 1e-3, "mse_minimum": 1e-4,
         "mse_last": (1 + s) * 1e-2, "kept": 100 - 50 * s}
        for s in (0, 1) for e in (0, 1)
    ]  # fmt: skip
    (line,) = validation.table(rows)
    assert (line["mse_test"], line["mse_last"], line["mse_minimum"]) == pytest.approx((1.5e-3, 1.5e-2, 1e-4))
    assert line["mse_last_std_over_seeds"] == pytest.approx(1e-2 / 2**0.5)
    assert (line["kept"], line["mse_validation"], line["paper"]) == ([50, 100], 0.5, 1.16e-3)
    assert validation.sheet(rows).cells[0][:3] == ("clean", "ends", "16")
    assert "50, 100" in validation.sheet(rows).text()


@pytest.mark.parametrize(("name", "points"), [("leads (ends)", 16), ("leads (other states)", 20)])
def test_the_best_model_is_kept(name, points, tmp_path, cheap_data, cheap_nets):
    (run,) = validation.runs(Options("smoke", 2, 60, "clean", methods=(name,)))
    outcome = carry_out([run], tmp_path, lambda *ignored: None)
    outcome.raise_if_failed()
    assert len(outcome.rows) == 2 * 10
    assert {row["n"] for row in outcome.rows} == {points}
    assert {row["kept"] for row in outcome.rows} <= {50, 60}
    for seed in (0, 1):
        of = [row for row in outcome.rows if row["seed"] == seed]
        kept = np.mean([row["mse_test"] for row in of])
        if of[0]["kept"] == 60:
            assert kept == pytest.approx(of[0]["mse_last"], rel=1e-4)
        assert kept >= of[0]["mse_minimum"] * (1 - 1e-4)
