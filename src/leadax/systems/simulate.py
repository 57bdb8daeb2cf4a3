"""Simulate trajectories of a system, in batches that run all environments in one compiled program."""

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .._types import PRNGKey
from ..arrays import key_numbers
from ..data import Trajectories
from ..errors import RunError, expect, whole
from .solve import Parameters
from .system import Environments, System

# How many numbers the states of one batch have. 128 KiB, so that all stages of a Runge–Kutta step fit into a core's
# cache: larger batches were up to twice as slow per trajectory on Gray–Scott and Navier–Stokes.
BATCH_NUMBERS = 2**14


def simulate(
    system: System,
    *,
    key: PRNGKey,
    split: str = "train",
    trajectories: int | None = None,
    environments: int | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Trajectories:
    """Simulate trajectories of a system, in float64.

    The i-th initial state is the same in all environments. It depends on the key, the split and i only.

    **Arguments**

    - `system`: see `System`. `leadax.systems.get_system` has those of the paper.
    - `key`: a `jax.random` key. The same key gives the same data, bit for bit, on the same machine.
    - `split`: `train`, `test`, `novel` (environments that are not used for training) or `novel-test`.
    - `trajectories`: the number of trajectories per environment. Defaults to the system's own for this split.
    - `environments`: simulate only the first so many environments. Defaults to all.
    - `progress`: called with the number of finished trajectories and their total.

    >>> import jax.random as jr
    >>> from leadax.systems import get_system
    >>> simulate(get_system("lotka-volterra"), split="test", key=jr.key(0), environments=3)
    Trajectories(3 environments, 32 trajectories each, 20 times, channels u, v)
    """
    expect("system", system, System, "leadax.systems.get_system(NAME)")
    digits = " ".join(map(str, key_numbers(key)))
    chosen = _first(system.environments_of(split), environments)
    count = system.trajectories.get(split, 1) if trajectories is None else whole("trajectories", trajectories)
    with jax.enable_x64(True):
        batches = list(_batches(system, chosen, system.draws(key, split, count), progress))
    states = np.concatenate(batches, axis=1)[:, :count]
    _check_solved(states, system, list(chosen))
    return Trajectories.from_arrays(
        system.times,
        states,
        environments=tuple(chosen),
        channels=system.channels,
        parameters={name: [chosen[e][name] for e in chosen] for name in _parameter_names(chosen)},
        attributes={"system": system.name, "protocol": system.protocol, "split": split, "key": digits},
    )


def _batches(
    system: System,
    environments: Environments,
    draws: Array,
    progress: Callable[[int, int], None],
) -> Iterator[np.ndarray]:
    count = len(draws)
    parameters = {n: jnp.array([environments[e][n] for e in environments]) for n in _parameter_names(environments)}
    numbers = math.prod(jax.eval_shape(system.initial_state, draws[0]).shape) * len(environments)
    # Two batches or more, so that a second core has work.
    size = max(1, min(BATCH_NUMBERS // numbers, math.ceil(count / 2)))
    starts = range(0, count, size)
    # Fill the last batch, so that only one shape is compiled. `simulate` removes the surplus.
    draws = draws[np.minimum(np.arange(len(starts) * size), count - 1)]
    program = _compiled(system, size, draws.shape[1:], draws.dtype, len(environments), tuple(parameters))

    def run(start: int) -> np.ndarray:
        with jax.enable_x64(True):  # this setting is local to a thread
            return np.asarray(program(draws[start : start + size], parameters))

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, states in enumerate(pool.map(run, starts), start=1):
            progress(min(done * size, count), count)
            yield states


@lru_cache(maxsize=16)
def _compiled(
    system: System, size: int, shape: tuple[int, ...], dtype: Any, environments: int, names: tuple[str, ...]
) -> Callable[..., Array]:
    # Compiled ahead of time, so that not every thread compiles it, and cached: it takes longer than most solves.
    draws = jax.ShapeDtypeStruct((size, *shape), dtype)
    parameters = {name: jax.ShapeDtypeStruct((environments,), jnp.float64) for name in names}
    return jax.jit(partial(_solve_batch, system, environments)).lower(draws, parameters).compile()


def _solve_batch(system: System, environments: int, draws: Array, parameters: Parameters) -> Array:
    """States `(env, traj, time, *space, channel)`. All environments start from the same initial states."""
    initial = jax.vmap(system.initial_state)(draws)
    every_trajectory = jax.vmap(system.solved, in_axes=(0, None))
    return jax.vmap(every_trajectory, in_axes=(None, 0), axis_size=environments)(initial, parameters)


def _check_solved(states: np.ndarray, system: System, environments: Sequence[str]) -> None:
    bad = np.argwhere(~np.isfinite(states))
    if len(bad):
        e, i, k = bad[np.argmin(bad[:, 2])][:3]
        raise RunError(
            f"the simulation of `{system.name}` blows up in environment `{environments[e]}`, trajectory {i}, "
            f"before time {system.times[k]:g}: check the parameters and the initial states; nothing was written"
        )


def _first(environments: Environments, count: int | None) -> Environments:
    if count is None:
        return environments
    return dict(list(environments.items())[: whole("environments", count, most=len(environments))])


def _parameter_names(environments: Environments) -> list[str]:
    return list(next(iter(environments.values())))
