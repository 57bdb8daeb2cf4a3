"""What a system is: an equation, its environments, its initial states, and how it is solved. All data, no subclass."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Array

from .._types import State, Tangent
from ..errors import InputError
from .draws import SPLITS, Draws, keys
from .solve import Parameters, Solve, adaptive

Protocol: TypeAlias = Literal["paper", "clean"]
Environments: TypeAlias = Mapping[str, Mapping[str, float]]


def same(state: State) -> State:
    """What is observed of a state unless a system says otherwise: all of it."""
    return state


# Compared by identity, so that programs compiled for a system can be kept.
@dataclass(frozen=True, eq=False)
class System:
    """A family of dynamical systems dx/dt = tangent(x; parameters of the environment).

    A system of your own takes ten lines; here is FitzHugh–Nagumo, v' = v − v³/3 − w + I, w' = (v + a − b·w)/τ, with
    a different current I in each environment:

    >>> import jax.numpy as jnp, jax.random as jr, numpy as np
    >>> import leadax as lx
    >>> def tangent(state, p):
    ...     v, w = state
    ...     return jnp.stack([v - v**3 / 3 - w + p["current"], (v + 0.7 - 0.8 * w) / 12.5])
    >>> nerve = lx.System(
    ...     name="fitzhugh-nagumo",
    ...     channels=("v", "w"),
    ...     times=np.arange(0, 100, 1.0),
    ...     environments={"rest": {"current": 0.0}, "spiking": {"current": 0.5}},
    ...     tangent=tangent,
    ...     initial_state=lambda key: jr.uniform(key, (2,), minval=-1.0, maxval=1.0),
    ... )
    >>> data = lx.simulate(nerve, trajectories=3, key=jr.key(0))
    >>> data
    Trajectories(2 environments, 3 trajectories each, 100 times, channels v, w)

    **Fields**

    - `name`: lower case with hyphens; goes into the data's attributes.
    - `channels`: the names of the channels of an observed state.
    - `times`: when a trajectory is observed.
    - `environments`: for each, by name, its parameters. All have the same parameters.
    - `tangent`: `(state, parameters) -> dx/dt`.
    - `initial_state`: `key -> state`, one draw at time zero.
    - `draws`: what `initial_state` is called with, one for each trajectory; keys by default.
    - `novel`: environments that training never sees; may be empty.
    - `trajectories`: how many per environment in each split, unless one asks for another number.
    - `solve`: `(state, parameters, times) -> states`; by default adaptive steps with tolerance 1e-8.
    - `observe`: what is seen of a solved state; all of it by default.
    - `protocol`: which protocol these settings follow.
    """

    name: str
    channels: tuple[str, ...]
    times: np.ndarray
    environments: Environments
    tangent: Callable[[Array, Parameters], Tangent]
    initial_state: Callable[[Array], State]
    novel: Environments = field(default_factory=dict)
    trajectories: Mapping[str, int] = field(
        default_factory=lambda: {"train": 1, "test": 32, "novel": 1, "novel-test": 32}
    )
    draws: Draws = keys
    solve: Solve | None = None
    observe: Callable[[Array], State] = same
    protocol: str = "clean"

    def __post_init__(self):
        for name, parameters in {**self.environments, **self.novel}.items():
            expected = next(iter(self.environments.values()))
            if set(parameters) != set(expected):
                raise InputError(
                    f"environment `{name}` of system `{self.name}` must have the parameters of the first one, "
                    f"{', '.join(expected) or 'none'}; got {', '.join(parameters) or 'none'}"
                )
        if np.ndim(self.times) != 1 or len(self.times) < 2 or not np.all(np.diff(self.times) > 0):
            raise InputError(f"`times` of system `{self.name}` must be at least two and increase")

    def solved(self, state: State, parameters: Parameters) -> Array:
        """The observed states at all times, from one initial state in one environment."""
        import jax

        solve = self.solve or adaptive(self.tangent)
        return jax.vmap(self.observe)(solve(state, parameters, self.times))

    def environments_of(self, split: str) -> Environments:
        """The environments that a split is made of."""
        if split not in SPLITS:
            raise InputError(f"`split` must be one of {', '.join(SPLITS)}, got `{split}`")
        found = self.novel if split.startswith("novel") else self.environments
        if not found:
            raise InputError(f"system `{self.name}` has no {'novel ' * split.startswith('novel')}environments")
        return found
