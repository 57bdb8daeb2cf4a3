"""Derivatives from observations: exactness, orders of convergence, SciPy, missing values."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

from leadax.data.derivatives import finite_differences, spline
from leadax.errors import InputError

METHODS = {"finite_differences": finite_differences, "spline": spline}
RANDOM = np.random.default_rng(0)
TIMES = np.cumsum(RANDOM.uniform(0.1, 1.0, 9))


def everywhere(states):
    return np.ones(states.shape, bool)


def polynomials(times, degree):
    """Two channels of random polynomials, and their derivatives."""
    coefficients = RANDOM.normal(size=(2, degree + 1))
    rows = [(np.polyval(c, times), np.polyval(np.polyder(c), times)) for c in coefficients]
    return tuple(np.stack(part, axis=-1) for part in zip(*rows, strict=True))


@pytest.mark.parametrize(("method", "degree"), [("finite_differences", 2), ("spline", 3)])
def test_exact_for_polynomials_on_an_irregular_grid(method, degree):
    states, slopes = polynomials(TIMES, degree)
    estimate, known = METHODS[method](TIMES, states, everywhere(states))
    np.testing.assert_allclose(estimate, slopes, rtol=1e-11, atol=1e-11)
    assert known.all()


@pytest.mark.parametrize(("method", "order"), [("finite_differences", 2), ("spline", 3)])
def test_order_of_convergence_with_the_ends(method, order):
    error = []
    for n in (160, 320):
        times = np.linspace(0, 1, n) ** 1.5 + np.linspace(0, 1, n)
        states = np.sin(3 * times)[:, None]
        estimate, _ = METHODS[method](times, states, everywhere(states))
        error.append(np.abs(estimate[:, 0] - 3 * np.cos(3 * times)).max())
    measured = np.log2(error[0] / error[1])
    assert abs(measured - order) < 0.2, f"{method}: stated order {order}, measured {measured:.3f}, errors {error}"


@pytest.mark.parametrize("points", [2, 3, 4])
def test_spline_through_few_points_is_the_polynomial_through_all(points):
    states = RANDOM.normal(size=(points, 3, 2))
    estimate, _ = spline(TIMES[:points], states, everywhere(states))
    for index in np.ndindex(3, 2):
        through_all = np.polyfit(TIMES[:points], states[:, *index], points - 1)
        slopes = np.polyval(np.polyder(through_all), TIMES[:points])
        np.testing.assert_allclose(estimate[:, *index], slopes, rtol=1e-9, atol=1e-9)


def test_spline_is_scipys():
    states = RANDOM.normal(size=(9, 3, 2))
    estimate, _ = spline(TIMES, states, everywhere(states))
    reference = CubicSpline(TIMES, states, bc_type="not-a-knot")(TIMES, 1)
    np.testing.assert_allclose(estimate, reference, rtol=1e-11, atol=1e-11)


def test_single_precision_stays():
    states = RANDOM.normal(size=(9, 2)).astype(np.float32)
    for method in METHODS.values():
        assert method(TIMES, states, everywhere(states))[0].dtype == np.float32


@pytest.mark.parametrize("method", METHODS)
def test_two_points_give_the_line(method):
    states = np.array([[1.0, 5.0], [2.0, 3.0]])
    estimate, known = METHODS[method](np.array([0.0, 2.0]), states, everywhere(states))
    np.testing.assert_allclose(estimate, [[0.5, -1.0], [0.5, -1.0]], rtol=1e-15)
    assert known.all()


@pytest.mark.parametrize("method", METHODS)
def test_missing_values_are_as_if_never_there(method):
    """Each value of a field has its own gaps; unobserved ones are NaN; the tail is padding with equal times."""
    times = np.concatenate([TIMES, np.full(3, TIMES[-1])])
    states = RANDOM.normal(size=(12, 4, 3, 2))
    observed = RANDOM.random(states.shape) < 0.7
    observed[9:] = False
    observed[:, 0, 0, 0] = np.arange(12) == 4  # one point alone
    observed[:, 0, 1, 0] = False
    states = np.where(observed, states, np.nan)
    estimate, known = METHODS[method](times, states, observed)
    assert np.isfinite(estimate).all()
    np.testing.assert_array_equal(known, observed & (observed.sum(axis=0) > 1))
    np.testing.assert_array_equal(estimate[~known], 0)
    for index in np.ndindex(4, 3, 2):
        seen = observed[:, *index]
        if seen.sum() > 1:
            alone = states[seen][:, *index][:, None]
            expected, _ = METHODS[method](times[seen], alone, everywhere(alone))
            np.testing.assert_allclose(estimate[seen][:, *index], expected[:, 0], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_nothing_observed_is_nothing_known(method):
    estimate, known = METHODS[method](TIMES, np.full((9, 2), np.nan), np.zeros((9, 2), bool))
    assert not known.any()
    np.testing.assert_array_equal(estimate, 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("wrong", [[0.0, 1.0, 1.0], [0.0, 2.0, 1.0], [0.0, np.nan, 2.0]])
def test_observed_times_must_increase(method, wrong):
    states = np.ones((3, 1))
    with pytest.raises(InputError, match="`times` must increase"):
        METHODS[method](np.array(wrong), states, everywhere(states))
