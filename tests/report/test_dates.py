"""Times that are dates are drawn as dates."""

import numpy as np
import pytest
from matplotlib.dates import ConciseDateFormatter

import leadax as lx
from leadax.data.dates import ATTRIBUTE, UNIT
from leadax.report.data import data_figures, data_page


@pytest.mark.parametrize(("first", "dated"), [(18_322.0, True), (1e7, False)])  # 2020-03-01; beyond the calendar
def test_a_time_axis_of_dates(first, dated):
    times = first + np.arange(30.0)
    states = np.sin(times)[None, None, :, None]
    data = lx.Trajectories.from_arrays(times, states, attributes={ATTRIBUTE: UNIT})
    (figure,) = data_figures(data).values()
    axis = figure.axes[0]
    assert isinstance(axis.xaxis.get_major_formatter(), ConciseDateFormatter) == dated
    assert ("2020-03-01 to 2020-03-30" in data_page(data, "days").html()) == dated
