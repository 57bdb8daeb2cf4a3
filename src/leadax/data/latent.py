"""`Latent`: what is to be inferred of trajectories, and the layout that follows from it and from the data."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import InputError, whole
from .batch import LEAST_NOISE
from .forcing import hidden_scales, raw_inputs
from .layout import Layout
from .noise import noise_level
from .trajectories import Trajectories
from .units import Units

# Noise below this part of the spread is too small to matter. What rounding leaves in smooth data is far smaller.
NOTICEABLE = 0.003
WARMUP = 5  # points that a forecast is told where something is hidden or individual


@dataclass(frozen=True)
class Latent:
    """What is to be inferred of each trajectory, along with f and g_e.

    - `noise`: the standard deviation of the noise in the data, as a part of each channel's spread; `"15%"`: as a part
      of each value, and at least 1 % of the spread; `auto`: estimated from the data
      (`leadax.data.noise.noise_level`); `none`: observations are exact. Where there is noise, trajectories start from
      states that are inferred, not from their first observations;
    - `hidden`: channels of the state that are never observed; None: one, if a single channel turns as no law of
      it could, otherwise none;
    - `individual`: constants of one trajectory alone that enter the field;
    - `from_zero`: hidden channels start at 0 in every trajectory, such as the drug in a tissue before the first dose.

    >>> Latent(hidden=1)
    Latent(noise='auto', hidden=1, individual=0, from_zero=False)
    >>> Latent("15%").relative
    0.15
    """

    noise: str | float = "auto"
    hidden: int | None = None
    individual: int = 0
    from_zero: bool = False

    def __post_init__(self):
        if self.hidden is not None:
            whole("hidden", self.hidden, 0)
        whole("individual", self.individual, 0)
        check_noise("`noise`", self.noise)
        if self.from_zero and not self.hidden:
            raise InputError("`from_zero` is about hidden channels, and there are none: give their number as `hidden`")

    @property
    def relative(self) -> float:
        """The noise as a part of each value; 0 where it does not grow with the value."""
        return percent(self.noise) or 0.0

    def level(self, data: Trajectories, units: Units) -> tuple[float, ...] | None:
        """The noise of each channel in standard units; None where observations are to be believed."""
        if self.noise in ("none", 0):
            return None
        if self.relative:
            return (LEAST_NOISE,) * len(data.channels)
        if not isinstance(self.noise, str):
            return (float(self.noise),) * len(data.channels)
        found = noise_level(data) / np.asarray(units.scale)
        return tuple(found.tolist()) if np.sqrt(np.mean(found**2)) > NOTICEABLE else None


def layout_for(data: Trajectories, units: Units, latent: Latent, covariates: Sequence[str] = ()) -> Layout:
    """What states and inputs are made of.

    - `covariates`: the parameters of environments that the field is to see.

    >>> t = np.linspace(0, 5, 30)
    >>> data = Trajectories.from_arrays(t, np.exp(-t)[None, None, :, None])
    >>> layout_for(data, Units.measured(data), Latent(hidden=1)).state
    ('x0', 'hidden0')
    """
    return Layout(
        channels=data.channels,
        hidden=latent.hidden or 0,
        individual=latent.individual,
        noise=latent.level(data, units),
        inputs=data.input_names,
        kinds=data.input_kinds,
        covariates=tuple(covariates),
        relative_noise=latent.relative,
        from_zero=latent.from_zero,
    )


def check_noise(name: str, noise: str | float) -> None:
    """An `InputError` unless it says how large the noise is; `name`: that of the argument."""
    if noise in ("auto", "none") or percent(noise):
        return
    if isinstance(noise, str) or not isinstance(noise, int | float) or not 0 <= noise < float("inf"):
        shown = f"`{noise}`" if isinstance(noise, str) else repr(noise)
        raise InputError(
            f"{name} must be `auto`, `none`, a number from 0 on, or a part of each value such as 15%, got {shown}"
        )


def percent(noise: str | float) -> float | None:
    """The part that a text such as `15%` says; None for anything else."""
    try:
        found = float(noise.removesuffix("%")) / 100 if isinstance(noise, str) and noise.endswith("%") else 0.0
    except ValueError:
        return None
    return found if 0 < found < float("inf") else None


def units_for(data: Trajectories, units: Units, layout: Layout) -> Units:
    """The units with those of inputs and covariates, and of doses that go to hidden channels, as measured."""
    if not units.hidden_scale:
        units = replace(units, hidden_scale=hidden_scales(data, layout))
    values = raw_inputs(data, layout)
    return units if values is None or units.input_mean else units.for_inputs(values)
