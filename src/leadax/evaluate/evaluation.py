"""How wrong forecasts are: per environment, per time, per trajectory, per member."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np
from jaxtyping import Array, Float

from ..data import Trajectories
from ..data.batch import Batch
from ..data.units import Units
from ..errors import lookup
from ..methods.prepare import prepare, side_by_side
from ..model import Model
from ..systems.system import Protocol
from .errors import error_sums


@dataclass(frozen=True)
class Evaluation:
    """Squared errors of forecasts from the first state of each trajectory, in the units of the data.

    Every number is the mean over the model's members of that number; `mse_per_seed` has each.

    - `channel_sums`, `channel_counts`: sums of squared errors and numbers of observed values,
      `(member, env, traj, time, channel)` and `(env, traj, time, channel)`. The first point of a trajectory, which is
      exact by construction, counts only in the protocol `paper`.
    """

    channel_sums: Float[np.ndarray, "member env traj time channel"]
    channel_counts: Float[np.ndarray, "env traj time channel"]
    environments: tuple[str, ...]
    protocol: str

    @property
    def sums(self) -> Float[np.ndarray, "member env traj time"]:
        """Sums of squared errors over channels."""
        return self.channel_sums.sum(axis=-1)

    @property
    def counts(self) -> Float[np.ndarray, "env traj time"]:
        """Numbers of observed values over channels."""
        return self.channel_counts.sum(axis=-1)

    @property
    def mse(self) -> float:
        """The mean squared error over everything."""
        return float(np.mean(self.mse_per_seed))

    @property
    def mse_per_seed(self) -> np.ndarray:
        """Of each member."""
        return _mean(self.sums, self.counts, axis=(1, 2, 3))

    @property
    def mse_per_environment(self) -> dict[str, float]:
        """Of each environment."""
        return dict(
            zip(self.environments, _mean(self.sums, self.counts, axis=(2, 3)).mean(axis=0).tolist(), strict=True)
        )

    @property
    def mse_per_time(self) -> np.ndarray:
        """At each point in time, counted from the start; NaN where nothing was observed."""
        return _mean(self.sums, self.counts, axis=(1, 2)).mean(axis=0)

    @property
    def mse_per_trajectory(self) -> np.ndarray:
        """Of each observed trajectory, all environments in a row, `(member, trajectory)`."""
        per = _mean(self.sums, self.counts, axis=(3,)).reshape(len(self.sums), -1)
        return per[:, (self.counts.sum(axis=2) > 0).reshape(-1)]

    @property
    def std_over_seeds(self) -> float:
        """Sample standard deviation of the error over members; NaN for one member."""
        return float(np.std(self.mse_per_seed, ddof=1)) if len(self.sums) > 1 else float("nan")

    @property
    def std_over_trajectories(self) -> float:
        """Sample standard deviation of the error over trajectories; NaN for one trajectory."""
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


def summarise(
    sums: Float[Array, "member env traj time channel"],
    batch: Batch,
    units: Units,
    environments: Sequence[str],
    protocol: str,
) -> Evaluation:
    """From the sums of `error_sums` to an `Evaluation`, in the units of the data."""
    observed = np.asarray(batch.observed)
    counts = observed.reshape(*batch.times.shape, -1, observed.shape[-1]).sum(axis=-2).astype(float)
    if protocol != "paper":
        counts[:, :, 0] = 0.0
    return Evaluation(np.asarray(sums, float) * np.square(units.scale), counts, tuple(environments), protocol)


def _mean(sums: np.ndarray, counts: np.ndarray, axis: tuple[int, ...]) -> np.ndarray:
    counted = np.broadcast_to(np.where(counts > 0, counts, 0.0), sums.shape)
    total = counted.sum(axis=axis)
    return np.where(total > 0, np.where(counted > 0, sums, 0.0).sum(axis=axis) / np.maximum(total, 1), np.nan)


def evaluate(model: Model, data: Trajectories, *, protocol: str | None = None) -> Evaluation:
    """The errors of a model's forecasts on data from environments that it knows.

    **Arguments**

    - `protocol`: whether the first point of each trajectory counts (`paper`) or not (`clean`); as trained by default.

    >>> import jax.random as jr, numpy as np
    >>> from leadax import Leads, Trajectories, fit
    >>> t = np.linspace(0, 2, 9)
    >>> data = Trajectories.from_arrays(t, np.stack([np.exp(-a * t) for a in (0.5, 1.0)])[:, None, :, None])
    >>> evaluate(fit(Leads(), data, steps=20, key=jr.key(0)), data).mse < 1
    True
    """
    chosen = protocol or model.protocol
    lookup("protocol", chosen, dict.fromkeys(get_args(Protocol)))
    levels = model.for_data(data)
    batch = prepare(data, model.units, model.method, longest=model.longest_step, dtype=model.dtype)
    sums = error_sums(side_by_side([model.method], model.members, model.dtype), levels, batch)
    return summarise(sums, batch, model.units, data.environments, chosen)
