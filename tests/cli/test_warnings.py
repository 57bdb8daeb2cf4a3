"""What commands say of forecasts that are of no use."""

import time

import pytest

from leadax.cli import console
from leadax.cli.evaluate import _compared
from leadax.cli.reading import warn_of_names
from leadax.cli.train import USELESS, useless_line


@pytest.mark.parametrize(("nmse", "warned"), [(0.9 * USELESS, False), (1.1 * USELESS, True), (None, True)])
def test_training_data_that_were_not_learnt(nmse, warned):
    assert bool(useless_line({"nmse": nmse})) == warned


def test_a_simple_forecast_that_is_better_is_named():
    simple = {"persistence": 2.0, "mean_curve": 0.3, "linear": None}
    assert "the simple forecast `mean curve` is better than the model" in _compared(simple, 0.4)
    assert "better" not in _compared(simple, 0.2)
    assert "`mean curve`" in _compared(simple, None)


@pytest.mark.parametrize(
    ("given", "warned"),
    [(("u", "v"), True), (("prey", "predator"), False), (("u", "prey"), False), (("x0", "x1"), False), (("u",), False)],
)
def test_channels_of_quite_other_names_are_taken_for_the_same(given, warned, capsys):
    warn_of_names(given, ("prey", "predator"))
    said = capsys.readouterr().err
    assert (said == "warning: the channels are u, v here, and prey, predator in training: they are taken for the same, "
            "in this order\n") == warned  # fmt: skip
    assert bool(said) == warned


def test_a_comparison_needs_a_folder_of_its_own(place, refused):
    assert "the run of one method: give `--out` a folder of its own" in refused("compare", "train.csv", "--out", "run")


@pytest.mark.parametrize(("quiet", "said"), [(0.01, ["leads: looking at the data"]), (60.0, [])])
def test_what_takes_long_says_so_where_there_is_no_bar(quiet, said, monkeypatch, capsys):
    monkeypatch.setattr(console, "QUIET", quiet)
    with console.progress_bar("leads", before="looking at the data") as progress:
        time.sleep(0.2)
        progress(1, 2)
    assert capsys.readouterr().err.splitlines() == [*said, "leads: 1 of 2"]
