"""How wrong forecasts are: per environment, per time, per trajectory, per seed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .data import Trajectories
from .data.batch import Batch, to_batch
from .errors import lookup
from .methods import Method, Observed, Parts
from .model import Model
from .objective import squared_error
from .systems.system import Protocol


@dataclass(frozen=True)
class Evaluation:
    """Squared errors of forecasts from the first state of each trajectory.

    - `sums`, `counts`: sum of squared errors and number of observed values, `(seed, env, traj, time)` and
      `(env, traj, time)`; the first point of a trajectory, which is exact by construction, counts only in the protocol
      `paper`.
    """

    sums: Float[np.ndarray, "seed env traj time"]
    counts: Float[np.ndarray, "env traj time"]
    environments: tuple[str, ...]
    protocol: str

    @property
    def mse(self) -> float:
        """The mean squared error over everything, averaged over seeds."""
        return float(np.mean(self.mse_per_seed))

    @property
    def mse_per_seed(self) -> np.ndarray:
        """Of each seed."""
        return _mean(self.sums, self.counts, axis=(1, 2, 3))

    @property
    def mse_per_environment(self) -> dict[str, float]:
        """Of each environment, averaged over seeds."""
        return dict(
            zip(self.environments, _mean(self.sums, self.counts, axis=(2, 3)).mean(axis=0).tolist(), strict=True)
        )

    @property
    def mse_per_time(self) -> np.ndarray:
        """At each point in time, counted from the start, averaged over seeds; NaN where nothing was observed."""
        return _mean(self.sums, self.counts, axis=(1, 2)).mean(axis=0)

    @property
    def mse_per_trajectory(self) -> np.ndarray:
        """Of each observed trajectory of each environment in a row, `(seed, trajectory)`."""
        per = _mean(self.sums, self.counts, axis=(3,)).reshape(len(self.sums), -1)
        return per[:, (self.counts.sum(axis=2) > 0).reshape(-1)]

    @property
    def std_over_seeds(self) -> float:
        """Sample standard deviation of the error over seeds; NaN for one seed."""
        return float(np.std(self.mse_per_seed, ddof=1)) if len(self.sums) > 1 else float("nan")

    @property
    def std_over_trajectories(self) -> float:
        """Sample standard deviation of the error over trajectories, averaged over seeds; NaN for one trajectory."""
        per = self.mse_per_trajectory
        return float(np.std(per, axis=1, ddof=1).mean()) if per.shape[1] > 1 else float("nan")

    def to_json(self) -> dict[str, Any]:
        """The document that `leadax evaluate --json` prints."""
        # NaN and infinity are not JSON.
        number = lambda value: float(value) if np.isfinite(value) else None
        return {
            "mse": number(self.mse),
            "mse_per_environment": {name: number(value) for name, value in self.mse_per_environment.items()},
            "mse_per_time": [number(value) for value in self.mse_per_time],
            "mse_per_seed": [number(value) for value in self.mse_per_seed],
            "trajectories": int(self.mse_per_trajectory.shape[1]),
            "protocol": self.protocol,
        }

    def __str__(self) -> str:
        lines = [f"mean squared error {self.mse:.3e}  ({self.protocol} protocol, seeds: {len(self.sums)})"]
        lines += [f"  {name:30} {value:.3e}" for name, value in self.mse_per_environment.items()]
        return "\n".join(lines)


def error_program(method: Method) -> Callable[[Parts, Batch], Float[Array, "seed env traj time"]]:
    """The compiled function `(parts, batch) -> sums` of squared errors at each point, for all seeds at once."""
    return jax.jit(jax.vmap(partial(_errors, method), in_axes=(0, None)))


def summarise(
    sums: Float[Array, "seed env traj time"], batch: Batch, environments: Sequence[str], protocol: str
) -> Evaluation:
    """From the sums of `error_program` to an `Evaluation`."""
    counts = np.asarray(batch.observed).reshape(*batch.times.shape, -1).sum(axis=-1).astype(float)
    if protocol != "paper":
        counts[..., 0] = 0.0
    return Evaluation(np.asarray(sums, float), counts, tuple(environments), protocol)


def _errors(method: Method, parts: Parts, batch: Batch) -> Float[Array, "env traj time"]:
    def one(specific: Any, trajectory: Batch) -> Array:
        predicted = method.predict(parts.shared, specific, Observed(trajectory.states, trajectory.times))
        ones = jnp.ones(predicted.shape[-1:], predicted.dtype)
        return jnp.sum(squared_error(predicted, trajectory, ones), axis=-1)

    return jax.vmap(lambda specific, env: jax.vmap(partial(one, specific))(env))(parts.specific, batch)


def _mean(sums: np.ndarray, counts: np.ndarray, axis: tuple[int, ...]) -> np.ndarray:
    counted = np.broadcast_to(np.where(counts > 0, counts, 0.0), sums.shape)
    total = counted.sum(axis=axis)
    return np.where(total > 0, np.where(counted > 0, sums, 0.0).sum(axis=axis) / np.maximum(total, 1), np.nan)


def evaluate(model: Model, data: Trajectories, *, protocol: str | None = None) -> Evaluation:
    """The errors of a model's forecasts on data from environments that it knows.

    **Arguments**

    - `protocol`: whether the first point of each trajectory counts (`paper`) or not (`clean`); as trained by default.
    """
    chosen: str = protocol or model.about.get("protocol", "clean")
    lookup("protocol", chosen, dict.fromkeys(get_args(Protocol)))
    batch = to_batch(data, jax.tree.leaves(model.parts)[0].dtype)
    sums = error_program(model.method)(model.for_data(data), batch)
    return summarise(sums, batch, data.environments, chosen)
