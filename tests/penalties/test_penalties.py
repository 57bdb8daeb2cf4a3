"""Penalties against NumPy: norms on data, norms of weights, their slopes; padding, precision, environments."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tests.nets.operators import as_matrix, ranks, redraw

from leadax.errors import InputError
from leadax.nets import FNO, MLP, ConvNet, Convolution, Dense, Linear, SpectralConvolution
from leadax.nets.power import power_iteration, real_map
from leadax.penalties import EmpiricalNorm, Frobenius, NoPenalty, Omega, Points, SpectralNorm

KEY = jax.random.key(0)
POWERS = [1, 2, 3.0, 10, math.inf]


def random(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def points(states):
    """Where nets that ignore the time are evaluated."""
    states = jnp.asarray(states)
    return Points(jnp.zeros(len(states), states.dtype), states)


NOWHERE = points(np.ones((1, 2)))  # for penalties that ask for weights only


# Drawn anew, so that complex weights have all phases and biases are not zero.
MLP_NET = redraw(lambda: MLP((2,), width=5, depth=2, key=KEY))
CONV_NET = redraw(lambda: ConvNet((4, 5, 2), width=3, depth=2, factor=0.1, key=KEY))
FNO_NET = redraw(lambda: FNO((6, 4, 1), modes=2, width=3, depth=1, projection=4, key=KEY))
LINEAR_NET = redraw(lambda: Linear((3,), key=KEY))

LAYERS = {
    "dense": lambda: Dense(3, 4, key=KEY),
    "convolution on a line": lambda: Convolution((6,), 2, 3, key=KEY),
    "convolution on a plane": lambda: Convolution((4, 5), 2, 3, key=KEY),
    "spectral on a line": lambda: SpectralConvolution((7,), 3, 2, modes=3, key=KEY),
    "spectral on a plane": lambda: SpectralConvolution((6, 4), 2, 3, modes=2, key=KEY),
}


# The empirical norm.


def by_numpy(g, x, p, relative, per_pixel):
    """The definition, for outputs `g` at states `x`."""
    axes = (-1,) if per_pixel else tuple(range(1, x.ndim))
    sizes = np.sqrt(np.sum(g**2, axis=axes))
    if relative:
        sizes = sizes / (np.sqrt(np.sum(x**2, axis=axes)) + 1e-5)
    return np.max(sizes) ** 2 if math.isinf(p) else np.mean(sizes**p) ** (2 / p)


def twist(t, x, u):
    """A vector field without parameters."""
    return jnp.sin(3 * x) + jnp.roll(x, 1, axis=-1) ** 2


def np_twist(x):
    return np.sin(3 * x) + np.roll(x, 1, axis=-1) ** 2


@pytest.mark.parametrize(("relative", "per_pixel"), [(True, False), (False, False), (True, True), (False, True)])
def test_empirical_norm_against_numpy(relative, per_pixel):
    x, norms = random(6, 3, 4, 2), [EmpiricalNorm(p, relative, per_pixel) for p in POWERS]
    values = jax.jit(lambda x: [norm(twist, x, jnp.ones(6), ())[0] for norm in norms])(points(x))
    expected = [by_numpy(np_twist(x), x, p, relative, per_pixel) for p in POWERS]
    np.testing.assert_allclose(values, expected, rtol=1e-10)


def test_defaults_are_the_formula_of_the_paper():
    x = random(7, 2)
    g = np.asarray(jax.jit(jax.vmap(partial(MLP_NET, 0.0)))(jnp.asarray(x)))
    value = valued(EmpiricalNorm(epsilon=1e-12), MLP_NET, (), points(x))
    np.testing.assert_allclose(value, np.mean(np.sum(g**2, axis=1) / np.sum(x**2, axis=1)), rtol=1e-9)


def value_and_slope(penalty, net, states, weights):
    """Value and gradient as one vector, compiled."""
    return values_and_slopes([penalty], net, states, weights)[0]


def values_and_slopes(penalties, net, states, weights):
    """The same for several penalties, one row each."""
    carries = [penalty.init(net, key=KEY) for penalty in penalties]
    results = both(tuple(penalties), net, carries, points(states), jnp.asarray(weights))
    return np.stack([np.append(flat(gradient), value) for value, gradient in results])


@partial(jax.jit, static_argnums=0)
def both(penalties, net, carries, x, w):
    loss = lambda net, penalty, carry: penalty(net, x, w, carry)[0]
    return [jax.value_and_grad(loss)(net, p, c) for p, c in zip(penalties, carries, strict=True)]


@partial(jax.jit, static_argnums=0)
def valued(penalty, net, carry=(), where=None):
    """The value alone, of all points alike."""
    where = NOWHERE if where is None else where
    return penalty(net, where, jnp.ones(len(where.times)), carry)[0]


def flat(tree):
    return np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(tree)])


NORMS = [EmpiricalNorm(p) for p in POWERS]


def test_padding_does_not_matter():
    x, junk = random(4, 2), np.array([[0.0, 0.0], [1e30, -1e30], [np.nan, np.inf]])
    expected = values_and_slopes(NORMS, MLP_NET, x, np.ones(4))
    padded, weights = np.concatenate([junk[:1], x, junk[1:]]), np.array([0.0, 1, 1, 1, 1, 0, 0])
    np.testing.assert_allclose(values_and_slopes(NORMS, MLP_NET, padded, weights), expected, rtol=1e-9)
    np.testing.assert_allclose(value_and_slope(NORMS[1], MLP_NET, padded, weights > 0), expected[1], rtol=1e-9)
    nothing = np.tile(junk, (3, 1))[:7]
    assert np.all(values_and_slopes(NORMS, MLP_NET, nothing, np.zeros(7)) == 0)


def test_a_net_that_is_zero_has_no_norm_and_no_slope():
    zero = redraw(lambda: MLP_NET, scale=0)
    assert np.all(values_and_slopes(NORMS, zero, random(4, 2), np.ones(4)) == 0)


def test_a_point_with_zero_output_has_a_finite_slope():
    states = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
    assert np.all(np.isfinite(values_and_slopes(NORMS, LINEAR_NET, states, np.ones(2))))


def test_slope_of_the_norms_against_finite_differences():
    x, direction = random(4, 3), random(9, seed=2).reshape(3, 3)
    slopes = values_and_slopes(NORMS, LINEAR_NET, x, np.ones(4))[:, :-1]
    weight = np.asarray(LINEAR_NET.dense.weight)
    norms = lambda h: np.array([by_numpy(x @ (weight + h * direction), x, p, True, False) for p in POWERS])
    np.testing.assert_allclose(slopes @ direction.ravel(), (norms(1e-6) - norms(-1e-6)) / 2e-6, rtol=1e-5)


def test_high_powers_do_not_overflow_in_single_precision():
    single = jax.tree.map(lambda a: (1e6 * a).astype(jnp.float32), LINEAR_NET)
    value, _ = EmpiricalNorm(10)(single, points(jnp.ones((2, 3), jnp.float32)), jnp.ones(2, jnp.float32), ())
    assert value.dtype == jnp.float32
    assert np.isfinite(value)


# Spectral norms.


@pytest.mark.parametrize("name", LAYERS)
def test_operator_norm_against_the_singular_values_of_the_whole_matrix(name):
    layer = redraw(LAYERS[name])
    v = jnp.asarray(random(*layer.in_shape))
    v = jax.jit(lambda v: power_iteration(layer.linear, v, 2000))(v)
    expected = np.linalg.svd(as_matrix(layer.linear, layer.in_shape), compute_uv=False)[0]
    np.testing.assert_allclose(np.linalg.norm(layer.linear(v)), expected, rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(v), 1, rtol=1e-12)


@pytest.mark.parametrize("name", LAYERS)
def test_matrix_norm_against_the_singular_values_of_the_reshaped_weights(name):
    matrix = redraw(LAYERS[name]).matrix()
    parts = (2,) if jnp.iscomplexobj(matrix) else ()
    multiply = real_map(matrix)
    v = jax.jit(lambda v: power_iteration(multiply, v, 2000))(jnp.asarray(random(*parts, matrix.shape[1])))
    np.testing.assert_allclose(np.linalg.norm(multiply(v)), np.linalg.norm(matrix, ord=2), rtol=1e-5)


def exact(net, operator, include_factor):
    """Sum of squared norms from explicit matrices."""
    matrices = [as_matrix(a.linear, a.in_shape) if operator == "layer" else np.asarray(a.matrix()) for a in net.layers]
    squares = [np.linalg.norm(matrix, ord=2) ** 2 for matrix in matrices]
    return sum(squares[:-1]) + squares[-1] * (net.factor**2 if include_factor else 1)


@pytest.mark.parametrize("operator", ["layer", "matrix"])
@pytest.mark.parametrize("net", [CONV_NET, FNO_NET], ids=["conv", "fno"])
def test_spectral_norm_of_a_net_and_its_slope(net, operator):
    """Against the exact norm and its finite differences: with v held fixed, the slope is whole at convergence."""
    *slope, value = value_and_slope(SpectralNorm(1000, operator), net, np.ones((1, 2)), np.ones(1))
    np.testing.assert_allclose(value, exact(net, operator, True), rtol=1e-5)
    direction = redraw(lambda: net, seed=1)
    moved = lambda h: jax.tree.map(lambda a, d: jnp.asarray(np.asarray(a) + h * np.asarray(d)), net, direction)
    measured = (exact(moved(1e-5), operator, True) - exact(moved(-1e-5), operator, True)) / 2e-5
    np.testing.assert_allclose(slope @ flat(direction), measured, rtol=1e-3)


def test_factor_counts_only_where_asked():
    penalty = SpectralNorm(100, "matrix", include_factor=False)
    value = valued(penalty, CONV_NET, penalty.init(CONV_NET, key=KEY))
    np.testing.assert_allclose(value, exact(CONV_NET, "matrix", False), rtol=1e-5)
    assert exact(CONV_NET, "matrix", False) > 1.5 * exact(CONV_NET, "matrix", True)


def test_carried_vectors_converge_and_never_overestimate():
    penalty, expected = SpectralNorm(), exact(MLP_NET, "layer", True)
    carry = penalty.init(MLP_NET, key=KEY)
    step = jax.jit(lambda carry: penalty(MLP_NET, NOWHERE, jnp.ones(1), carry))
    values = []
    for _ in range(200):
        value, carry = step(carry)
        values.append(float(value))
    assert values[0] < 0.999 * expected
    assert np.all(np.diff(values) > -1e-9)
    np.testing.assert_allclose(values[-1], expected, rtol=1e-6)


def test_the_vector_is_held_fixed_in_the_slope():
    """Of |Wv|² with respect to W, also where v has not converged: its iteration is not differentiated."""
    penalty = SpectralNorm()
    start = penalty.init(LINEAR_NET, key=KEY)
    value = lambda net: penalty(net, NOWHERE, jnp.ones(1), start)
    slope, (v,) = jax.jit(jax.grad(value, has_aux=True))(LINEAR_NET)
    image = np.asarray(LINEAR_NET.dense.weight).T @ np.asarray(v)
    np.testing.assert_allclose(slope.dense.weight, 2 * np.outer(v, image), rtol=1e-12)


def test_vector_survives_weights_that_are_zero_for_a_while():
    penalty, zero = SpectralNorm(3), redraw(lambda: MLP_NET, scale=0)
    step = jax.jit(lambda net, carry: penalty(net, NOWHERE, jnp.ones(1), carry))
    value, carry = step(zero, penalty.init(MLP_NET, key=KEY))
    assert value == 0
    assert step(MLP_NET, carry)[0] > 1


def test_frobenius():
    np.testing.assert_allclose(valued(Frobenius(), LINEAR_NET), np.sum(np.asarray(LINEAR_NET.dense.weight) ** 2))
    squares = [np.sum(np.asarray(layer.weight) ** 2) for layer in CONV_NET.layers]
    np.testing.assert_allclose(valued(Frobenius(), CONV_NET), squares[0] + 0.01 * squares[1])
    squares = [np.sum(np.asarray(layer.weight) ** 2) for layer in FNO_NET.layers]
    np.testing.assert_allclose(valued(Frobenius(include_factor=False), FNO_NET), sum(squares))


# The sum.

PENALTIES = {
    "clean": Omega(),
    "paper": Omega(EmpiricalNorm(per_pixel=True), SpectralNorm(5, "matrix", include_factor=False), alpha=1e-4),
    "norm alone": Omega(alpha=0),
    "Frobenius": Frobenius(),
}
every_penalty = pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES.keys())


def test_omega_is_the_sum_of_its_parts():
    x, w = points(random(5, 2)), jnp.ones(5)
    omega = Omega(alpha=0.3)
    carry = omega.init(MLP_NET, key=KEY)
    parts = lambda: (
        omega(MLP_NET, x, w, carry),
        omega.norm(MLP_NET, x, w, ()),
        omega.lipschitz(MLP_NET, x, w, carry[1]),
    )
    (value, after), (norm, _), (lipschitz, vectors) = jax.jit(parts)()
    np.testing.assert_allclose(value, norm + 0.3 * lipschitz, rtol=1e-12)
    assert jax.tree.structure(after) == jax.tree.structure(((), vectors))


def test_without_alpha_the_lipschitz_part_is_not_computed():
    """So that it takes any vector field, also one without layers."""
    omega = Omega(alpha=0)
    value, carry = jax.jit(lambda: omega(twist, points(jnp.ones((2, 2))), jnp.ones(2), omega.init(twist, key=KEY)))()
    assert jax.tree.leaves(carry) == []
    assert value > 0


@every_penalty
def test_zero_costs_nothing(penalty):
    zero = redraw(lambda: CONV_NET, scale=0)
    assert np.all(value_and_slope(penalty, zero, random(3, 4, 5, 2), np.ones(3)) == 0)


@every_penalty
def test_stacked_environments_are_the_same_as_a_loop(penalty):
    nets = redraw(lambda: MLP_NET, 3)
    states, weights = jax.vmap(points)(jnp.asarray(random(3, 4, 2))), jnp.asarray(random(3, 4) > -0.5, float)
    carries = jax.vmap(lambda net: penalty.init(net, key=KEY))(nets)
    step = jax.jit(jax.vmap(penalty))
    together = step(nets, states, weights, carries)
    one = jax.jit(penalty.__call__)
    for e in range(3):
        alone = one(*jax.tree.map(lambda a, e=e: a[e], (nets, states, weights, carries)))
        for a, b in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(np.asarray(a)[e], b, rtol=1e-9, atol=1e-12)


@every_penalty
@pytest.mark.parametrize("net", [MLP_NET, FNO_NET], ids=["mlp", "fno"])
def test_single_precision_stays_single_and_carries_are_real(penalty, net):
    single = jax.tree.map(lambda a: a.astype(jnp.float32), net)
    states = points(jnp.ones((3, *((2,) if net is MLP_NET else (6, 4, 1))), jnp.float32))
    carry = jax.eval_shape(lambda: penalty.init(single, key=KEY))
    out = jax.eval_shape(penalty, single, states, jnp.ones(3, jnp.float32), carry)
    assert {leaf.dtype for leaf in jax.tree.leaves((carry, out))} == {np.dtype("float32")}
    assert jax.tree.structure(carry) == jax.tree.structure(out[1])


@every_penalty
def test_no_array_has_seven_axes(penalty):
    nets = jax.tree.map(lambda a: jnp.zeros((2, 3, *a.shape)), FNO_NET)
    carries = jax.eval_shape(jax.vmap(jax.vmap(lambda net: penalty.init(net, key=KEY))), nets)
    loss = lambda nets, x, w, c: jnp.sum(jax.vmap(jax.vmap(penalty))(nets, x, w, c)[0])
    where = Points(jnp.zeros((2, 3, 4)), jnp.ones((2, 3, 4, 6, 4, 1)))
    assert max(ranks(jax.grad(loss), nets, where, jnp.ones((2, 3, 4)), carries)) <= 6


def test_a_field_that_depends_on_time_and_inputs():
    """The norm asks it where and when the data are, with the inputs of that moment."""
    states, times, inputs = random(4, 2), random(4, seed=1), random(4, 2, seed=2)
    field = lambda t, x, u: t * x + u
    value, _ = EmpiricalNorm(relative=False)(
        field, Points(*map(jnp.asarray, (times, states, inputs))), jnp.array([1.0, 1.0, 0.0, 1.0]), ()
    )
    sizes = [np.sum((times[k] * states[k] + inputs[k]) ** 2) for k in (0, 1, 3)]
    np.testing.assert_allclose(value, np.mean(sizes), rtol=1e-12)


def test_no_penalty():
    value, carry = NoPenalty()(twist, points(random(3, 2)), jnp.ones(3), NoPenalty().init(twist, key=KEY))
    assert (float(value), value.dtype, carry) == (0.0, jnp.float64, ())


@pytest.mark.parametrize(
    ("create", "words"),
    [
        (lambda: EmpiricalNorm(p=0.5), "`p` of EmpiricalNorm must be from 1 to infinity, got 0.5"),
        (lambda: EmpiricalNorm(p=math.nan), "`p` of EmpiricalNorm"),
        (lambda: EmpiricalNorm(epsilon=0), "`epsilon` of EmpiricalNorm must be positive, got 0"),
        (lambda: SpectralNorm(iterations=0), "`iterations` must be a whole number from 1 to 2147483647, got 0"),
        (
            lambda: SpectralNorm(operator="kernel"),
            "`operator` of SpectralNorm must be 'layer' or 'matrix', got 'kernel'",
        ),
        (lambda: Omega(alpha=-1), "`alpha` of Omega must be zero or a positive number, got -1"),
        (lambda: Omega(alpha=math.nan), "`alpha` of Omega"),
        (lambda: Omega().init(twist, key=KEY), "needs a net with `layers`, got function"),
    ],
)
def test_refuses_in_words(create, words):
    with pytest.raises(InputError, match=words):
        create()
