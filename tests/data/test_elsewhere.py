"""Trajectories and forecasts in xarray, pandas and notebooks."""

import xml.etree.ElementTree as etree

import jax.numpy as jnp
import numpy as np
import pytest

from leadax import Forecast, InputError, Trajectories


@pytest.fixture
def data():
    times = [[[0.0, 1.0, 3.0], [0.0, 2.0]], [[0.0, 1.0]]]
    states = [[np.arange(6.0).reshape(3, 2), np.ones((2, 2))], [np.array([[7.0, np.nan], [8.0, 9.0]])]]
    return Trajectories.from_arrays(times, states, environments=["<a>", "b"], channels=["u", "v"])


def test_a_row_per_point(data):
    table = data.to_pandas()
    assert list(table.columns) == ["environment", "trajectory", "time", "u", "v"]
    assert len(table) == 7
    last = table[table.environment == "b"]
    np.testing.assert_array_equal(last.u, [7, 8])
    np.testing.assert_array_equal(last.v, [np.nan, 9])


def test_xarray_has_the_axes_of_files(data):
    found = data.to_xarray()
    np.testing.assert_array_equal(found["state"].to_numpy(), data.states)
    assert list(found["environment"].to_numpy()) == ["<a>", "b"]


def test_a_notebook_shows_a_small_picture(data):
    text = data._repr_html_()
    tree = etree.fromstring(f"<all>{text.replace('<br>', '')}</all>")
    lines = list(tree.iter("polyline"))
    assert len(lines) == 2 * 3, "two channels of three trajectories"
    assert len(text) < 3_000
    assert "&lt;a&gt;" in text, "names are not HTML"
    places = np.array([float(n) for line in lines for pair in line.get("points").split() for n in pair.split(",")])
    assert places.min() >= 0
    assert places.max() <= 190


def test_a_notebook_shows_many_environments_and_fields_in_short():
    many = Trajectories.from_arrays(range(3), np.zeros((50, 1, 3, 1)))._repr_html_()
    assert many.count("<svg") == 6
    assert "and 44 more" in many
    assert "<svg" not in Trajectories.from_arrays(range(3), np.zeros((2, 1, 3, 4, 4, 1)))._repr_html_()


def test_forecasts_have_members_starts_and_names():
    members = jnp.arange(2 * 3 * 4 * 2.0).reshape(2, 3, 4, 2)
    forecast = Forecast(jnp.arange(4.0), members, ("u", "v"))
    array = forecast.to_xarray()
    assert array.dims == ("member", "start", "time", "channel")
    assert float(array.sel(channel="v", time=2.0)[1, 0]) == float(members[1, 0, 2, 1])
    table = forecast.to_pandas()
    assert list(table.columns) == ["member", "start", "time", "u", "v"]
    row = table[(table.member == 1) & (table.start == 2) & (table.time == 3.0)]
    assert float(row.v.iloc[0]) == float(members[1, 2, 3, 1])


def test_a_field_goes_into_xarray_only():
    forecast = Forecast(jnp.arange(2.0), jnp.zeros((1, 2, 5, 6, 1)), ("u",), 2)
    assert forecast.to_xarray().dims == ("member", "time", "y", "x", "channel")
    with pytest.raises(InputError, match="use `to_xarray`"):
        forecast.to_pandas()
