"""Pages about fitted models: they show the data and the forecasts given, for every kind of state, and name the best."""

import dataclasses
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import leadax as lx
from leadax.methods import FtRnn
from leadax.report import model_figures, model_page
from leadax.report.curves import error_at_times
from leadax.report.style import COLOURS

RNG = np.random.default_rng(0)


def untrained(method: Callable[..., lx.Method], data: lx.Trajectories, seeds: int = 1, looks: int = 0) -> lx.Model:
    # One layer each, weights from NumPy, and no step divided: what takes time here is to compile.
    built = method(net=partial(lx.ConvNet, depth=1) if data.space else lx.Linear, solver="euler")
    init = lambda key: built.init(data.state_shape, len(data.environments), key=key)
    numbers = lambda k: [float(k + s) for s in range(seeds)]
    remembered = [{"step": k, "loss": numbers(k), "test": numbers(2 * k), "seconds": 7.0} for k in range(1, looks + 1)]
    about = {"steps": 1234, "looks": remembered} if looks else {}
    shapes = jax.eval_shape(jax.vmap(init), jr.split(jr.key(0), seeds))
    parts = jax.tree.map(lambda a: jnp.asarray(RNG.normal(scale=0.3, size=a.shape)), shapes)
    return lx.Model(built, parts, data.environments, data.channels, data.state_shape, 10.0, about)


def evaluation_of(error: float, data: lx.Trajectories) -> lx.Evaluation:
    sums = np.full((2, *data.times.shape), error)
    return lx.Evaluation(sums, np.ones(data.times.shape), data.environments, "paper")


def drawn(models: dict[str, lx.Model], data: lx.Trajectories, words: str):
    """The first figure whose caption starts with these words."""
    figures = model_figures(models, data, dict.fromkeys(models, evaluation_of(1.0, data)))
    return next(figure for caption, figure in figures.items() if caption.startswith(words))


def regular(*space: int, environments: int = 2, channels: int = 2) -> lx.Trajectories:
    return lx.Trajectories.from_arrays(np.arange(4.0), RNG.normal(size=(environments, 2, 4, *space, channels)))


def irregular(channels: int) -> lx.Trajectories:
    """Times of their own, unequal numbers and lengths, missing values, and no complete first point."""
    times = [[np.sort(RNG.uniform(0, 4, size=n)) for n in lengths] for lengths in ((5, 6), (5,))]
    states = [[RNG.normal(size=(len(t), channels)) for t in row] for row in times]
    states[0][0][0, 0] = states[1][0][2, -1] = np.nan
    return lx.Trajectories.from_arrays(times, states, environments=["costs $1", "a long name, of an environment"])


def lines(axis, label: str):
    return next(line for line in axis.lines if line.get_label() == label)


@pytest.mark.parametrize(
    ("data", "methods", "figures"),
    [
        (regular(), 2, 4),
        (regular(channels=1), 2, 3),
        (regular(channels=3), 1, 3),
        (regular(environments=14, channels=1), 1, 3),
        (regular(5), 1, 4),
        (regular(5, 4, channels=1), 2, 3),
        (regular(5, 4, channels=1, environments=1), 4, 3),
        (irregular(1), 1, 3),
        (irregular(2), 1, 4),
    ],
    ids=lambda value: repr(value),
)
def test_every_kind_of_state_can_be_drawn(data, methods, figures):
    models = dict.fromkeys([f"method & {k}" for k in range(methods)], untrained(lx.Leads, data, looks=2))
    evaluations = dict.fromkeys(models, evaluation_of(1.0, data))
    text = model_page(models, evaluations, data, "title").html()
    assert text.count("<svg") == figures
    assert "method &amp; 0" in text
    for svg in text.split("<figure>")[1:]:
        ElementTree.fromstring(svg.split("<figcaption>")[0])


@pytest.mark.parametrize("data", [regular(), irregular(2)], ids=repr)
def test_portraits_show_truth_and_forecasts(data):
    models = {"One-For-All": untrained(lx.OneForAll, data), "LEADS": untrained(lx.Leads, data, seeds=2)}
    figure = drawn(models, data, "Truth and forecasts")
    for e, name in enumerate(data.environments):
        seen = np.asarray(data.observed[e, 0].all(axis=-1))
        truth = data.states[e, 0, seen]
        np.testing.assert_array_equal(lines(figure.axes[e], "truth").get_xydata(), truth)
        np.testing.assert_array_equal(lines(figure.axes[e], "start").get_xydata(), truth[:1])
        times = data.times[e, 0, np.argmax(seen) : data.lengths[e, 0]]
        for k, (method, model) in enumerate(models.items()):
            line = lines(figure.axes[e], method)
            np.testing.assert_array_equal(line.get_xydata(), model.predict(truth[0], times, environment=name))
            assert line.get_color() == COLOURS[k]


def test_one_channel_is_shown_over_time():
    data = irregular(1)
    model = untrained(lx.Leads, data)
    axis = drawn({"LEADS": model}, data, "Truth and forecasts").axes[1]
    times, states = data.times[1, 0, :5], data.states[1, 0, :5]
    seen = ~np.isnan(states[:, 0])
    np.testing.assert_array_equal(lines(axis, "truth").get_xydata(), np.stack([times, states[:, 0]], axis=1)[seen])
    forecast = model.predict(states[0], times, environment=data.environments[1])
    np.testing.assert_array_equal(lines(axis, "LEADS").get_ydata(), forecast[:, 0])


@pytest.mark.parametrize("data", [regular(), regular(5, 4, channels=1)], ids=repr)
def test_a_forecast_that_diverges_does_not_hide_the_others(data):
    model = untrained(lx.Leads, data)
    wild = dataclasses.replace(model, parts=jax.tree.map(lambda a: 1e200 * a, model.parts))
    figure = drawn({"LEADS": model, "wild": wild}, data, "Channel" if data.space else "Truth")
    shown = [axis.images[0].get_clim() for axis in figure.axes if axis.images] or [figure.axes[0].get_ylim()]
    assert np.ptp(shown, axis=-1).max() <= 3 * np.ptp(data.states)


def test_fields_show_truth_forecast_and_error_on_one_scale():
    data = regular(5, 4, channels=1)
    model = untrained(lx.Leads, data)
    axes = drawn({"LEADS": model}, data, "Channel").axes
    images = [axis.images[0] for axis in axes if axis.images]
    truth = data.states[1, 0]
    forecast = model.predict(truth[0], data.times[1, 0], environment="e1")
    for image, expected in zip(images[3:6], (truth[-1], forecast[-1], abs(forecast - truth)[-1]), strict=True):
        np.testing.assert_array_equal(image.get_array(), expected[..., 0])
    assert len({image.get_clim() for image in images}) == 2


def test_fields_on_a_line_are_shown_over_time():
    data = regular(5, channels=1)
    axes = drawn({"LEADS": untrained(lx.Leads, data)}, data, "Channel").axes
    np.testing.assert_array_equal(axes[0].collections[0].get_array(), data.states[0, 0, ..., 0].T)


def test_vector_fields_are_f_and_g():
    data = regular(environments=7)
    models = {"One-For-All": untrained(lx.OneForAll, data), "LEADS": untrained(lx.Leads, data)}
    figure = drawn(models, data, "What LEADS learnt")
    arrows = [axis.collections[0] for axis in figure.axes if axis.get_title()]
    assert len(arrows) == 6
    assert len({a.get_clim() for a in arrows}) == 1
    for a, field in zip(arrows, (models["LEADS"].shared, models["LEADS"].specific("e0")), strict=False):
        expected = np.linalg.norm(jax.vmap(field)(a.get_offsets()), axis=-1)
        np.testing.assert_allclose(a.get_array(), expected, rtol=1e-6)


def test_a_method_without_a_specific_half_is_shown_as_f_alone():
    data = regular()
    figure = drawn({"One-For-All": untrained(lx.OneForAll, data)}, data, "What One-For-All learnt")
    assert len([axis for axis in figure.axes if axis.get_title()]) == 1


def test_learning_curves_show_the_looks():
    data = regular(channels=1)
    models = {"LEADS": untrained(lx.Leads, data, seeds=2, looks=3), "adapted": untrained(lx.Leads, data)}
    axis = drawn(models, data, "Test error").axes[0]
    np.testing.assert_array_equal(lines(axis, "LEADS").get_xydata(), [[1, 2.5], [2, 4.5], [3, 6.5]])
    (loss,) = [line for line in axis.lines if line is not lines(axis, "LEADS")]
    np.testing.assert_array_equal(loss.get_ydata(), [1.5, 2.5, 3.5])
    assert loss.get_linewidth() < lines(axis, "LEADS").get_linewidth()
    band = axis.collections[-1].get_paths()[0].vertices
    assert band[:, 1].min() == 2
    assert band[:, 1].max() == 7


def test_without_memory_of_training_there_are_no_learning_curves():
    data = regular(channels=1)
    with pytest.raises(StopIteration):
        drawn({"LEADS": untrained(lx.Leads, data)}, data, "Test error")


def test_error_over_time_is_that_of_the_evaluation():
    data = regular(channels=1)
    model = untrained(lx.Leads, data, seeds=2)
    evaluation = lx.evaluate(model, data)
    given, made = (model_figures({"LEADS": model}, data, e) for e in ({"LEADS": evaluation}, None))
    caption = next(c for c in given if c.startswith("Mean squared error"))
    line, again = (lines(figures[caption].axes[0], "LEADS") for figures in (given, made))
    np.testing.assert_array_equal(again.get_xydata(), line.get_xydata())
    np.testing.assert_allclose(line.get_xdata(), [1, 2, 3])
    np.testing.assert_allclose(line.get_ydata(), evaluation.mse_per_time[1:])


def test_errors_at_irregular_times_are_averaged_over_intervals():
    elapsed = np.concatenate([np.zeros((1, 9, 1)), np.sort(RNG.uniform(0, 1, size=(1, 9, 4)))], axis=-1)
    evaluation = lx.Evaluation(3 * np.ones((1, 1, 9, 5)), np.ones((1, 9, 5)), ("e0",), "paper")
    times, errors = error_at_times(evaluation, elapsed)
    np.testing.assert_allclose(times, (np.arange(4) + 0.5) / 4 * elapsed.max())
    np.testing.assert_allclose(errors, 3)


def test_the_best_method_is_bold():
    data = regular(channels=1)
    models = {name: untrained(lx.Leads, data, looks=1) for name in ("worse", "best", "diverged")}
    evaluations = {
        "diverged": evaluation_of(np.nan, data),
        "best": evaluation_of(0.01, data),
        "worse": evaluation_of(0.2, data),
    }
    text, again = (model_page(models, evaluations, data, "title").html() for _ in range(2))
    assert text == again
    assert re.findall(r"<strong>(.*?)</strong>", text) == ["best", "1.00e-02", "1.00e-02", "1.00e-02"]
    assert "<td>worse</td><td>2.00e-01</td><td>0.00e+00</td><td>0.00e+00</td>" in text
    assert "<td>1,234</td><td>7</td>" in text
    assert "<td>diverged</td><td>–</td>" in text


def test_models_and_evaluations_must_have_the_same_names():
    data = regular(channels=1)
    with pytest.raises(lx.InputError, match="same names"):
        model_page({"LEADS": untrained(lx.Leads, data)}, {"Leads": evaluation_of(1.0, data)}, data, "title")


@pytest.mark.parametrize("data", [regular(), regular(5, 4, channels=1), regular(5, channels=1)], ids=repr)
def test_a_model_that_only_diverged_can_be_drawn(data):
    model = untrained(lx.Leads, data, looks=1)
    broken = dataclasses.replace(model, parts=jax.tree.map(lambda a: np.nan * a, model.parts))
    text = model_page({"broken": broken}, {"broken": evaluation_of(np.nan, data)}, data, "title").html()
    assert "<strong>" not in text
    assert text.count("<svg") >= 3


def test_the_decomposition_is_of_a_method_that_has_one():
    """LEADS if it is there, else the best of those with a field; none for a recurrent net alone."""
    data = regular()
    fields, recurrent = untrained(lx.OneForAll, data), untrained(partial(FtRnn, width=2, rank=1), data)
    models = {"rnn": recurrent, "worse": fields, "better": fields, "lost": fields, "LEADS": untrained(lx.Leads, data)}
    errors = {"rnn": 1.0, "worse": 3.0, "better": 2.0, "lost": np.nan, "LEADS": 4.0}
    for names, shown in (
        (["rnn"], []),
        (["rnn", "lost", "worse", "better"], ["better"]),
        (["better", "rnn", "LEADS"], ["LEADS"]),
    ):
        evaluations = {name: evaluation_of(errors[name], data) for name in names}
        captions = model_figures({name: models[name] for name in names}, data, evaluations)
        assert [caption.split()[1] for caption in captions if caption.startswith("What ")] == shown
