"""How noisy data are, whether something is hidden, and what follows from it: on data with known answers."""

import itertools

import numpy as np
import pytest

from leadax import InputError, Trajectories, Units
from leadax.data.batch import LEAST_NOISE, to_batch
from leadax.data.latent import Latent, layout_for
from leadax.data.layout import Layout
from leadax.data.noise import noise_level
from leadax.data.variogram import unexplained
from leadax.describe import describe


def oscillators(noise=0.0, points=60, step=0.25, holes=0.0, jitter=0.0, seed=0):
    """Three damped oscillators, x and 10 ẋ, four trajectories of each; noise as a part of each channel's spread."""
    rng = np.random.default_rng(seed)
    times = step * np.arange(points) + jitter * step * rng.uniform(-0.4, 0.4, (3, 4, points))
    starts = rng.uniform(0.5, 2, (4, 1)) * np.exp(1j * rng.uniform(0, 6, (4, 1)))
    rates = np.array([0.8, 1.0, 1.2])[:, None, None] * 1j - 0.05
    waves = starts * np.exp(rates * times)
    states = np.stack([waves.real, 10 * (rates * waves).real], axis=-1)
    spread = states.std(axis=(0, 1, 2))
    states = states + noise * spread * rng.standard_normal(states.shape)
    states[rng.uniform(size=states.shape) < holes] = np.nan
    return Trajectories.from_arrays(times, states), spread


@pytest.mark.parametrize(
    ("noise", "how"), list(itertools.product([0.01, 0.05, 0.2], [{}, {"jitter": 1.0}, {"holes": 0.1, "jitter": 1.0}]))
)
def test_known_noise_is_found(noise, how):
    data, spread = oscillators(noise, **how)
    np.testing.assert_allclose(noise_level(data) / spread, noise, rtol=0.2)


@pytest.mark.parametrize("step", [0.1, 0.5, 1.0])
def test_smooth_curves_have_none_however_coarse(step):
    data, spread = oscillators(step=step, points=25)
    np.testing.assert_allclose(noise_level(data) / spread, 0, atol=0.003)


def relaxation_oscillators(noise, points, seed):
    """Five of van der Pol's, three trajectories of each, with a few steep places; solved in steps of 0.01."""
    rng, mu = np.random.default_rng(seed), np.array([0.2, 0.65, 1.1, 1.55, 2.0])[:, None]
    field = lambda x: np.stack([x[..., 1], mu * (1 - x[..., 0] ** 2) * x[..., 1] - x[..., 0]], axis=-1)
    x, path = np.broadcast_to(rng.uniform(-2, 2, (3, 2)), (5, 3, 2)), []
    for _ in range(25 * points):
        path.append(x)
        middle = x + 0.005 * field(x)
        x = x + 0.01 * field(middle)
    states = np.stack(path[::25], axis=2)
    spread = states.std(axis=(0, 1, 2))
    noisy = states + noise * spread * rng.standard_normal(states.shape)
    return Trajectories.from_arrays(0.25 * np.arange(points), noisy), spread


@pytest.mark.parametrize(("noise", "points"), [(0.01, 33), (0.05, 33), (0.2, 33), (0.05, 16)])
def test_steep_places_are_no_noise(noise, points):
    for seed in range(3):
        data, spread = relaxation_oscillators(noise, points, seed)
        np.testing.assert_allclose(noise_level(data) / spread, noise, rtol=0.2)


def test_steep_places_are_no_noise_where_there_is_none():
    data, spread = relaxation_oscillators(0.0, 33, 0)
    np.testing.assert_allclose(noise_level(data) / spread, 0, atol=0.003)


def test_too_few_points_tell_nothing():
    assert noise_level(Trajectories.from_arrays(range(4), np.random.default_rng(0).normal(size=(1, 2, 4, 1)))) == [0]


def test_noise_of_fields_is_that_of_pixels():
    data, spread = oscillators(0.05)
    pixels = np.stack([data.states] * 3, axis=3) + 0.05 * spread * np.random.default_rng(1).normal(
        size=(3, 4, 60, 3, 2)
    )
    found = noise_level(Trajectories.from_arrays(data.times, pixels)) / spread
    np.testing.assert_allclose(found, 0.05 * np.sqrt(2), rtol=0.2)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_a_hidden_half_is_noticed(noise):
    whole, _ = oscillators(noise)
    only = lambda c: Trajectories.from_arrays(whole.times, whole.states[..., [c]])
    assert unexplained(whole) < 0.1
    assert min(unexplained(only(0)), unexplained(only(1))) > 0.4


def test_what_is_hidden_is_noticed_where_trajectories_start_alike():
    """Their nearest states are each other's: only other times tell that the same amount may rise or fall."""
    t, doses = np.linspace(0, 12, 14), np.array([1.0, 1.3, 1.6, 1.9])[:, None]
    blood = np.stack([doses * k / (k - 0.3) * (np.exp(-0.3 * t) - np.exp(-k * t)) for k in (0.7, 1.0, 1.5)])
    assert unexplained(Trajectories.from_arrays(t, blood[..., None])) > 0.25


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_irregular_times_are_no_alarm(noise):
    """Growth at a rate that the state determines: the mean rate up to the next point depends on how far that is."""
    rng = np.random.default_rng(3)
    for _ in range(10):
        t = np.sort(rng.uniform(0, 10, (2, 4, 12)))
        x = 1 / (1 + 15 * np.exp(-np.array([0.6, 1.0])[:, None, None] * t))
        x = x + noise * x.std() * rng.normal(size=x.shape)
        assert unexplained(Trajectories.from_arrays(t, x[..., None])) < 0.2


def test_nobody_can_tell_from_little():
    assert np.isnan(unexplained(Trajectories.from_arrays(range(4), np.ones((1, 1, 4, 1)))))
    assert np.isnan(unexplained(Trajectories.from_arrays(range(30), np.ones((1, 1, 30, 1)))))
    assert np.isnan(unexplained(Trajectories.from_arrays(range(9), np.ones((1, 1, 9, 4, 1)))))


def test_auto_believes_smooth_data():
    """So that nothing is local, and programs are those of data without noise."""
    smooth, noisy = oscillators()[0], oscillators(0.05)[0]
    layout = layout_for(smooth, Units.measured(smooth), Latent())
    assert layout == Layout(smooth.channels)
    assert not layout.inferred
    assert layout_for(noisy, Units.measured(noisy), Latent("none")) == layout
    assert layout_for(noisy, Units.measured(noisy), Latent(0.0)) == layout
    found = layout_for(noisy, Units.measured(noisy), Latent())
    np.testing.assert_allclose(found.noise, 0.05, rtol=0.25)
    assert layout_for(noisy, Units.measured(noisy), Latent(0.1)).noise == (0.1, 0.1)


def test_batches_know_the_noise_where_starts_are_inferred():
    data, _ = oscillators(0.05)
    plain = to_batch(data, Units.ones(2), layout=Layout(data.channels))
    assert plain.noise is None
    for layout, level in (
        (Layout(data.channels, noise=(0.0, 0.3)), 0.3),
        (Layout(data.channels, hidden=1), LEAST_NOISE),
    ):
        batch = to_batch(data, Units.ones(2), layout=layout)
        np.testing.assert_allclose(batch.noise[..., :2], np.broadcast_to([LEAST_NOISE, level], (3, 4, 2)), rtol=1e-6)
        assert batch.growth is None
        np.testing.assert_allclose(batch.noise[..., 2:], 1.0)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_doses_are_no_noise(noise):
    """A curve that jumps at doses, most of them between points, has as much noise as it has from dose to dose."""
    rng, times = np.random.default_rng(0), np.arange(0, 40, 0.25)
    doses = np.zeros((1, 6, len(times), 1))
    doses[:, :, rng.permutation(len(times))[:20]] = 1.0
    states = np.zeros((1, 6, len(times), 1))
    for k in range(1, len(times)):
        states[:, :, k] = (states[:, :, k - 1] + doses[:, :, k - 1]) * np.exp(-0.1)
    states += noise * rng.standard_normal(states.shape)
    states[:, ::2, 5::3] = np.nan
    data = Trajectories.from_arrays(times, states, channels=["c"], inputs=doses, input_kinds=["impulse:c"])
    np.testing.assert_allclose(noise_level(data), noise, rtol=0.2, atol=1e-3)


def test_noise_that_grows_with_the_value():
    data, _ = oscillators(0.05)
    layout = layout_for(data, Units.measured(data), Latent("15%", hidden=1, from_zero=True))
    assert (layout.noise, layout.relative_noise, layout.from_zero) == ((LEAST_NOISE,) * 2, 0.15, True)
    assert describe(layout)["relative_noise"] == 0.15
    assert "relative_noise" not in describe(Layout(data.channels))
    batch = to_batch(data, Units((3.0, -2.0), (2.0, 4.0)), layout=layout)
    np.testing.assert_allclose(batch.growth.rate, 0.15, rtol=1e-6)
    np.testing.assert_allclose(batch.growth.zero, np.broadcast_to([-1.5, 0.5], (3, 4, 2)), rtol=1e-6)
    np.testing.assert_allclose(batch.noise, LEAST_NOISE, rtol=1e-6)


def test_inferred_trajectories_start_at_their_first_point():
    states = np.array([[[[np.nan, 1.0], [2.0, np.nan], [3.0, 4.0]], [[5.0, 6.0], [7.0, 8.0], [np.nan] * 2]]])
    data = Trajectories.from_arrays(range(3), states)
    batch = to_batch(data, Units.ones(2), layout=Layout(data.channels, hidden=1))
    assert batch.states[0, 0, :, 1].tolist() == [1.0, 0.0, 4.0]
    assert batch.observed[0, 0].tolist() == [[False, True], [True, False], [True, True]]
    assert batch.complete[0, 0].all()


BAD = {
    "negative": (lambda: Latent(-0.1), "`noise` must be `auto`, `none`, a number from 0 on, or a part of each value"),
    "infinite": (lambda: Latent(float("inf")), "such as 15%, got inf"),
    "word": (lambda: Latent("much"), "such as 15%, got `much`"),
    "percent": (lambda: Latent("-3%"), "such as 15%, got `-3%`"),
    "from zero": (lambda: Latent(from_zero=True), "`from_zero` is about hidden channels, and there are none"),
    "hidden": (lambda: Layout(("x",), hidden=-1), "`hidden` must be a whole number from 0 on, got -1"),
    "individual": (lambda: Layout(("x",), individual=-2), "`individual` must be a whole number from 0 on, got -2"),
    "channels": (lambda: Layout(("x",), noise=(0.1, 0.1)), "`noise` needs a number from 0 on for each channel"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input(what):
    build, text = BAD[what]
    with pytest.raises(InputError) as error:
        build()
    assert text in str(error.value)
    assert "\n" not in str(error.value)
