"""Power iteration against the singular value decomposition."""

import jax.numpy as jnp
import numpy as np
import pytest

from leadax.nets.power import power_iteration, real_map


@pytest.mark.parametrize("rows", [3, 5])
def test_the_direction_is_the_first_right_singular_vector(rows):
    """Of a matrix that is not symmetric: its own image would be another direction."""
    matrix = np.random.default_rng(rows).normal(size=(rows, 3))
    start = jnp.ones(3) / np.sqrt(3)
    v = np.asarray(power_iteration(lambda v: jnp.asarray(matrix) @ v, start, 300))
    _, sizes, right = np.linalg.svd(matrix)
    np.testing.assert_allclose(np.abs(right[0] @ v), 1.0, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(matrix @ v), sizes[0], rtol=1e-9)


def test_complex_matrices_act_on_real_and_imaginary_parts():
    rng = np.random.default_rng(0)
    matrix, vector = (rng.normal(size=shape) + 1j * rng.normal(size=shape) for shape in ((2, 3), (3,)))
    found = real_map(jnp.asarray(matrix))(jnp.stack([vector.real, vector.imag]))
    real, imaginary = np.asarray(found)
    np.testing.assert_allclose(real + 1j * imaginary, matrix @ vector, rtol=1e-12)
