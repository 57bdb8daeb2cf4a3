"""Pages and pictures: every kind of data can be drawn, and what was drawn is what was given."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import leadax as lx
from leadax.report import Page, data_figures, data_page
from leadax.report.style import field_scale

RNG = np.random.default_rng(0)


def regular(*space: int, environments: int = 2, channels: int = 2) -> lx.Trajectories:
    return lx.Trajectories.from_arrays(np.arange(7.0), RNG.normal(size=(environments, 3, 7, *space, channels)))


def ragged() -> lx.Trajectories:
    times = [[np.arange(3.0), np.sort(RNG.uniform(size=5))], [np.arange(4.0)]]
    states = [[RNG.normal(size=(len(t), 1)) for t in row] for row in times]
    states[0][1][2] = np.nan
    return lx.Trajectories.from_arrays(times, states)


@pytest.mark.parametrize(
    ("data", "figures"),
    [
        (regular(), 1),
        (regular(channels=1), 1),
        (regular(channels=9), 1),
        (regular(environments=30), 1),
        (regular(16), 2),
        (regular(8, 6), 2),
        (regular(8, 6, channels=1, environments=1), 1),
        (ragged(), 1),
    ],
    ids=repr,
)
def test_every_kind_of_data_can_be_drawn(data, figures):
    page = data_page(data, "title & more")
    text = page.html()
    assert text.count("<svg") == figures
    assert "title &amp; more" in text
    for svg in text.split("<figure>")[1:]:
        ElementTree.fromstring(svg.split("<figcaption>")[0])


def test_lines_show_the_data():
    data = regular()
    (figure,) = data_figures(data).values()
    line = figure.axes[0].lines[0]
    np.testing.assert_array_equal(line.get_xdata(), data.times[0, 0])
    np.testing.assert_array_equal(line.get_ydata(), data.states[0, 0, :, 0])


def test_snapshots_show_the_data_on_one_scale():
    data = regular(5, 4, channels=1)
    (figure,) = data_figures(data).values()
    images = [axis.images[0] for axis in figure.axes if axis.images]
    np.testing.assert_array_equal(images[0].get_array(), data.states[0, 0, 0, ..., 0])
    assert len({image.get_clim() for image in images}) == 1


def test_scale_of_a_field_with_both_signs_is_centred():
    assert field_scale(np.array([-1.0, 3.0])) == {"cmap": "RdBu_r", "vmin": -3.0, "vmax": 3.0}
    assert field_scale(np.array([1.0, 3.0]))["vmin"] == 1.0


def test_ids_of_figures_do_not_clash():
    page = Page("two")
    (figure,) = data_figures(regular()).values()
    page.figure(figure, "one")
    page.figure(figure, "two")
    import re

    ids = re.findall(r'\bid="([^"]+)"', page.html())
    assert len(ids) == len(set(ids))
