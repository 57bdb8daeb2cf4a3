import numpy as np
import pytest

from leadax import InputError
from leadax.systems import get_system
from leadax.systems.linear import matrix
from leadax.theory import minimal_decomposition, observed_decomposition, relative_distance
from leadax.theory.decomposition import NORMS

RANDOM = np.random.default_rng(0)
MATRICES = RANDOM.normal(size=(5, 3, 3))


def test_the_linear_system_of_the_paper():
    spectra = get_system("linear").environments.values()
    truth = np.stack([np.asarray(matrix(parameters)) for parameters in spectra])
    shared, specific, gap = minimal_decomposition(truth)
    # The projections q·qᵀ of all eight add up to I: F = (−½ + ½/8)·I, and ‖G_e‖² = ¼·(1 − 1/8).
    np.testing.assert_allclose(shared, -0.4375 * np.eye(8), atol=1e-14)
    np.testing.assert_allclose(np.sum(specific**2, axis=(1, 2)), 0.25 * 7 / 8)
    assert gap == 0


@pytest.mark.parametrize("name", NORMS)
def test_convex_optimisation_reaches_the_minimum(name):
    shared, specific, gap = minimal_decomposition(MATRICES, name)
    np.testing.assert_allclose(shared + specific, MATRICES, atol=1e-14)
    cost = lambda f: sum(NORMS[name].value(a - f) for a in MATRICES)
    assert 0 <= gap < 1e-6 * cost(shared)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(20):
            assert cost(shared + size * RANDOM.normal(size=(3, 3))) >= cost(shared) - gap


def test_known_minima():
    entries = minimal_decomposition(MATRICES, "entries").shared
    np.testing.assert_allclose(entries, np.median(MATRICES, axis=0), atol=1e-6)
    # The geometric median of the corners of a triangle with an angle of 120° or more is that corner.
    corners = np.array([[0.0, 0.0], [1.0, 0.1], [-1.0, 0.1]])
    flat = np.stack([np.diag(corner) for corner in corners])
    np.testing.assert_allclose(minimal_decomposition(flat, "frobenius").shared, flat[0], atol=1e-5)


def test_dual_norms():
    for name, norm in NORMS.items():
        for a in MATRICES:
            inside = norm.project(3 * a)
            assert norm.dual(inside) <= 1 + 1e-12, name
            assert np.sum(a * inside) <= norm.value(a) + 1e-12, name


def test_what_data_can_tell():
    everything = np.broadcast_to(np.eye(3), (5, 3, 3))
    seen = observed_decomposition(MATRICES, everything)
    np.testing.assert_allclose(seen.shared, MATRICES.mean(axis=0), atol=1e-12)
    states = RANDOM.normal(size=(5, 2, 3))
    shared, specific, _ = observed_decomposition(MATRICES, states)
    np.testing.assert_allclose(
        np.einsum("eij,enj->eni", shared + specific, states), np.einsum("eij,enj->eni", MATRICES, states), atol=1e-12
    )
    # No other F, with the smallest G_e that still fit, is better.
    projection = np.stack([np.linalg.pinv(x) @ x for x in states])
    cost = lambda f: np.sum(((MATRICES - f) @ projection) ** 2)
    assert np.sum(specific**2) == pytest.approx(cost(shared))
    assert all(cost(shared + 0.1 * RANDOM.normal(size=(3, 3))) >= cost(shared) for _ in range(50))


def test_relative_distance_to_nothing():
    assert relative_distance(np.zeros((2, 2)), np.zeros((2, 2))) == 0
    assert relative_distance(np.eye(2), np.zeros((2, 2))) == np.inf


def test_bad_input():
    with pytest.raises(InputError, match="must be finite and of shape"):
        minimal_decomposition(np.zeros((2, 3, 4)))
    with pytest.raises(InputError, match="unknown norm `nuclaer`: did you mean `nuclear`"):
        minimal_decomposition(MATRICES, "nuclaer")
