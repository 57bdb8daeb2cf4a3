import exponax
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from tests.systems.simulated import data_of

from leadax.systems import get_system
from leadax.systems.navier_stokes import forcing, random_field, solver, tangent
from leadax.systems.spectral import Torus, crank_nicolson_euler, integrating_factor_rk4

SCHEMES = {"paper": (crank_nicolson_euler, 1e-3), "clean": (integrating_factor_rk4, 0.04)}


def environment(**changes):
    parameters = list(get_system("navier-stokes").environments.values())[3] | changes
    return {name: jnp.asarray(float(value)) for name, value in parameters.items()}


@pytest.fixture(scope="module")
def flow():
    """A developed flow on a 64 × 64 grid."""
    return jax.jit(get_system("navier-stokes").initial_state)(jr.key(3))


@pytest.fixture(scope="module")
def later(flow):
    """The flow one unit of time later, with steps a sixth as long as those of the data."""
    return solved(Torus(64), integrating_factor_rk4, 1 / 160, flow, environment(), np.array([0.0, 1.0]))[-1]


def solved(torus, stepper, max_step, state, parameters, times):
    """As one program: to compile every operation by itself takes several times as long."""
    return jax.jit(lambda state, parameters: solver(torus, stepper, max_step)(state, parameters, times))(
        state, parameters
    )


def relative(measured, expected):
    return float(jnp.linalg.norm(measured - expected) / jnp.linalg.norm(expected))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_unforced_eigenmode_decays(scheme):
    along = jnp.arange(32) / 32
    mode = jnp.sin(2 * jnp.pi * (along[None, :] + along[:, None]))[..., None]
    times = np.array([0.0, 1.0, 3.0])
    states = solved(Torus(32), *SCHEMES[scheme], mode, environment(amplitude=0.0), times)
    for k, t in enumerate(times):
        expected = np.exp(-8 * np.pi**2 * 1e-3 * t) * mode
        assert relative(states[k], expected) < 1e-9, "the mode decays as exp(−8π²νt)"


@pytest.mark.parametrize(("scheme", "order", "steps"), [("paper", 1, (0.02, 0.01)), ("clean", 4, (0.125, 0.0625))])
def test_order_in_time(flow, later, scheme, order, steps):
    stepper, _ = SCHEMES[scheme]
    end = lambda dt: solved(Torus(64), stepper, dt, flow, environment(), np.array([0.0, 1.0]))[-1]
    coarse, fine = (relative(end(dt), later) for dt in steps)
    measured = np.log2(coarse / fine)
    assert abs(measured - order) < 0.25, f"expected order {order}, measured {measured:.2f}"


@pytest.mark.parametrize("protocol", ["paper", "clean"])
def test_mean_vorticity_stays_zero(flow, protocol):
    """In the data, and in the long flow before their first point."""
    assert np.abs(data_of("navier-stokes", protocol).states.mean(axis=(3, 4))).max() < 1e-12
    start = flow if protocol == "clean" else jax.jit(get_system("navier-stokes", protocol).initial_state)(jr.key(3))
    assert abs(start.mean()) < 1e-12
    assert 0.1 < start.std() < 10, f"a developed flow, neither decayed nor exploded: {start.std()}"


@pytest.mark.parametrize(("protocol", "size"), [("paper", 32), ("clean", 64)])
def test_every_second_point_of_the_finer_grid_is_observed(protocol, size):
    system = get_system("navier-stokes", protocol)
    state = jr.normal(jr.key(0), jax.eval_shape(system.initial_state, jr.key(0)).shape)
    assert state.shape == (size, size, 1)
    np.testing.assert_array_equal(system.observe(state), state[:: size // 32, :: size // 32])


def test_clean_data_are_right_to_six_digits_and_paper_data_are_not(flow):
    times = np.array([0.0, 1.0, 2.0])
    finer = jax.jit(lambda field: Torus(64).resample(field, 128))(flow)
    exact = solved(Torus(128), integrating_factor_rk4, 0.02, finer, environment(), times)[:, ::4, ::4]
    clean = solved(Torus(64), *SCHEMES["clean"], flow, environment(), times)[:, ::2, ::2]
    paper = solved(Torus(32), *SCHEMES["paper"], flow[::2, ::2], environment(), times)
    assert relative(clean[1:], exact[1:]) < 1e-6
    assert 1e-5 < relative(paper[1:], exact[1:]) < 3e-3


def test_against_exponax(flow):
    # Exponax has the opposite sign of vorticity. It knows no forcing: half a kick before and after each step.
    dt, count = 0.005, 100

    @jax.jit
    def exponax_flow(w):
        force = jnp.swapaxes(forcing(environment(), 64), 0, 1)[None]
        stepper = exponax.stepper.NavierStokesVorticity(
            2, 1.0, 64, dt, diffusivity=1e-3, vorticity_convection_scale=-1.0, order=4
        )
        step = lambda _, w: stepper(w + 0.5 * dt * force) + 0.5 * dt * force
        return jax.lax.fori_loop(0, count, step, w)

    with jax.numpy_dtype_promotion("standard"):
        theirs = exponax_flow(jnp.swapaxes(flow[..., 0], 0, 1)[None])
    ours = solved(Torus(64), *SCHEMES["clean"], flow, environment(), np.array([0.0, dt * count]))[-1]
    assert relative(ours[..., 0], jnp.swapaxes(theirs[0], 0, 1)) < 1e-6


def test_random_field():
    fields = np.asarray(jax.jit(jax.vmap(random_field))(jr.split(jr.key(0), 2000)))[..., 0]
    assert np.abs(fields.mean(axis=(1, 2))).max() < 1e-12
    wave = 2 * np.pi * np.fft.fftfreq(32, 1 / 32)
    variances = 7.0**3 * (wave[:, None] ** 2 + wave[None, :] ** 2 + 49.0) ** -2.5
    power = np.mean(np.abs(np.fft.fft2(fields) / 32**2) ** 2, axis=0)
    for ky, kx in [(1, 0), (0, 1), (3, 4), (-2, 5)]:
        assert power[ky, kx] == pytest.approx(variances[ky, kx], rel=0.1)


def test_resampling_keeps_the_field():
    field = jax.jit(random_field)(jr.key(1))
    finer = jax.jit(lambda field: Torus(32).resample(field, 96))(field)
    np.testing.assert_allclose(finer[::3, ::3], field, atol=1e-12)


def test_tangent_of_the_forcing_alone():
    np.testing.assert_allclose(
        jax.jit(tangent)(jnp.zeros((32, 32, 1)), environment())[..., 0], forcing(environment(), 32), atol=1e-15
    )


def test_both_readings_of_the_fourth_forcing():
    waves = lambda name: list(get_system(name).environments)[3]
    assert waves("navier-stokes") == "sin(1,2)+cos(2,1)"
    assert waves("navier-stokes-text") == "sin(2,1)+cos(2,1)"
