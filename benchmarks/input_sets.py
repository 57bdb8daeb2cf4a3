"""Data under inputs or with a partly known equation, for `benchmarks/inputs.py`."""

import itertools
from collections.abc import Callable

import numpy as np
from scipy.integrate import solve_ivp

from leadax import Trajectories

Pair = tuple[Trajectories, Trajectories]
STIFFNESSES = (0.5, 1.0, 1.5, 2.0)
LENGTHS = (0.6, 0.9, 1.2, 1.5)
GRAVITY, DRAG = 9.81, 0.25
HOURS = (5.0, 8.0, 12.0, 20.0)


def waves(rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """A band-limited force: five waves of random phase, none faster than two radians per unit of time."""
    speeds, phases, sizes = rng.uniform(0.3, 2, 5), rng.uniform(0, 2 * np.pi, 5), rng.normal(size=5) / np.sqrt(5)
    return lambda t: (sizes * np.sin(np.multiply.outer(t, speeds) + phases)).sum(axis=-1)


def forced_oscillators(train: int = 4, test: int = 8) -> Pair:
    """x'' = -k x - 0.1 x' + u(t) for four k; the force is measured where the states are."""
    rng, times = np.random.default_rng(0), np.linspace(0, 12, 61)
    states, forces = [], []
    for k in STIFFNESSES:
        for _ in range(train + test):
            force = waves(rng)
            field = lambda t, x, k=k, force=force: (x[1], -k * x[0] - 0.1 * x[1] + force(t))
            solved = solve_ivp(field, (0, 12), rng.normal(size=2), t_eval=times, rtol=1e-9, atol=1e-10)
            states.append(solved.y.T)
            forces.append(force(times)[:, None])
    shape = (len(STIFFNESSES), train + test)
    x, u = (np.array(a).reshape(*shape, *a[0].shape) for a in (states, forces))
    make = lambda part: Trajectories.from_arrays(
        times, x[:, part], channels=["x", "v"], inputs=u[:, part], input_names=["force"]
    )
    return make(slice(None, train)), make(slice(train, None))


def switched_oscillators(train: int = 4, test: int = 8) -> Pair:
    """The same under a force that jumps between -1 and 1 at random moments, which have rows of their own."""
    rng = np.random.default_rng(1)
    rows = [[_switched(k, rng) for _ in range(train + test)] for k in STIFFNESSES]
    make = lambda part: Trajectories.from_arrays(
        [[row[0] for row in environment[part]] for environment in rows],
        [[row[1] for row in environment[part]] for environment in rows],
        channels=["x", "v"],
        inputs=[[row[2] for row in environment[part]] for environment in rows],
        input_names=["force"],
        input_kinds=["held"],
    )
    return make(slice(None, train)), make(slice(train, None))


def _switched(k: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, states (NaN at the jumps) and forces (NaN elsewhere) of one trajectory."""
    observed = np.linspace(0, 12, 61)
    jumps = np.cumsum(rng.uniform(0.8, 2.5, 6)) + 0.013
    force, state = rng.choice([-1.0, 1.0]), rng.normal(size=2)
    rows = [(0.0, state, force)]
    edges = [0.0, *jumps[jumps < 12], 12.0]
    for begin, end in itertools.pairwise(edges):
        field = lambda t, x, u=force: (x[1], -k * x[0] - 0.1 * x[1] + u)
        solved = solve_ivp(field, (begin, end), state, rtol=1e-9, atol=1e-10, dense_output=True).sol
        rows += [(t, solved(t), np.nan) for t in observed[(observed > begin) & (observed <= end)]]
        state, force = solved(end), -force
        if end < 12:
            rows.append((end, np.full(2, np.nan), force))
    times, states, forces = zip(*rows, strict=True)
    return np.array(times), np.array(states), np.array(forces)[:, None]


def pendulums(train: int = 4, test: int = 8) -> Pair:
    """theta'' = -(g/l) sin(theta) - c omega |omega| for four lengths: air drag, and large swings."""
    rng, times = np.random.default_rng(2), np.linspace(0, 6, 61)
    starts = rng.uniform([-2.2, -1], [2.2, 1], (train + test, 2))

    def solved(length: float, start: np.ndarray) -> np.ndarray:
        field = lambda t, x: (x[1], -GRAVITY / length * np.sin(x[0]) - DRAG * x[1] * abs(x[1]))
        return solve_ivp(field, (0, 6), start, t_eval=times, rtol=1e-9, atol=1e-10).y.T

    states = np.array([[solved(length, start) for start in starts] for length in LENGTHS])
    named = {"channels": ["theta", "omega"], "parameters": {"length": np.array(LENGTHS)}}
    make = lambda part: Trajectories.from_arrays(times, states[:, part], **named)
    return make(slice(None, train)), make(slice(train, None))


def houses(train: int = 4, test: int = 8) -> Pair:
    """T' = (outside - T)/hours + 3 sun/(1 + sun) for four houses, two days, under weather of each trajectory's own."""
    rng, times = np.random.default_rng(3), np.linspace(0, 48, 97)
    rows = [[_house(hours, times, rng) for _ in range(train + test)] for hours in HOURS]
    states, inputs = (np.array([[row[k] for row in house] for house in rows]) for k in (0, 1))
    make = lambda part: Trajectories.from_arrays(
        times, states[:, part], channels=["T"], inputs=inputs[:, part], input_names=["outside", "sun"]
    )
    return make(slice(None, train)), make(slice(train, None))


def _house(hours: float, times: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Temperatures, and the weather: linear between the hours at which it is known."""
    mean, swing, phase, slow = rng.uniform(-5, 15), rng.uniform(3, 7), rng.uniform(0, 24), rng.normal()
    outside = mean + swing * np.sin(2 * np.pi * (times - phase) / 24) + slow * np.sin(2 * np.pi * times / 41)
    clear = rng.uniform(0.3, 1, 3)[np.minimum(times // 24, 2).astype(int)]
    sun = np.maximum(0, np.sin(2 * np.pi * (times - 6) / 24)) * clear
    at = lambda t, values: np.interp(t, times, values)
    field = lambda t, x: [(at(t, outside) - x[0]) / hours + 3 * at(t, sun) / (1 + at(t, sun))]
    settings = {"t_eval": times, "rtol": 1e-8, "atol": 1e-8, "max_step": 0.25}
    return solve_ivp(field, (0, 48), [rng.uniform(10, 25)], **settings).y.T, np.stack([outside, sun], axis=-1)
