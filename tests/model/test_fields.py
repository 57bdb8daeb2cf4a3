"""f, g_e and dx/dt at many states at once: as at each of them alone, for vectors, fields on a grid and formulas."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from leadax import InputError, Leads, Linear, Parameter, Trajectories, fit

TIMES = np.linspace(0, 1, 6)
RNG = np.random.default_rng(0)


def pushed(t, x, u, p):
    """A pendulum under a force: whole states only, since they are unpacked."""
    angle, speed = x
    return jnp.stack([speed, -p.pull * jnp.sin(angle) + u[0] * jnp.cos(t)])


def trained(states, **method):
    inputs = {"inputs": RNG.normal(size=(2, 1, 6, 1)), "input_names": ["force"]} if "known" in method else {}
    data = Trajectories.from_arrays(TIMES, states, **inputs)
    return fit(Leads(net=Linear, **method), data, steps=1, key=jr.key(0))


@pytest.fixture(scope="module")
def pendulum():
    return trained(RNG.normal(size=(2, 1, 6, 2)), known=pushed, parameters={"pull": Parameter(1.0)})


STATES, MOMENTS, FORCES = RNG.normal(size=(4, 3, 2)), RNG.uniform(size=(4, 3)), RNG.normal(size=(4, 3, 1))


def alone(field, t=None, u=None):
    """What the field says of each state."""
    at = lambda k: (STATES[k], 0.5 if t is None else t[k], FORCES[0, 0] if u is None else u[k])
    return np.stack([np.stack([field(*at((i, j))) for j in range(3)]) for i in range(4)])


@pytest.mark.parametrize("part", ["shared", "specific", "field"])
def test_many_states_are_taken_one_by_one(pendulum, part):
    field = pendulum.shared if part == "shared" else getattr(pendulum, part)(1)
    np.testing.assert_allclose(field(STATES, 0.5, FORCES[0, 0]), alone(field), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(field(STATES, MOMENTS, FORCES), alone(field, MOMENTS, FORCES), rtol=1e-5, atol=1e-6)


def test_fields_on_a_grid_have_their_own_axes():
    states = RNG.uniform(size=(2, 1, 6, 8, 1))
    model = fit(Leads(), Trajectories.from_arrays(TIMES, states), steps=1, key=jr.key(0))
    many = states[0, 0, :, :, :]
    whole = model.field(0)
    np.testing.assert_allclose(whole(many), np.stack([whole(x) for x in many]), rtol=1e-4, atol=1e-5)
    assert whole(many[0]).shape == (8, 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda f: f(np.zeros(3)), r"a state has the shape \(2,\), after axes for many; got \(3,\)"),
        (lambda f: f(np.float64(1.0)), r"a state has the shape \(2,\), after axes for many; got \(\)"),
        (lambda f: f(STATES, MOMENTS[0]), r"one for each of the states \(4, 3\); got \(3,\)"),
    ],
)
def test_what_is_no_state_is_refused(pendulum, call, words):
    with pytest.raises(InputError, match=words):
        call(pendulum.shared)
