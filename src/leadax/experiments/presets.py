"""Which net, solver and penalty: the paper's for its systems, sensible ones for any other data."""

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from typing import get_args

import numpy as np

from ..data import Trajectories
from ..describe import scaled
from ..errors import InputError, lookup
from ..methods import Method, NetFactory
from ..nets import FNO, MLP, NETS, ConvNet, Linear, Scales, measure
from ..penalty import EmpiricalNorm, Frobenius, Omega, Penalty, SpectralNorm
from ..systems.system import Protocol


@dataclasses.dataclass(frozen=True)
class Settings:
    """What a method needs beyond itself.

    - `penalty`: Ω as a function of the protocol;
    - `penalty_weight`: 1/λ;
    - `error_scale`: what errors are divided by in training, per channel;
    - `scales`: the units of the data, for a method that asks for them.
    """

    net: NetFactory
    solver: str
    penalty: Callable[[str], Penalty]
    penalty_weight: float
    batch_size: int | None = None
    error_scale: np.ndarray = dataclasses.field(default_factory=lambda: np.ones(1))
    scales: Scales | None = None


def omega(alpha: float) -> Callable[[str], Penalty]:
    """The paper's Ω; in the protocol `paper` with the quirks of its experiments."""

    def build(protocol: str) -> Penalty:
        if protocol == "paper":
            return Omega(EmpiricalNorm(per_pixel=True), SpectralNorm(5, "matrix", include_factor=False), alpha)
        return Omega(EmpiricalNorm(), SpectralNorm(), alpha)

    return build


def absolute(alpha: float) -> Callable[[str], Penalty]:
    """Ω where states are around zero: nothing is divided by their size, in any protocol.

    Per pixel: a finer grid must not make Ω larger, for the error, a mean over pixels, does not grow with it.
    """
    return lambda protocol: Omega(EmpiricalNorm(relative=False, per_pixel=True), SpectralNorm(), alpha)


# λ and α are those of the code that made the published numbers; the paper's text has other ones. "rk4-38" is what that
# code calls RK4. That code has no linear system: its 1/λ was chosen on validation data (docs/theory.md).
PRESETS: Mapping[str, Settings] = {
    "linear": Settings(Linear, "rk4-38", lambda protocol: Frobenius(), 1e-4),
    "lotka-volterra": Settings(partial(MLP, init_std=0.05), "rk4-38", omega(1e-2), 1 / 5e3),
    "gray-scott": Settings(partial(ConvNet, init_std=0.1, factor=1e-3), "rk4-38", omega(1e-2), 1 / 1e3),
    "navier-stokes": Settings(partial(FNO, init_std=0.1), "euler", omega(1e-4), 1 / 1e5, batch_size=2),
}
PRESETS = {
    **PRESETS,
    "navier-stokes-text": PRESETS["navier-stokes"],
    "lotka-volterra-coda": PRESETS["lotka-volterra"],
}


def settings_for(data: Trajectories, net: str | None = None) -> Settings:
    """The preset of the system that the data say they come from, or settings for data of unknown scale.

    **Arguments**

    - `net`: the name of another net than the one that would be chosen.
    """
    preset = PRESETS.get(data.attributes.get("system", ""))
    if preset and net is None:
        return dataclasses.replace(preset, scales=measure(data.states, data.times))
    return standardised(data, lookup("net", net or ("conv" if data.space else "mlp"), NETS))


def standardised(data: Trajectories, net: NetFactory, solver: str = "rk4", alpha: float = 1e-3) -> Settings:
    """Settings for data of unknown scale: states and errors in units of their spread, tangents of the usual rate."""
    scales = measure(data.states, data.times)
    return Settings(
        net=scaled(net, scales),
        solver=solver,
        penalty=absolute(alpha),
        penalty_weight=1e-3,
        error_scale=scales.scale,
        scales=scales,
    )


def complete(method: Method, settings: Settings, protocol: str) -> Method:
    """The method with what it leaves open filled in."""
    lookup("protocol", protocol, dict.fromkeys(get_args(Protocol)))
    if method.penalty_weight is not None and not method.penalty_weight >= 0:
        raise InputError(f"`penalty_weight` (1/λ) must be zero or positive, got {method.penalty_weight}")
    chosen = {
        "net": settings.net,
        "solver": settings.solver,
        "penalty": settings.penalty(protocol),
        "penalty_weight": settings.penalty_weight,
        "scales": settings.scales,
    }
    # Only some methods ask for scales.
    return dataclasses.replace(method, **{k: v for k, v in chosen.items() if getattr(method, k, "unasked") is None})
