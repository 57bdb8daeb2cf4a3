import jax
import jax.random as jr
import numpy as np
import scipy.integrate
from tests.systems.simulated import data_of

from leadax.systems import get_system


def scipy_states(data):
    """All trajectories from their initial states, as one system of equations."""
    a, b, g, d = (data.parameters[name][:, None] for name in ("alpha", "beta", "gamma", "delta"))
    start = data.states[:, :, 0]

    def rate(t, flat):
        u, v = np.moveaxis(flat.reshape(start.shape), -1, 0)
        return np.stack([a * u - b * u * v, d * u * v - g * v], axis=-1).ravel()

    times = data.times[0, 0]
    tight = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-12, "t_eval": times}
    found = scipy.integrate.solve_ivp(rate, times[[0, -1]], start.ravel(), **tight)
    return np.moveaxis(found.y.reshape(*start.shape, len(times)), -1, 2)


def test_against_scipy():
    data = data_of("lotka-volterra", "clean")
    # SciPy interpolates to seventh order at these times: 1e-7 is its error, not ours.
    np.testing.assert_allclose(data.states, scipy_states(data), atol=1e-6)


def test_first_integral_is_constant():
    data = data_of("lotka-volterra", "clean")
    p = {name: values[:, None, None] for name, values in data.parameters.items()}
    u, v = data.states[..., 0], data.states[..., 1]
    h = p["delta"] * u - p["gamma"] * np.log(u) + p["beta"] * v - p["alpha"] * np.log(v)
    drift = np.abs(h - h[..., :1]).max()
    assert drift < 1e-6, f"first integral drifts by {drift:.1e}"


def test_paper_data_are_as_wrong_as_the_paper_s():
    # With SciPy at rtol 1e-3, as the paper's data were made, the mean squared error is about 2e-5.
    data = data_of("lotka-volterra", "paper")
    error = np.mean((data.states - scipy_states(data)) ** 2)
    assert 5e-6 < error < 6e-5, f"mean squared error {error:.1e}"


def test_environments_are_the_paper_s():
    system = get_system("lotka-volterra")
    pairs = [(p["alpha"] / p["beta"], p["gamma"] / p["delta"]) for p in system.environments.values()]
    assert len(set(pairs)) == 10
    assert {value for pair in pairs for value in pair} == {0.5, 1.0, 1.5, 2.0}
    novel = {round(p["alpha"] / p["beta"], 9) for p in system.novel.values()}
    assert novel == {1.44, 1.86}


def test_paper_data_start_where_the_published_ones_do():
    # NumPy's old generator, seeded with 0 for the first training trajectory and with 2³¹ − 1 for the first test one.
    first = data_of("lotka-volterra", "paper").states[0, 0, 0]
    np.testing.assert_allclose(first, [1.5488135, 1.71518937], atol=1e-8)
    system = get_system("lotka-volterra", "paper")
    first = system.initial_state(system.draws(jr.key(0), "test", 1)[0])
    np.testing.assert_array_equal(first, np.random.RandomState(2**31 - 1).random_sample(2) + 1)


def test_coda_starts_anywhere_between_1_and_3():
    system = get_system("lotka-volterra-coda")
    states = jax.vmap(system.initial_state)(system.draws(jr.key(0), "train", 200))
    assert states.shape == (200, 2)
    np.testing.assert_allclose([states.min(), states.max()], [1, 2], atol=0.05)
