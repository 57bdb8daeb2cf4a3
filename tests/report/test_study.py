"""Pictures of the paper's experiments: the lines are the numbers given, and what went wrong does not hide the rest."""

import numpy as np
import pytest

from leadax.report.forecasts import Forecasts
from leadax.report.sequences import GAP, error_sequences, state_sequences
from leadax.report.study import errors_of_sizes, learning_curves
from leadax.report.style import rendered
from leadax.report.theory import error_and_bound, samples_and_bound

RNG = np.random.default_rng(0)


def lines(axis) -> dict[str, list]:
    return {line.get_label(): np.asarray(line.get_ydata()).tolist() for line in axis.lines}


def test_learning_curves_are_medians_and_ranges():
    curves = {
        ("system", "clean", "leads"): {20: [1.0, 3.0, 2.0], 10: [4.0, np.nan, 6.0], 30: [1e9, 2e9, 3e9]},
        ("system", "clean", "f"): {0: [7.0, 9.0]},
        ("system", "clean", "lost"): {10: [np.inf]},
        ("other", "clean", "leads"): {10: [1.0]},
    }
    figure = learning_curves(curves, {"leads": "LEADS", "f": "f alone", "lost": "lost"})
    axis = figure.axes[0]
    assert lines(axis) == {"LEADS": [5.0, 2.0, 2e9], "f alone": [8.0, 8.0]}
    band = axis.collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == (1.0, 3e9)
    assert axis.get_ylim()[0] == 1.0  # half of the smallest median
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["LEADS", "f alone"]
    assert [axis.get_title() for axis in figure.axes] == ["system, clean", "other, clean"]


def test_errors_over_environments_start_where_methods_are_the_same():
    row = lambda method, m, error, steps=10: {
        "method": method, "m": m, "n": 8, "steps": steps, "error": error, "spread": None
    }  # fmt: skip
    rows = [row("one-per-env", 1, 9.0), row("leads", 2, 5.0, steps=5), row("leads", 4, 3.0)]
    axis = errors_of_sizes(rows, {"one-per-env": "One-Per-Env", "leads": "LEADS"}).axes[0]
    assert lines(axis)["One-Per-Env"] == [9.0, 9.0]
    assert [bars.lines[0].get_ydata().tolist() for bars in axis.containers] == [[9.0, 5.0, 3.0]]
    assert axis.get_title() == "n = 8"
    hollow = [line for line in axis.lines if line.get_markerfacecolor() == "white"]
    assert [line.get_ydata().tolist() for line in hollow] == [[5.0]], "after fewer steps than the others"


def test_error_and_bound_are_side_by_side():
    row = lambda method, m, error: {
        "method": method, "m": m, "n": 8, "mse_test": error, "mse_std_over_seeds": 0.1, "bound": 100 * error
    }  # fmt: skip
    rows = [row("leads-no-min", 1, 9.0), row("leads-no-min", 2, 5.0), row("leads", 2, 3.0)]
    left, right = error_and_bound(rows).axes
    assert lines(left)["n = 8, with penalty"] == [9.0, 3.0]
    assert lines(right)["n = 8, without penalty"] == [900.0, 500.0]
    assert len(left.texts) == 1  # an arrow at m = 2


@pytest.mark.parametrize(("n", "bound"), [([10**400, 30, 20], [None, 2.0, 1.0]), ([3, 2, 1], [None] * 3)])
def test_sample_sizes_of_any_size(n, bound):
    figure = samples_and_bound([1, 2, 4], n, bound)
    assert len(figure.axes[0].lines[0].get_ydata()) == 3
    assert rendered(figure, "svg")


def test_sequences_show_states_and_errors():
    truth = RNG.normal(size=(3, 4, 5, 1))
    forecasts = [Forecasts(name, np.arange(3.0), truth, {"LEADS": truth + 1.0}) for name in ("a", "b")]
    states, errors = state_sequences(forecasts, 0, "u"), error_sequences(forecasts, 0, "u", largest=2.0)
    predicted, expected = (axis.images[0].get_array() for axis in states.axes[:2])
    # The last row of pictures is the second environment; y points upwards.
    np.testing.assert_array_equal(expected[-4:, :5], truth[0, ::-1, :, 0])
    np.testing.assert_array_equal(predicted[:4, -5:], truth[-1, ::-1, :, 0] + 1.0)
    assert expected.shape == (2 * 4 + GAP, 3 * 5 + 2 * GAP)
    image = errors.axes[0].images[0]
    np.testing.assert_allclose(np.asarray(image.get_array())[:4, :5], 1.0)
    assert image.get_clim() == (0.0, 2.0)
