"""Pages about fitted models: they show the data and the forecasts given, for every kind of state, and name the best."""

import dataclasses
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import leadax as lx
from leadax.data.units import Box
from leadax.methods import FtRnn
from leadax.records import Config, Look, Training
from leadax.report import Bold, model_figures, model_page
from leadax.report.curves import error_at_times, error_over_time, learning_curves
from leadax.report.decomposition import vector_fields
from leadax.report.fields import field_comparison
from leadax.report.forecasts import forecast_first
from leadax.report.portraits import portraits
from leadax.report.style import COLOURS
from leadax.report.tables import environment_table, learning_table, method_table

RNG = np.random.default_rng(0)
RECURRENT = partial(FtRnn, width=2, rank=1)


def config() -> Config:
    """What was asked of a run, of which nothing is shown: all empty."""
    empty = object.__new__(Config)
    for field in dataclasses.fields(Config):
        object.__setattr__(empty, field.name, None)
    return empty


def training(members: int, looks: int) -> Training:
    numbers = lambda k: tuple(float(k + s) for s in range(members))
    seen = [
        Look(k, loss=numbers(k), error=numbers(k), penalty=numbers(0), test=numbers(2 * k), seconds=7.0)
        for k in range(1, looks + 1)
    ]
    return Training(config(), 1234, tuple(seen))


def untrained(method: Callable[..., lx.Method], data: lx.Trajectories, members: int = 1, looks: int = 0) -> lx.Model:
    # One layer each, weights from NumPy, and no step divided: what takes time here is to compile.
    net = partial(lx.ConvNet, depth=1) if data.space else lx.Linear
    built = method() if method is RECURRENT else method(net=net, solver="euler")
    init = lambda key: built.init(lx.Sizes(data.state_shape, len(data.environments)), key=key)
    shapes = jax.eval_shape(jax.vmap(init), jr.split(jr.key(0), members))
    levels = lx.Levels(*jax.tree.map(lambda a: jnp.asarray(RNG.normal(scale=0.3, size=a.shape)), shapes))
    units = lx.Units((0.5,) * len(data.channels), (2.0,) * len(data.channels), time=0.5)
    known = training(members, looks) if looks else None
    return lx.Model(levels, built, units, data.environments, data.channels, data.state_shape, 100.0, training=known)


def scaled(model: lx.Model, factor: float) -> lx.Model:
    return dataclasses.replace(model, levels=jax.tree.map(lambda a: factor * a, model.levels))


def evaluation_of(error: float, data: lx.Trajectories) -> lx.Evaluation:
    shape, ones = (*data.times.shape, len(data.channels)), np.ones(len(data.channels))
    return lx.Evaluation(
        channel_sums=np.full((2, *shape), error),
        channel_counts=np.ones(shape),
        environments=data.environments,
        protocol="paper",
        channels=data.channels,
        variances=ones,
        scales=ones,
    )


def compared(models: dict[str, lx.Model], data: lx.Trajectories):
    """The picture of truth and forecasts."""
    forecasts = forecast_first(models, data, 12)
    return field_comparison(forecasts, 0, "x0") if data.space else portraits(forecasts, data.channels)


def regular(*space: int, environments: int = 2, channels: int = 2) -> lx.Trajectories:
    return lx.Trajectories.from_arrays(np.arange(4.0), RNG.normal(size=(environments, 2, 4, *space, channels)))


def irregular(channels: int) -> lx.Trajectories:
    """Times of their own, unequal numbers and lengths, missing values, and no complete first point."""
    times = [[np.sort(RNG.uniform(0, 4, size=n)) for n in lengths] for lengths in ((5, 6), (5,))]
    states = [[RNG.normal(size=(len(t), channels)) for t in row] for row in times]
    states[0][0][0, 0] = states[1][0][2, -1] = np.nan
    return lx.Trajectories.from_arrays(times, states, environments=["costs $1", "a long name, of an environment"])


VECTORS, LINE, PLANE, IRREGULAR = regular(), regular(5, channels=1), regular(5, 4, channels=1), irregular(2)


def line(axis, label: str):
    return next(line for line in axis.lines if line.get_label() == label)


@pytest.mark.parametrize(
    ("data", "methods", "figures"),
    [
        (regular(environments=3, channels=1), 1, 3),
        (LINE, 1, 3),
        (PLANE, 2, 3),
        (regular(2, 2, 2, channels=1), 1, 2),
        (IRREGULAR, 2, 4),
    ],
    ids=repr,
)
def test_every_kind_of_state_can_be_drawn(data, methods, figures, monkeypatch):
    monkeypatch.setattr("leadax.report.models.MAX_ENVIRONMENTS", 2)
    monkeypatch.setattr("leadax.report.fields.MAX_BESIDE", 1)
    # No net of ours is for fields in space, which are not drawn.
    model = untrained(lx.Leads, VECTORS if len(data.space) == 3 else data, looks=2)
    models = dict.fromkeys([f"method & {k}" for k in range(methods)], model)
    evaluations = dict.fromkeys(models, evaluation_of(1.0, data))
    text = model_page(models, evaluations, data, "title").html()
    assert text.count("<svg") == figures
    assert "method &amp; 0" in text
    assert ("these are the first of 3." in text) == (len(data.environments) == 3)
    for svg in text.split("<figure>")[1:]:
        ElementTree.fromstring(svg.split("<figcaption>")[0])


def test_portraits_show_truth_and_forecasts():
    data = IRREGULAR
    models = {"One-For-All": untrained(lx.OneForAll, data), "LEADS": untrained(lx.Leads, data, members=2)}
    # Forecasts are drawn as they are made: kept in the box, in steps no longer than those of training.
    models["LEADS"] = dataclasses.replace(models["LEADS"], box=Box((-0.1,) * 2, (0.1,) * 2), longest_step=0.3)
    figure = compared(models, data)
    for e, name in enumerate(data.environments):
        seen = np.asarray(data.observed[e, 0].all(axis=-1))
        truth = data.states[e, 0, seen]
        np.testing.assert_array_equal(line(figure.axes[e], "truth").get_xydata(), truth)
        np.testing.assert_array_equal(line(figure.axes[e], "start").get_xydata(), truth[:1])
        times = data.times[e, 0, np.argmax(seen) : data.lengths[e, 0]]
        for k, (method, model) in enumerate(models.items()):
            shown = line(figure.axes[e], method)
            np.testing.assert_allclose(shown.get_xydata(), model.predict(truth[0], times, environment=name))
            assert shown.get_color() == COLOURS[k]


def test_one_channel_is_shown_over_time():
    data = irregular(1)
    model = untrained(lx.Leads, data)
    axis = compared({"LEADS": model}, data).axes[1]
    times, states = data.times[1, 0, :5], data.states[1, 0, :5]
    seen = ~np.isnan(states[:, 0])
    np.testing.assert_array_equal(line(axis, "truth").get_xydata(), np.stack([times, states[:, 0]], axis=1)[seen])
    forecast = model.predict(states[0], times, environment=data.environments[1])
    np.testing.assert_allclose(line(axis, "LEADS").get_ydata(), forecast[:, 0])


@pytest.mark.parametrize("data", [VECTORS, PLANE], ids=repr)
def test_a_forecast_that_diverges_does_not_hide_the_others(data):
    model = untrained(lx.Leads, data)
    figure = compared({"LEADS": model, "wild": scaled(model, 1e200)}, data)
    shown = [axis.images[0].get_clim() for axis in figure.axes if axis.images] or [figure.axes[0].get_ylim()]
    assert np.ptp(shown, axis=-1).max() <= 3 * np.ptp(data.states)


def test_fields_show_truth_forecast_and_error_on_one_scale():
    data = PLANE
    model = untrained(lx.Leads, data)
    axes = compared({"LEADS": model}, data).axes
    images = [axis.images[0] for axis in axes if axis.images]
    truth = data.states[1, 0]
    forecast = np.asarray(model.predict(truth[0], data.times[1, 0], environment="e1"))
    for image, expected in zip(images[3:6], (truth[-1], forecast[-1], abs(forecast - truth)[-1]), strict=True):
        np.testing.assert_allclose(image.get_array(), expected[..., 0])
    assert len({image.get_clim() for image in images}) == 2


def test_fields_on_a_line_are_shown_over_time():
    axes = compared({"LEADS": untrained(lx.Leads, LINE)}, LINE).axes
    np.testing.assert_array_equal(axes[0].collections[0].get_array(), LINE.states[0, 0, ..., 0].T)


def test_vector_fields_are_f_and_g_in_the_units_of_the_data():
    data = regular(environments=7)
    model = untrained(lx.Leads, data, members=2)
    figure = vector_fields(model, data)
    arrows = [axis.collections[0] for axis in figure.axes if axis.get_title()]
    assert len(arrows) == 6
    assert len({a.get_clim() for a in arrows}) == 1
    for a, field in zip(arrows, (model.shared, model.specific("e0")), strict=False):
        expected = np.linalg.norm(jax.vmap(field)(a.get_offsets()), axis=-1)
        np.testing.assert_allclose(a.get_array(), expected, rtol=1e-6)
    states = data.states[0].reshape(-1, 2)
    size = np.linalg.norm(jax.vmap(model.specific(0))(states), axis=-1).mean()
    assert figure.axes[1].get_title() == f"g, e0\nmean |g| = {size:.2g}"


def test_learning_curves_show_the_looks():
    data = regular(channels=1)
    model = untrained(lx.Leads, data, members=2, looks=3)
    figure = learning_curves({"adapted": untrained(lx.Leads, data), "LEADS": model})
    test, loss = figure.axes[0].lines
    np.testing.assert_array_equal(test.get_xydata(), [[1, 2.5], [2, 4.5], [3, 6.5]])
    np.testing.assert_array_equal(loss.get_ydata(), [1.5, 2.5, 3.5])
    assert loss.get_linewidth() < test.get_linewidth()
    assert test.get_color() == COLOURS[1]
    band = figure.axes[0].collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == (2, 7)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["LEADS", "test error", "training loss"]


def test_models_without_a_record_of_their_training():
    model = untrained(lx.Leads, regular(channels=1))
    assert learning_curves({"LEADS": model}) is None
    assert learning_table({"LEADS": model})[1] == [["LEADS", "–", "–", "–", "–", "1", "3", "–"]]


def test_where_training_ended():
    data = regular(channels=1)
    _, (row,) = learning_table({"LEADS": untrained(lx.Leads, data, members=2, looks=3)})
    assert row == ["LEADS", "3.50e+00", "3.50e+00", "–", "6.50e+00", "2", "3", "1,234"]


def test_error_over_time_is_that_of_the_evaluation():
    data = regular(channels=1)
    evaluation = lx.evaluate(untrained(lx.Leads, data, members=2), data)
    shown = line(error_over_time({"LEADS": evaluation}, data).axes[0], "LEADS")
    np.testing.assert_allclose(shown.get_xdata(), [1, 2, 3])
    np.testing.assert_allclose(shown.get_ydata(), evaluation.mse_per_time[1:])


def test_errors_at_irregular_times_are_averaged_over_intervals():
    elapsed = np.concatenate([np.zeros((1, 9, 1)), np.sort(RNG.uniform(0, 1, size=(1, 9, 4)))], axis=-1)
    data = lx.Trajectories.from_arrays(np.arange(5.0), np.ones((1, 9, 5, 1)))
    times, errors = error_at_times(evaluation_of(3.0, data), elapsed)
    np.testing.assert_allclose(times, (np.arange(4) + 0.5) / 4 * elapsed.max())
    np.testing.assert_allclose(errors, 3)


def test_the_best_method_is_bold():
    data = regular(channels=1)
    errors = {"worse": 0.2, "best": 0.01, "diverged": np.nan}
    evaluations = {name: evaluation_of(error, data) for name, error in errors.items()}
    models = dict.fromkeys(errors, untrained(lx.Leads, data, looks=1))
    header, rows = method_table(models, evaluations)
    assert header[0] == "method"
    cost = ["3", "1,234", "7"]
    assert rows[0] == ["worse", "2.00e-01", "0.00e+00", "0.00e+00", "0.800", "0 of 4", *cost]
    assert rows[2] == ["diverged", "–", "–", "–", "–", "4 of 4", *cost]
    bold = lambda rows: [[cell for cell in row if isinstance(cell, Bold)] for row in rows]
    assert bold(rows) == [[], ["best", "1.00e-02"], []]
    header, rows = environment_table(evaluations)
    assert header == ["environment", "worse", "best", "diverged"]
    assert rows[0] == ["e0", "2.00e-01", "1.00e-02", "–"]
    assert bold(rows) == [["1.00e-02"], ["1.00e-02"]]


def test_models_and_evaluations_must_have_the_same_names():
    data = regular(channels=1)
    with pytest.raises(lx.InputError, match="same names"):
        model_page({"LEADS": untrained(lx.Leads, data)}, {"Leads": evaluation_of(1.0, data)}, data, "title")


@pytest.mark.parametrize(
    "data",
    [
        LINE,
        lx.Trajectories.from_arrays(np.arange(3.0), np.array([[[[-1e308, 1.0], [0.0, 2.0], [1e308, 3.0]]]])),
    ],
    ids=["line", "enormous"],
)
def test_a_model_that_only_diverged_can_be_drawn(data):
    broken = scaled(untrained(lx.Leads, data, looks=1), np.nan)
    text = model_page({"broken": broken}, {"broken": evaluation_of(np.nan, data)}, data, "title").html()
    assert "<strong>" not in text
    assert text.count("<svg") >= 3


def test_the_decomposition_is_of_a_method_that_has_one():
    """LEADS if it is there, else the best of those with a field; none for a recurrent net alone."""
    data = VECTORS
    fields, recurrent = untrained(lx.OneForAll, data), untrained(RECURRENT, data)
    models = {"rnn": recurrent, "worse": fields, "better": fields, "lost": fields, "LEADS": untrained(lx.Leads, data)}
    errors = {"rnn": 1.0, "worse": 3.0, "better": 2.0, "lost": np.nan, "LEADS": 4.0}
    for names, shown, panels in (
        (["rnn"], [], 0),
        (["rnn", "lost", "worse", "better"], ["better"], 1),  # no g: all of it is shared
        (["better", "rnn", "LEADS"], ["LEADS"], 3),
    ):
        evaluations = {name: evaluation_of(errors[name], data) for name in names}
        figures = model_figures({name: models[name] for name in names}, data, evaluations)
        found = {caption.split()[1]: figure for caption, figure in figures.items() if caption.startswith("What ")}
        assert list(found) == shown
        assert sum(bool(axis.get_title()) for figure in found.values() for axis in figure.axes) == panels
