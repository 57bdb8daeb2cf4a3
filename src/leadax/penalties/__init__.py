"""Ω: penalties that keep one environment's own part of the dynamics small, so that f explains the rest.

A new penalty is one file, and one line in `PENALTIES`.
"""

from ..registry import Registry
from .base import Carry as Carry
from .base import NoPenalty as NoPenalty
from .base import Penalty as Penalty
from .base import Points as Points
from .norms import EmpiricalNorm as EmpiricalNorm
from .omega import Omega as Omega
from .weights import Frobenius as Frobenius
from .weights import SpectralNorm as SpectralNorm

PENALTIES = Registry(
    "penalty",
    Penalty,
    {
        "omega": Omega,
        "empirical-norm": EmpiricalNorm,
        "spectral-norm": SpectralNorm,
        "frobenius": Frobenius,
        "none": NoPenalty,
    },
)
