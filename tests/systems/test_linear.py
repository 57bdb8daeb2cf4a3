import jax
import numpy as np
import scipy.linalg
from tests.systems.simulated import data_of

from leadax.systems import get_system
from leadax.systems.linear import matrix, rotation


def test_against_the_matrix_exponential():
    data = data_of("linear", "clean")
    matrices = np.asarray(jax.jit(jax.vmap(matrix))(dict(data.parameters)))
    for e, (name, f) in enumerate(zip(data.environments, matrices, strict=True)):
        for k, t in enumerate(data.times[e, 0]):
            expected = data.states[e, :, 0] @ scipy.linalg.expm(t * f).T
            error = np.abs(data.states[e, :, k] - expected).max()
            assert error < 1e-9, f"environment {name}, time {t}: error {error:.1e}, allowed 1e-9"


def test_spectra_and_rotation():
    q = rotation()
    np.testing.assert_allclose(q @ q.T, np.eye(8), atol=1e-14)
    system = get_system("linear")
    for i, parameters in enumerate(system.environments.values()):
        expected = np.full(8, -0.5)
        expected[i] = 0.0
        np.testing.assert_allclose(q.T @ np.asarray(matrix(parameters)) @ q, np.diag(expected), atol=1e-14)
