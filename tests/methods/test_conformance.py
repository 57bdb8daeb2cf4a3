"""What every method must hold to, and what each of them says is shared."""

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from leadax.objective import objective
from leadax.penalty import Frobenius
from tests.engine import OMEGA, at, decays, forecast, random_carry, random_parts, same_bits, tiny

from leadax import Model
from leadax.data.batch import to_batch
from leadax.errors import InputError
from leadax.methods import METHODS, ContextPenalty, Observed
from leadax.nets import MLP, Linear

TIMES = np.array([0.0, 0.2, 0.5, 0.6])
STATES = np.random.default_rng(0).uniform(0.5, 1.5, (4, 2))

# Which share nothing, which share all, whose environments all start alike, and what Ω looks at; a new method is put
# where it belongs.
NOTHING_SHARED, ALL_SHARED, SAME_START = {"one-per-env"}, {"one-for-all"}, {"gbml", "maml", "coda"}
PENALISED = {
    "leads": lambda parts, e: at(parts.specific, e),
    "leads-no-min": lambda parts, e: at(parts.specific, e),
    "coda": lambda parts, e: (parts.shared.directions, parts.specific[e]),
}
# What else they need to be small, and not to depend on the number of environments.
OWN = {"ft-rnn": {"width": 4, "rank": 3}, "ft-node": {"rank": 3}, "coda": {"penalty": ContextPenalty(0.1, 0.01, 0.01)}}


def build(name, **settings):
    return METHODS[name](**{"net": tiny, "solver": "heun", "penalty": OMEGA, **settings, **OWN.get(name, {})})


def parts_of(method):
    """Of two environments, as JAX arrays: nets are called one by one here."""
    return jax.tree.map(jnp.asarray, random_parts(method, 2))


def shapes(method, environments, state_shape=(2,)):
    init = lambda key: method.init(state_shape, environments, key=key)
    return jax.tree.map(lambda a: a.shape, jax.eval_shape(init, jr.key(0)))


@pytest.fixture(params=METHODS)
def name(request):
    return request.param


@pytest.fixture(params=[name for name in METHODS if build(name).has_field])
def field(request):
    """The name of a method that has a vector field."""
    return request.param


def test_specific_arrays_have_an_axis_over_environments(name):
    three, five = shapes(build(name), 3), shapes(build(name), 5)
    assert three.shared == five.shared
    is_shape = lambda a: isinstance(a, tuple) and all(isinstance(n, int) for n in a)
    leaves = [jax.tree.leaves(shape.specific, is_leaf=is_shape) for shape in (three, five)]
    for small, large in zip(*leaves, strict=True):
        if small == large == ():
            continue
        assert small[0] == 3
        assert large == (5, *small[1:])
    assert (name in ALL_SHARED) == (not jax.tree.leaves(random_parts(build(name), 2).specific))
    assert (name in NOTHING_SHARED) == (not jax.tree.leaves(random_parts(build(name), 2).shared))


def test_environments_start_from_different_weights(name):
    method = build(name, net=Linear)
    parts = method.init((2,), 3, key=jr.key(0))
    for weights in jax.tree.leaves(parts.specific):
        assert len(np.unique(np.asarray(weights), axis=0)) == (1 if name in SAME_START else 3)
    again, other = (method.init((2,), 3, key=jr.key(k)) for k in (0, 1))
    for a, b, c in zip(*map(jax.tree.leaves, (parts, again, other)), strict=True):
        np.testing.assert_array_equal(a, b)
        assert np.ptp(a) == 0 or not np.any(np.asarray(a) == np.asarray(c))
    assert any(np.ptp(a) > 0 for a in jax.tree.leaves(parts))


def test_predicts_with_the_sum_of_its_two_fields(field):
    """From the first state on, with restarts where told, as plain Heun steps do with f + g."""
    name, method = field, build(field)
    parts, states, times = parts_of(method), jnp.asarray(STATES), jnp.asarray(TIMES)
    predict = jax.jit(
        lambda e, restart: method.predict(parts.shared, at(parts.specific, e), Observed(states, times, restart))
    )
    fields = [method.decompose(parts.shared, at(parts.specific, e)) for e in range(2)]
    found = {}
    for e in range(2):
        for restart in (np.zeros(4, bool), np.array([False, True, False, True])):
            found[e] = predict(e, restart)
            np.testing.assert_array_equal(found[e][0], STATES[0])
            field = lambda x, e=e: sum(np.asarray(h(jnp.asarray(x))) for h in fields[e])
            np.testing.assert_allclose(found[e], forecast(field, TIMES, STATES, restart), rtol=1e-12)
    assert np.allclose(found[0], found[1]) == (name in ALL_SHARED)


def test_decomposition_has_the_halves_it_says(field):
    name, method = field, build(field)
    parts = parts_of(method)
    x = jnp.asarray(STATES[1])
    (f, g), (f_other, g_other) = (method.decompose(parts.shared, at(parts.specific, e)) for e in range(2))
    np.testing.assert_array_equal(f(x), f_other(x))
    assert np.all(np.asarray(f(x)) == 0) == (name in NOTHING_SHARED)
    assert np.allclose(g(x), g_other(x)) == (name in ALL_SHARED)
    assert np.all(np.asarray(g(x)) == 0) == (name in ALL_SHARED)


def test_a_recurrent_net_has_no_field():
    method = build("ft-rnn")
    parts = parts_of(method)
    with pytest.raises(InputError, match="ft-rnn has no vector field, it is a recurrent net"):
        method.decompose(parts.shared, at(parts.specific, 0))


@pytest.mark.parametrize(
    ("name", "nets"), [("leads", 11), ("leads-no-min", 11), ("one-for-all", 2), ("one-per-env", 20)], ids=str
)
def test_parameters_of_the_papers_nets(name, nets):
    """Lotka-Volterra: 10 environments, f and g of four layers, 2-64-64-64-2, and three slopes."""
    one = (2 * 64 + 64) + 2 * (64 * 64 + 64) + (64 * 2 + 2) + 3
    method = build(name, net=partial(MLP, init_std=0.05))
    parts = jax.tree.map(lambda a: a[None], random_parts(method, 10))
    model = Model(method, parts, tuple(f"e{i}" for i in range(10)), ("x", "y"), (2,), 0.5)
    assert model.parameters == nets * one
    # A forecast in any environment uses f and g: two nets.
    in_one = sum(a.size for a in jax.tree.leaves(model.member(0, 3)))
    assert in_one == 2 * one


@pytest.mark.parametrize("name", ["ft-node", "ft-rnn"])
def test_factored_methods_have_the_parameters_of_leads(name):
    """Lotka-Volterra, 10 environments; what measures of the data there are is not learnt."""
    count = lambda method: sum(a.size for a in jax.tree.leaves(random_parts(method, 10)))
    net = partial(MLP, init_std=0.05)
    method = METHODS[name](net=net).sized((2,), 10)
    assert method.rank is not None
    assert count(method) == pytest.approx(count(METHODS["leads"](net=net)), rel=0.02)
    # Fewer environments, fewer parameters of LEADS.
    assert METHODS[name](net=net).sized((2,), 3).rank < method.rank
    assert METHODS[name](net=net, rank=7).sized((2,), 10).rank == 7


def test_what_is_penalised(name):
    method = build(name)
    parts = parts_of(method)
    found = method.penalised(parts.shared, at(parts.specific, 1))
    expected = PENALISED[name](parts, 1) if name in PENALISED else None
    assert jax.tree.structure(found) == jax.tree.structure(expected)
    assert same_bits(found, expected)
    assert method.penalty_weight == {"leads-no-min": 0.0, "coda": 1.0}.get(name)


@pytest.mark.parametrize("sizes", [(1, 1, 2), (200, 1, 2)], ids=["one of all", "200 environments"])
def test_smallest_and_many(name, sizes):
    data = decays(*sizes)
    method = build(name, net=Linear, solver="euler", penalty=Frobenius())
    parts = random_parts(method, sizes[0])
    carry = random_carry(method, parts, sizes[0])
    step = jax.jit(jax.value_and_grad(partial(objective, method), has_aux=True))
    (loss, (terms, _)), gradient = step(parts, carry, to_batch(data, jnp.float64), None, jnp.ones(2))
    assert np.isfinite(loss)
    assert terms.error.shape == terms.penalty.shape == sizes[:1]
    assert all(np.all(np.isfinite(g)) for g in jax.tree.leaves(gradient))
    moved = [np.any(np.asarray(g) != 0) for g in jax.tree.leaves(gradient)]
    # In the first step of a recurrent net nothing is remembered that the rest could be learnt from.
    assert all(moved) if method.has_field else any(moved)
    # Only its own data teach an environment.
    if jax.tree.leaves(parts.specific) and sizes[0] > 1:
        others = jax.tree.map(np.zeros_like, parts).specific
        moved = parts._replace(
            specific=jax.tree.map(lambda a, z: np.concatenate([a[:1], z[1:]]), parts.specific, others)
        )
        _, changed = step(moved, carry, to_batch(data, jnp.float64), None, jnp.ones(2))
        for a, b in zip(*map(jax.tree.leaves, (gradient.specific, changed.specific)), strict=True):
            np.testing.assert_allclose(a[0], b[0], rtol=1e-10)
