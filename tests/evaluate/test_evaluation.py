"""Errors of forecasts against plain loops: what counts, per environment, time, trajectory, channel and member."""

import dataclasses
import json

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.engine import LEADS, at, compiled, forecast, observations, plain_field, ragged, random_levels

from leadax import InputError, Leads, Linear, Model, Trajectories, Units, evaluate, fit
from leadax.evaluate import Evaluation, pooled
from leadax.records import Config, Training

MEMBERS, PLACES = 2, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]
UNITS = Units((1.0, 0.9), (0.5, 0.25), 0.5)
# Shorter than some of the gaps of the data, which are then divided.
LONGEST = 0.2


def trained_by(protocol: str) -> Training:
    """A record of a training of which only the protocol matters."""
    return Training(
        Config(
            method={}, units={}, steps=1, learning_rate=0.1, decay="cosine", optimiser="adam", clip=None,
            longest_step=None, box=None, sampling={}, batch_size=None, match="trajectories", trainable=None,
            look_every=5, seeds=2, key=(0, 0), protocol=protocol, dtype="float64", train="", test=None,
        ),
        1,
    )  # fmt: skip


@pytest.fixture(scope="module")
def model():
    """Two members that were never trained; all that matters here is what they predict."""
    rows = [random_levels(LEADS, 2, seed) for seed in range(MEMBERS)]
    return Model(
        levels=jax.tree.map(lambda *a: jnp.stack(a), *rows),
        method=LEADS,
        units=UNITS,
        environments=("a", "b"),
        channels=("u", "v"),
        state_shape=(2,),
        longest_step=LONGEST / UNITS.time,
        training=trained_by("paper"),
    )


@pytest.fixture(scope="module")
def paper(model):
    return evaluate(model, ragged())


@pytest.fixture(scope="module")
def clean(model):
    return evaluate(model, ragged(), protocol="clean")


@pytest.fixture(scope="module")
def squares(model):
    """Squared errors `[member][environment][trajectory]` of shape (time, channel), NaN where nothing was observed."""
    found, mean, scale = [], np.array(UNITS.mean), np.array(UNITS.scale)
    for member in range(MEMBERS):
        levels = at(jax.tree.map(np.asarray, model.levels), member)
        found.append([])
        for e in range(2):
            plain = plain_field(levels, e)
            field = lambda x, plain=plain: scale / UNITS.time * plain((x - mean) / scale)
            paths = [(forecast(field, t, x, longest=LONGEST), x) for t, x, _ in observations(ragged(), e)]
            found[-1].append([(np.array(path) - x) ** 2 for path, x in paths])
    return found


def test_total_equals_a_plain_loop(paper, clean, squares):
    every = [[x for row in environment for x in row] for environment in squares]
    for found, first in ((paper, 0), (clean, 1)):
        per_member = [np.nanmean(np.concatenate([x[first:].ravel() for x in rows])) for rows in every]
        np.testing.assert_allclose(found.mse_per_seed, per_member, rtol=1e-11)
        np.testing.assert_allclose(found.mse, np.mean(per_member), rtol=1e-11)
        np.testing.assert_allclose(found.std_over_seeds, np.std(per_member, ddof=1), rtol=1e-10)


def test_parts_equal_a_plain_loop(clean, squares):
    for e, name in enumerate("ab"):
        mean = np.mean([np.nanmean(np.concatenate([x[1:].ravel() for x in squares[m][e]])) for m in range(MEMBERS)])
        np.testing.assert_allclose(clean.mse_per_environment[name], mean, rtol=1e-11)
    at_time = lambda m, k: np.concatenate([x[k] for row in squares[m] for x in row if len(x) > k])
    per_time = [np.mean([np.nanmean(at_time(m, k)) for m in range(MEMBERS)]) for k in range(1, 6)]
    np.testing.assert_allclose(clean.mse_per_time[1:], per_time, rtol=1e-11)
    assert np.isnan(clean.mse_per_time[0])
    each = [[np.nanmean(squares[m][e][i][1:]) for e, i in PLACES] for m in range(MEMBERS)]
    np.testing.assert_allclose(clean.mse_per_trajectory, each, rtol=1e-11)
    np.testing.assert_allclose(clean.std_over_trajectories, np.mean(np.std(each, axis=1, ddof=1)), rtol=1e-10)


def test_normalised_errors_equal_a_plain_loop(clean, squares):
    """Each channel by its own variance over the values that count."""
    seen = np.concatenate([x[1:] for e in range(2) for _, x, _ in observations(ragged(), e)])
    variances = np.nanvar(seen, axis=0)
    np.testing.assert_allclose(clean.variances, variances, rtol=1e-11)
    per_channel = [
        np.mean([np.nanmean(np.concatenate([x[1:, c] for row in squares[m] for x in row])) for m in range(MEMBERS)])
        for c in range(2)
    ] / variances
    np.testing.assert_allclose(list(clean.nmse_per_channel.values()), per_channel, rtol=1e-11)
    assert list(clean.nmse_per_channel) == ["u", "v"]
    np.testing.assert_allclose([clean.nmse, 1 - clean.r2], np.mean(per_channel), rtol=1e-11)
    each = [
        [np.nanmean(np.nanmean(squares[m][e][i][1:], axis=0) / variances) for e, i in PLACES] for m in range(MEMBERS)
    ]
    np.testing.assert_allclose(clean.nmse_per_trajectory, each, rtol=1e-11)
    np.testing.assert_allclose(clean.median_nmse, np.mean(np.median(each, axis=1)), rtol=1e-11)


def test_a_channel_that_never_changes_is_not_divided_by_rounding(model):
    still = ragged().states.copy()
    still[..., 1] = np.where(np.isnan(still[..., 1]), np.nan, 0.1)
    data = Trajectories.from_arrays(ragged().times, still, environments=["a", "b"], channels=["u", "v"])
    found = evaluate(model, data)
    assert found.variances[1] == pytest.approx(UNITS.scale[1] ** 2)
    assert found.nmse < 1e3


def test_the_first_point_counts_on_paper_only(paper, clean):
    assert paper.mse_per_time[0] == 0
    assert clean.mse > paper.mse > 0
    # 5 trajectories of 2 channels start with a whole state.
    assert paper.counts.sum() - clean.counts.sum() == 10
    np.testing.assert_allclose(paper.mse * paper.counts.sum(), clean.mse * clean.counts.sum(), rtol=1e-12)


@pytest.mark.parametrize("which", ["paper", "clean"])
def test_parts_add_up_to_the_total(which, request):
    found = request.getfixturevalue(which)
    weigh = lambda means, axis: np.nansum(means * found.counts.sum(axis=axis)) / found.counts.sum()
    np.testing.assert_allclose(weigh(np.array(list(found.mse_per_environment.values())), (1, 2)), found.mse, rtol=1e-12)
    np.testing.assert_allclose(weigh(found.mse_per_time, (0, 1)), found.mse, rtol=1e-12)
    counts = found.counts.sum(axis=2)[tuple(np.transpose(PLACES))]
    np.testing.assert_allclose((found.mse_per_trajectory * counts).sum(axis=1) / counts.sum(), found.mse_per_seed)


def test_one_rule_for_members(model, clean):
    """The mean of the members' errors, not the error of the mean forecast."""
    each = [evaluate(model.member(k), ragged(), protocol="clean").mse for k in range(MEMBERS)]
    np.testing.assert_allclose(clean.mse, np.mean(each), rtol=1e-12)
    np.testing.assert_allclose(clean.mse_per_seed, each, rtol=1e-12)


def test_protocols_and_order_without_compiling_again(model, paper):
    """The model's own protocol unless told; environments by name."""
    count = len(compiled)
    assert (paper.protocol, evaluate(model, ragged()).mse) == ("paper", paper.mse)
    swapped = evaluate(model, ragged().select(["b", "a"]))
    assert swapped.environments == ("b", "a")
    for name in "ab":
        np.testing.assert_allclose(swapped.mse_per_environment[name], paper.mse_per_environment[name], rtol=1e-12)
    assert compiled[count:] == []
    with pytest.raises(InputError, match="unknown protocol `papr`: did you mean `paper`"):
        evaluate(model, ragged(), protocol="papr")


def test_json(clean, paper):
    document = clean.to_json()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert (document["trajectories"], document["protocol"], document["diverged"]) == (5, "clean", 0)
    assert document["mse_per_time"][0] is None
    assert document["mse_per_environment"] == clean.mse_per_environment
    assert document["nmse_per_channel"] == clean.nmse_per_channel
    assert "seeds: 2" in str(paper)
    assert "diverged" not in str(paper)


def test_a_forecast_at_the_edge_of_the_box_has_diverged():
    """It stays finite, and off by no more than a hundred units: that must not make it look well."""
    t = np.linspace(0, 4, 17)
    data = Trajectories.from_arrays(t, np.stack([np.exp(-a * t) for a in (0.5, 1.0)])[:, None, :, None])
    model = fit(Leads(net=Linear), data, steps=2, key=jr.key(0))
    steep = dataclasses.replace(model, levels=jax.tree.map(lambda a: 0 * a + 9.0, model.levels))
    assert evaluate(model, data).diverged == 0
    found = evaluate(steep, data)
    assert (found.diverged, np.isfinite(found.mse)) == (2, True)
    assert "2 of 2 forecasts diverged" in str(found)


def test_a_forecast_that_blew_up_is_not_forgotten(clean):
    """Its error is not a number; it must not look like a trajectory that was never there."""
    sums = clean.channel_sums.copy()
    sums[0, 0, 1, 2:] = np.nan
    sums[1, 1, 0, 3] = np.inf
    sums[1, 1, 1, 2] = 1e4 * 0.25 * 1.01  # 100 units of the first channel
    broken = dataclasses.replace(clean, channel_sums=sums)
    assert np.isnan(broken.mse)
    assert broken.mse_per_trajectory.shape == (2, 5)
    assert (broken.diverged, clean.diverged) == (3, 0)
    assert "3 of 5 forecasts diverged" in str(broken)
    document = broken.to_json()
    assert document["trajectories"] == 5
    assert (document["mse"], document["nmse"], document["r2"]) == (None, None, None)
    # Of the first member one trajectory is lost, of the second two: the median of five is still a number.
    assert np.isnan(broken.nmse_per_trajectory).sum() == 1
    assert np.isfinite(broken.median_nmse)
    json.dumps(document, allow_nan=False)
    assert isinstance(broken, Evaluation)


def with_states(shape) -> Trajectories:
    return Trajectories.from_arrays(range(3), np.ones((1, 1, 3, *shape)), environments=["a"])


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (
            Trajectories.from_arrays(range(3), np.ones((1, 1, 3, 2)), environments=["c"]),
            "never seen environment `c`: it knows a, b",
        ),
        (Trajectories.from_arrays(range(3), np.ones((1, 1, 3, 2)), channels=["v", "u"]), "another order, v, u, than"),
        (with_states((3,)), "the channels x0, x1, x2, the model was trained on u, v: choose them with `--channels`"),
        (with_states((4, 4, 2)), r"states of shape \(4, 4, 2\), the model was trained on \(2,\)"),
    ],
    ids=["environment", "order of channels", "channels", "grid"],
)
def test_refuses_what_the_model_does_not_know(data, match, model):
    with pytest.raises(InputError, match=match):
        evaluate(model, data)


def test_pooled_errors_are_those_of_all_trajectories_together():
    rng = np.random.default_rng(0)
    sums, counts = rng.uniform(size=(2, 1, 5, 4, 2)), np.ones((1, 5, 4, 2))
    of = lambda part, times: Evaluation(
        sums[:, :, part, :times], counts[:, part, :times], ("e",), "clean", ("x", "y"), np.ones(2), np.ones(2)
    )
    together = pooled([of(slice(0, 2), 4), of(slice(2, 5), 3)])
    kept = np.concatenate([sums[:, :, :2].reshape(2, -1), sums[:, :, 2:, :3].reshape(2, -1)], axis=1)
    np.testing.assert_allclose(together.mse_per_seed, kept.mean(axis=1))
    np.testing.assert_allclose(together.nmse_per_seed.mean(), together.nmse)
    assert together.mse_per_trajectory.shape == (2, 5)
