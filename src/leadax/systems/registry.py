"""All systems, by name."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import get_args

from ..errors import lookup
from .gray_scott import gray_scott
from .linear import linear
from .lotka_volterra import lotka_volterra, lotka_volterra_coda
from .navier_stokes import navier_stokes, navier_stokes_text
from .system import Protocol, System

SYSTEMS: Mapping[str, Callable[[str], System]] = {
    "lotka-volterra": lotka_volterra,
    "lotka-volterra-coda": lotka_volterra_coda,
    "gray-scott": gray_scott,
    "navier-stokes": navier_stokes,
    "navier-stokes-text": navier_stokes_text,
    "linear": linear,
}


@cache
def get_system(name: str, protocol: str = "clean") -> System:
    """Get a system by name.

    **Arguments**

    - `name`: a key of `SYSTEMS`.
    - `protocol`: `paper` for the paper's solvers and tolerances, or `clean` for an accurate solution.

    >>> list(get_system("gray-scott").environments)
    ['F=0.037,k=0.06', 'F=0.03,k=0.062', 'F=0.039,k=0.058']
    """
    lookup("protocol", protocol, dict.fromkeys(get_args(Protocol)))
    return lookup("system", name, SYSTEMS)(protocol)
