"""The yardsticks: forecasts that need next to no learning. A model that does not beat them is of no use.

- `persistence`: nothing changes after the first state;
- `mean`: the mean of the environment's training data;
- `mean curve`: the mean of the environment's training trajectories as a function of the time since their start;
- `linear`: dx/dt = Ax + Bu + b with the inputs u, fitted to the training data of the environment by least squares.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Float

from .history import History, Outside

Numbers: TypeAlias = Mapping[str, np.ndarray]
Starts: TypeAlias = Float[np.ndarray, "traj value"]
Times: TypeAlias = Float[np.ndarray, "traj time"]
States: TypeAlias = Float[np.ndarray, "traj time value"]

# A matrix of more values than this is not a simple model.
LARGEST_LINEAR = 32


class Yardstick(NamedTuple):
    """A simple forecast.

    - `learn`: from the training data of one environment to a few arrays;
    - `forecast`: from these, the starts of trajectories, the times since then and what acts from outside to the states
      at these times;
    - `largest`: the number of values in a state up to which it is used;
    - `autonomous`: whether only the time since the last known point matters, not that since the trajectory's start.
    """

    learn: Callable[[History], Numbers]
    forecast: Callable[[Numbers, Starts, Times, Outside], States]
    largest: float = np.inf
    autonomous: bool = True


def learn_nothing(history: History) -> Numbers:
    """Persistence has nothing to learn."""
    del history
    return {}


def persist(numbers: Numbers, starts: Starts, times: Times, outside: Outside) -> States:
    """Nothing changes."""
    del numbers, outside
    return np.broadcast_to(starts[:, None], (*times.shape, starts.shape[1]))


def learn_mean(history: History) -> Numbers:
    """The mean of the environment's training data."""
    return {"mean": history.mean}


def stay_at_mean(numbers: Numbers, starts: Starts, times: Times, outside: Outside) -> States:
    """The mean at all times."""
    del starts, outside
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


def follow_curve(numbers: Numbers, starts: Starts, times: Times, outside: Outside) -> States:
    """The mean curve, whatever the start."""
    del starts, outside
    return np.stack([np.interp(times, numbers["times"], column) for column in numbers["curve"].T], axis=-1)


def learn_linear(history: History) -> Numbers:
    """The matrices [A b; 0 0] and B: Δx = ∫ (Ax + Bu + b) dt between neighbouring points, by trapezoids."""
    rows, targets = [], []
    for times, states, pushed, given in history.whole:
        gaps = np.diff(times)
        moving = gaps > 0
        before, after = states[:-1], states[1:]
        added = np.diff(given, axis=0)
        middles = 0.5 * (before + added + after)
        rows.append(np.concatenate([middles * gaps[:, None], gaps[:, None], np.diff(pushed, axis=0)], axis=1)[moving])
        targets.append((after - before - added)[moving])
    values, inputs = history.states.shape[-1], history.outside.first.shape[-1]
    design = np.concatenate([*rows, np.zeros((0, values + 1 + inputs))])
    # A little ridge: with few points the matrix is not determined, and should then be small.
    ridge = 1e-6 * np.trace(design.T @ design) / design.shape[1] + 1e-300
    gram = design.T @ design + ridge * np.eye(design.shape[1])
    fitted = np.linalg.solve(gram, design.T @ np.concatenate([*targets, np.zeros((0, values))])).T
    square = np.concatenate([fitted[:, : values + 1], np.zeros((1, values + 1))])
    return {"matrix": square, "inputs": fitted[:, values + 1 :]}


def flow_linearly(numbers: Numbers, starts: Starts, times: Times, outside: Outside) -> States:
    """dx/dt = Ax + Bu + b, solved exactly from the start, with inputs that are lines between points."""
    from scipy.linalg import expm

    states = starts.shape[1]
    generator = _generator(numbers["matrix"], numbers.get("inputs", np.zeros((states, 0))))
    gaps, state, rows = np.diff(times, axis=1), starts, [starts]
    for k, steps in enumerate(gaps.T):
        sizes, which = np.unique(steps.round(9), return_inverse=True)  # most data have few different steps
        change = (outside.last[:, k] - outside.first[:, k]) / np.where(steps > 0, steps, 1.0)[:, None]
        whole = [state + outside.impulses[:, k], np.ones((len(state), 1)), outside.first[:, k], change]
        with np.errstate(over="ignore", invalid="ignore"):
            flows = expm(generator * sizes[:, None, None])[which, :states]
            state = np.einsum("tij,tj->ti", flows, np.concatenate(whole, axis=1))
        rows.append(state)
    return np.stack(rows, axis=1)


def _generator(matrix: Float[np.ndarray, "a a"], inputs: Float[np.ndarray, "value input"]) -> np.ndarray:
    """Of the linear flow of state, 1, inputs and their slopes together."""
    size, count = len(matrix), inputs.shape[1]
    whole = np.zeros((size + 2 * count, size + 2 * count))
    whole[:size, :size] = matrix
    whole[: size - 1, size : size + count] = inputs
    whole[size : size + count, size + count :] = np.eye(count)
    return whole


YARDSTICKS: Mapping[str, Yardstick] = {
    "persistence": Yardstick(learn_nothing, persist),
    "mean": Yardstick(learn_mean, stay_at_mean),
    "mean curve": Yardstick(learn_curve, follow_curve, autonomous=False),
    "linear": Yardstick(learn_linear, flow_linearly, LARGEST_LINEAR),
}
