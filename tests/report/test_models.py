"""Pages about fitted models: they show the data and the forecasts given, for every kind of state, and name the best."""

import dataclasses
import html
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import leadax as lx
from leadax.choose import verdict
from leadax.data.units import Box
from leadax.evaluate import pooled
from leadax.methods import FtRnn
from leadax.records import Config, Snapshot, Training
from leadax.report import Bold, model_figures, model_page
from leadax.report.curves import error_at_times, error_over_time
from leadax.report.decomposition import vector_fields
from leadax.report.fields import field_comparison
from leadax.report.figures import not_drawn
from leadax.report.forecasts import Forecasts, forecast_first
from leadax.report.learning import learning_caption, learning_curves
from leadax.report.learnt import share_table, share_text
from leadax.report.models import _lost
from leadax.report.numbers import listed
from leadax.report.parts import shares
from leadax.report.portraits import portraits
from leadax.report.slices import slices
from leadax.report.style import COLOURS
from leadax.report.tables import channel_table, cost_table, environment_table, error_table, learning_table
from leadax.report.tangents import tangents
from leadax.report.trajectories import cut_off, over_time

RNG = np.random.default_rng(0)
RECURRENT = partial(FtRnn, width=2, rank=1)


def config() -> Config:
    """What was asked of a run, of which nothing is shown: all empty."""
    empty = object.__new__(Config)
    for field in dataclasses.fields(Config):
        object.__setattr__(empty, field.name, None)
    return empty


def training(members: int, steps: int) -> Training:
    numbers = lambda k: tuple(float(k + s) for s in range(members))
    seen = [
        Snapshot(k, loss=numbers(k), error=numbers(k), penalty=numbers(0), test=numbers(2 * k), seconds=7.0)
        for k in range(1, steps + 1)
    ]
    return Training(config(), 1234, tuple(seen))


def untrained(method: Callable[..., lx.Method], data: lx.Trajectories, members: int = 1, steps: int = 0) -> lx.Model:
    # One layer each, weights from NumPy, and no step divided: what takes time here is to compile.
    net = partial(lx.ConvNet, depth=1) if data.space else lx.Linear
    built = method() if method is RECURRENT else method(net=net, solver="euler")
    init = lambda key: built.init(lx.Sizes(data.state_shape, len(data.environments)), key=key)
    shapes = jax.eval_shape(jax.vmap(init), jr.split(jr.key(0), members))
    levels = lx.Levels(*jax.tree.map(lambda a: jnp.asarray(RNG.normal(scale=0.3, size=a.shape)), shapes))
    units = lx.Units((0.5,) * len(data.channels), (2.0,) * len(data.channels), time=0.5)
    known = training(members, steps) if steps else None
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
        limits=100 * ones,
    )


def compared(models: dict[str, lx.Model], data: lx.Trajectories):
    """The picture of truth and forecasts."""
    forecasts = forecast_first(models, data, 12)
    if data.space:
        return field_comparison(forecasts, 0, "x0")
    return portraits(forecasts, data.channels) if len(data.channels) > 1 else over_time(forecasts, data.channels, [0])


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
        (regular(environments=3, channels=1), 1, 4),
        (LINE, 1, 4),
        (PLANE, 2, 4),
        (regular(2, 2, 2, channels=1), 1, 2),
        (IRREGULAR, 2, 5),
    ],
    ids=repr,
)
def test_every_kind_of_state_can_be_drawn(data, methods, figures, monkeypatch):
    monkeypatch.setattr("leadax.report.figures.MAX_ENVIRONMENTS", 2)
    monkeypatch.setattr("leadax.report.fields.MAX_BESIDE", 1)
    # No net of ours is for fields in space, which are not drawn.
    model = untrained(lx.Leads, VECTORS if len(data.space) == 3 else data, steps=2)
    models = dict.fromkeys([f"method & {k}" for k in range(methods)], model)
    evaluations = dict.fromkeys(models, evaluation_of(1.0, data))
    text = model_page(models, evaluations, data, "title").html()
    assert text.count("<svg") == figures
    assert "method &amp; 0" in text
    assert ("Not drawn, but counted in all errors: 1 of 3 environments; 4 of 6 test" in text) == (
        len(data.environments) == 3
    )
    for svg in text.split("<figure>")[1:]:
        ElementTree.fromstring(svg.split("<figcaption>")[0])


def test_channels_that_were_never_observed_together_have_no_start():
    truth = np.where((np.arange(6)[:, None] + np.arange(2)) % 2, np.nan, 1.0)
    (axis, *_) = portraits([Forecasts("e0", np.arange(6.0), truth, {"LEADS": np.ones((6, 2))})], ("u", "v")).axes
    assert "start" not in [drawn.get_label() for drawn in axis.lines]


def test_portraits_show_truth_and_forecasts():
    data = IRREGULAR
    models = {"One-For-All": untrained(lx.OneForAll, data), "LEADS": untrained(lx.Leads, data, members=2)}
    # Forecasts are drawn as they are made: kept in the box, in steps no longer than those of training.
    models["LEADS"] = dataclasses.replace(models["LEADS"], box=Box((-0.1,) * 2, (0.1,) * 2), longest_step=0.3)
    figure = compared(models, data)
    for e, name in enumerate(data.environments):
        seen = np.asarray(data.observed[e, 0].all(axis=-1))
        truth = data.states[e, 0, seen]
        np.testing.assert_array_equal(line(figure.axes[e], "data").get_xydata(), truth)
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
    np.testing.assert_array_equal(line(axis, "data").get_xydata(), np.stack([times, states[:, 0]], axis=1)[seen])
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


def test_vector_fields_are_f_and_g_with_sizes_in_standard_units():
    data = regular(environments=7)
    model = untrained(lx.Leads, data, members=2)
    model = dataclasses.replace(model, units=lx.Units((0.5, 0.5), (2.0, 50.0), time=0.5))
    figure = vector_fields(model, data)
    arrows = [axis.collections[0] for axis in figure.axes if axis.get_title()]
    assert len(arrows) == 6
    assert len({a.get_clim() for a in arrows}) == 1
    for a, field in zip(arrows, (model.shared, model.specific("e0")), strict=False):
        expected = np.linalg.norm(np.asarray(jax.vmap(field)(a.get_offsets())) / [2.0, 50.0], axis=-1)
        np.testing.assert_allclose(a.get_array(), expected, rtol=1e-6)
    states = data.states[0].reshape(-1, 2)
    size = np.linalg.norm(np.asarray(jax.vmap(model.specific(0))(states)) / [2.0, 50.0], axis=-1).mean()
    assert figure.axes[1].get_title() == f"g, e0\nmean |g| = {size:.2g}"


def test_slices_are_f_and_g_of_one_channel_over_its_values():
    data = regular(environments=3, channels=1)
    model = untrained(lx.Leads, data, members=2)
    whole, alone = slices(model, data).axes
    x, f = whole.lines[0].get_data()
    low, high = data.states.min(), data.states.max()
    np.testing.assert_allclose(x[[0, -1]], [low - 0.1 * (high - low), high + 0.1 * (high - low)])
    np.testing.assert_allclose(f, jax.vmap(model.shared)(x[:, None])[:, 0], rtol=1e-6)
    for e, name in enumerate(data.environments):
        g = np.asarray(jax.vmap(model.specific(name))(x[:, None]))[:, 0]
        inside = (x >= data.states[e].min()) & (x <= data.states[e].max())
        strong, pale = alone.lines[e].get_ydata(), alone.lines[3 + e].get_ydata()
        np.testing.assert_allclose(strong, np.where(inside, g, np.nan), rtol=1e-6)
        np.testing.assert_allclose(pale, g, rtol=1e-6)
        np.testing.assert_allclose(whole.lines[4 + e].get_ydata(), f + g, rtol=1e-5, atol=1e-8)


def test_slices_of_several_channels_go_through_the_mean():
    data = regular(channels=3)
    model = untrained(lx.Leads, data)
    axes = slices(model, data).axes
    assert [axis.get_xlabel() for axis in axes[3:]] == ["x0", "x1", "x2"]
    x, f = axes[1].lines[0].get_data()
    states = np.tile(data.states.mean(axis=(0, 1, 2)), (len(x), 1))
    states[:, 1] = x
    np.testing.assert_allclose(f, jax.vmap(model.shared)(states)[:, 1], rtol=1e-6)


def test_tangents_of_a_field_are_at_the_starts_of_the_data():
    model = untrained(lx.Leads, LINE)
    whole, f, g = tangents(model, LINE, 0).axes[1].lines[1:]
    start = LINE.states[1, 0, 0]
    np.testing.assert_allclose(f.get_ydata(), model.shared(start)[:, 0], rtol=1e-6)
    np.testing.assert_allclose(g.get_ydata(), model.specific("e1")(start)[:, 0], rtol=1e-6)
    np.testing.assert_allclose(whole.get_ydata(), f.get_ydata() + g.get_ydata())
    model = untrained(lx.Leads, PLANE)
    image = tangents(model, PLANE, 0).axes[3].images[0]  # the second row, with two environments in each
    np.testing.assert_allclose(image.get_array(), model.shared(PLANE.states[1, 0, 0])[..., 0], rtol=1e-6)


def test_the_share_of_g_is_measured_at_the_states_of_each_environment():
    data = lx.Trajectories.from_arrays(np.arange(3.0), np.full((2, 1, 3, 2), 1.5))
    model = untrained(lx.Leads, data)
    model = dataclasses.replace(model, units=lx.Units((0.5, 0.5), (2.0, 50.0), time=0.5))
    found = shares(model, data)
    rms = lambda field: float(np.sqrt(np.mean((np.asarray(field(np.array([1.5, 1.5]))) / [2.0, 50.0]) ** 2)))
    f, g = rms(model.shared), rms(model.specific("e1"))
    np.testing.assert_allclose(found[1][1:], (f, g), rtol=1e-6)
    assert found[1].of_specific == pytest.approx(g / (f + g))
    table = share_table([found[0]._replace(shared=3.0, specific=1.0), found[1]._replace(shared=0.0, specific=0.0)])
    assert table.rows == [["e0", "3.00", "1.00", "25 %"], ["e1", "0", "0", "–"]]
    assert "learnt: 25 %. It is" in share_text("leads", [found[0]._replace(shared=3.0, specific=1.0)] * 2)
    assert share_text("leads", [found[0]._replace(shared=np.nan)]) == "The f and g of leads are not finite."


def test_every_channel_has_an_axis_of_its_own():
    data = regular(environments=2, channels=3)
    model = untrained(lx.Leads, data)
    forecasts = forecast_first({"LEADS": model}, data, 12)
    axes = over_time(forecasts, data.channels, [1, 2]).axes
    assert [axis.get_ylabel() for axis in axes] == ["x1", "x2", "x1", "x2"]
    assert [axis.get_title(loc="left") for axis in axes] == ["e0", "", "e1", ""]
    np.testing.assert_array_equal(line(axes[3], "data").get_ydata(), data.states[1, 0, :, 2])
    np.testing.assert_array_equal(line(axes[3], "LEADS").get_ydata(), forecasts[1].predicted["LEADS"][:, 2])


def test_many_channels_are_in_several_pictures():
    data = regular(channels=9)
    captions = list(model_figures({"a": untrained(lx.OneForAll, data)}, data, {"a": evaluation_of(1.0, data)}))
    assert [caption.split(":")[0] for caption in captions[1:4]] == [
        "x0, x1, x2, x3 over time", "x4, x5, x6, x7 over time", "x0 and x1 in their plane"
    ]  # fmt: skip
    assert not_drawn({}, data).endswith("1 of 9 channels.")
    assert not_drawn({}, data.select(slice(None), 0).select([0])).startswith(
        "Not drawn, but counted in all errors: 1 of 9"
    )


def test_what_is_cut_off_is_said():
    truth = np.linspace(0, 1, 5)[:, None]
    of = lambda name, **predicted: Forecasts(name, np.arange(5.0), truth, predicted)
    good, wild, lost = truth + 0.1, truth * 10, np.full_like(truth, np.nan)
    assert cut_off([of("a", LEADS=good)], [0]) == ""
    found = [of("a", LEADS=wild, other=good, third=good), of("b", LEADS=lost, other=good, third=lost)]
    assert cut_off(found, [0]) == (
        " Cut off, because forecasts go beyond it: LEADS in 2 of 2 environments and third in 1 of 2 environments."
    )


def test_errors_and_losses_have_axes_of_their_own():
    data = regular(channels=1)
    model = untrained(lx.Leads, data, members=2, steps=3)
    models = {"adapted": untrained(lx.Leads, data), "LEADS": model}
    figure = learning_curves(models)
    (test,), (loss,) = (axis.lines for axis in figure.axes)
    np.testing.assert_array_equal(test.get_xydata(), [[1, 2.5], [2, 4.5], [3, 6.5]])
    np.testing.assert_array_equal(loss.get_ydata(), [1.5, 2.5, 3.5])
    assert [axis.get_title() for axis in figure.axes] == ["test error", "training loss"]
    assert test.get_color() == COLOURS[1]
    band = figure.axes[0].collections[0].get_paths()[0].vertices
    assert (band[:, 1].min(), band[:, 1].max()) == (2, 7)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["LEADS"]
    assert "forecasts of the test data, in their units. Right: training loss" in learning_caption(models)


def with_validation(model: lx.Model, kept: tuple[int, ...], factor: float = 1.0) -> lx.Model:
    assert model.training is not None
    history = [
        dataclasses.replace(
            snapshot, validation=tuple(factor * (10.0 * snapshot.step + s) for s in range(model.members))
        )
        for snapshot in model.training.history
    ]
    return dataclasses.replace(model, training=dataclasses.replace(model.training, history=tuple(history), kept=kept))


def test_the_kept_model_is_marked():
    model = with_validation(untrained(lx.Leads, regular(channels=1), members=2, steps=3), kept=(1, 3))
    figure = learning_curves({"LEADS": model})
    test, validation, kept = figure.axes[0].lines
    np.testing.assert_array_equal(validation.get_ydata(), [10.5, 20.5, 30.5])
    np.testing.assert_array_equal(kept.get_xydata(), [[1, 10], [3, 31]])
    assert kept.get_marker() == "D" != test.get_marker()
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [
        "LEADS", "test error", "validation error", "kept model"
    ]  # fmt: skip
    assert "Diamonds: the step that the model of each seed was kept from" in learning_caption({"LEADS": model})
    assert cost_table({"LEADS": model}).rows == [["LEADS", "3", "1,234", "1 to 3", "7"]]


def test_a_run_that_blew_up_on_the_way_is_cut_off():
    model = untrained(lx.Leads, regular(channels=1), steps=3)
    assert model.training is not None
    first, second, third = model.training.history
    history = (first, dataclasses.replace(second, test=(1e30,)), third)
    wild = dataclasses.replace(model, training=dataclasses.replace(model.training, history=history))
    assert learning_curves({"LEADS": wild}).axes[0].get_ylim()[1] == 6e4
    assert learning_caption({"LEADS": wild}).endswith("Curves are cut off above 60,000")
    assert "cut off" not in learning_caption({"LEADS": model})


def test_models_without_a_record_of_their_training():
    model = untrained(lx.Leads, regular(channels=1))
    assert learning_curves({"LEADS": model}) is None
    assert learning_table({"LEADS": model})[1] == [["LEADS", "–", "–", "–", "–", "1", "3", "–", "–"]]


def test_where_training_ended():
    data = regular(channels=1)
    (row,) = learning_table({"LEADS": untrained(lx.Leads, data, members=2, steps=3)}).rows
    assert row == ["LEADS", "3.50", "3.50", "–", "6.50", "2", "3", "1,234", "1,234"]


def test_error_over_time_is_that_of_the_evaluation():
    data = regular(channels=1)
    evaluation = lx.evaluate(untrained(lx.Leads, data, members=2), data)
    shown = line(error_over_time({"LEADS": evaluation}, data).axes[0], "LEADS")
    np.testing.assert_allclose(shown.get_xdata(), [1, 2, 3])
    np.testing.assert_allclose(shown.get_ydata(), evaluation.mse_per_time[1:] / evaluation.variances)


def test_error_over_time_counts_channels_of_all_units_alike_and_shows_baselines():
    data = regular(channels=2)
    evaluation = dataclasses.replace(evaluation_of(1.0, data), variances=np.array([2.0, 8.0]))
    figure = error_over_time({"LEADS": evaluation}, data, {"mean": evaluation_of(3.0, data)})
    np.testing.assert_allclose(line(figure.axes[0], "LEADS").get_ydata(), (1 / 2 + 1 / 8) / 2)
    np.testing.assert_allclose(line(figure.axes[0], "mean").get_ydata(), 3)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["LEADS", "mean"]
    assert error_over_time({"LEADS": evaluation}, data.select(slice(None), [0])) is None


def test_errors_at_irregular_times_are_averaged_over_intervals():
    elapsed = np.concatenate([np.zeros((1, 9, 1)), np.sort(RNG.uniform(0, 1, size=(1, 9, 4)))], axis=-1)
    data = lx.Trajectories.from_arrays(np.arange(5.0), np.ones((1, 9, 5, 1)))
    times, errors = error_at_times(evaluation_of(3.0, data), elapsed)
    np.testing.assert_allclose(times, (np.arange(4) + 0.5) / 4 * elapsed.max())
    np.testing.assert_allclose(errors, 3)


def bold(table) -> list[list[str]]:
    return [[cell for cell in row if isinstance(cell, Bold)] for row in table.rows]


def test_methods_and_baselines_are_sorted_and_the_best_is_bold():
    data = regular(channels=1)
    errors = {"worse": 0.2, "best": 0.01, "diverged": np.nan}
    evaluations = {name: evaluation_of(error, data) for name, error in errors.items()}
    table = error_table(evaluations, {"mean": evaluation_of(0.1, data)})
    assert table.header[:4] == ["method", "normalised error", "R²", "median"]
    assert [row[0] for row in table.rows] == ["best", "mean", "worse", "diverged"]
    assert table.muted == (1,)
    assert table.rows[2] == ["worse", "0.200", "0.800", "0.200", "0.200", "0", "0", "0 of 4"]
    assert table.rows[3] == ["diverged", "–", "–", "∞", "–", "–", "–", "4 of 4"]
    assert bold(table) == [["best", "0.0100"], [], [], []]
    table = environment_table(evaluations)
    assert table.header == ["environment", "worse", "best", "diverged"]
    assert table.rows[0] == ["e0", "0.200", "0.0100", "–"]
    assert bold(table) == [["0.0100"], ["0.0100"]]


def test_equal_errors_are_both_bold():
    data = regular(channels=1)
    evaluations = {name: evaluation_of(error, data) for name, error in {"a": 0.2, "b": 0.2000001, "c": 0.3}.items()}
    assert bold(error_table(evaluations)) == [["a", "0.200"], ["b", "0.200"], []]
    assert bold(environment_table(evaluations)) == [["0.200", "0.200"]] * 2
    assert bold(environment_table({"a": evaluations["a"]})) == [[], []], "alone it is not the best of anything"


def test_normalised_errors_of_each_channel():
    variances = np.array([2.0, 8.0])
    evaluation = dataclasses.replace(evaluation_of(1.0, regular(channels=2)), variances=variances)
    table = error_table({"LEADS": evaluation})
    assert table.header[:5] == ["method", "normalised error", "of x0", "of x1", "R²"]
    assert table.rows[0][1:5] == ["0.312", "0.500", "0.125", "0.688"]
    assert environment_table({"LEADS": evaluation}).rows[0] == ["e0", "0.312"]
    many = evaluation_of(0.5, regular(channels=5))
    assert error_table({"LEADS": many}).header[2] == "R²"
    assert channel_table({"LEADS": many, "other": many}).rows[4] == ["x4", "0.500", "0.500"]


def test_an_r2_is_1_only_without_any_error():
    share = lambda error: error_table({"a": evaluation_of(error, regular(channels=1))}).rows[0][2]
    assert [share(error) for error in (0.0, 1e-6, 1e-2, 1.5, 1e6)] == [
        "1.000", "> 0.999", "0.990", "−0.500", "−1.00 × 10⁶"
    ]  # fmt: skip


def test_the_page_has_a_verdict_and_rows_for_baselines(monkeypatch):
    monkeypatch.setattr("leadax.report.models.model_figures", lambda *_: {})  # they take seconds
    data = regular(channels=1)
    models = dict.fromkeys(["a", "b"], untrained(lx.Leads, data, steps=1))
    evaluations = {"a": evaluation_of(1.0, data), "b": evaluation_of(2.0, data)}
    baselines = {"mean": evaluation_of(0.5, data), "mine": evaluation_of(4.0, data)}
    text = model_page(models, evaluations, data, "title", baselines).html()
    assert f"<p>{html.escape(verdict(evaluations, baselines))}</p>" in text
    assert text.count('<tr class="muted">') == 2
    assert "mean (the mean of the environment&#x27;s training data), mine." in text
    assert "`mean` is the best baseline" in text
    fold = data.select(slice(None), 0)
    text = model_page(models, evaluations, fold, "title", baselines).html()
    assert "a cross-validation: of 4 test trajectories in all folds." in text
    assert "with its 2 test trajectories." in text
    alone = model_page({"a": models["a"]}, {"a": evaluations["a"]}, data, "title").html()
    assert "Verdict" not in alone
    assert "cross-validation" not in alone
    assert 'muted"' not in alone


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
    broken = scaled(untrained(lx.Leads, data, steps=1), np.nan)
    text = model_page({"broken": broken}, {"broken": evaluation_of(np.nan, data)}, data, "title").html()
    assert "<strong>" not in text
    assert text.count("<svg") >= 3


def test_forecasts_that_diverged_are_named():
    """Six of them, if they are of the data on the page."""
    data = regular(channels=1)
    lost = evaluation_of(np.nan, data)
    assert _lost("m", lost, data) == "4 of `m` (" + listed([data.place(e, i) for e in (0, 1) for i in (0, 1)]) + ")"
    assert _lost("m", pooled([lost, lost]), data) == "8 of `m`"
    many = lx.Trajectories.from_arrays(np.arange(3.0), np.ones((1, 9, 3, 1)))
    assert _lost("m", evaluation_of(np.nan, many), many).endswith("trajectory 5 of environment `e0` and 3 more)")


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
