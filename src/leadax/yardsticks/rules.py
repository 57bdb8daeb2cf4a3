"""The yardsticks: forecasts that need next to no learning. A model that does not beat them is of no use.

- `persistence`: nothing changes after the first state;
- `mean`: the mean of the environment's training data;
- `mean curve`: the mean of the environment's training trajectories as a function of the time since their start;
- `linear`: dx/dt = Ax + b, fitted to the training data of the environment by least squares.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

from .history import History

Numbers: TypeAlias = Mapping[str, np.ndarray]
Starts: TypeAlias = Float[np.ndarray, "traj value"]
Times: TypeAlias = Float[np.ndarray, "traj time"]
States: TypeAlias = Float[np.ndarray, "traj time value"]

# A matrix of more values than this is not a simple model.
LARGEST_LINEAR = 32


class Yardstick(NamedTuple):
    """A simple forecast.

    - `learn`: from the training data of one environment to a few arrays;
    - `forecast`: from these, the starts of trajectories and the times since then to the states at these times;
    - `largest`: the number of values in a state up to which it is used;
    - `autonomous`: whether only the time since the last known point matters, not that since the trajectory's start.
    """

    learn: Callable[[History], Numbers]
    forecast: Callable[[Numbers, Starts, Times], States]
    largest: float = np.inf
    autonomous: bool = True


def learn_nothing(history: History) -> Numbers:
    """Persistence has nothing to learn."""
    del history
    return {}


def persist(numbers: Numbers, starts: Starts, times: Times) -> States:
    """Nothing changes."""
    del numbers
    return np.broadcast_to(starts[:, None], (*times.shape, starts.shape[1]))


def learn_mean(history: History) -> Numbers:
    """The mean of the environment's training data."""
    return {"mean": history.mean}


def stay_at_mean(numbers: Numbers, starts: Starts, times: Times) -> States:
    """The mean at all times."""
    del starts
    return np.broadcast_to(numbers["mean"], (*times.shape, len(numbers["mean"])))


def learn_curve(history: History) -> Numbers:
    """The mean over training trajectories at all their times, each interpolated, and held beyond its ends."""
    times, fallback, columns = np.unique(history.times), history.mean, []
    for value in range(history.states.shape[-1]):
        seen = history.observed[..., value]
        curves = [
            np.interp(times, t[s], x[s])
            for t, x, s in zip(history.times, history.states[..., value], seen, strict=True)
            if s.any()
        ]
        columns.append(np.mean(curves, axis=0) if curves else np.full(len(times), fallback[value]))
    return {"times": times, "curve": np.stack(columns, axis=-1)}


def follow_curve(numbers: Numbers, starts: Starts, times: Times) -> States:
    """The mean curve, whatever the start."""
    del starts
    return np.stack([np.interp(times, numbers["times"], column) for column in numbers["curve"].T], axis=-1)


def learn_linear(history: History) -> Numbers:
    """The matrix [A b; 0 0]: Δx = ∫ (Ax + b) dt between neighbouring points, by trapezoids."""
    steps, middles, changes = [], [], []
    for times, states in history.whole:
        gaps = np.diff(times)
        moving = gaps > 0
        steps.append(gaps[moving])
        middles.append(0.5 * (states[1:] + states[:-1])[moving])
        changes.append(np.diff(states, axis=0)[moving])
    values = history.states.shape[-1]
    step, middle = np.concatenate([*steps, []]), np.concatenate([*middles, np.zeros((0, values))])
    design = np.concatenate([middle, np.ones((len(middle), 1))], axis=1) * step[:, None]
    # A little ridge: with few points the matrix is not determined, and should then be small.
    ridge = 1e-6 * np.trace(design.T @ design) / design.shape[1] + 1e-300
    gram = design.T @ design + ridge * np.eye(design.shape[1])
    fitted = np.linalg.solve(gram, design.T @ np.concatenate([*changes, np.zeros((0, values))])).T
    return {"matrix": np.concatenate([fitted, np.zeros((1, values + 1))])}


def flow_linearly(numbers: Numbers, starts: Starts, times: Times) -> States:
    """dx/dt = Ax + b, solved exactly from the start."""
    from scipy.linalg import expm

    state = np.concatenate([starts, np.ones((len(starts), 1))], axis=1)
    rows = [starts]
    for steps in np.diff(times, axis=1).T:
        sizes, which = np.unique(steps.round(9), return_inverse=True)  # most data have few different steps
        with np.errstate(over="ignore", invalid="ignore"):
            state = np.einsum("tij,tj->ti", expm(numbers["matrix"] * sizes[:, None, None])[which], state)
        rows.append(state[:, :-1])
    return np.stack(rows, axis=1)


YARDSTICKS: Mapping[str, Yardstick] = {
    "persistence": Yardstick(learn_nothing, persist),
    "mean": Yardstick(learn_mean, stay_at_mean),
    "mean curve": Yardstick(learn_curve, follow_curve, autonomous=False),
    "linear": Yardstick(learn_linear, flow_linearly, LARGEST_LINEAR),
}
