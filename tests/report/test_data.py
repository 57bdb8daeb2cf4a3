"""Pages about data: every kind can be drawn, what is drawn is what was given, and nothing in a file can break it."""

import errno
import re
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest

import leadax as lx
from leadax.data.dates import ATTRIBUTE, UNIT
from leadax.report import Page, data_figures, data_page
from leadax.report.lines import lines
from leadax.report.page import MOST_ROWS
from leadax.report.style import field_scale, label, rendered, save_figure, short

RNG = np.random.default_rng(0)


def regular(*space: int, environments: int = 2, channels: int = 2) -> lx.Trajectories:
    return lx.Trajectories.from_arrays(np.arange(7.0), RNG.normal(size=(environments, 3, 7, *space, channels)))


def ragged() -> lx.Trajectories:
    """Unequal numbers and lengths, a missing value, and a channel that is never seen in the second environment."""
    times = [[np.arange(3.0), np.sort(RNG.uniform(size=5))], [np.arange(4.0)]]
    states = [[RNG.normal(size=(len(t), 2)) for t in row] for row in times]
    states[0][1][2] = states[1][0][:, 1] = np.nan
    return lx.Trajectories.from_arrays(times, states)


@pytest.mark.parametrize(
    ("data", "figures"),
    [
        (regular(channels=1, environments=3), 1),
        (regular(channels=9), 2),
        (regular(16), 2),
        (regular(8, 6, channels=1), 1),
        (regular(2, 3, 4), 0),
        (ragged(), 1),
    ],
    ids=repr,
)
def test_every_kind_of_data_can_be_drawn(data, figures, monkeypatch):
    monkeypatch.setattr("leadax.report.data.MAX_ROWS", 2)
    text = data_page(data, "title & more").html()
    assert text.count("<svg") == figures
    assert "title &amp; more" in text
    assert ("The first 8 of 9 channels." in text) == (len(data.channels) == 9)
    assert ("the first 2 of 3 environments" in text) == (len(data.environments) == 3)
    assert ("No pictures: fields on a grid of 3 dimensions" in text) == (figures == 0)
    for svg in text.split("<figure>")[1:]:
        ElementTree.fromstring(svg.split("<figcaption>")[0])


def test_lines_show_the_data():
    data = regular()
    (figure,) = data_figures(data).values()
    line = figure.axes[0].lines[0]
    np.testing.assert_array_equal(line.get_xdata(), data.times[0, 0])
    np.testing.assert_array_equal(line.get_ydata(), data.states[0, 0, :, 0])


def test_every_channel_of_the_data_has_an_axis_of_its_own():
    data = regular(channels=6)
    first, second = data_figures(data).values()
    assert [axis.get_ylabel() for axis in first.axes[:5]] == ["x0", "x1", "x2", "x3", "x1"]  # the last is the plane
    assert [axis.get_ylabel() for axis in second.axes[:2]] == ["x4", "x5"]
    np.testing.assert_array_equal(second.axes[3].lines[1].get_ydata(), data.states[1, 1, :, 5])


def test_inputs_are_drawn_as_they_act():
    """Steps, straight lines, and a stroke for each amount; nothing where nothing was given."""
    nan = np.nan
    inputs = np.array([[[[5, 1, nan], [nan, nan, 4], [6, 3, nan]], [[nan, nan, nan]] * 3]])
    kinds = ["held", "linear", "impulse:x0"]
    data = lx.Trajectories.from_arrays(range(3), np.ones((1, 2, 3, 1)), inputs=inputs, input_kinds=kinds)
    _, figure = data_figures(data).values()
    held, linear, impulse = figure.axes
    assert held.lines[0].get_drawstyle() == "steps-post"
    np.testing.assert_array_equal(held.lines[0].get_ydata(), [5, 5, 6])
    np.testing.assert_array_equal(linear.lines[0].get_ydata(), [1, 2, 3])
    np.testing.assert_array_equal(impulse.collections[0].get_segments(), [[[1, 0], [1, 4]]])
    assert [axis.get_ylabel() for axis in figure.axes] == ["u0", "u1", "u2"]
    assert data_page(data, "driven").html().count("<svg") == 2


@pytest.mark.parametrize("space", [(6,), (5, 4)])
def test_inputs_of_fields(space):
    """Numbers are drawn under the fields; input fields are not."""
    states = regular(*space, channels=1).states
    numbers = lx.Trajectories.from_arrays(np.arange(7.0), states, inputs=np.ones((2, 3, 7, 5)))
    assert (
        list(data_figures(numbers))[1] == "Inputs: u0, u1, u2, u3 (the first 4 of 5 inputs) over time: each environment"
    )
    assert len(data_figures(lx.Trajectories.from_arrays(np.arange(7.0), states, inputs=states))) == 1


def test_snapshots_show_the_data_on_one_scale():
    data = regular(5, 4, channels=1)
    (figure,) = data_figures(data).values()
    images = [axis.images[0] for axis in figure.axes if axis.images]
    np.testing.assert_array_equal(images[0].get_array(), data.states[0, 0, 0, ..., 0])
    assert len({image.get_clim() for image in images}) == 1


def test_scale_of_a_field_with_both_signs_is_centred():
    assert field_scale(np.array([-1.0, np.nan, 3.0])) == {"cmap": "RdBu_r", "vmin": -3.0, "vmax": 3.0}
    assert field_scale(np.array([1.0, 3.0]))["vmin"] == 1.0
    assert field_scale(np.array([np.nan]))["vmax"] == 1.0


@pytest.mark.parametrize("space", [(), (4,), (3, 4)], ids=["vector", "line", "plane"])
def test_enormous_numbers_are_clipped(space):
    times, states = np.array([-1e308, 0.0, 1e200, 1e308]), RNG.normal(size=(1, 1, 4, *space, 2))
    states[0, 0, 0], states[0, 0, 3] = -1e308, 1e308
    text = data_page(lx.Trajectories.from_arrays(times, states), "title").html()
    assert "<svg" in text
    assert "Numbers beyond ±1e+100 are drawn at that limit." in text


def test_long_and_odd_names_are_cut():
    names = ["n" * 100_000 + end for end in "ab"]
    data = lx.Trajectories.from_arrays(
        np.arange(4.0),
        RNG.normal(size=(2, 1, 4, 2)),
        environments=names,
        channels=["\x00\n" + names[0], "costs $1 and $2 湖"],
        parameters={names[0]: [1, 2]},
        attributes={"about": names[1]},
    )
    begin = time.process_time()
    text = data_page(data, names[0]).html()
    # 45 s when all of a name was laid out.
    assert time.process_time() - begin < 10
    assert "n" * 400 not in text
    assert short(names[0]) in text
    assert short(names[1]) in text
    assert "\x00" not in text
    for svg in text.split("<figure>")[1:]:
        ElementTree.fromstring(svg.split("<figcaption>")[0])


def test_names_keep_their_ends():
    assert short("a" * 200 + "b") != short("a" * 200 + "c")
    assert len(short("a" * 200)) == 80
    assert label("price in $", 20) == r"price in \$"


def test_long_tables_are_cut():
    page = Page("title")
    page.table(["a"], [["x"]] * (MOST_ROWS + 1))
    assert page.html().count("<td>x</td>") == MOST_ROWS
    assert f"The first {MOST_ROWS} of {MOST_ROWS + 1} rows." in page.html()
    assert f"<summary>{MOST_ROWS + 1} rows</summary>" in page.html()


def test_muted_rows():
    page = Page("title")
    page.table(["a"], [["x"], ["y"]], muted=[1])
    assert '<tr><td>x</td></tr><tr class="muted"><td>y</td></tr>' in page.html()
    assert "<summary>" not in page.html()


def test_ids_of_figures_do_not_clash():
    page = Page("two")
    (figure,) = data_figures(regular(channels=1)).values()
    page.figure(figure, "one")
    page.figure(figure, "two")
    ids = re.findall(r'\bid="([^"]+)"', page.html())
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_a_picture_is_the_same_every_time(tmp_path, kind):
    (figure,) = data_figures(regular(channels=1)).values()
    save_figure(figure, tmp_path / "picture", kind)
    assert (tmp_path / "picture").read_bytes() == rendered(figure, kind)


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    (figure,) = data_figures(regular(channels=1)).values()
    (tmp_path / "a.pdf").write_text("before")

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    monkeypatch.setattr(Path, "write_text", full)
    for write in (lambda path: save_figure(figure, path, "pdf"), Page("title").write):
        with pytest.raises(lx.RunError, match="could not be written: No space left on device") as error:
            write(tmp_path / "a.pdf")
        assert "\n" not in str(error.value)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["before"]


def test_a_picture_that_matplotlib_cannot_draw_is_one_line():
    (figure,) = data_figures(regular(channels=1)).values()
    figure.set_size_inches(1e6, 1e6)
    with pytest.raises(lx.RunError, match="this picture cannot be drawn: ") as error:
        rendered(figure, "png")
    assert "\n" not in str(error.value)


def test_trajectories_that_are_far_apart_are_drawn_from_their_starts():
    """Otherwise each would be a tick on an axis of months."""
    hours = np.linspace(0, 0.5, 7)
    dates = {"attributes": {ATTRIBUTE: UNIT}}
    for begin, dated, what in ((100.0, {}, "time since"), (100.0, dates, "days since"), (0.2, {}, "time")):
        times = np.stack([hours, begin + hours])[None]
        data = lx.Trajectories.from_arrays(times, RNG.normal(size=(1, 2, 7, 1)), **dated)
        _, figure = lines(data, range(1), 4)
        axis = figure.axes[0]
        assert axis.get_xlabel() == (f"{what} the start" if begin > 1 else "time")
        assert axis.get_xlim()[1] < 1
