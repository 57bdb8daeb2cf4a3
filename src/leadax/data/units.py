"""Standard units: what nets, penalties, losses and optimisers compute in.

Data are standardised once on the way in, forecasts are turned back on the way out. Units are plain numbers, frozen:
no optimiser ever sees them.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from ..errors import InputError
from ..registry import ONLY_IF_GIVEN, Registry
from .trajectories import Trajectories


@dataclass(frozen=True)
class Units:
    """The units of a model: $z = (x - m) / s$ for states and $(t - t_0) / \\tau$ for times.

    - `mean`, `scale`: m and s, one number per channel;
    - `time`: τ, the length of a unit of time; `origin`: t₀;
    - `input_mean`, `input_scale`: the same for what a field sees beside time and state: inputs, then covariates;
    - `hidden_scale`: s of the first hidden channels; 1 for others, and empty where no doses go there. Their m is 0.

    >>> units = Units(mean=(10.0,), scale=(2.0,), time=0.5)
    >>> units.standard(np.array([[12.0]])).tolist(), units.raw(np.array([[1.0]])).tolist()
    ([[1.0]], [[12.0]])
    """

    mean: tuple[float, ...]
    scale: tuple[float, ...]
    time: float = 1.0
    origin: float = 0.0
    input_mean: tuple[float, ...] = ()
    input_scale: tuple[float, ...] = ()
    hidden_scale: tuple[float, ...] = field(default=(), metadata=ONLY_IF_GIVEN)

    def __post_init__(self):
        for name in ("mean", "scale", "input_mean", "input_scale", "hidden_scale"):
            object.__setattr__(self, name, tuple(float(number) for number in getattr(self, name)))
        for mean, scale, what in ((self.mean, self.scale, "channel"), (self.input_mean, self.input_scale, "input")):
            if len(mean) != len(scale):
                raise InputError(f"units need a mean and a scale per {what}, got {len(mean)} and {len(scale)}")
        positive = (*self.scale, *self.input_scale, *self.hidden_scale, self.time)
        if not (np.all(np.isfinite((*self.mean, *self.input_mean, self.origin, *positive))) and min(positive) > 0):
            raise InputError("units must be finite numbers, with positive scales and a positive unit of time")

    @classmethod
    def ones(cls, channels: int) -> "Units":
        """The units of the data themselves."""
        return cls((0.0,) * channels, (1.0,) * channels)

    @classmethod
    def measured(cls, data: Trajectories) -> "Units":
        """The mean and the standard deviation of each channel, and the time in which states change by about as much.

        The unit of time is $\\sqrt{\\sum \\Delta t^2 / \\sum \\Delta z^2}$ over neighbouring points, averaged over
        channels: sums before the ratio, so that noise over a short gap does not decide it. A channel that never
        changes gets the scale 1.

        >>> t = np.linspace(0, 2, 5)
        >>> Units.measured(Trajectories.from_arrays(t, 3 + 4 * t[None, None, :, None])).mean
        (7.0,)
        """
        seen = data.observed
        for name, values in zip(data.channels, np.moveaxis(data.states, -1, 0), strict=True):
            _check_size(f"channel `{name}`", values)
        _check_size("time", data.times)
        mean = _mean(data.states, seen)
        deviations = np.where(seen, data.states, mean) - mean
        spread = np.sqrt(_mean(deviations**2, seen))
        # Of a channel that never changes, what is left by the rounding of its mean is no spread.
        scale = np.where(spread > 1e-12 * np.abs(mean), spread, 1.0)
        unit = _unit_of_time(data.times, deviations / scale, seen)
        return cls(tuple(mean), tuple(scale), unit, float(np.nanmin(data.times)))

    def for_inputs(self, values: Float[np.ndarray, "*shape input"]) -> "Units":
        """The same with the mean and the spread of what a field sees beside time and state."""
        flat = values.reshape(-1, values.shape[-1])
        for column in flat.T:
            _check_size("an input or covariate", column)
        mean, spread = np.nanmean(flat, axis=0), np.nanstd(flat, axis=0)
        scale = np.where(spread > 1e-12 * np.abs(mean), spread, 1.0)
        return replace(self, input_mean=tuple(mean), input_scale=tuple(scale))

    def with_hidden(self, count: int) -> "Units":
        """Units of whole states: hidden channels have standard units, unless known doses go there."""
        hidden = (*self.hidden_scale, *(1.0,) * count)[:count]
        return replace(self, mean=(*self.mean, *(0.0,) * count), scale=(*self.scale, *hidden))

    def standard_inputs(self, values: Float[Any, "*shape input"]) -> Float[Any, "*shape input"]:
        """Inputs in standard units, from those of the data."""
        return (values - _like(self.input_mean, values)) / _like(self.input_scale, values)

    def raw_inputs(self, values: Float[Any, "*shape input"]) -> Float[Any, "*shape input"]:
        """Inputs in the units of the data, from standard ones; individual constants, which come last, stay."""
        spare = values.shape[-1] - len(self.input_mean)
        mean, scale = (*self.input_mean, *(0.0,) * spare), (*self.input_scale, *(1.0,) * spare)
        return values * _like(scale, values) + _like(mean, values)

    def clock(self, times: Any) -> Any:
        """Times in standard units, from those of the data."""
        return (times - self.origin) / self.time

    def standard(self, states: Float[Any, "*shape channel"]) -> Float[Any, "*shape channel"]:
        """States in standard units, from those of the data."""
        return (states - _like(self.mean, states)) / _like(self.scale, states)

    def raw(self, states: Float[Any, "*shape channel"]) -> Float[Any, "*shape channel"]:
        """States in the units of the data, from standard ones."""
        return states * _like(self.scale, states) + _like(self.mean, states)

    def raw_tangent(self, tangents: Float[Any, "*shape channel"]) -> Float[Any, "*shape channel"]:
        """Tangents in the units of the data, from standard ones."""
        return tangents * _like(self.scale, tangents) / self.time

    def standard_tangent(self, tangents: Float[Any, "*shape channel"]) -> Float[Any, "*shape channel"]:
        """Tangents in standard units, from those of the data."""
        return tangents / _like(self.scale, tangents) * self.time


HIDDEN_BOUND = 6.0  # standard units
LARGEST = 1e30  # more, or its inverse, is none of the numbers of half the precision that forecasts have


@dataclass(frozen=True)
class Box:
    """The region of the data in standard units, with a margin: learnt fields know nothing beyond it.

    - `low`, `high`: one number per channel.
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self):
        for name in ("low", "high"):
            object.__setattr__(self, name, tuple(float(number) for number in getattr(self, name)))
        if len(self.low) != len(self.high) or not all(a < b for a, b in zip(self.low, self.high, strict=True)):
            raise InputError("a box needs a lowest and a larger highest value for each channel")

    @classmethod
    def around(cls, data: Trajectories, units: Units, margin: float = 1.0) -> "Box":
        """From the lowest value of each channel to the highest, and `margin` times that range more on both sides.

        >>> t = np.linspace(0, 2, 5)
        >>> Box.around(Trajectories.from_arrays(t, t[None, None, :, None]), Units.ones(1))
        Box(low=(-2.0,), high=(4.0,))
        """
        axes = tuple(range(data.states.ndim - 1))
        with np.errstate(invalid="ignore"):
            low, high = (bound(data.states, axis=axes) for bound in (np.nanmin, np.nanmax))
        low, high = units.standard(low), units.standard(high)
        width = np.where(high > low, high - low, 1.0)
        return cls(tuple((low - margin * width).tolist()), tuple((high + margin * width).tolist()))

    @property
    def range(self) -> tuple[float, ...]:
        """Of each channel of the data that it is around, with the usual margin."""
        return tuple((high - low) / 3 for low, high in zip(self.low, self.high, strict=True))

    def with_hidden(self, count: int) -> "Box":
        """The same with bounds for hidden channels, which are of size one."""
        return Box((*self.low, *(-HIDDEN_BOUND,) * count), (*self.high, *(HIDDEN_BOUND,) * count))

    def union(self, other: "Box") -> "Box":
        """The box around the data of both, with the usual margin.

        >>> Box((-1.0,), (2.0,)).union(Box((1.0,), (7.0,)))
        Box(low=(-5.0,), high=(10.0,))
        """
        low = np.minimum(*(np.asarray(box.low) + box.range for box in (self, other)))
        high = np.maximum(*(np.asarray(box.high) - box.range for box in (self, other)))
        return Box(tuple((2 * low - high).tolist()), tuple((2 * high - low).tolist()))


def _like(numbers: tuple[float, ...], array: Any) -> Any:
    """The numbers as an array of the type of another, with as many axes, along the last of them."""
    shape = (*(1,) * (array.ndim - 1), array.shape[-1])
    return np.broadcast_to(np.asarray(numbers, array.dtype), shape)


def _check_size(what: str, values: np.ndarray) -> None:
    """An `InputError` for values so large or so small that forecasts of them would be infinite or zero."""
    known = values[np.isfinite(values)]
    size, width = (np.abs(known).max(), known.max() / 2 - known.min() / 2) if known.size else (0.0, 0.0)
    if size > LARGEST or 0 < width < 1 / LARGEST:
        extreme = size if size > LARGEST else width
        raise InputError(
            f"{what} has values of the order of {extreme:.0e}, which cannot be computed with: change its unit"
        )


def _mean(values: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """The mean of each channel over the values that were seen; 0 if none was."""
    axes = tuple(range(values.ndim - 1))
    return np.sum(np.where(seen, values, 0.0), axis=axes) / np.maximum(np.sum(seen, axis=axes), 1)


def _unit_of_time(times: np.ndarray, deviations: np.ndarray, seen: np.ndarray) -> float:
    gaps = np.diff(times, axis=2)[(...,) + (None,) * (deviations.ndim - 3)]
    both = seen[:, :, 1:] & seen[:, :, :-1] & (np.nan_to_num(gaps) > 0)
    axes = tuple(range(deviations.ndim - 1))
    changes = np.sum(np.where(both, np.diff(deviations, axis=2), 0.0) ** 2, axis=axes)
    elapsed = np.sum(np.where(both, np.broadcast_to(gaps, both.shape), 0.0) ** 2, axis=axes)
    moving = (changes > 0) & (elapsed > 0)
    if not moving.any():
        finite = times[np.isfinite(times)]
        return float(np.ptp(finite)) if finite.size and np.ptp(finite) > 0 else 1.0
    return float(1 / np.sqrt(np.mean(changes[moving] / elapsed[moving])))


# So that files can name it.
Registry("units", Units, {"units": Units})
Registry("box", Box, {"box": Box})
