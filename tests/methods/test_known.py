"""Known formulas beside what is learnt: closed forms, units, composition, files."""

import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.engine import plainly, same_bits

from leadax import (
    Coda,
    FtRnn,
    InputError,
    Latent,
    Leads,
    Linear,
    Model,
    OneForAll,
    OnePerEnv,
    Parameter,
    Recipe,
    Sizes,
    Trajectories,
    Units,
    evaluate,
    explain,
    fit,
)
from leadax.describe import describe, restore
from leadax.methods import Known, Levels, with_formula
from leadax.methods.attribution import attributed
from leadax.methods.known import Beside
from leadax.methods.local import first_local
from leadax.methods.parameters import as_parameters
from leadax.methods.prefit import beginning
from leadax.methods.prepare import prepare, side_by_side
from leadax.penalties import Points

TIMES = np.linspace(0, 1, 9)
RATES = (0.5, 1.0, 2.0)
RECIPE = Recipe(dtype="float64")


def decay(t, x, u, p):
    """dx/dt = −rate·x + source, in the units of the data."""
    return -p.rate * x + p["source"]


def wrong_shape(t, x, u, p):
    return x[:1]


NUMBERS = {"rate": Parameter(1.5, low=0), "source": Parameter(0.2, shared=True)}
SETTINGS = {"known": decay, "parameters": NUMBERS, "net": Linear, "solver": "rk4", "substeps": 4}


def decays(rates=RATES, source=3.0) -> Trajectories:
    """Solutions of dx/dt = −rate·x + source, far from standard units."""
    rates, starts = np.array(rates)[:, None, None, None], np.array([[10.0, 40.0], [25.0, 5.0]])[None, :, None, :]
    rest = source / rates
    states = rest + (starts - rest) * np.exp(-rates * TIMES[None, None, :, None])
    return Trajectories.from_arrays(TIMES, states)


@functools.cache
def trained() -> Model:
    return fit(Leads(**SETTINGS), decays(), steps=20, key=jr.key(0), recipe=RECIPE)


def blank(method, environments=1):
    """Levels with nets that are zero, and all numbers at their starts."""
    return jax.tree.map(jnp.zeros_like, Levels(*method.init(Sizes((2,), environments), key=jr.key(0))))


def test_numbers_are_recovered():
    model = trained()
    for environment, rate in zip(model.environments, RATES, strict=True):
        assert model.parameters(environment)["rate"].value == pytest.approx(rate, rel=3e-2)
    assert model.parameters(0)["source"] == model.parameters(2)["source"], "one number for all environments"
    assert evaluate(model, decays()).nmse < 1e-2


@pytest.mark.parametrize("build", [Leads, OneForAll, OnePerEnv, Coda])
def test_it_composes_with_methods(build):
    """With nets that are zero, a forecast is the closed form of the formula in raw units; the parts add up."""
    data = decays()
    units = Units.measured(data)
    method = with_formula(build(**SETTINGS, **({"penalty_weight": 0.0} if build is Leads else {})), units)
    levels = blank(method, 3)
    own = jax.tree.map(lambda a: a[1], levels.specific)
    batch = jax.tree.map(lambda a: a[1, 0], prepare(data, units, method, dtype="float64"))
    found = units.raw(method.dynamics(levels.shared, own).forecast(batch.states[0], batch.steps))
    expected = 0.2 / 1.5 + (np.array([10.0, 40.0]) - 0.2 / 1.5) * np.exp(-1.5 * TIMES[:, None])
    np.testing.assert_allclose(found, expected, rtol=1e-4)
    f, g = method.split(levels.shared, own)
    known = method.known(levels.shared, own)
    place = (batch.times[1], batch.states[1], None)
    np.testing.assert_allclose(f(*place) + g(*place), known(*place), rtol=1e-12)
    assert method.regulariser().relative


def test_a_forecast_is_the_formula_plus_what_was_learnt():
    """The parts add up in the units of the data."""
    model = trained()
    start, ahead = np.array([20.0, 8.0]), np.array([0.0, 1e-3])
    rate, source = (model.parameters("e1")[name].value for name in ("rate", "source"))
    expected = -rate * start + source + model.shared(start) + model.specific("e1")(start)
    states = model.predict(start, ahead, environment="e1")
    np.testing.assert_allclose((states[1] - states[0]) / 1e-3, expected, rtol=2e-3)


def test_the_formula_sees_the_units_of_the_data():
    units = Units((10.0, -2.0), (4.0, 0.5), 3.0, 7.0, (5.0,), (2.0,))
    seen = {}

    def formula(t, x, u, p):
        seen.update(t=t, x=x, u=u)
        return jnp.stack([4.0 * jnp.ones(()), jnp.ones(())])

    method = with_formula(Leads(known=formula), units)
    assert isinstance(method, Known)
    tangent = method.known(Beside(()), Beside(()))(jnp.array(2.0), jnp.array([1.0, 2.0]), jnp.array([3.0]))
    np.testing.assert_allclose(seen["t"], 13.0)
    np.testing.assert_allclose(seen["x"], [14.0, -1.0])
    np.testing.assert_allclose(seen["u"], [11.0])
    np.testing.assert_allclose(tangent, [4.0 / 4 * 3, 1 / 0.5 * 3])


@pytest.mark.parametrize(
    ("parameter", "bounds"),
    [
        (Parameter(2.0), (-np.inf, np.inf)),
        (Parameter(2.0, low=1.0), (1.0, np.inf)),
        (Parameter(2.0, high=5.0), (-np.inf, 5.0)),
        (Parameter(2.0, low=1.0, high=5.0), (1.0, 5.0)),
    ],
)
def test_bounds_hold(parameter, bounds):
    """From the start in steps of the same sign in both directions, never beyond a bound."""
    values = np.asarray(parameter.value(jnp.linspace(-1, 1, 41)))
    assert values[20] == pytest.approx(2.0)
    assert np.all(np.diff(np.abs(values - values[0])) >= 0)
    assert np.ptp(values) > 1
    assert bounds[0] <= values.min()
    assert values.max() <= bounds[1]


def test_a_prior_pulls():
    """The larger the error, the more; its weight is that of one observation."""
    strong = {**NUMBERS, "source": Parameter(3.0, shared=True, prior=(3.0, 1e-3))}
    method = with_formula(Leads(**{**SETTINGS, "parameters": strong}), Units.ones(2))
    levels = blank(method, 3)
    moved = levels._replace(shared=levels.shared._replace(numbers=jnp.array([1e-4])))
    assert method.prior(levels.shared, levels.specific) == 0
    # z = 1e-4 is 10·1e-4·3 = 3e-3 away from the start: three widths.
    assert float(method.prior(moved.shared, moved.specific)) == pytest.approx(9.0)
    assert with_formula(Leads(**SETTINGS), Units.ones(2)).prior(levels.shared, levels.specific) is None


def test_the_remainder_is_kept_small():
    """Ω counts f + g_e in its own unit, not the formula; of two models that fit alike the smaller rest is preferred."""
    method = dataclasses.replace(with_formula(OneForAll(**SETTINGS), Units.ones(2)), scale=(0.25, 2.0))
    assert isinstance(method, Known)
    shared, specific = method.init(Sizes((2,), 1), key=jr.key(0))
    regulariser = method.regulariser()
    assert regulariser.relative
    points = Points(jnp.zeros(3), jnp.ones((3, 2)))
    own = jax.tree.map(lambda a: a[0], specific)
    value, _ = regulariser.penalty(regulariser.subject(shared, own), points, jnp.ones(3), ())
    f, g = method.learnt(shared, own)
    rest = np.asarray(f(0.0, points.states[0], None) + g(0.0, points.states[0], None))
    np.testing.assert_allclose(value, np.sum((rest / [0.25, 2.0]) ** 2), rtol=1e-12)


def plain_decay(t, x, u, p):
    return -p.rate * x


def with_a_rest(method: Known, slope: float) -> Levels:
    """Levels of one member whose f is slope·x in standard units; all numbers at their starts."""
    levels = blank(method, 3)
    f, g = levels.shared.rest
    f = eqx.tree_at(lambda net: net.dense.weight, f, slope / method.unit(2)[0] * jnp.eye(2))
    return jax.tree.map(lambda a: a[None], levels._replace(shared=levels.shared._replace(rest=(f, g))))


def only_member(tree):
    return jax.tree.map(lambda a: a[0], tree)


@pytest.mark.parametrize("shared", [True, False])
def test_what_the_formula_could_explain_is_attributed_to_it(shared):
    """−0.3 (x − 20) is a larger rate and a constant, although both are correlated where x > 0."""
    data, units = decays(), Units((20.0, 20.0), (8.0, 8.0), 1.0)
    settings = {**SETTINGS, "known": plain_decay, "parameters": {"rate": Parameter(1.5, shared=shared)}}
    method = dataclasses.replace(with_formula(OneForAll(**settings), units), scale=(0.5, 0.5))
    several, batch = side_by_side([method], 1, "float64"), prepare(data, units, method, dtype="float64")
    levels = with_a_rest(method, -0.3)
    found = attributed(several, levels, batch, shared=True)
    common, own = only_member(found.shared), jax.tree.map(lambda a: a[0, 1], found.specific)
    np.testing.assert_allclose(method.estimates(common, own)["rate"], 1.8, rtol=5e-3)
    place = (jnp.array(0.0), jnp.array([-1.0, 0.5]), None)
    rest = sum(field(*place) for field in method.learnt(common, own))
    np.testing.assert_allclose(rest, 0.3 * 20 / 8, rtol=2e-2)
    whole = lambda levels: sum(f(*place) for f in method.split(only_member(levels.shared), own))
    assert same_bits(whole(found), whole(levels)), "forecasts stay as they are"
    kept = attributed(several, levels, batch, shared=False)
    assert same_bits(kept.shared, levels.shared), "what is shared may have to stay as it is"


def begin(data: Trajectories, formula=decay, hidden=0, noise="none", **settings):
    """How training of a formula begins, in float64."""
    defaults = plainly(data).laid_out(data, Latent(noise=noise, hidden=hidden))
    method = with_formula(Leads(**{**SETTINGS, "known": formula, "substeps": 1, **settings}), defaults.units)
    rules = {"dtype": "float64", "layout": defaults.layout}
    longest = defaults.longest_step / defaults.units.time
    prepared = lambda finer: prepare(data, defaults.units, method, longest=longest / finer, **rules)
    local = lambda batch: first_local(batch, defaults.layout, "float64")
    found = beginning(method, prepared, local)
    return found, method.estimates(*(Beside((), numbers) for numbers in found.numbers)), defaults.units


def test_numbers_begin_where_the_formula_alone_is_best():
    """Before any step of training, from starts that are far away; what it explains is not left to nets."""
    found, numbers, _ = begin(decays())
    np.testing.assert_allclose(numbers["rate"], RATES, rtol=1e-4)
    np.testing.assert_allclose(numbers["source"], 3.0, rtol=1e-4)
    assert max(found.scale) < 1e-4
    assert found.finer == 1


def test_steps_are_as_short_as_the_formula_needs():
    """A formula cannot make up for long steps: Euler's are biased, and as short as they can be."""
    few = Trajectories.from_arrays(TIMES[::4], decays().states[:, :, ::4])
    assert begin(few)[0].finer == 4
    assert begin(few, solver="euler")[0].finer == 16


def test_the_rest_is_learnt_in_units_of_what_is_left():
    """Beside half of the source, which it may not change, a decay leaves a constant rate."""
    data = decays((1.0,))
    half = {"rate": Parameter(1.0, low=0.999, high=1.001), "source": Parameter(1.5, low=1.4999, high=1.5001)}
    found, _, units = begin(data, parameters=half)
    expected = 1.5 / np.array(units.scale) * units.time
    np.testing.assert_allclose(found.scale, 2.0 ** np.round(np.log2(expected)))


def test_noise_is_not_left_to_learn():
    """Between points that are close in time, noise looks like a large rate; nets must not be given its size."""
    exact = decays()
    spread = exact.states.std(axis=(0, 1, 2))
    noisy = exact.states + 0.05 * spread * np.random.default_rng(0).normal(size=exact.states.shape)
    found, _, units = begin(Trajectories.from_arrays(exact.times, noisy), noise=0.05)
    rate = 0.05 * np.sqrt(2) / (np.diff(TIMES).mean() / units.time)
    assert max(found.scale) < 0.5 * rate


def absorbed(t, x, u, p):
    """Blood, and a gut that nobody looks into."""
    blood, gut = x
    return jnp.stack([p.into * gut - p.out * blood, -p.into * gut])


def test_beside_hidden_states_numbers_begin_where_whole_forecasts_are_best():
    """What is hidden begins along with them, as the formula has it."""
    times, doses = np.linspace(0, 8, 25), np.array([0.5, 1.0, 1.5])
    gut = doses[:, None] * np.exp(-1.2 * times)
    blood = doses[:, None] * 1.2 / (1.2 - 0.3) * (np.exp(-0.3 * times) - np.exp(-1.2 * times))
    data = Trajectories.from_arrays(times, blood[None, ..., None])
    numbers = {"into": Parameter(1.0, low=0.0, shared=True), "out": Parameter(0.2, low=0.0, shared=True)}
    found, told, _ = begin(data, absorbed, hidden=1, parameters=numbers)
    # The prior of what is hidden, zero with the width 1, pulls a little.
    np.testing.assert_allclose([told["into"], told["out"]], [1.2, 0.3], rtol=0.01)
    np.testing.assert_allclose(found.local.path[0, ..., 1], gut, atol=0.02)
    assert found.finer > 1, "Runge–Kutta steps of a third are too long for four digits"
    assert max(found.scale) < 0.02, "little is left"
    numbers["into"] = Parameter(1.0, low=0.0, shared=True, prior=(2.0, 1e-4))
    assert begin(data, absorbed, hidden=1, parameters=numbers)[1]["into"] == pytest.approx(2.0, abs=2e-3)


def test_a_model_is_saved_by_the_path_of_its_formula(tmp_path):
    model = trained()
    model.save(tmp_path / "model.safetensors")
    text = (tmp_path / "model.safetensors").read_bytes()
    assert f"{decay.__module__}:decay".encode() in text
    with pytest.raises(InputError, match="decay"):
        Model.load(tmp_path / "model.safetensors")
    again = Model.load(tmp_path / "model.safetensors", using=[decay])
    assert same_bits(again.levels, model.levels)
    assert again.method == model.method
    unnamed = dataclasses.replace(model, method=dataclasses.replace(model.method, formula=lambda t, x, u, p: x))
    with pytest.raises(InputError, match="without a name of its own"):
        unnamed.save(tmp_path / "unnamed.safetensors")


def test_settings_that_are_not_given_are_not_described():
    """What files say of a method that has no formula did not change."""
    assert "known" not in describe(Leads())
    assert "parameters" not in describe(OnePerEnv())
    method = Leads(known=decay, parameters=NUMBERS)
    assert restore(describe(method), using=[decay]) == method


def test_a_new_environment_starts_in_the_middle_of_known_ones():
    method = with_formula(OneForAll(**SETTINGS), Units.ones(2))
    known = Beside((), jnp.array([[0.1], [0.3]]))
    new = method.new_environments(known, Sizes((2,), 3), key=jr.key(0))
    np.testing.assert_allclose(new.numbers, [[0.2]] * 3)
    np.testing.assert_allclose(method.without_specific(known).numbers, [0.2])


def test_what_is_learnt_is_explained_without_the_formula():
    found = explain(trained(), decays(), part="learnt")
    assert set(found.laws) == {"e0", "e1", "e2"}
    assert found.parameters["e2"]["rate"].value == pytest.approx(2.0, rel=3e-2)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"known": wrong_shape}, r"must return an array of the shape \(2,\) of the state, got shape \(1,\)"),
        ({"known": lambda t, x, u, p: [x]}, "got list"),
        ({"parameters": {"source": 1.0}}, "asks for `rate`, which is not among its parameters: source"),
        ({"known": None}, "`parameters` are the numbers of a known formula"),
    ],
)
def test_bad_formulas(settings, message):
    with pytest.raises(InputError, match=message):
        fit(Leads(**{**SETTINGS, **settings}), decays(), steps=1, key=jr.key(0), recipe=RECIPE)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Leads(known=3), "`known` must be a function"),
        (lambda: Leads(known=lambda t, x: x), r"a function h\(t, x, u, p\), got `<lambda>\(t, x\)`"),
        (lambda: as_parameters({"a b": 1.0}), "a name that can follow a dot"),
        (lambda: as_parameters({"a": "x"}), "`a` must be a number"),
        (lambda: as_parameters(3), "must map names to numbers"),
        (lambda: Parameter(-1.0, low=0.0), "must start at a number between its bounds"),
        (lambda: Parameter(1.0, prior=(1.0, 0.0)), "a positive standard deviation"),
        (lambda: trained().parameters("nowhere"), "never seen environment"),
    ],
)
def test_bad_settings(build, message):
    with pytest.raises(InputError, match=message):
        build()


@pytest.mark.parametrize("build", [Leads, OneForAll, OnePerEnv, Coda])
def test_a_formula_is_not_ignored(build):
    """A method that `fit` has not completed knows no units that its formula could be computed in."""
    with pytest.raises(InputError, match="with a known formula needs the units of its data"):
        build(**SETTINGS).init(Sizes((2,), 1), key=jr.key(0))
    with pytest.raises(InputError, match="with a known formula needs the units of its data"):
        build(**SETTINGS).dynamics((), ())


def test_a_method_without_a_field():
    method = Known(FtRnn(width=2, rank=2), decay, NUMBERS, Units.ones(2))
    shared, specific = jax.eval_shape(lambda: method.init(Sizes((2,), 1), key=jr.key(0)))
    one = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[1:], a.dtype), specific)
    with pytest.raises(InputError, match="FtRnn has no vector field that a formula could be added to"):
        jax.eval_shape(lambda *levels: method.dynamics(*levels) and None, shared, one)


def test_models_without_a_formula_have_no_parameters():
    plain = dataclasses.replace(trained(), method=Leads(net=Linear))
    plain = dataclasses.replace(plain, levels=Levels(plain.levels.shared.rest, plain.levels.specific.rest))
    with pytest.raises(InputError, match="no formula with unknown numbers"):
        plain.parameters(0)
