import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import scipy.integrate
from tests.systems.simulated import data_of

from leadax.systems import get_system
from leadax.systems.gray_scott import initial_state, laplacian, tangent


def nine_point(a):
    """The stencil, written out neighbour by neighbour."""
    shifted = lambda dy, dx: np.roll(a, (dy, dx), (0, 1))
    sides = shifted(1, 0) + shifted(-1, 0) + shifted(0, 1) + shifted(0, -1)
    corners = shifted(1, 1) + shifted(1, -1) + shifted(-1, 1) + shifted(-1, -1)
    return -3 * a + 0.5 * sides + 0.25 * corners


def test_stencil():
    field = np.random.default_rng(0).normal(size=(8, 6))
    np.testing.assert_allclose(laplacian(jnp.asarray(field)), nine_point(field), atol=1e-14)


def test_against_scipy():
    data = data_of("gray-scott", "clean")
    p = {name: values[0] for name, values in data.parameters.items()}

    def rate(t, flat):
        u, v = flat.reshape(32, 32, 2).transpose(2, 0, 1)
        du = p["D_u"] * nine_point(u) - u * v**2 + p["F"] * (1 - u)
        dv = p["D_v"] * nine_point(v) + u * v**2 - (p["F"] + p["k"]) * v
        return np.stack([du, dv], axis=-1).ravel()

    states = data.states[0, 0]
    times = data.times[0, 0]
    tight = {"method": "DOP853", "rtol": 1e-9, "atol": 1e-9, "t_eval": times}
    expected = scipy.integrate.solve_ivp(rate, times[[0, -1]], states[0].ravel(), **tight)
    np.testing.assert_allclose(states, expected.y.T.reshape(states.shape), atol=1e-6)


def test_homogeneous_state_is_steady():
    state = jnp.broadcast_to(jnp.array([1.0, 0.0]), (32, 32, 2))
    for parameters in get_system("gray-scott").environments.values():
        assert float(jnp.abs(jax.jit(tangent)(state, parameters)).max()) == 0.0


def test_one_mode_is_an_eigenvector_of_the_stencil():
    # Pure diffusion: without feed and kill, and without v, only D_u·Δu is left.
    parameters = {"F": jnp.array(0.0), "k": jnp.array(0.0), "D_u": jnp.array(0.2), "D_v": jnp.array(0.1)}
    ky, kx = 3, 5
    angle = lambda k: 2 * np.pi * k / 32
    mode = np.cos(angle(ky) * np.arange(32))[:, None] * np.cos(angle(kx) * np.arange(32))[None, :]
    state = jnp.stack([jnp.asarray(mode), jnp.zeros((32, 32))], axis=-1)
    cy, cx = np.cos(angle(ky)), np.cos(angle(kx))
    eigenvalue = 0.2 * (-3 + cy + cx + cy * cx)
    np.testing.assert_allclose(tangent(state, parameters), eigenvalue * state, atol=1e-14)


def test_initial_states():
    states = np.asarray(jax.jit(jax.vmap(initial_state))(jr.split(jr.key(0), 200)))
    spot = (states == [0.0, 1.0]).all(axis=-1)
    assert ((states == [0.95, 0.05]).all(axis=-1) | spot).all()
    covered = spot.sum(axis=(1, 2))
    assert covered.max() == 27, "three squares of 3 × 3 that do not overlap"
    assert covered.min() >= 9
    assert spot[:, 0, :].any(), "squares reach the first row"
    assert not spot[:, -1, :].any(), "but, as in the paper's data, never the last"
