"""Errors of forecasts against plain loops: what counts, per environment, time, trajectory and seed."""

import json

import jax
import numpy as np
import pytest
from leadax.evaluation import Evaluation
from tests.engine import LEADS, at, forecast, observations, plain_net, ragged, random_parts

from leadax import InputError, Model, Trajectories, evaluate

SEEDS, PLACES = 2, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]


@pytest.fixture(scope="module")
def model():
    """Two seeds that were never trained; all that matters here is what they predict."""
    rows = [random_parts(LEADS, 2, seed) for seed in range(SEEDS)]
    return Model(
        method=LEADS,
        parts=jax.tree.map(lambda *a: np.stack(a), *rows),
        environments=("a", "b"),
        channels=("u", "v"),
        state_shape=(2,),
        time_step=0.3,
        about={"protocol": "paper"},
    )


@pytest.fixture(scope="module")
def paper(model):
    return evaluate(model, ragged())


@pytest.fixture(scope="module")
def clean(paper):
    return evaluate_again(paper, "clean")


def evaluate_again(found: Evaluation, protocol: str) -> Evaluation:
    """The same sums; `test_protocols` checks that it is what `evaluate` gives."""
    counts = found.counts.copy()
    counts[..., 0] = 0
    return Evaluation(found.sums, counts, found.environments, protocol)


@pytest.fixture(scope="module")
def squares(model):
    """Squared errors `[seed][environment][trajectory]` of shape (time, channel), NaN where nothing was observed."""
    found = []
    for seed in range(SEEDS):
        f, g = at(model.parts, seed)
        found.append([])
        for e in range(2):
            field = lambda x, f=f, g=at(g, e): plain_net(f, x) + plain_net(g, x)
            rows = [(np.array(forecast(field, t, x)) - x) ** 2 for t, x, _ in observations(ragged(), e)]
            found[-1].append(rows)
    return found


def test_total_equals_a_plain_loop(paper, clean, squares):
    every = [[x for row in environment for x in row] for environment in squares]
    for found, first in ((paper, 0), (clean, 1)):
        per_seed = [np.nanmean(np.concatenate([x[first:].ravel() for x in rows])) for rows in every]
        np.testing.assert_allclose(found.mse_per_seed, per_seed, rtol=1e-12)
        np.testing.assert_allclose(found.mse, np.mean(per_seed), rtol=1e-12)
        np.testing.assert_allclose(found.std_over_seeds, np.std(per_seed, ddof=1), rtol=1e-12)


def test_parts_equal_a_plain_loop(clean, squares):
    for e, name in enumerate("ab"):
        mean = np.mean([np.nanmean(np.concatenate([x[1:].ravel() for x in squares[s][e]])) for s in range(SEEDS)])
        np.testing.assert_allclose(clean.mse_per_environment[name], mean, rtol=1e-12)
    at_time = lambda s, k: np.concatenate([x[k] for row in squares[s] for x in row if len(x) > k])
    per_time = [np.mean([np.nanmean(at_time(s, k)) for s in range(SEEDS)]) for k in range(1, 6)]
    np.testing.assert_allclose(clean.mse_per_time[1:], per_time, rtol=1e-12)
    assert np.isnan(clean.mse_per_time[0])
    each = [[np.nanmean(squares[s][e][i][1:]) for e, i in PLACES] for s in range(SEEDS)]
    np.testing.assert_allclose(clean.mse_per_trajectory, each, rtol=1e-12)
    np.testing.assert_allclose(clean.std_over_trajectories, np.mean(np.std(each, axis=1, ddof=1)), rtol=1e-12)


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


def test_protocols(model, clean):
    asked = evaluate(model, ragged(), protocol="clean")
    assert (asked.protocol, asked.mse) == ("clean", clean.mse)
    with pytest.raises(InputError, match="unknown protocol `papr`: did you mean `paper`"):
        evaluate(model, ragged(), protocol="papr")


def test_environments_in_another_order(model, paper):
    swapped = evaluate(model, ragged().select(["b", "a"]))
    assert swapped.environments == ("b", "a")
    for name in "ab":
        np.testing.assert_allclose(swapped.mse_per_environment[name], paper.mse_per_environment[name], rtol=1e-12)


def test_json(clean, paper):
    document = clean.to_json()
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["trajectories"] == 5
    assert document["protocol"] == "clean"
    assert document["mse_per_time"][0] is None
    assert document["mse_per_environment"] == clean.mse_per_environment
    assert "seeds: 2" in str(paper)


def test_a_forecast_that_blew_up_is_not_forgotten(clean):
    """Its error is not a number; it must not look like a trajectory that was never there."""
    sums = clean.sums.copy()
    sums[0, 0, 1, 2:] = np.nan
    sums[1, 1, 0, 3] = np.inf
    broken = Evaluation(sums, clean.counts, clean.environments, "clean")
    assert np.isnan(broken.mse)
    assert broken.mse_per_trajectory.shape == (2, 5)
    document = broken.to_json()
    assert document["trajectories"] == 5
    assert document["mse"] is None
    json.dumps(document, allow_nan=False)


def with_states(shape) -> Trajectories:
    return Trajectories.from_arrays(range(3), np.ones((1, 1, 3, *shape)), environments=["a"])


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (ragged().select("a"), None),
        (
            Trajectories.from_arrays(range(3), np.ones((1, 1, 3, 2)), environments=["c"]),
            "never seen environment `c`: it knows a, b",
        ),
        (Trajectories.from_arrays(range(3), np.ones((1, 1, 3, 2)), channels=["v", "u"]), "another order, v, u, than"),
        (with_states((3,)), r"states of shape \(3,\), the model was trained on \(2,\)"),
        (with_states((4, 4, 2)), r"states of shape \(4, 4, 2\), the model was trained on \(2,\)"),
    ],
    ids=["fits", "environment", "order of channels", "channels", "grid"],
)
def test_refuses_what_the_model_does_not_know(data, match, model):
    if match is None:
        assert evaluate(model, data).environments == ("a",)
        return
    with pytest.raises(InputError, match=match):
        evaluate(model, data)
