"""Names that help texts list. They repeat what registries hold, and a test compares the two: `--help` must be instant,
and the registries take seconds to import."""

from collections.abc import Sequence
from typing import Literal

from ..errors import lookup

METHODS = ("leads", "leads-no-min", "one-for-all", "one-per-env", "ft-rnn", "ft-node", "gbml", "maml", "coda")
NETS = ("mlp", "conv", "fno", "linear")
PENALTIES = ("omega", "empirical-norm", "spectral-norm", "frobenius", "none")
SOLVERS = ("euler", "heun", "midpoint", "ralston", "bosh3", "rk4", "rk4-38", "tsit5", "dopri5", "dopri8")
ADAPTIVE = ("bosh3", "tsit5", "dopri5", "dopri8", "implicit-euler", "kvaerno3", "kvaerno5")
SYSTEMS = ("lotka-volterra", "lotka-volterra-coda", "gray-scott", "navier-stokes", "navier-stokes-text", "linear")

Preset = Literal["lotka-volterra", "gray-scott", "navier-stokes", "linear"]
Protocol = Literal["paper", "clean"]
Scheme = Literal["auto", "mixture", "specific", "shared-only", "scratch"]
Optimiser = Literal["adam", "muon"]
Decay = Literal["cosine", "constant", "one-cycle"]
Match = Literal["trajectories", "finite-differences", "spline"]


def listed(names: Sequence[str]) -> str:
    """Names for a sentence.

    >>> listed(("a", "b", "c"))
    'a, b or c'
    """
    return ", ".join(names[:-1]) + " or " + names[-1]


def check_name(kind: str, name: str, known: Sequence[str]) -> None:
    """An `InputError` for an unknown name, before anything slow is imported. Import paths are checked later.

    >>> check_name("net", "my.module:Net", NETS)
    >>> check_name("net", "mpl", NETS)
    Traceback (most recent call last):
    ...
    leadax.errors.InputError: unknown net `mpl`: did you mean `mlp`? Known: mlp, conv, fno, linear
    """
    if ":" not in name:
        lookup(kind, name, dict.fromkeys(known))
