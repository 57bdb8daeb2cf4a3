"""`System`: an equation with its environments, its initial states and its solver."""

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


def identity(state: State) -> State:
    """Return the state."""
    return state


# `eq=False`: systems are compared by identity, so that they can be keys of the cache of compiled programs.
@dataclass(frozen=True, eq=False)
class System:
    """A dynamical system dx/dt = tangent(x, p) whose parameters p depend on the environment.

    You can define your own in ten lines. This is FitzHugh–Nagumo, v' = v − v³/3 − w + I, w' = (v + a − b·w)/τ, with a
    different current I in each environment:

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

    - `name`: in lower case, with hyphens. It is stored in the attributes of the data.
    - `channels`: the names of the channels of an observed state.
    - `times`: the times at which trajectories are observed.
    - `environments`: the environments by name, each with the values of its parameters. All have the same parameters.
    - `tangent`: `(state, parameters) -> dx/dt`.
    - `initial_state`: `key -> state`, a random initial state.
    - `novel`: environments that are not used for training; may be empty.
    - `trajectories`: the default number of trajectories per environment, for each split.
    - `draws`: `(key, split, count) -> draws`, the arguments of `initial_state`, one per trajectory. Defaults to keys.
    - `solve`: `(state, parameters, times) -> states`. Defaults to adaptive steps with tolerance 1e-8.
    - `observe`: `state -> observed state`. Defaults to the whole state.
    - `protocol`: the name of the protocol, for the attributes of the data.
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
    observe: Callable[[Array], State] = identity
    protocol: str = "clean"

    def __post_init__(self):
        for name, parameters in {**self.environments, **self.novel}.items():
            expected = next(iter(self.environments.values()))
            if set(parameters) != set(expected):
                raise InputError(
                    f"environment `{name}` of system `{self.name}` must have the same parameters as the first one, "
                    f"{', '.join(expected) or 'none'}; got {', '.join(parameters) or 'none'}"
                )
        if np.ndim(self.times) != 1 or len(self.times) < 2 or not np.all(np.diff(self.times) > 0):
            raise InputError(f"`times` of system `{self.name}` must be an increasing sequence of at least two")

    def solved(self, state: State, parameters: Parameters) -> Array:
        """The observed states at all times, for one initial state and one environment."""
        import jax

        solve = self.solve or adaptive(self.tangent)
        return jax.vmap(self.observe)(solve(state, parameters, self.times))

    def environments_of(self, split: str) -> Environments:
        """The environments of a split."""
        if not isinstance(split, str) or split not in SPLITS:
            raise InputError(f"`split` must be one of {', '.join(SPLITS)}, got `{split}`")
        found = self.novel if split.startswith("novel") else self.environments
        if not found:
            raise InputError(f"system `{self.name}` has no {'novel ' * split.startswith('novel')}environments")
        return found
