import dataclasses

import jax.random as jr
import numpy as np
import pytest
import scipy.integrate

from leadax.systems import get_system, simulate


@pytest.fixture(scope="module")
def paper_data():
    return simulate(get_system("lotka-volterra", "paper"), key=jr.key(0), split="test")


@pytest.fixture(scope="module")
def clean_data():
    """With the clean solver, from where the paper's data start."""
    paper, clean = (get_system("lotka-volterra", protocol) for protocol in ("paper", "clean"))
    return simulate(dataclasses.replace(paper, solve=clean.solve), key=jr.key(0), split="test")


def test_against_scipy(clean_data):
    data = clean_data
    for e in range(len(data.environments)):
        a, b, g, d = (data.parameters[name][e] for name in ("alpha", "beta", "gamma", "delta"))
        rate = lambda t, x, a=a, b=b, g=g, d=d: [a * x[0] - b * x[0] * x[1], d * x[0] * x[1] - g * x[1]]
        for i in range(2):
            times, states = data.times[e, i], data.states[e, i]
            tight = {"method": "DOP853", "rtol": 1e-10, "atol": 1e-12, "t_eval": times}
            expected = scipy.integrate.solve_ivp(rate, times[[0, -1]], states[0], **tight).y.T
            # SciPy interpolates to seventh order at these times: 1e-7 is its error, not ours.
            np.testing.assert_allclose(states, expected, atol=1e-6)


def test_first_integral_is_constant(clean_data):
    p = {name: values[:, None, None] for name, values in clean_data.parameters.items()}
    u, v = clean_data.states[..., 0], clean_data.states[..., 1]
    h = p["delta"] * u - p["gamma"] * np.log(u) + p["beta"] * v - p["alpha"] * np.log(v)
    drift = np.abs(h - h[..., :1]).max()
    assert drift < 1e-6, f"first integral drifts by {drift:.1e}"


def test_paper_data_are_as_wrong_as_the_paper_s(paper_data, clean_data):
    # With SciPy at rtol 1e-3, as the paper's data were made, the mean squared error is about 2e-5.
    np.testing.assert_array_equal(paper_data.states[:, :, 0], clean_data.states[:, :, 0])
    error = np.mean((paper_data.states - clean_data.states) ** 2)
    assert 5e-6 < error < 6e-5, f"mean squared error {error:.1e}"


def test_environments_are_the_paper_s():
    system = get_system("lotka-volterra")
    pairs = [(p["alpha"] / p["beta"], p["gamma"] / p["delta"]) for p in system.environments.values()]
    assert len(set(pairs)) == 10
    assert {value for pair in pairs for value in pair} == {0.5, 1.0, 1.5, 2.0}
    novel = {round(p["alpha"] / p["beta"], 9) for p in system.novel.values()}
    assert novel == {1.44, 1.86}


def test_paper_data_start_where_the_published_ones_do(paper_data):
    # NumPy's old generator, seeded with 0 for the first training trajectory and with 2³¹ − 1 for the first test one.
    # As many trajectories as in the test data, so that no other program is compiled.
    train = simulate(get_system("lotka-volterra", "paper"), key=jr.key(0), trajectories=32)
    np.testing.assert_allclose(train.states[0, 0, 0], [1.5488135, 1.71518937], atol=1e-8)
    expected = np.random.RandomState(2**31 - 1).random_sample(2) + 1
    np.testing.assert_array_equal(paper_data.states[0, 0, 0], expected)
