"""Forecasts of a model against plain loops and SciPy; members; what is refused."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from tests.engine import LEADS, at, compiled, forecast, plain_field, plain_net, untrained

from leadax import ConvNet, InputError, Leads, Model, RunError, Units
from leadax.data.units import Box

UNITS = Units((1.0, -0.5), (2.0, 0.5), 0.8)
LONGEST = 0.25 / UNITS.time  # a quarter of a unit of the data's time
STATES = np.random.default_rng(0).uniform(0.5, 1.5, (2, 3, 2))
TIMES = np.array([0.0, 0.1, 0.35, 0.4, 0.65])


def wild(model: Model) -> Model:
    """The same, but nothing in environment `c` stays bounded for long."""
    large = lambda a: a * jnp.array([1.0, 1.0, 100.0]).reshape(1, 3, *[1] * (a.ndim - 2)).astype(a.dtype)
    with jax.numpy_rank_promotion("allow"):
        specific = jax.tree.map(large, model.levels.specific)
    return Model(
        model.levels._replace(specific=specific), *(getattr(model, name) for name in (
            "method", "units", "environments", "channels", "state_shape", "longest_step")),
    )  # fmt: skip


@pytest.fixture(scope="module")
def model():
    return wild(untrained(units=UNITS, longest_step=LONGEST))


def field(model, e, member):
    """f + g_e of one member in the units of the data."""
    plain = plain_field(at(jax.tree.map(np.asarray, model.levels), member), e)
    mean, scale = np.array(UNITS.mean), np.array(UNITS.scale)
    return lambda x: scale / UNITS.time * plain((x - mean) / scale)


def expected(model, e, times, state, **how):
    """Of each member."""
    return np.array([forecast(field(model, e, m), times, [state] * len(times), **how) for m in range(2)])


def test_forecasts_equal_plain_steps(model):
    """From many states or one, by name or number; the mean over members is what is returned."""
    for environment, e in (("a", 0), ("é", 1), (1, 1)):
        found = model.predict(STATES, TIMES, environment=environment)
        assert found.shape == (2, 3, 5, 2)
        assert found.members.shape == (2, 2, 3, 5, 2)
        for i, j in np.ndindex(2, 3):
            each = expected(model, e, TIMES, STATES[i, j])
            np.testing.assert_allclose(found.members[:, i, j], each, rtol=1e-11)
            np.testing.assert_allclose(found.mean[i, j], each.mean(axis=0), rtol=1e-11)
            np.testing.assert_allclose(found.std[i, j], each.std(axis=0, ddof=1), rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(np.asarray(found), found.mean, rtol=1e-14)
        np.testing.assert_allclose(found[0, 1], found.mean[0, 1], rtol=1e-14)
        assert np.asarray(found, np.float32).dtype == np.float32
    one = model.predict(STATES[0, 0], TIMES, environment="a")
    assert one.shape == (5, 2)
    np.testing.assert_allclose(one.mean[0], STATES[0, 0], rtol=1e-14)
    # The field knows no time: only differences count, also of dates.
    np.testing.assert_allclose(model.predict(STATES[0, 0], TIMES + 2**31, environment="a").mean, one.mean, rtol=1e-6)
    np.testing.assert_array_equal(model.predict(STATES[0, 0], TIMES, environment="a").times, TIMES)


def test_no_step_is_longer_than_in_training(model):
    coarse, fine = np.array([0.0, 0.5, 1.25, 1.5]), np.arange(7) * 0.25
    whole = expected(model, 0, fine, STATES[0, 0])
    found = model.predict(STATES[0, 0], coarse, environment="a").members
    np.testing.assert_allclose(found, whole[:, [0, 2, 5, 6]], rtol=1e-11)
    # What is a little longer by rounding is not divided.
    nearly = model.predict(STATES[0, 0], np.array([0.0, 0.25 * (1 + 1e-9)]), environment="a").members
    np.testing.assert_allclose(nearly, whole[:, :2], rtol=1e-8)
    np.testing.assert_allclose(
        model.predict(STATES, np.array([3.0]), environment="a").mean, STATES[:, :, None], rtol=1e-14
    )


def test_one_rule_for_members(model):
    """Each member answers, and the mean of their answers is returned: forecasts, f and g_e alike."""
    members = [model.member(k) for k in range(2)]
    assert [member.members for member in members] == [1, 1]
    forecasts = [m.predict(STATES[0], TIMES, environment="é").mean for m in members]
    np.testing.assert_allclose(model.predict(STATES[0], TIMES, environment="é").mean, np.mean(forecasts, axis=0))
    x, mean, scale = STATES[0, 0], np.array(UNITS.mean), np.array(UNITS.scale)
    for part in (lambda m: m.shared, lambda m: m.specific("é")):
        np.testing.assert_allclose(part(model)(x), np.mean([part(m)(x) for m in members], axis=0), rtol=1e-12)
    nets = [at(model.levels.shared, k) for k in range(2)]
    by_hand = np.mean([scale / UNITS.time * plain_net(net, (x - mean) / scale) for net in nets], axis=0)
    np.testing.assert_allclose(model.shared(x), by_hand, rtol=1e-12)
    whole = np.mean([field(model, 1, k)(x) for k in range(2)], axis=0)
    np.testing.assert_allclose(model.shared(x) + model.specific("é")(x), whole, rtol=1e-12)
    for wrong in (2, -1):
        with pytest.raises(InputError, match=f"no member number {wrong}: the model has 2"):
            model.member(wrong)
    assert model.parameter_count == 4 * (2 * 8 + 8 + 8 * 2 + 2 + 1)


def test_a_forecast_stays_in_its_box(model):
    """Outside, the field is that of the nearest point inside, with a pull back, and what is there is cut off."""
    box = Box((-1.0, -1.0), (1.0, 1.0))
    kept = Model(*(getattr(model, name) for name in (
        "levels", "method", "units", "environments", "channels", "state_shape", "longest_step")), box=box)  # fmt: skip
    mean, scale = np.array(UNITS.mean), np.array(UNITS.scale)

    def bounded(x, member):
        nearest = np.clip((x - mean) / scale, -1, 1) * scale + mean
        return field(model, 2, member)(nearest) - (x - nearest) / UNITS.time

    times = np.linspace(0, 2, 9)
    found = kept.predict(STATES[0, 0], times, environment="c").members
    each = [forecast(partial(bounded, member=m), times, [STATES[0, 0]] * 9) for m in range(2)]
    first = STATES[0, 0]  # outside the box in one channel
    inside = lambda path: np.clip(path, np.minimum(mean - scale, first), np.maximum(mean + scale, first))
    assert np.any(inside(np.array(each)) != each)
    np.testing.assert_allclose(found, inside(np.array(each)), rtol=1e-8)
    assert np.all(np.isfinite(kept.predict(STATES[0, 0], np.linspace(0, 50, 201), environment="c").mean))
    adaptive = kept.predict(STATES[0, 0], times, environment="c", solver="tsit5").members
    options = {"t_eval": times, "rtol": 1e-9, "atol": 1e-9}
    for member in range(2):
        exact = solve_ivp(lambda t, x, m=member: bounded(x, m), (0, 2), STATES[0, 0], **options).y.T
        np.testing.assert_allclose(adaptive[member], inside(exact), rtol=1e-5)


def test_adaptive_forecast_against_scipy(model):
    times = np.linspace(0, 2, 9)
    found = model.predict(STATES[0], times, environment="a", solver="tsit5")
    options = {"t_eval": times, "rtol": 1e-10, "atol": 1e-10}
    for k in range(3):
        exact = [solve_ivp(lambda t, x: field(model, 0, m)(x), (0, 2), STATES[0, k], **options).y.T for m in range(2)]  # noqa: B023
        np.testing.assert_allclose(found.members[:, k], exact, rtol=1e-6, atol=1e-8)
    # Small fixed steps come close to it, those of training less so.
    finely = model.predict(STATES[0], np.linspace(0, 2, 801), environment="a").mean[:, ::100]
    coarsely = model.predict(STATES[0], times, environment="a").mean
    np.testing.assert_allclose(finely, found.mean, rtol=1e-5)
    assert 10 * np.abs(finely - found.mean).max() < np.abs(coarsely - found.mean).max()
    # It was compiled once, for all states, times and environments; where it stops is told in the time of the data.
    count = len(compiled)
    with pytest.raises(RunError, match=r"'tsit5' stopped at t = 100\d.* on its way to t = 100\d.*solution 0 of 6"):
        model.predict(STATES[0], 1000 + times, environment="c", solver="tsit5")
    assert compiled[count:] == []


def test_fixed_steps_may_end_in_infinity(model):
    found = np.asarray(model.predict(STATES[0], np.linspace(0, 50, 201), environment="c"))
    assert np.all(np.isfinite(found[:, 0]))
    assert not np.any(np.isfinite(found[:, -1]))


def test_fields_on_a_grid_with_a_stiff_solver():
    """An implicit solver differentiates the net forwards, through its convolutions."""
    method = Leads(net=partial(ConvNet, width=2, depth=2), solver="rk4")
    model = untrained(method, members=1, state_shape=(4, 4, 1), longest_step=0.01)
    state, times = np.random.default_rng(0).normal(size=(4, 4, 1)), np.array([0.0, 0.3])
    stiff, usual = (model.predict(state, times, environment="a", solver=name).mean for name in ("kvaerno5", None))
    assert not np.allclose(usual[-1], usual[0], rtol=1e-2)
    np.testing.assert_allclose(stiff, usual, rtol=1e-6, atol=1e-7)


# A model is a pytree of its parameters


def test_derivatives_of_forecasts(model):
    """With respect to all parameters and to the start, against differences."""
    start, weights = jnp.asarray(STATES[0, 0]), np.random.default_rng(1).normal(size=(5, 2))
    rng, towards = np.random.default_rng(2), jnp.array([0.3, -0.7])
    direction = jax.tree.map(lambda a: jnp.asarray(0.1 * rng.standard_normal(a.shape)), model)

    @jax.jit
    def value_and_grad(model, x):
        value = lambda model, x: jnp.sum(model.predict(x, TIMES, environment="é").mean * weights)
        return jax.value_and_grad(value, argnums=(0, 1))(model, x)

    _, (of_model, of_start) = value_and_grad(model, start)
    assert jax.tree.structure(of_model) == jax.tree.structure(model)
    move = lambda h: (jax.tree.map(lambda a, d: a + h * d, model, direction), start + h * towards)
    measured = (value_and_grad(*move(1e-5))[0] - value_and_grad(*move(-1e-5))[0]) / 2e-5
    slope = sum(map(np.vdot, jax.tree.leaves(of_model), jax.tree.leaves(direction)))
    np.testing.assert_allclose(slope + of_start @ towards, measured, rtol=1e-6)
    # Other environments have no part in it.
    assert all(np.all(np.asarray(g)[:, [0, 2]] == 0) for g in jax.tree.leaves(of_model.levels.specific))


def test_compiled_and_mapped_over_members(model):
    ask = lambda model, x: model.predict(x, TIMES, environment="é").mean
    plain = ask(model, STATES[0, 0])
    np.testing.assert_allclose(jax.jit(ask)(model, jnp.asarray(STATES[0, 0])), plain, rtol=1e-12)
    # Each as a model of one member.
    each = jax.vmap(lambda model: ask(model, STATES[0, 0]))(jax.tree.map(lambda a: a[:, None], model))
    np.testing.assert_allclose(each, model.predict(STATES[0, 0], TIMES, environment="é").members, rtol=1e-12)
    np.testing.assert_allclose(jnp.mean(each, axis=0), plain, rtol=1e-12)


def test_compiled_with_an_adaptive_solver(model):
    """Where the model is an argument nothing can be raised: what cannot be solved is not a number."""
    ask = jax.jit(lambda model, e: model.predict(STATES[0], np.linspace(0, 2, 9), environment=e, solver="tsit5").mean,
                  static_argnums=1)  # fmt: skip
    plain = model.predict(STATES[0], np.linspace(0, 2, 9), environment=0, solver="tsit5").mean
    np.testing.assert_allclose(ask(model, 0), plain, rtol=1e-10)
    assert not np.all(np.isfinite(ask(model, 2)))


# Refused


@pytest.mark.parametrize(
    ("state", "times", "match"),
    [
        (np.ones(3), [0.0, 1.0], r"`state` must have the shape \(…, \(2,\)\) of the model, got \(3,\)"),
        (np.ones(()), [0.0, 1.0], "`state` must have the shape"),
        (np.array([1, np.nan]), [0.0, 1.0], "`state` must be finite"),
        (np.array([1, np.inf]), [0.0, 1.0], "`state` must be finite"),
        (np.ones(2), [0.0, 0.0], "`times` must be one-dimensional, finite and increas"),
        (np.ones(2), [0.0, 2.0, 1.0], "`times` must"),
        (np.ones(2), [0.0, np.nan], "`times` must"),
        (np.ones(2), [0.0, np.inf], "`times` must"),
        (np.ones(2), [], "`times` must"),
    ],
)
def test_refuses_to_predict(state, times, match, model):
    with pytest.raises(InputError, match=match):
        model.predict(state, np.array(times), environment="a")


def test_refuses_what_it_has_never_seen(model):
    for environment in ("z", 3, -1):
        with pytest.raises(InputError, match=f"never seen environment `{environment}`: it knows a, é, c; .*adapt"):
            model.predict(np.ones(2), np.array([0.0, 1.0]), environment=environment)
    with pytest.raises(InputError, match="tsit55"):
        model.predict(np.ones(2), np.array([0.0, 1.0]), environment="a", solver="tsit55")
    assert model.method is LEADS
