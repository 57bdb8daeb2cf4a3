"""`fit`: what it looks at, what it keeps, when it stops, and what it refuses."""

import dataclasses
import functools
import json
import re

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from tests.engine import LINEAR, OMEGA, RANDOM_STATE, compiled_once, decays, same_bits

from leadax import ConvNet, InputError, Leads, Linear, OneForAll, RunError, Trajectories, evaluate, fit, job
from leadax.experiments import complete, settings_for
from leadax.job import Interrupted, Look
from leadax.nets import FNO, MLP
from leadax.objective import ScheduledSampling
from leadax.penalty import EmpiricalNorm, Frobenius, Omega, SpectralNorm

DATA = decays()


@pytest.fixture(autouse=True, scope="module")
def _compile_once():
    with compiled_once():
        yield


def train(**settings):
    chosen = {"steps": 23, "look_every": 10, "decay": "constant", "learning_rate": 0.02, "key": jr.key(0), **settings}
    return fit(chosen.pop("method", LINEAR), chosen.pop("data", DATA), **chosen)


class Caught(Exception):
    """Carries a job out of `fit`."""


def caught(job, state, folder):
    raise Caught(job, state)


@pytest.fixture(scope="module")
def fitted():
    """A model, and what was heard of it on the way."""
    heard: list[Look] = []
    return train(test=decays(trajectories=3), listen=heard.append), heard


def test_learns():
    model = train(steps=300, look_every=1)
    errors = [look["error"][0] for look in model.about["looks"]]
    assert errors[-1] < 0.02 * errors[0]
    assert evaluate(model, DATA).mse < 0.02 * np.var(DATA.states)


def job_of(**settings):
    """What `fit` is about to run, and from where."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job.Job, "run", caught)
        with pytest.raises(Caught) as carrier:
            train(**settings)
    return carrier.value.args


def types_of(tree):
    return {str(leaf.dtype) for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.floating)}


def test_float32_even_where_float64_is_on(fitted):
    assert jax.config.jax_enable_x64
    assert types_of(fitted[0].parts) == {"float32"}
    for dtype in ("float32", "float64"):
        job, state = job_of(dtype=dtype, test=DATA)
        assert types_of((state, job.batch, job.test_batch)) == {dtype}


def test_settings_reach_the_recipe():
    job, _ = job_of(batch_size=1, trainable=("specific",), sampling=ScheduledSampling(0.5), protocol="paper")
    ((end, recipe),) = job.stages
    assert end == 23
    assert (recipe.batch_size, recipe.trainable, recipe.sampling) == (1, ("specific",), ScheduledSampling(0.5))
    assert recipe.method == LINEAR
    np.testing.assert_allclose(recipe.error_scale, DATA.states.reshape(-1, 2).std(axis=0))
    fields = Trajectories.from_arrays(range(3), np.ones((1, 1, 3, 12, 12, 1)), attributes={"system": "navier-stokes"})
    for asked, batch_size in ((None, 2), (5, 5)):
        assert job_of(data=fields, batch_size=asked)[0].stages[0].recipe.batch_size == batch_size


def test_looks(fitted):
    model, heard = fitted
    looks = model.about["looks"]
    assert [look["step"] for look in looks] == [10, 20, 23] == [look.step for look in heard]
    for line, look in zip(looks, heard, strict=True):
        assert line["loss"] == look.loss.tolist()
        assert line["test"] == look.test.tolist()
        np.testing.assert_allclose(line["loss"][0], line["error"][0] + 0.01 * line["penalty"][0], rtol=1e-5)
        assert look.steps == 23
    assert heard[0].seconds < heard[1].seconds < heard[2].seconds
    np.testing.assert_allclose(looks[-1]["test"], evaluate(model, decays(trajectories=3)).mse_per_seed, rtol=1e-5)


def test_what_a_model_says_about_itself(fitted):
    model, _ = fitted
    assert (model.environments, model.channels, model.state_shape) == (DATA.environments, DATA.channels, (2,))
    assert model.seeds == 1
    np.testing.assert_allclose(model.time_step, 0.2, rtol=1e-6)
    about = model.about
    assert (about["steps"], about["protocol"], about["train"]) == (23, "clean", DATA.fingerprint)
    assert about["test"] == decays(trajectories=3).fingerprint
    assert about["key"] == [0, 0]


def test_same_key_same_bits_whoever_looks(fitted):
    assert same_bits(train().parts, fitted[0].parts)
    assert same_bits(train(look_every=3, checkpoint_every=4).parts, fitted[0].parts)
    assert not same_bits(train(key=jr.key(1)).parts, fitted[0].parts)


def test_calls_of_any_length_give_the_same_bits(fitted, monkeypatch):
    for seconds in (0.0, 1e9):
        monkeypatch.setattr(job, "SECONDS_PER_CALL", seconds)
        assert same_bits(train().parts, fitted[0].parts)


def test_seeds_start_as_they_do_alone(monkeypatch):
    monkeypatch.setattr(job.Job, "_random_state", RANDOM_STATE)
    plain = dataclasses.replace(LINEAR, penalty_weight=0.0)  # fewer numbers to draw
    alone, together = (jax.tree.map(np.asarray, job_of(method=plain, seeds=seeds)[1]) for seeds in (1, 3))
    assert same_bits(jax.tree.map(lambda a: a[:1], together), alone)
    for leaf in jax.tree.leaves((together.parts, together.carry, together.key)):
        assert len({a.tobytes() for a in leaf}) == 3
    assert together.step.tolist() == [0, 0, 0]
    assert together.rate_scale.tolist() == [1, 1, 1]
    assert {leaf.dtype for leaf in jax.tree.leaves((together.parts, together.carry))} == {np.dtype("float32")}


def test_start(fitted):
    start = fitted[0].parts
    before = jax.tree.map(np.array, start)
    found = [train(start=given, steps=5) for given in (start, before, jax.tree.map(np.float64, before))]
    assert same_bits(found[0].parts, found[1].parts)
    assert same_bits(found[0].parts, found[2].parts)
    assert found[0].about["looks"][0]["loss"][0] < fitted[0].about["looks"][0]["loss"][0]
    # The arrays that were given are still there, as they were, though training works in place.
    assert same_bits(start, before)
    wrong = r"`start` does not fit this model: .* has shape \(1, 2, 2, 2\).*expected \(1, 3, 2, 2\)"
    with pytest.raises(InputError, match=wrong):
        train(start=start, data=decays(environments=3))


@pytest.mark.parametrize("sizes", [(1, 1, 2), (200, 1, 2)], ids=["one of all", "200 environments"])
def test_smallest_and_many(sizes):
    model = train(data=decays(*sizes), steps=3, method=dataclasses.replace(LINEAR, penalty=Frobenius()))
    assert len(model.environments) == sizes[0]
    assert np.isfinite(model.about["looks"][-1]["loss"][0])


# Stopping


def counting(times: int):
    """Says stop when asked for the nth time."""
    asked = iter(range(1, 1_000_000))
    return lambda: next(asked) >= times


@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["short calls", "long calls"])
def test_stops_when_told_also_where_a_call_reaches_the_next_look(seconds, monkeypatch):
    monkeypatch.setattr(job, "SECONDS_PER_CALL", seconds)
    with pytest.raises(Interrupted, match="stopped at step 10 of 100000") as caught:
        train(steps=100_000, should_stop=counting(10 if seconds == 0 else 2))
    assert caught.value.exit_status == 130


def test_told_at_the_end_is_finished(fitted, monkeypatch):
    monkeypatch.setattr(job, "SECONDS_PER_CALL", 0.0)
    assert same_bits(train(should_stop=counting(23)).parts, fitted[0].parts)


# Divergence. The first environment is nothing but zeros: whatever is learnt, its forecasts are right.

HALF_ZERO = Trajectories.from_arrays(DATA.times, DATA.states * np.array([0.0, 1.0]).reshape(2, 1, 1, 1))
# One step in between is much too long, and lets the next ones overflow.
JUMP = optax.GradientTransformation(
    lambda params: jnp.zeros((), jnp.int32),
    lambda gradient, step, params: (
        jax.tree.map(lambda g: jnp.where(step == 9, -32.0 * jnp.sign(g), -0.01 * g), gradient),
        step + 1,
    ),
)


JUMPING = {
    "data": HALF_ZERO,
    "optimiser": JUMP,
    "sampling": ScheduledSampling(0.0),
    "look_every": 5,
    "checkpoint_every": 8,
}


def test_divergence_stops_the_run_and_says_where(tmp_path):
    folder = tmp_path / "run"
    said = r"the loss is not finite at step 12, in environment `e1` of seed 0; the last good checkpoint is of step 8"
    # Again from the checkpoint it goes the same way, unless it is told to go slower.
    for _ in range(2):
        with pytest.raises(RunError, match=f"{said}: try a smaller learning rate"):
            train(**JUMPING, run=folder)
        assert [place.name for place in (folder / "checkpoints").iterdir()] == ["step-000000008"]
    warned: list[str] = []
    model = train(**JUMPING, run=folder, on_divergence="retry", warn=warned.append)
    assert model.about["steps"] == 23
    assert re.match(f"{said}: going on from there with 0.5 times the learning rate", warned[0])
    # What was seen of steps that were undone is forgotten.
    assert [look["step"] for look in model.about["looks"]] == [5, 10, 15, 20, 23]
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [5, 10, 15, 20, 23]


def test_retries_go_back_and_halve_the_rate():
    """The same bits as the steps up to the last checkpoint, and the others with the rate that came out."""
    warned: list[str] = []
    model = train(**JUMPING, on_divergence="retry", warn=warned.append)
    assert 2 <= len(warned) < job.RETRIES
    for k, text in enumerate(warned, start=1):
        assert f"of step 8: going on from there with {0.5**k:g} times the learning rate" in text
    assert [look["step"] for look in model.about["looks"]] == [5, 10, 15, 20, 23]

    caught_job, state = job_of(**JUMPING)
    state, _ = caught_job.advance[0](state, caught_job.batch, 8)
    slower = jnp.asarray([0.5 ** len(warned)], jnp.float32)
    state, _ = caught_job.advance[0](state._replace(rate_scale=slower), caught_job.batch, 15)
    assert same_bits(state.parts, model.parts)


def test_gives_up_after_some_retries(monkeypatch):
    monkeypatch.setattr(job, "RETRIES", 1)
    warned: list[str] = []
    with pytest.raises(
        RunError, match=r"not finite at step \d+, .*the last good checkpoint is of step 8: try a smaller"
    ):
        train(**JUMPING, on_divergence="retry", warn=warned.append)
    assert len(warned) == 1


# Wrong use


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"steps": 0}, "`steps` must be positive, got 0"),
        ({"steps": -5}, "`steps` must be positive"),
        ({"learning_rate": 0.0}, "`learning_rate` must be positive"),
        ({"learning_rate": float("nan")}, "`learning_rate` must be positive"),
        ({"look_every": 0}, "`look_every` must be positive"),
        ({"checkpoint_every": 0}, "`checkpoint_every` must be positive"),
        ({"seeds": 0}, "`seeds` must be at least 1, got 0"),
        ({"batch_size": 0}, "`batch_size` must be at least 1, got 0"),
        ({"trainable": ("f",)}, "`trainable` must name"),
        ({"protocol": "papre"}, "unknown protocol `papre`: did you mean `paper`"),
        ({"method": dataclasses.replace(LINEAR, penalty_weight=-1.0)}, r"`penalty_weight` \(1/λ\) must be zero or"),
        ({"method": dataclasses.replace(LINEAR, penalty_weight=float("nan"))}, "must be zero or positive"),
        ({"method": Leads(net=ConvNet)}, r"ConvNet needs a field .*got a state of shape \(2,\): use the MLP"),
        ({"method": dataclasses.replace(LINEAR, solver="rk5")}, "rk5"),
        ({"method": dataclasses.replace(LINEAR, substeps=0)}, "`substeps` must be at least 1"),
        ({"test": DATA.select("e1")}, "the test data must have the environments"),
        ({"test": Trajectories.from_arrays(range(3), np.ones((2, 1, 3, 1)))}, "test data must have .* the state shape"),
        ({"test": Trajectories.from_arrays(range(3), np.ones((2, 1, 3, 2)), channels=["x1", "x0"])}, "another order"),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_refuses(wrong, match):
    with pytest.raises(InputError, match=match):
        train(**wrong)


def test_refuses_words_it_does_not_know():
    """Outside the tests nothing checks the types of arguments."""
    plain = fit.__wrapped__ if hasattr(fit, "__wrapped__") else None
    if plain is None:
        pytest.skip("types are not checked here")
    with pytest.raises(InputError, match="`on_divergence` must be `stop` or `retry`, got `pray`"):
        plain(LINEAR, DATA, key=jr.key(0), on_divergence="pray")


def test_refuses_data_without_a_start():
    holes = np.ones((1, 1, 3, 2))
    holes[0, 0, :2, 0] = np.nan
    with pytest.raises(InputError, match="never has all channels observed"):
        train(data=Trajectories.from_arrays(range(3), holes))


# Settings that are chosen from the data


def paper(alpha):
    return Omega(EmpiricalNorm(per_pixel=True), SpectralNorm(5, "matrix", include_factor=False), alpha)


@pytest.mark.parametrize(
    ("system", "net", "options", "solver", "weight", "penalty", "batch_size"),
    [
        ("lotka-volterra", MLP, {"init_std": 0.05}, "rk4-38", 1 / 5e3, paper(1e-2), None),
        ("gray-scott", ConvNet, {"init_std": 0.1, "factor": 1e-3}, "rk4-38", 1 / 1e3, paper(1e-2), None),
        ("navier-stokes", FNO, {"init_std": 0.1}, "euler", 1 / 1e5, paper(1e-4), 2),
        ("navier-stokes-text", FNO, {"init_std": 0.1}, "euler", 1 / 1e5, paper(1e-4), 2),
        ("linear", Linear, {}, "rk4-38", 1e-4, Frobenius(), None),
    ],
)
def test_presets_are_those_of_the_paper(system, net, options, solver, weight, penalty, batch_size):
    data = dataclasses.replace(DATA, attributes={"system": system})
    settings = settings_for(data)
    found = complete(Leads(), settings, "paper")
    assert (getattr(found.net, "func", found.net), getattr(found.net, "keywords", {})) == (net, options)
    assert (found.solver, found.penalty_weight, found.penalty) == (solver, weight, penalty)
    assert settings.batch_size == batch_size
    np.testing.assert_array_equal(settings.error_scale, 1)
    clean = complete(Leads(), settings, "clean")
    if system != "linear":
        assert clean.penalty == Omega(EmpiricalNorm(), SpectralNorm(), penalty.alpha)


def test_what_was_chosen_stays(fitted):
    mine = Leads(net=functools.partial(MLP, width=3), solver="euler", penalty=OMEGA, penalty_weight=0.0)
    assert complete(mine, settings_for(DATA), "clean") == mine
    assert complete(OneForAll(), settings_for(DATA), "clean").solver == "rk4"
    assert fitted[0].method == LINEAR


def test_unknown_data_are_scaled():
    settings = settings_for(DATA)
    np.testing.assert_allclose(settings.error_scale, DATA.states.reshape(-1, 2).std(axis=0))
    with pytest.raises(InputError, match="unknown net `mpl`: did you mean `mlp`"):
        settings_for(DATA, "mpl")
    assert settings_for(dataclasses.replace(DATA, attributes={"system": "lotka-volterra"}), "linear").solver == "rk4"


def test_a_finer_grid_makes_the_penalty_of_unknown_fields_no_larger():
    """The error is a mean over pixels: were Ω a sum, g_e would vanish from fine fields."""
    coarse = np.random.default_rng(0).normal(size=(1, 1, 5, 4, 4, 2))
    fine = coarse.repeat(4, axis=3).repeat(4, axis=4)

    def penalty(states):
        omega = settings_for(Trajectories.from_arrays(np.arange(5.0), states)).penalty("clean")
        assert isinstance(omega, Omega)
        return omega.norm(jnp.tanh, jnp.asarray(states[0, 0]), jnp.ones(5), ())[0]

    np.testing.assert_allclose(penalty(fine), penalty(coarse), rtol=1e-12)


@pytest.mark.parametrize("match", ["finite-differences", "spline"])
def test_matching_derivatives_learns_without_forecasts(match):
    """dx/dt = -a·x, seen often: the slopes of both environments come out."""
    times = np.linspace(0, 2, 41)
    states = np.exp(-np.array([0.5, 1.0])[:, None] * times)[:, None, :, None]
    data = Trajectories.from_arrays(times, states)
    method = Leads(net=Linear, solver="rk4", penalty_weight=0.0)
    model = fit(method, data, key=jr.key(0), steps=400, match=match, learning_rate=0.03, look_every=400)
    for e, rate in enumerate([0.5, 1.0]):
        field = model.shared(jnp.ones(1, jnp.float32)) + model.specific(e)(jnp.ones(1, jnp.float32))
        assert float(field[0]) == pytest.approx(-rate, rel=2e-3)


def test_refuses_an_unknown_way_to_match():
    with pytest.raises(InputError, match="unknown way to match derivatives `splines`"):
        train(match="splines")
