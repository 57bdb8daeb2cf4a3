"""How wrong forecasts are: per environment, per time, per trajectory, per member."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np
from jaxtyping import Array, Bool, Float

from ..data import Trajectories
from ..data.batch import Batch
from ..data.units import Box, Units
from ..errors import expect, lookup
from ..model import Model
from ..systems.system import Protocol
from .errors import chosen_warmup, error_sums, first_points, known_points

UNBOUNDED = 100.0  # units that a forecast without a box may be off by


@dataclass(frozen=True)
class Evaluation:
    """Squared errors of forecasts from the first state of each trajectory, in the units of the data.

    Every number is the mean over the model's members of that number; `mse_per_seed` has each.

    - `channel_sums`, `channel_counts`: sums of squared errors and numbers of observed values,
      `(member, env, traj, time, channel)` and `(env, traj, time, channel)`. The points that a forecast was told do not
      count, but for the first one in the protocol `paper`;
    - `variances`: of each channel over the values that count: what normalised errors are divided by;
    - `limits`: of each channel: a forecast that is off by more has diverged;
    - `told`: how many of the first points of a trajectory a forecast was told.
    """

    channel_sums: Float[np.ndarray, "member env traj time channel"]
    channel_counts: Float[np.ndarray, "env traj time channel"]
    environments: tuple[str, ...]
    protocol: str
    channels: tuple[str, ...]
    variances: Float[np.ndarray, " channel"]
    limits: Float[np.ndarray, " channel"]
    told: int = 1

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
        return per[:, self._observed]

    @property
    def std_over_seeds(self) -> float:
        """Sample standard deviation of the error over members; NaN for one member."""
        return float(np.std(self.mse_per_seed, ddof=1)) if len(self.sums) > 1 else float("nan")

    @property
    def std_over_trajectories(self) -> float:
        """Sample standard deviation of the error over trajectories; NaN for one trajectory."""
        per = self.mse_per_trajectory
        with np.errstate(invalid="ignore"):  # infinite errors have no deviation
            return float(np.std(per, axis=1, ddof=1).mean()) if per.shape[1] > 1 else float("nan")

    @property
    def nmse_per_channel(self) -> dict[str, float]:
        """The mean squared error of each channel over that channel's variance: 1 for a forecast of the mean."""
        per = _mean(self.channel_sums, self.channel_counts, axis=(1, 2, 3)).mean(axis=0)
        return dict(zip(self.channels, (per / self.variances).tolist(), strict=True))

    @property
    def nmse(self) -> float:
        """The mean over channels of their normalised errors; channels that were never observed are left out."""
        return float(self.nmse_per_seed.mean())

    @property
    def nmse_per_seed(self) -> np.ndarray:
        """Of each member."""
        per = _mean(self.channel_sums, self.channel_counts, axis=(1, 2, 3)) / self.variances
        seen = self.channel_counts.sum(axis=(0, 1, 2)) > 0
        return per[:, seen].mean(axis=-1) if seen.any() else np.full(len(per), np.nan)

    @property
    def r2(self) -> float:
        """The coefficient of determination, 1 − nmse: the share of the variance that is explained."""
        return 1 - self.nmse

    @property
    def nmse_per_trajectory(self) -> np.ndarray:
        """Of each observed trajectory, all environments in a row, `(member, trajectory)`."""
        per = _mean(self.channel_sums, self.channel_counts, axis=(3,)) / self.variances
        seen = self.channel_counts.sum(axis=2) > 0
        # Channels that were never observed are left out; one that is not a number makes its trajectory that.
        per = np.where(seen, per, 0.0).sum(axis=-1) / np.maximum(seen.sum(axis=-1), 1)
        return per.reshape(len(per), -1)[:, self._observed]

    @property
    def median_nmse(self) -> float:
        """The median over trajectories: a few that go wrong do not hide how the others do."""
        return float(np.median(np.nan_to_num(self.nmse_per_trajectory, nan=np.inf), axis=1).mean())

    @property
    def diverged(self) -> int:
        """The number of trajectories whose forecast diverged: not finite, or off by more than training data are wide.

        Without a box around the training data (`leadax.data.units.Box`), by more than 100 of the model's units.
        """
        return int(np.sum(self.diverged_trajectories))

    @property
    def diverged_trajectories(self) -> Bool[np.ndarray, "env traj"]:
        """Which trajectories these are, by position: of any member."""
        off = self.channel_sums > np.square(self.limits) * np.maximum(self.channel_counts, 1)
        lost = np.where(self.channel_counts > 0, off | ~np.isfinite(self.channel_sums), False)
        return np.asarray(lost.any(axis=(0, 3, 4)))

    @property
    def _observed(self) -> np.ndarray:
        return (self.counts.sum(axis=2) > 0).reshape(-1)

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
            "nmse": number(self.nmse),
            "nmse_per_channel": {name: number(value) for name, value in self.nmse_per_channel.items()},
            "r2": number(self.r2),
            "median_nmse": number(self.median_nmse),
            "diverged": self.diverged,
            "told": self.told,
        }

    def __str__(self) -> str:
        lines = [f"mean squared error {self.mse:.3e}  ({self.protocol} protocol, seeds: {len(self.sums)})"]
        lines += [
            f"{self.nmse:.3g} of the variance (R² {self.r2:.3f}), half of the trajectories below {self.median_nmse:.3g}"
        ]
        if self.told > 1:
            lines += [f"forecasts were told the first {self.told} points of each trajectory; errors count after them"]
        if self.diverged:
            lines += [f"{self.diverged} of {int(self._observed.sum())} forecasts diverged"]
        if len(self.channels) > 1:
            each = ", ".join(f"{name} {value:.3g}" for name, value in self.nmse_per_channel.items())
            lines += [f"of each channel's variance: {each}"]
        lines += ["mean squared error in each environment:"]
        lines += [f"  {name:30} {value:.3e}" for name, value in self.mse_per_environment.items()]
        return "\n".join(lines)


def pooled(parts: Sequence[Evaluation]) -> Evaluation:
    """The errors on several parts of the data as one, for example of all folds of a cross-validation.

    >>> one = Evaluation(np.ones((2, 1, 3, 4, 1)), np.ones((1, 3, 4, 1)), ("e",), "clean", ("x",), *2 * [np.ones(1)])
    >>> pooled([one, one]).mse_per_trajectory.shape
    (2, 6)
    """
    first, longest = parts[0], max(part.channel_counts.shape[2] for part in parts)
    padded = lambda array: np.pad(array, [(0, 0)] * (array.ndim - 2) + [(0, longest - array.shape[-2]), (0, 0)])
    weights = [part.channel_counts.sum(axis=(0, 1, 2)) for part in parts]
    average = lambda name: np.average([getattr(part, name) for part in parts], axis=0, weights=weights)
    return replace(
        first,
        channel_sums=np.concatenate([padded(part.channel_sums) for part in parts], axis=2),
        channel_counts=np.concatenate([padded(part.channel_counts) for part in parts], axis=1),
        variances=average("variances"),
        limits=average("limits"),
    )


def summarise(
    sums: Float[Array, "member env traj time channel"],
    batch: Batch,
    units: Units,
    data: Trajectories,
    protocol: str,
    warmup: int = 1,
    box: Box | None = None,
) -> Evaluation:
    """From the sums of `error_sums` to an `Evaluation`, in the units of the data.

    - `box`: the region that forecasts are kept in; None for none.
    """
    counted = np.array(batch.observed)
    if protocol != "paper" or warmup > 1:
        known = np.asarray(first_points(batch, warmup))
        counted &= ~known.reshape(*known.shape, *(1,) * (counted.ndim - 3))
    squares = np.square(units.scale)
    counts = counted.reshape(*batch.times.shape, -1, counted.shape[-1]).sum(axis=-2).astype(float)
    return Evaluation(
        channel_sums=np.asarray(sums, float) * squares,
        channel_counts=counts,
        environments=data.environments,
        protocol=protocol,
        channels=data.channels,
        variances=_variances(np.asarray(batch.states, float), counted) * squares,
        limits=np.asarray(units.scale) * (UNBOUNDED if box is None else np.asarray(box.range)),
        told=warmup,
    )


def _variances(states: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The variance of each channel over the values that count; 1 for a channel that varies by rounding only."""
    axes = tuple(range(states.ndim - 1))
    total = np.maximum(counted.sum(axis=axes), 1)
    mean = np.sum(states, axis=axes, where=counted) / total
    found = np.sum((states - mean) ** 2, axis=axes, where=counted) / total
    return np.where(found > 1e-24 * mean**2, found, 1.0)


def _mean(sums: np.ndarray, counts: np.ndarray, axis: tuple[int, ...]) -> np.ndarray:
    counted = np.broadcast_to(np.where(counts > 0, counts, 0.0), sums.shape)
    total = counted.sum(axis=axis)
    return np.where(total > 0, np.where(counted > 0, sums, 0.0).sum(axis=axis) / np.maximum(total, 1), np.nan)


def evaluate(model: Model, data: Trajectories, *, protocol: str | None = None, warmup: int | None = None) -> Evaluation:
    """The errors of a model's forecasts on data from environments that it knows.

    **Arguments**

    - `protocol`: whether the first point of each trajectory counts (`paper`) or not (`clean`); as trained by default;
    - `warmup`: how many of the first points of a trajectory a forecast is told; errors count after them. By default
      as in training: 1, or more where something is hidden, as far as every trajectory has a point left to forecast.

    >>> import jax.random as jr, numpy as np
    >>> from leadax import Leads, Linear, Trajectories, fit
    >>> t = np.linspace(0, 2, 9)
    >>> data = Trajectories.from_arrays(t, np.stack([np.exp(-a * t) for a in (0.5, 1.0)])[:, None, :, None])
    >>> evaluate(fit(Leads(net=Linear), data, steps=20, key=jr.key(0)), data).mse < 1
    True
    """
    expect("model", model, Model, "leadax.Model.load(FILE)")
    expect("data", data, Trajectories, "leadax.load(FILE)")
    chosen = model.protocol if protocol is None else protocol
    lookup("protocol", chosen, dict.fromkeys(get_args(Protocol)))
    told = chosen_warmup(warmup, model.warmup, data)
    levels, batch = model.for_data(data), model.batch(data)
    sums = error_sums(model.numbers, levels, batch, known_points(batch, told))
    return summarise(sums, batch, model.units, data, chosen, told, model.box)
