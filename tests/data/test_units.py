"""Standard units: measured as they should be, and the same there and back."""

import jax.numpy as jnp
import numpy as np
import pytest

from leadax.data import Trajectories
from leadax.data.forcing import driving
from leadax.data.latent import Latent, layout_for, units_for
from leadax.data.units import Box, Units
from leadax.errors import InputError

RNG = np.random.default_rng(0)


def ragged() -> Trajectories:
    """Unequal lengths, irregular times, holes, channels of very different sizes."""
    times, states = [], []
    for lengths in ([5, 3], [7]):
        times.append([np.cumsum(RNG.exponential(size=n)) for n in lengths])
        states.append([RNG.standard_normal((n, 2)) * [3.0, 1e-3] + [100.0, 0.0] for n in lengths])
    states[0][0][2, 0] = states[1][0][4] = np.nan
    return Trajectories.from_arrays(times, states)


def test_measured_against_a_plain_loop():
    data = ragged()
    units = Units.measured(data)
    rates = []
    for c in range(2):
        values, changes, elapsed = [], 0.0, 0.0
        for e, i in np.ndindex(data.lengths.shape):
            x, t = data.states[e, i, : data.lengths[e, i], c], data.times[e, i, : data.lengths[e, i]]
            values += x[np.isfinite(x)].tolist()
            for k in range(len(x) - 1):
                if np.isfinite(x[k]) and np.isfinite(x[k + 1]):
                    changes += (x[k + 1] - x[k]) ** 2
                    elapsed += (t[k + 1] - t[k]) ** 2
        assert units.mean[c] == pytest.approx(np.mean(values), rel=1e-9, abs=1e-12)
        assert units.scale[c] == pytest.approx(np.std(values), rel=1e-9)
        rates.append(changes / np.var(values) / elapsed)
    assert units.time == pytest.approx(1 / np.sqrt(np.mean(rates)), rel=1e-9)


def test_noise_over_a_short_gap_does_not_set_the_unit_of_time():
    times = np.array([0.0, 1.0, 1.001, 2.0, 3.0, 4.0])
    smooth = np.sin(times)[None, None, :, None]
    noisy = smooth + 0.1 * np.array([0, 1, -1, 0, 1, 0.0])[:, None]
    found = [Units.measured(Trajectories.from_arrays(times, states)).time for states in (smooth, noisy)]
    assert found[1] == pytest.approx(found[0], rel=0.3)


def test_there_and_back_in_numpy_and_jax():
    units = Units((100.0, 0.0), (3.0, 1e-3), 0.5)
    states = RNG.standard_normal((4, 5, 2)) * units.scale + units.mean
    standard = units.standard(states)
    np.testing.assert_allclose(standard, (states - [100.0, 0.0]) / [3.0, 1e-3])
    np.testing.assert_allclose(units.raw(standard), states, rtol=1e-12)
    assert isinstance(units.raw(jnp.asarray(standard)), jnp.ndarray)
    # dx/dt = scale/time · dz/ds
    np.testing.assert_allclose(units.raw_tangent(np.ones(2)), [6.0, 2e-3])


def test_what_never_changes_has_units_of_one():
    still = Units.measured(Trajectories.from_arrays([0.0, 2.0, 6.0], np.full((1, 1, 3, 1), 0.1)))
    assert (still.scale, still.time) == ((1.0,), 6.0)


def test_a_box_around_the_data():
    """In standard units; as wide again on both sides; some room also around what never changes."""
    states = np.array([[[[1.0, 5.0], [np.nan, 5.0], [3.0, 5.0]]]])
    data, units = Trajectories.from_arrays(range(3), states), Units((1.0, 4.0), (2.0, 1.0))
    box = Box.around(data, units)
    assert box == Box((-1.0, 0.0), (2.0, 2.0))
    assert Box.around(data, units, margin=0.5) == Box((-0.5, 0.5), (1.5, 1.5))
    for wrong in (((1.0,), (1.0,)), ((0.0,), (1.0, 2.0)), ((2.0,), (1.0,)), ((np.nan,), (1.0,))):
        with pytest.raises(InputError, match="a box needs"):
            Box(*wrong)


def test_two_boxes_make_the_one_around_the_data_of_both():
    states = RNG.standard_normal((1, 2, 5, 3)) * np.array([1.0, 5.0, 0.1])
    box = lambda part: Box.around(Trajectories.from_arrays(range(5), part), Units.ones(3))
    both, union = box(states), box(states[:, :1]).union(box(states[:, 1:]))
    np.testing.assert_allclose([*union.low, *union.high, *union.range], [*both.low, *both.high, *both.range])


@pytest.mark.parametrize(
    "numbers",
    [((0.0,), (1.0, 1.0)), ((0.0,), (0.0,)), ((np.nan,), (1.0,)), ((0.0,), (1.0,), 0.0), ((0.0,), (np.inf,))],
)
def test_units_that_are_none_are_refused(numbers):
    with pytest.raises(InputError, match="units"):
        Units(*numbers)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e308, 1e31, 1e-31, 1e-308])
def test_numbers_beyond_those_of_forecasts_are_refused(size):
    t, x = np.arange(4.0), np.array([1.0, -1.0, 0.5, 0.0])[None, None, :, None]
    with pytest.raises(InputError, match="channel `x0` has values of the order of 1e"):
        Units.measured(Trajectories.from_arrays(t, size * x))
    with pytest.raises(InputError, match="time has values"):
        Units.measured(Trajectories.from_arrays(size * (t / 3), x))
    with pytest.raises(InputError, match="an input or covariate has values"):
        Units.ones(1).for_inputs(size * x)
    assert Units.measured(Trajectories.from_arrays(t, 0 * x)).scale == (1.0,)


def test_doses_of_hidden_channels_are_of_size_one():
    """Nets and priors see amounts of the size one, formulas those of the data; what was given before is kept."""
    doses = np.array([[[[300.0, 1.0], [0.0, 1.0]], [[400.0, 1.0], [np.nan, 1.0]]]])
    data = Trajectories.from_arrays(
        [0.0, 1.0],
        np.ones((1, 2, 2, 1)),
        inputs=doses,
        input_names=["dose", "light"],
        input_kinds=["impulse:hidden1", "held"],
    )
    layout = layout_for(data, Units.ones(1), Latent("none", hidden=2))
    units = units_for(data, Units.ones(1), layout)
    size = np.sqrt((300.0**2 + 400.0**2) / 2)
    np.testing.assert_allclose(units.with_hidden(2).scale, [1.0, 1.0, size])
    np.testing.assert_allclose(driving(data, units, layout).impulses[0, :, 0, 2], [300 / size, 400 / size])
    assert units_for(data.select(trajectories=[0]), units, layout) == units
    assert Units.ones(1).with_hidden(2).scale == (1.0, 1.0, 1.0)
    with pytest.raises(InputError, match="use one of x0, or say how many are hidden with `--hidden 2`"):
        units_for(data, Units.ones(1), layout_for(data, Units.ones(1), Latent("none")))
