import numpy as np
import pytest
from scipy.integrate import solve_ivp

from leadax.data import Trajectories
from leadax.errors import InputError
from leadax.yardsticks import Yardsticks, yardsticks

TIMES = np.linspace(0, 3, 31)


def spirals(starts, rate=0.3, centre=5.0) -> np.ndarray:
    """dx/dt = A(x - centre), solved by SciPy."""
    matrix = np.array([[-rate, 1.0], [-1.0, -rate]])
    solve = lambda x0: solve_ivp(lambda t, x: matrix @ (x - centre), (0, 3), x0, t_eval=TIMES, rtol=1e-8).y.T
    return np.stack([solve(np.asarray(x0)) for x0 in starts])


TRAIN = Trajectories.from_arrays(TIMES, np.stack([spirals([(1, 2), (7, 6)]), spirals([(1, 2), (7, 6)], rate=0.9)]))
TEST = Trajectories.from_arrays(TIMES, np.stack([spirals([(3, 8)]), spirals([(3, 8)], rate=0.9)]))


def simple(train, test):
    """Without sparse regression, which takes longest and has a test of its own."""
    return Yardsticks.learnt(train).errors(test)


def test_a_linear_system_is_learnt_by_the_linear_yardstick_alone():
    errors = {name: found.nmse for name, found in simple(TRAIN, TEST).items()}
    assert errors["linear"] < 1e-3
    assert min(errors["persistence"], errors["mean"], errors["mean curve"]) > 0.1


def test_yardsticks_against_plain_loops():
    found = simple(TRAIN, TEST)
    later = TEST.states[:, :, 1:]  # the first point does not count
    variance = later.reshape(-1, 2).var(axis=0)
    normalised = lambda forecast: float(np.mean(((later - forecast) ** 2).reshape(-1, 2).mean(axis=0) / variance))
    assert found["persistence"].nmse == pytest.approx(normalised(TEST.states[:, :, :1]), rel=1e-5)
    means = TRAIN.states.mean(axis=(1, 2))[:, None, None]
    assert found["mean"].nmse == pytest.approx(normalised(means), rel=1e-5)
    curves = TRAIN.states.mean(axis=1)[:, None, 1:]
    assert found["mean curve"].nmse == pytest.approx(normalised(curves), rel=1e-5)


def test_each_environment_has_its_own_history_by_name():
    swapped = TEST.select([1, 0])
    for name, found in simple(TRAIN, swapped).items():
        assert found.nmse == pytest.approx(simple(TRAIN, TEST)[name].nmse, rel=1e-6)


def test_holes_and_unequal_lengths():
    states = TRAIN.states.copy()
    states[0, 0, 5:9, 0] = states[1, 1, 20:] = np.nan
    holes = Trajectories.from_arrays(TIMES, states)
    found = simple(holes, TEST)
    assert found["linear"].nmse < 1e-2
    assert all(np.isfinite(error.nmse) for error in found.values())


def test_fields_have_no_linear_yardstick():
    field = Trajectories.from_arrays(range(4), np.random.default_rng(0).standard_normal((1, 2, 4, 8, 8, 1)))
    assert set(simple(field, field)) == {"persistence", "mean", "mean curve"}


def test_kept_in_a_file_they_forecast_the_same(tmp_path):
    fitted = Yardsticks.learnt(TRAIN)
    fitted.save(tmp_path / "simple.safetensors")
    again = Yardsticks.load(tmp_path / "simple.safetensors")
    assert again.document(TEST) == fitted.document(TEST)
    assert set(again.document(TEST)) >= {"persistence", "mean", "mean_curve", "linear"}


def test_an_unknown_environment_cannot_be_forecast():
    renamed = Trajectories.from_arrays(TEST.times, TEST.states, environments=["e0", "elsewhere"])
    with pytest.raises(InputError, match="no training data of environment `elsewhere`"):
        simple(TRAIN, renamed)


def test_sparse_regression_finds_the_cubic_of_van_der_pol():
    """x' = y, y' = (1 − x²)y − x is one of the polynomials that it chooses from."""
    pytest.importorskip("pysindy")
    field = lambda t, x: (x[1], (1 - x[0] ** 2) * x[1] - x[0])
    times = np.linspace(0, 10, 201)
    solve = lambda x0: solve_ivp(field, (0, 10), x0, t_eval=times, rtol=1e-8).y.T
    train = Trajectories.from_arrays(times, np.stack([[solve((1, 0)), solve((-2, 1)), solve((0.1, 2))]]))
    test = Trajectories.from_arrays(times[:101], np.stack([[solve((1.5, 1.5))[:101]]]))
    errors = yardsticks(train, test)
    assert errors["sindy"].nmse < 0.05 < errors["linear"].nmse


def test_what_has_no_whole_state_to_begin_at_is_left_out():
    """A model may infer such starts. Simple forecasts do without these trajectories, or without any."""
    states = TRAIN.states.copy()
    states[0, 0, :, 0] = np.nan
    some = simple(Trajectories.from_arrays(TIMES, states), TEST)
    assert some["linear"].nmse < 1e-2
    states[0, 1, ::2, 0] = states[0, 1, 1::2, 1] = np.nan
    none = Trajectories.from_arrays(TIMES, states)
    assert simple(none, TEST) == {}
    assert simple(TRAIN, none) == {}
    partly = Trajectories.from_arrays(TIMES, np.concatenate([states[:, :1], TEST.states], axis=1))
    assert simple(TRAIN, partly)["linear"].nmse < 1e-2
