"""`fit`: what it sees and keeps, when it stops, what it refuses."""

import dataclasses
from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from tests.engine import LINEAR, decays, plainly, random_levels, request_of, same_bits, tiny

from leadax import (
    ConvNet,
    Frobenius,
    FtRnn,
    InputError,
    Leads,
    Linear,
    Monitor,
    OneForAll,
    Recipe,
    RunError,
    ScheduledSampling,
    Trajectories,
    Units,
    evaluate,
    fit,
    fit_side_by_side,
    preset,
)
from leadax.data.units import Box
from leadax.records import Snapshot
from leadax.train import Interrupted, Start, loop
from leadax.train.request import Request, chosen_defaults
from leadax.train.trainer import Trainer

DATA = decays()
TEST = decays(trajectories=3)
# In the units of the data a net without biases can learn them.
RAW = dataclasses.replace(plainly(DATA), units=Units.ones(2), box=Box.around(DATA, Units.ones(2)))


def train(method=LINEAR, data=DATA, recipe=None, **settings):
    chosen = {"steps": 23, "learning_rate": 0.02, "key": jr.key(0), **settings}
    return fit(method, data, recipe=Recipe(**{"look_every": 10, **(recipe or {})}), **chosen)


def trainer_of(method=LINEAR, data=DATA, recipe=Recipe(), **settings):
    """What `fit` is about to run."""
    return Trainer.of(request_of(data, recipe=recipe, **{"steps": 23, **settings}), [method], [None])


@pytest.fixture(scope="module")
def fitted():
    """A model, and what was heard of it during training."""
    heard: list[tuple[Snapshot, int]] = []
    return train(test=TEST, monitor=Monitor(listen=lambda *told: heard.append(told))), heard


def test_learns():
    first, last = (train(steps=steps, learning_rate=0.05, defaults=RAW) for steps in (1, 300))
    assert last.training.history[-1].error[0] < 0.1 * first.training.history[-1].error[0]
    found = evaluate(last, DATA)
    assert found.mse < 0.1 * evaluate(first, DATA).mse
    assert found.r2 > 0.9


def types_of(tree):
    return {str(leaf.dtype) for leaf in jax.tree.leaves(tree) if jnp.issubdtype(leaf.dtype, jnp.floating)}


def test_float32_even_where_float64_is_on(fitted):
    assert jnp.result_type(float) == jnp.float64
    assert types_of(fitted[0]) == {"float32"}
    for dtype in ("float32", "float64"):
        trainer = trainer_of(recipe=Recipe(dtype=dtype), test=DATA)
        state = jax.eval_shape(trainer._first_state)
        assert types_of((state, trainer.task.method, trainer.task.batch, trainer.task.test.batch)) == {dtype}


def test_settings_reach_the_plan():
    recipe = Recipe(batch_size=1, sampling=ScheduledSampling(0.5), decay="one-cycle")
    task = trainer_of(recipe=recipe).task
    ((plan, begin, end),) = task.stages
    assert (begin, end, plan.batch_size, task.sampling) == (0, 23, 1, ScheduledSampling(0.5))
    assert (plan.optimiser.rule, plan.optimiser.decay, plan.optimiser.clip) == ("adam", "one-cycle", 1.0)
    start = Start(fill_levels(2), ("specific",))
    assert trainer_of(start=start).task.stages[0].plan.trainable == ("specific", "local")
    fields = Trajectories.from_arrays(range(3), np.ones((1, 1, 3, 12, 12, 1)))
    for wanted, batch_size in ((None, 2), (5, 5)):
        defaults = preset("navier-stokes", fields)
        task = trainer_of(Leads(), fields, Recipe(batch_size=wanted), defaults=defaults).task
        assert task.stages[0].plan.batch_size == batch_size


def fill_levels(environments):
    return jax.tree.map(lambda a: a[None].astype("float32"), random_levels(LINEAR, environments))


def test_looks(fitted):
    model, heard = fitted
    history = model.training.history
    assert [snapshot.step for snapshot in history] == [10, 20, 23]
    assert [(snapshot, 23) for snapshot in history] == heard
    for snapshot in history:  # and a little for the size of the weights
        rest = snapshot.loss[0] - snapshot.error[0] - 0.01 * snapshot.penalty[0]
        assert 0 < rest < 1e-3 * snapshot.error[0]
    assert history[0].seconds < history[1].seconds < history[2].seconds == model.training.seconds
    np.testing.assert_allclose(history[-1].test, evaluate(model, TEST).mse_per_seed, rtol=1e-5)
    assert model.training.smallest_test_errors == (min(snapshot.test[0] for snapshot in history),)


def test_what_a_model_knows_of_itself(fitted):
    model, _ = fitted
    assert (model.environments, model.channels, model.state_shape) == (DATA.environments, DATA.channels, (2,))
    assert (model.members, model.training.steps, model.training.kept, model.method) == (1, 23, None, LINEAR)
    assert model.units == Units.measured(DATA)
    np.testing.assert_allclose(model.longest_step * model.units.time, 0.2, rtol=1e-6)
    config = model.training.config
    assert (config.steps, config.protocol, config.train, config.key) == (23, "clean", DATA.fingerprint, (0, 0))
    assert config.test == TEST.fingerprint


def test_same_key_same_bits_whoever_looks(fitted, monkeypatch):
    assert same_bits(train(), fitted[0])
    assert same_bits(train(recipe={"look_every": 3, "checkpoint_every": 4}), fitted[0])
    assert not same_bits(train(key=jr.key(1)), fitted[0])
    for seconds in (0.0, 1e9):
        monkeypatch.setattr(loop, "SECONDS_PER_CALL", seconds)
        assert same_bits(train(), fitted[0])


def test_seeds_start_as_they_do_alone():
    alone, together = (trainer_of(seeds=seeds)._first_state() for seeds in (1, 3))
    assert same_bits(jax.tree.map(lambda a: a[:1], together), alone)
    for leaf in jax.tree.leaves((together.levels, together.carry, together.key)):
        assert len({np.asarray(a).tobytes() for a in leaf}) == 3
    assert together.step.tolist() == [0, 0, 0]
    np.testing.assert_allclose(together.rate, 1e-3, rtol=1e-6)


def test_start(fitted):
    start = fitted[0].levels
    before = jax.tree.map(np.array, start)
    given = (start, before, jax.tree.map(np.float64, before))
    found = [train(start=Start(levels), steps=5) for levels in given]
    assert same_bits(found[0], found[1])
    assert same_bits(found[0], found[2])
    assert found[0].training.history[0].loss[0] < fitted[0].training.history[0].loss[0]
    # The arrays that were given are still there, as they were, though training works in place.
    assert same_bits(start, before)
    wrong = r"`start` does not fit this model: .* has shape \(1, 2, 2, 2\).*expected \(1, 3, 2, 2\)"
    with pytest.raises(InputError, match=wrong):
        train(start=Start(start), data=(three := decays(environments=3)), defaults=plainly(three))


@pytest.mark.parametrize("sizes", [(1, 1, 2), (200, 1, 2)], ids=["one of all", "200 environments"])
def test_smallest_and_many(sizes):
    data, method = decays(*sizes), dataclasses.replace(LINEAR, penalty=Frobenius())
    model = train(data=data, steps=3, method=method, defaults=plainly(data))
    assert len(model.environments) == sizes[0]
    assert np.isfinite(model.training.history[-1].loss[0])


def test_data_that_never_change():
    """No spread, no time scale: a field of zero is right, and no error is an explosion."""
    constant = Trajectories.from_arrays(DATA.times, np.full(DATA.states.shape, 3.0))
    model = train(data=constant)
    assert model.units == Units((3.0, 3.0), (1.0, 1.0), 1.0)
    assert train(data=constant, defaults=RAW).training.history[0].error[0] > 0
    np.testing.assert_allclose(model.predict(np.full(2, 3.0), np.linspace(0, 1, 6), environment=0).mean, 3.0)


def test_the_units_do_not_learn():
    """Weights shrink by half in each step; where the data are does not."""
    shrinking = optax.adamw(1e-3, weight_decay=500.0)
    data = Trajectories.from_arrays(DATA.times, DATA.states + 100)
    model = train(data=data, optimiser=shrinking, learning_rate=None, defaults=plainly(data))
    assert model.units == Units.measured(data)
    assert model.units.mean[0] > 100
    assert max(np.abs(leaf).max() for leaf in jax.tree.leaves(model)) < 5e-3
    # So a model whose weights are gone predicts that nothing moves.
    start = DATA.states[0, 0, 0] + 100
    found = model.predict(start, DATA.times[0, 0], environment=0).mean
    np.testing.assert_allclose(found, np.broadcast_to(start, (6, 2)), atol=0.01)


def test_a_net_of_ones_choice_gets_the_same_units():
    """As the default net does, for data with a mean of 100."""
    far = Trajectories.from_arrays(DATA.times, DATA.states + 100)
    chosen, default = (trainer_of(method, far) for method in (Leads(net=tiny), Leads()))
    assert chosen.request.defaults.units == default.request.defaults.units
    assert same_bits(chosen.task.batch, default.task.batch)
    assert chosen.request.defaults.units.mean[0] > 100
    np.testing.assert_allclose(np.mean(chosen.task.batch.states, axis=(0, 1, 2)), 0.0, atol=1e-5)


# Validation


def test_the_best_model_on_validation_data_is_kept(tmp_path, monkeypatch):
    """These data are learnt at first; they are of another kind than what is learnt later."""
    rising = Trajectories.from_arrays(DATA.times, DATA.states[:, :, ::-1])
    settings = {"validation": rising, "recipe": {"look_every": 1, "checkpoint_every": 7}, "key": jr.key(3)}
    model = train(**settings)
    errors = [snapshot.validation[0] for snapshot in model.training.history]
    assert len(errors) == 23
    best = int(np.argmin(errors)) + 1
    assert model.training.kept == (best,)
    assert 1 <= best < 23
    np.testing.assert_allclose(evaluate(model, rising).mse, min(errors), rtol=1e-5)
    assert model.training.history[-1].test is None
    # The last one is another, and the training data do not know of all this.
    last = train(key=jr.key(3))
    assert last.training.kept is None
    assert not same_bits(model, last)
    # Stopped after the best step and resumed, the best is remembered.
    calls = iter(range(1, 1000))
    stop = Monitor(should_stop=lambda: next(calls) == best + 1)
    monkeypatch.setattr(loop, "SECONDS_PER_CALL", 0.0)
    with pytest.raises(Interrupted):
        train(**settings, run=tmp_path, monitor=stop)
    resumed = train(**settings, run=tmp_path)
    assert same_bits(resumed, model)
    assert resumed.training.kept == (best,)


# Stopping


def counting(times: int):
    """Says stop when asked for the nth time."""
    calls = iter(range(1, 1_000_000))
    return Monitor(should_stop=lambda: next(calls) >= times)


@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["short calls", "long calls"])
def test_stops_when_told_also_where_a_call_reaches_the_next_look(seconds, monkeypatch):
    monkeypatch.setattr(loop, "SECONDS_PER_CALL", seconds)
    with pytest.raises(Interrupted, match="stopped at step 10 of 100000") as caught:
        train(steps=100_000, monitor=counting(10 if seconds == 0 else 2))
    assert caught.value.exit_status == 130


def test_told_at_the_end_is_finished(fitted, monkeypatch):
    monkeypatch.setattr(loop, "SECONDS_PER_CALL", 0.0)
    assert same_bits(train(monitor=counting(23)), fitted[0])


# Divergence. The first environment is nothing but zeros: whatever is learnt, its forecasts are right.

HALF_ZERO = Trajectories.from_arrays(DATA.times, DATA.states * np.array([0.0, 1.0]).reshape(2, 1, 1, 1))


def jumping(length: float):
    """One step, the tenth, is much too long."""
    return optax.GradientTransformation(
        lambda params: jnp.zeros((), jnp.int32),
        lambda gradient, step, params: (
            jax.tree.map(lambda g: jnp.where(step == 9, -length * jnp.sign(g), -0.01 * g), gradient),
            step + 1,
        ),
    )


JUMP = jumping(64.0)
UNBOUNDED = dataclasses.replace(plainly(HALF_ZERO), units=Units.ones(2), box=None)


def jump(optimiser=JUMP, defaults=UNBOUNDED, run=None, warn=lambda text: None, **recipe):
    recipe = Recipe(**{"sampling": ScheduledSampling(0.0), "look_every": 6, "checkpoint_every": 8, **recipe})
    settings = {"steps": 23, "key": jr.key(0), "run": run, "monitor": Monitor(warn=warn)}
    return fit(LINEAR, HALF_ZERO, optimiser=optimiser, defaults=defaults, recipe=recipe, **settings)


def test_divergence_stops_the_run_and_says_where(tmp_path):
    folder = tmp_path / "run"
    said = r"the loss is not finite at step 1\d, in environment `e1` of seed 0; the last good step is"
    # Again from the checkpoint it goes the same way, unless it may go slower.
    for _ in range(2):
        with pytest.raises(RunError, match=f"{said} 8: try a smaller learning rate"):
            jump(run=folder, on_divergence="stop")
        assert [place.name for place in (folder / "checkpoints").iterdir()] == ["step-000000008"]
    warned: list[str] = []
    model = jump(run=folder, warn=warned.append)
    assert model.training.steps == 23
    # What was seen of steps that were undone is forgotten.
    assert [snapshot.step for snapshot in model.training.history] == [6, 12, 18, 23]
    assert "of seed 0; the last good step is 8" in warned[0]
    assert "half the learning rate" in warned[0]


def test_retries_go_back_and_halve_the_rate():
    """To the checkpoint, and from there with the rate that came out."""
    warned: list[str] = []
    model = jump(warn=warned.append)
    assert 1 <= len(warned) <= loop.RETRIES
    assert all("the last good step is 8" in text for text in warned)
    recipe = Recipe(sampling=ScheduledSampling(0.0), look_every=6)
    trainer = trainer_of(LINEAR, HALF_ZERO, recipe, optimiser=JUMP, defaults=UNBOUNDED)
    task, state = trainer.task, trainer._first_state()
    go = lambda state, steps: loop.advance(
        task.stages[0].plan,
        task.method,
        state,
        task.batch,
        task.sampling,
        loop.Span(*jnp.array([0, 23], "int32")),
        steps,
    )[0]
    state = go(state, 8)
    state = go(state._replace(rate=state.rate * 0.5 ** len(warned)), 15)
    assert same_bits(state.levels, model.levels)


def test_a_look_just_after_the_jump_is_not_what_to_go_back_to():
    """The loss of that look is of the step before: it does not know yet how long the step was."""
    warned: list[str] = []
    model = jump(warn=warned.append, look_every=5, checkpoint_every=1000)
    assert [snapshot.step for snapshot in model.training.history] == [5, 10, 15, 20, 23]
    assert warned
    assert all("the last good step is 5" in text for text in warned)


def test_an_explosion_is_noticed_though_it_is_finite():
    warned: list[str] = []
    jump(jumping(1e3), dataclasses.replace(UNBOUNDED, box=Box((-3.0, -3.0), (3.0, 3.0))), warn=warned.append)
    assert warned
    assert "the loss explodes at step 12, in environment `e1` of seed 0; the last good step is 8" in warned[0]


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [([], 9e3, False), ([], 2e4, True), ([0.03, 0.5], 8.0, True), ([0.03], 0.9, False), ([0.5, 0.3], 8.0, False)],
)
def test_what_an_explosion_is(before, now, expected):
    """In parts of the variance: enormous, or useless after it was a hundred times better."""
    history = [SimpleNamespace(error=(2 * error,)) for error in before]
    running = loop.Loop(SimpleNamespace(variance=2.0), Monitor(), None, history)
    assert running._exploded(SimpleNamespace(terms=SimpleNamespace(error=np.array([[2 * now]])))) == [expected]


def test_gives_up_after_some_retries(monkeypatch):
    monkeypatch.setattr(loop, "RETRIES", 1)
    warned: list[str] = []
    with pytest.raises(RunError, match=r"not finite at step \d+, .*the last good step is 8: try a smaller"):
        jump(warn=warned.append)
    assert len(warned) == 1


# Matching derivatives


@pytest.mark.parametrize("match", ["finite-differences", "spline"])
def test_matching_derivatives_learns_without_forecasts(match):
    """dx/dt = -a·x, seen often: the slopes of both environments come out."""
    times = np.linspace(0, 2, 41)
    data = Trajectories.from_arrays(times, np.exp(-np.array([0.5, 1.0])[:, None] * times)[:, None, :, None])
    defaults = dataclasses.replace(plainly(data), units=Units.ones(1))
    method = Leads(net=Linear, solver="rk4", penalty_weight=0.0)
    recipe = Recipe(match=match, look_every=400)
    model = fit(method, data, key=jr.key(0), steps=400, learning_rate=0.03, defaults=defaults, recipe=recipe)
    for e, rate in enumerate([0.5, 1.0]):
        field = model.shared(np.ones(1)) + model.specific(e)(np.ones(1))
        assert float(field[0]) == pytest.approx(-rate, rel=2e-3)


def test_slopes_that_are_steep_are_no_explosion():
    """In the units of the data a fast system has slopes of thousands of times its spread."""
    fast = Trajectories.from_arrays(DATA.times * 1e-4, DATA.states)
    defaults = dataclasses.replace(plainly(fast), units=Units.ones(2))
    assert train(data=fast, defaults=defaults, recipe={"match": "spline"}).training.steps == 23


def test_a_recurrent_net_matches_no_derivatives():
    with pytest.raises(InputError, match="FtRnn has no vector field"):
        train(FtRnn(width=2, rank=2), recipe={"match": "spline"})


# Wrong use


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"steps": 0}, "`steps` must be a whole number from 1 .* got 0"),
        ({"steps": -5}, "`steps` must be"),
        ({"steps": 10**20}, "`steps` must be a whole number from 1 to 2147483647, got 1000"),
        ({"seeds": 0}, "`seeds` must be .*, got 0"),
        ({"learning_rate": 0.0}, "`learning_rate` must be a positive number, got 0"),
        ({"learning_rate": float("nan")}, "`learning_rate` must be"),
        ({"learning_rate": float("inf")}, "`learning_rate` must be"),
        ({"optimiser": optax.adam(1e-3), "learning_rate": 1e-3}, "`learning_rate` .* Optax"),
        ({"optimiser": optax.adam(1e-3), "learning_rate": None, "recipe": {"decay": "constant"}}, "`decay` .* Optax"),
        ({"optimiser": "moun"}, "unknown optimiser `moun`: did you mean `muon`"),
        ({"start": Start(fill_levels(2), ("f",))}, "`trainable` must name"),
        ({"method": Leads(net=ConvNet)}, r"ConvNet needs a field .*got a state of shape \(2,\): use the MLP"),
        ({"test": DATA.select("e1")}, "the test data must have the environments"),
        ({"validation": DATA.select("e1")}, "the validation data must have the environments"),
        ({"test": Trajectories.from_arrays(range(3), np.ones((2, 1, 3, 1)))}, "test data must have .* the state shape"),
        ({"test": Trajectories.from_arrays(range(3), np.ones((2, 1, 3, 2)), channels=["x1", "x0"])}, "another order"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_refuses(wrong, match):
    with pytest.raises(InputError, match=match) as caught:
        train(**wrong)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        (lambda: Recipe(look_every=0), "`look_every` must be"),
        (lambda: Recipe(checkpoint_every=-1), "`checkpoint_every` must be"),
        (lambda: Recipe(batch_size=0), "`batch_size` must be"),
        (lambda: Recipe(protocol="papre"), "unknown protocol `papre`: did you mean `paper`"),
        (lambda: Recipe(match="splines"), "unknown way to match the data `splines`: did you mean `spline`"),
        (lambda: dataclasses.replace(LINEAR, penalty_weight=-1.0), "weight of a penalty .* must be zero or"),
        (lambda: dataclasses.replace(LINEAR, penalty_weight=float("nan")), "must be zero or a positive number"),
        (lambda: dataclasses.replace(LINEAR, solver="rk5"), "unknown solver `rk5`"),
        (lambda: dataclasses.replace(LINEAR, substeps=0), "`substeps` must be a whole number"),
    ],
)
def test_refuses_such_settings(wrong, match):
    with pytest.raises(InputError, match=match):
        wrong()


def test_refuses_what_types_would_forbid():
    """Outside the tests nothing checks the types of arguments."""
    request = {"train": DATA, "key": jr.key(0), "steps": 10, "seeds": 1}
    for wrong, match in (
        ({"steps": "10"}, "`steps` must be a whole number from 1 .* got '10'"),
        ({"seeds": True}, "`seeds` must be a whole number .* got True"),
        ({"key": 3}, "`key` must be a `jax.random.key`, got 3"),
    ):
        with pytest.raises(InputError, match=match):
            _plain(Request)(**{**request, **wrong})
    with pytest.raises(InputError, match="`train` must be Trajectories, got str"):
        chosen_defaults("data.npz", None, None, ())
    with pytest.raises(InputError, match="unknown answer to divergence `pray`"):
        _plain(Recipe)(on_divergence="pray")


def _plain(kind):
    """A class without the type checker around its `__init__`."""

    def build(**given):
        made = object.__new__(kind)
        for field in dataclasses.fields(kind):
            default = field.default if field.default is not dataclasses.MISSING else None
            object.__setattr__(made, field.name, given.get(field.name, default))
        made.__post_init__()
        return made

    return build


def test_settings_that_a_method_does_not_have():
    for wrong in (lambda: OneForAll(penalty_weight=1.0), lambda: FtRnn(net=tiny)):
        with pytest.raises(TypeError):
            wrong()


def test_refuses_data_without_a_start():
    holes = np.ones((1, 1, 3, 2))
    holes[0, 0, :2, 0] = np.nan
    with pytest.raises(InputError, match="trajectory 0 of environment `e0`"):
        train(data=Trajectories.from_arrays(range(3), holes))


# Candidates side by side


def test_candidates_side_by_side_are_each_as_alone():
    """λ and learning rates differ; in one program."""
    methods = [dataclasses.replace(LINEAR, penalty_weight=weight) for weight in (0.01, 1.0)]
    rates, settings = [0.02, 0.005], {"steps": 23, "key": jr.key(0), "seeds": 2, "test": TEST}
    together = fit_side_by_side(methods, DATA, learning_rates=rates, recipe=Recipe(look_every=10), **settings)
    assert not np.allclose(together[0].levels.specific.dense.weight, together[1].levels.specific.dense.weight)
    for method, rate, found in zip(methods, rates, together, strict=True):
        alone = train(method, learning_rate=rate, seeds=2, test=TEST)
        jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-6), found.levels, alone.levels)
        assert (found.method, found.training.config) == (method, alone.training.config)
        for snapshot, expected in zip(found.training.history, alone.training.history, strict=True):
            assert snapshot.step == expected.step
            np.testing.assert_allclose(snapshot.loss, expected.loss, rtol=1e-4)
            np.testing.assert_allclose(snapshot.test, expected.test, rtol=1e-4)


def test_candidates_may_differ_in_numbers_only():
    side_by_side = partial(fit_side_by_side, train=DATA, key=jr.key(0))
    for other in (
        dataclasses.replace(LINEAR, solver="heun"),
        dataclasses.replace(LINEAR, net=tiny),
        dataclasses.replace(LINEAR, penalty=Frobenius()),
        dataclasses.replace(LINEAR, penalty_weight=0.0),
        OneForAll(net=Linear, solver="euler"),
    ):
        with pytest.raises(InputError, match="side by side may differ in numbers only"):
            side_by_side([LINEAR, other])
    with pytest.raises(InputError, match=r"there is nothing to train: .* at least one method"):
        side_by_side([])
    with pytest.raises(InputError, match="one number per method, got 1 for 2"):
        side_by_side([LINEAR, LINEAR], learning_rates=[0.1])


def test_held_out_environments_may_come_in_another_order():
    """They are matched by name, and the errors are those of the same order."""
    turned = TEST.select(TEST.environments[::-1])
    assert turned.environments != TEST.environments
    errors = [fit(Leads(net=Linear), DATA, test=test, steps=4, key=jr.key(0)).training.smallest_test_errors
              for test in (TEST, turned)]  # fmt: skip
    assert errors[0] == errors[1]
