"""CoDA's benchmark: its lines, and a run of a few steps."""

import pytest

from leadax.experiments.study import Options, carry_out
from leadax.experiments.targets import coda


def test_lines():
    setting = {
        "system": coda.SYSTEM,
        "protocol": "clean",
        "steps": 10,
        "m": 9,
        "n": 80,
        "method": "coda",
        "parameters_specific": 2,
    }
    rows = [
        {**setting, "stage": stage, "seed": seed, "mse_test": error}
        for stage, errors in (("known", (1.0, 3.0)), ("novel", (5.0, 5.0)))
        for seed, error in enumerate(errors)
    ]
    (line,) = coda.table(rows)
    assert (line["mse_known"], line["mse_novel"], line["std_novel"], line["seeds"]) == (2.0, 5.0, 0.0, 2)
    assert line["std_known"] == pytest.approx(2**0.5)
    assert "2.00e+00" in coda.sheet(rows).text()


def test_a_novel_environment_has_two_numbers_of_its_own(tmp_path, cheap_data, cheap_nets):
    """Nine environments with four trajectories are known, four with one are new."""
    run = coda.runs(Options("smoke", 1, 2, "clean"))[1]
    outcome = carry_out([run], tmp_path, lambda *ignored: None)
    outcome.raise_if_failed()
    known, novel = outcome.rows
    assert [known[k] for k in ("stage", "m", "n")] == ["known", 9, 80]
    assert [novel[k] for k in ("stage", "m", "n", "parameters_specific")] == ["novel", 4, 20, 2]
    assert known["config"] != novel["config"]
