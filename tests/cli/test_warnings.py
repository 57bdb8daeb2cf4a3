"""What commands say of forecasts that are of no use."""

import pytest

from leadax.cli.evaluate import _compared
from leadax.cli.train import USELESS, useless_line


@pytest.mark.parametrize(("nmse", "warned"), [(0.9 * USELESS, False), (1.1 * USELESS, True), (None, True)])
def test_training_data_that_were_not_learnt(nmse, warned):
    assert bool(useless_line({"nmse": nmse})) == warned


def test_a_simple_forecast_that_is_better_is_named():
    simple = {"persistence": 2.0, "mean_curve": 0.3, "linear": None}
    assert "the simple forecast `mean curve` is better than the model" in _compared(simple, 0.4)
    assert "better" not in _compared(simple, 0.2)
    assert "`mean curve`" in _compared(simple, None)
