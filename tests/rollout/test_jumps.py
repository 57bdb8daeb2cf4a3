"""Inputs that jump, and inputs with times of their own: no order is lost, from the solver to a forecast of a model."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from leadax import Layout, Leads, Trajectories, Units
from leadax.data.forcing import driving
from leadax.methods.prepare import prepare
from leadax.rollout import rollout, solve_forced, steps_between

JUMPS = np.array([0.31, 0.77, 1.3, 1.9])  # none of them on a grid of equal steps
LEVELS = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
ORDERS = {"euler": 1, "heun": 2, "bosh3": 3, "rk4": 4}


def field(t, x, u):
    """A stiff spring under a square wave."""
    return jnp.stack([x[1], -2.0 * x[0] - 0.3 * x[1] + u[0]])


def exact(times) -> np.ndarray:
    """From rest at 1, piece by piece by the matrix exponential."""
    matrix = np.array([[0.0, 1.0, 0.0], [-2.0, -0.3, 1.0], [0.0, 0.0, 0.0]])
    values, vectors = np.linalg.eig(matrix)
    flow = lambda h: (vectors * np.exp(values * h)) @ np.linalg.inv(vectors)
    edges = np.array([0.0, *JUMPS])
    state, starts = np.array([1.0, 0.0]), []
    for k, edge in enumerate(edges):
        starts.append(state)
        if k < len(JUMPS):
            state = (flow(edges[k + 1] - edge) @ [*state, LEVELS[k]]).real[:2]
    pieces = np.searchsorted(edges, times, side="right") - 1
    at = lambda t, k: (flow(t - edges[k]) @ [*starts[k], LEVELS[k]]).real[:2]
    return np.array([at(t, k) for t, k in zip(times, pieces, strict=True)])


def data(observed) -> Trajectories:
    """States at their times, the force at its own: rows of the one are empty in the other."""
    rows = sorted([(t, True) for t in observed] + [(t, False) for t in JUMPS])
    times = np.array([t for t, _ in rows])
    states = np.where(np.array([seen for _, seen in rows])[:, None], exact(times), np.nan)
    forces = np.array([np.nan if seen else LEVELS[1 + int(np.searchsorted(JUMPS, t))] for t, seen in rows])
    forces[0] = LEVELS[0]
    named = {"channels": ["x", "v"], "input_names": ["force"], "input_kinds": ["held"]}
    return Trajectories.from_arrays(times, states[None, None], inputs=forces[None, None, :, None], **named)


def last_error(observed, count: int, solver: str) -> float:
    """At the end, with steps of at most 1/count of the shortest gap between rows."""
    given = data(observed)
    layout, units = (
        Layout(("x", "v"), inputs=("force",), kinds=("held",)),
        Units((0.0, 0.0), (1.0, 1.0), 1.0, 0.0, (0.0,), (1.0,)),
    )
    batch = prepare(given, units, Leads(solver=solver), longest=0.2 / count, dtype="float64", layout=layout)
    one = jax.tree.map(lambda a: a[0, 0], batch)
    states = rollout(field, one.states[0], one.steps, tableau=solver)
    return float(np.abs(states[-1] - exact([observed[-1]])[0]).max())


@pytest.mark.parametrize("solver", ORDERS)
def test_the_order_of_a_solver_survives_jumps(solver):
    """Between two measurements the force jumps: steps end there, because the row of the jump is a point."""
    observed = np.linspace(0, 2.4, 5)
    coarse, fine = (last_error(observed, count, solver) for count in (4, 8))
    found = np.log2(coarse / fine)
    assert found > ORDERS[solver] - 0.35, f"order {found:.2f} of {solver}, errors {coarse:.2g} and {fine:.2g}"


def test_a_jump_within_a_step_would_cost_the_order():
    """The test above can fail: with the jumps moved to the measurements, errors shrink by far less."""
    observed, errors = np.linspace(0, 2.4, 5), []
    for count in (4, 8, 16):
        grid = np.linspace(0, 2.4, 12 * count + 1)
        held = LEVELS[np.searchsorted(JUMPS, grid[:-1], side="right")]
        steps = steps_between(grid, dtype=np.float64)._replace(inputs=jnp.asarray(np.stack([held, held], 1)[..., None]))
        states = rollout(field, jnp.array([1.0, 0.0]), steps, tableau="rk4")
        errors.append(np.abs(states[-1] - exact([observed[-1]])[0]).max())
    assert np.log2(errors[0] / errors[2]) / 2 < 2


def test_adaptive_steps_end_at_jumps():
    given = data(np.linspace(0, 2.4, 5))
    layout = Layout(("x", "v"), inputs=("force",), kinds=("held",))
    acting = driving(given, Units((0.0, 0.0), (1.0, 1.0), 1.0, 0.0, (0.0,), (1.0,)), layout).forcing()
    ends = jnp.asarray(np.stack([acting.first[0, 0], acting.last[0, 0]], axis=1))
    found = solve_forced(field, jnp.array([1.0, 0.0]), jnp.asarray(given.times[0, 0]), inputs=ends)
    np.testing.assert_allclose(found.states, exact(given.times[0, 0]), atol=1e-6)


def test_a_dose_between_two_measurements():
    """An impulse in a row of its own: decay, with 2 added at t = 0.5."""
    times = np.array([0.0, 0.5, 1.0])
    states = np.array([1.0, np.nan, (np.exp(-0.5) + 2) * np.exp(-0.5)])
    doses = np.array([np.nan, 2.0, np.nan])
    given = Trajectories.from_arrays(
        times, states[None, None, :, None], inputs=doses[None, None, :, None], input_names=["dose"],
        input_kinds=["impulse:x0"])  # fmt: skip
    layout = Layout(("x0",), inputs=("dose",), kinds=("impulse:x0",))
    batch = prepare(given, Units((0.0,), (4.0,)), Leads(), longest=0.05, dtype="float64", layout=layout)
    one = jax.tree.map(lambda a: a[0, 0], batch)
    found = rollout(lambda t, x, u: -x, one.states[0], one.steps, tableau="rk4")
    assert 4 * float(found[-1, 0]) == pytest.approx(states[-1], rel=1e-6)
