"""Yardsticks: forecasts that need no learning to speak of. A model that does not beat them is of no use.

- `persistence`: nothing changes after the first state;
- `mean`: the mean of the environment's training data;
- `mean curve`: the mean of the environment's training trajectories as a function of the time since their start;
- `linear`: dx/dt = Ax + b, fitted to the training data of the environment by least squares.
"""

from collections.abc import Callable, Mapping

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..data import Trajectories
from ..data.batch import Batch, to_batch
from ..data.units import Units
from ..evaluate import Evaluation, summarise

States = Float[np.ndarray, "traj time value"]
Times = Float[np.ndarray, "traj time"]
# From the training data of one environment (times, states, what was observed) and a test trajectory's start and times
# to its forecast. A state is one row of values.
Yardstick = Callable[["History", np.ndarray, np.ndarray], np.ndarray]

# A matrix of more values than this is not a simple model.
LARGEST_LINEAR = 32


class History:
    """The training data of one environment as plain arrays, one row per trajectory."""

    def __init__(self, batch: Batch, environment: int):
        self.times = np.asarray(batch.times[environment], float)
        rows = lambda array: np.asarray(array[environment]).reshape(*self.times.shape, -1)
        self.states, self.observed = rows(batch.states).astype(float), rows(batch.observed)
        self._linear: np.ndarray | None = None

    @property
    def mean(self) -> np.ndarray:
        """The mean of each value."""
        total = np.maximum(self.observed.sum(axis=(0, 1)), 1)
        return np.where(self.observed, self.states, 0.0).sum(axis=(0, 1)) / total

    def linear(self) -> np.ndarray:
        """The matrix [A b; 0 0], fitted once: Δx = ∫ (Ax + b) dt between neighbouring points, by trapezoids."""
        if self._linear is None:
            whole = np.asarray(self.observed.all(axis=-1))
            steps = np.diff(self.times, axis=1)
            both = whole[:, 1:] & whole[:, :-1] & (steps > 0)
            middle = 0.5 * (self.states[:, 1:] + self.states[:, :-1])[both]
            design = np.concatenate([middle, np.ones((len(middle), 1))], axis=1) * steps[both][:, None]
            change = np.diff(self.states, axis=1)[both]
            # A little ridge: with few points the matrix is not determined, and should then be small.
            ridge = 1e-6 * np.trace(design.T @ design) / max(design.shape[1], 1) + 1e-300
            gram = design.T @ design + ridge * np.eye(design.shape[1])
            fitted = np.linalg.solve(gram, design.T @ change).T
            self._linear = np.concatenate([fitted, np.zeros((1, fitted.shape[1]))])
        return self._linear


def persistence(history: History, start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Nothing changes."""
    del history
    return np.broadcast_to(start, (len(times), len(start)))


def mean(history: History, start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The mean of the environment's training data."""
    del start
    return np.broadcast_to(history.mean, (len(times), history.states.shape[-1]))


def mean_curve(history: History, start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """The mean over training trajectories, each interpolated at the times asked for; held beyond their ends."""
    del start
    fallback = history.mean
    columns = []
    for value in range(history.states.shape[-1]):
        seen = history.observed[..., value]
        curves = [
            np.interp(times, t[s], x[s])
            for t, x, s in zip(history.times, history.states[..., value], seen, strict=True)
            if s.any()
        ]
        columns.append(np.mean(curves, axis=0) if curves else np.full(len(times), fallback[value]))
    return np.stack(columns, axis=-1)


def linear(history: History, start: np.ndarray, times: np.ndarray) -> np.ndarray:
    """dx/dt = Ax + b, solved exactly from the start."""
    from scipy.linalg import expm

    matrix, state, rows = history.linear(), np.append(start, 1.0), [start]
    for step in np.diff(times):
        with np.errstate(over="ignore", invalid="ignore"):
            state = expm(matrix * step) @ state
        rows.append(state[:-1])
    return np.stack(rows)


YARDSTICKS: Mapping[str, Yardstick] = {
    "persistence": persistence,
    "mean": mean,
    "mean curve": mean_curve,
    "linear": linear,
}


def yardsticks(train: Trajectories, test: Trajectories, *, protocol: str = "clean") -> dict[str, Evaluation]:
    """The errors of all yardsticks on test data, as a model's are measured.

    >>> t = np.linspace(0, 2, 9)
    >>> decays = Trajectories.from_arrays(t, np.exp(-t)[None, None, :, None])
    >>> errors = yardsticks(decays, decays)
    >>> errors["linear"].nmse < 1e-4 < errors["persistence"].nmse
    True
    """
    units = Units.measured(train)
    learnt, asked = to_batch(train, units, np.float32), to_batch(test, units, np.float32)
    chosen = [train.environment_index(name) for name in test.environments]
    histories = [History(learnt, e) for e in chosen]
    small = {name: rule for name, rule in YARDSTICKS.items() if name != "linear" or _size(train) <= LARGEST_LINEAR}
    return {name: _measured(rule, histories, asked, units, test, protocol) for name, rule in small.items()}


def _size(data: Trajectories) -> int:
    return int(np.prod(data.state_shape))


def _measured(
    rule: Yardstick, histories: list[History], asked: Batch, units: Units, test: Trajectories, protocol: str
) -> Evaluation:
    """The squared errors of one yardstick, in standard units as those of `error_sums`."""
    times, shape = np.asarray(asked.times, float), asked.states.shape
    states = np.asarray(asked.states, float).reshape(*times.shape, -1)
    squares = np.zeros(states.shape)
    for e, i in np.argwhere(np.asarray(asked.complete)[:, :, 0]):
        squares[e, i] = (rule(histories[e], states[e, i, 0], times[e, i]) - states[e, i]) ** 2
    squares = np.where(np.asarray(asked.observed).reshape(states.shape), squares, 0.0)
    sums = squares.reshape(*times.shape, -1, shape[-1]).sum(axis=-2)
    return summarise(jnp.asarray(sums[None]), asked, units, test, protocol)
