"""Terms of polynomials, against NumPy's Hermite polynomials and by differences."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial.hermite_e import hermeval

from leadax import MLP, InputError
from leadax.nets.mlp import PACE, begun_at
from leadax.nets.polynomial import FALL, REACH, feature_slopes, features, steepest, terms

X = np.random.default_rng(0).normal(size=(50, 2))


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
def test_terms_are_products_of_hermite_polynomials(degree):
    expected = []
    for term in itertools.chain.from_iterable(
        itertools.combinations_with_replacement(range(2), k + 1) for k in range(degree)
    ):
        value = FALL ** (len(term) - 1) * np.ones(len(X))
        for i in set(term):
            k = term.count(i)
            value = value * hermeval(X[:, i], [*[0] * k, 1]) / math.sqrt(math.factorial(k))
        expected.append(value)
    np.testing.assert_allclose(features(X, degree), np.stack(expected, axis=-1), atol=1e-12)
    np.testing.assert_allclose(features(jnp.asarray(X), degree), features(X, degree), atol=1e-12)
    assert features(X, degree).shape[-1] == len(terms(2, degree))


@pytest.mark.parametrize("zero", [None, (0.2, -0.1)])
def test_beyond_the_region_terms_are_straight_lines_and_later_constant(zero):
    region = ((-1.0, -1.0), (1.0, 1.0))
    at = lambda v: features(np.array([v, 0.5]), 4, region, zero)
    slopes = (at(1.0) - at(1.0 - 1e-7)) / 1e-7
    np.testing.assert_allclose(at(1.0 + 2 * REACH)[1:], at(1.0)[1:] + 2 * REACH * slopes[1:], atol=1e-5)
    np.testing.assert_allclose(at(9.0)[2:], at(1.0 + 2 * REACH)[2:])
    assert at(9.0)[0] == 9.0


def test_signed_squares():
    found = features(X, 2, None, (0.5, -1.0))[:, -2:] / features(X, 2, None, (0.0, 0.0))[:1, -2:]
    away = X - [0.5, -1.0]
    np.testing.assert_allclose(found, away * abs(away) / (X[0] * abs(X[0])))


@pytest.mark.parametrize(("degree", "zero"), [(1, None), (1, (0.1, 0.2)), (2, (0.1, 0.2)), (3, None), (5, None)])
def test_no_slope_is_above_the_bound(degree, zero):
    region = ((-1.5, -0.5), (1.0, 2.0))
    points = np.random.default_rng(1).uniform((-4.5, -3.5), (4.0, 5.0), size=(2000, 2))
    slopes = jax.vmap(jax.jacobian(lambda x: features(x, degree, region, zero)))(jnp.asarray(points))
    largest = np.linalg.norm(slopes, ord=2, axis=(1, 2)).max()
    assert largest <= steepest(2, degree, region, zero) <= 5 * largest


@pytest.mark.parametrize(("degree", "zero"), [(1, None), (1, (0.1, 0.2)), (2, (0.1, 0.2)), (5, None)])
def test_slopes_are_those_of_automatic_differentiation(degree, zero):
    region, wide = ((-0.8, -0.9), (0.7, 1.1)), 2 * X
    slopes = jax.vmap(jax.jacobian(lambda x: features(x, degree, region, zero)))(jnp.asarray(wide))
    values, found = feature_slopes(wide, degree, region, zero)
    np.testing.assert_allclose(values, features(wide, degree, region, zero), atol=1e-12)
    np.testing.assert_allclose(found, slopes, atol=1e-12)


def test_a_polynomial_without_a_region_has_no_bound():
    assert steepest(2, 3, None) == math.inf


def test_a_net_that_begins_at_a_polynomial():
    region = ((-3.0, -3.0), (3.0, 3.0))
    net = MLP((2,), width=4, depth=2, degree=2, region=region, key=jax.random.key(0))
    coefficients = np.random.default_rng(2).normal(size=(6, 2))
    begun = begun_at(net, jnp.asarray(coefficients))
    polynomial = coefficients[0] + features(X[0], 2, region) @ coefficients[1:]
    layers = lambda net: net(0.0, jnp.asarray(X[0])) - PACE * net.polynomial(features(jnp.asarray(X[0]), 2, region))
    np.testing.assert_allclose(begun(0.0, jnp.asarray(X[0])), polynomial + 1e-3 * layers(net), atol=1e-10)
    plain = MLP((2,), width=4, key=jax.random.key(0))
    assert begun_at(plain, jnp.asarray(coefficients)) is plain


def test_no_higher_degree():
    with pytest.raises(InputError, match="`degree` of MLP must be at most 5, got 6"):
        MLP((2,), degree=6, key=jax.random.key(0))
