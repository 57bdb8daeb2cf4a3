"""How fast training runs on a machine: whole steps in the paper's settings, compared with the machine's limit."""

import json
import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import resources
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jaxtyping import PyTree

from .data.batch import Batch, to_batch
from .experiments import complete, settings_for
from .methods import Leads, Parts
from .model import cast
from .nets import Net
from .objective import ScheduledSampling, init_carry, objective
from .rollout.tableaux import find_tableau
from .systems import get_system, simulate
from .training import Recipe, advance_program, init_state

SYSTEMS = ("lotka-volterra", "gray-scott", "navier-stokes")


@dataclass(frozen=True)
class Problem:
    """One training step of LEADS: a method with its weights, and the trajectories of one batch.

    - `restart`: a draw of scheduled sampling at ε = 0.5, for comparing a step with that of another library.
    """

    recipe: Recipe
    parts: Parts
    carry: PyTree
    batch: Batch
    restart: np.ndarray

    @classmethod
    def of(cls, system: str, **sizes: int) -> "Problem":
        """The paper's setting (protocol `paper`) with random weights. `sizes` are as in `stretched`."""
        data = simulate(get_system(system, "paper"), key=jr.key(0))
        settings = settings_for(data)
        count = settings.batch_size or data.states.shape[1]
        batch = stretched(jax.tree.map(lambda a: a[:, :count], to_batch(data, jnp.float32)), **sizes)
        method = complete(Leads(), settings, "paper")
        m, shape = len(batch.times), batch.states.shape[3:]
        parts = cast(jax.jit(lambda key: method.init(shape, m, key=key))(jr.key(0)), jnp.float32)
        carry = jax.jit(lambda key: init_carry(method, parts, key, m))(jr.key(1))
        restart = np.broadcast_to(np.random.default_rng(0).uniform(size=batch.times.shape[-1]) < 0.5, batch.times.shape)
        recipe = Recipe(method, optax.adam(1e-3), ScheduledSampling(), error_scale=np.ones(shape[-1]))
        return cls(recipe, parts, carry, batch, restart)

    def loss_and_gradient(self) -> tuple[float, Parts]:
        """The loss and the gradient of one step, with `restart`."""
        scale = jnp.ones(self.batch.states.shape[-1], jnp.float32)
        loss = partial(objective, self.recipe.method)
        value = lambda parts: loss(parts, self.carry, self.batch, jnp.asarray(self.restart), scale)
        (total, _), gradient = jax.jit(jax.value_and_grad(value, has_aux=True))(self.parts)
        return float(total), gradient

    def program(self, seeds: int = 1, devices: int = 1) -> Callable[[int], None]:
        """A function that takes a number of training steps, with scheduled sampling and Adam."""
        one = lambda key: init_state(self.recipe, self.parts, len(self.batch.times), key)
        state = jax.jit(jax.vmap(one))(jr.split(jr.key(2), seeds))
        advance = advance_program(self.recipe, devices)

        def run(steps: int) -> None:
            nonlocal state
            state, progress = advance(state, self.batch, steps)
            jax.block_until_ready(progress)

        return run

    @property
    def operations(self) -> float:
        """Floating-point operations of a step: the number of evaluations times the operations of one.

        Both f and g_e are evaluated at each stage of each interval of each trajectory, and Ω evaluates g_e at each
        observed state. (Each evaluation is counted with its full gradient, although the first layer needs none with
        respect to the data, and Ω none with respect to the states.)
        """
        m, n, k = self.batch.times.shape
        stages = len(find_tableau(self.recipe.method.solver or "rk4").b)
        per_state = operations_of(self.parts.shared, self.batch.states.shape[3:])
        return per_state * m * n * (2 * stages * (k - 1) + k)


def operations_of(net: Net, state_shape: tuple[int, ...]) -> float:
    """Floating-point operations of one evaluation of a net, forward and backward, as XLA counts them.

    They are counted in the program before it is optimised, so nothing is compiled. Convolutions count with the
    operations of the algorithm that computes them (see `leadax.nets.winograd`), not those of the definition.

    >>> import jax
    >>> from leadax.nets import Linear
    >>> operations_of(Linear((8,), key=jax.random.key(0)), (8,)) == 3 * (2 * 8 * 8)
    True
    """
    dtype = jax.tree.leaves(net)[0].dtype
    time_, state = (jax.ShapeDtypeStruct(shape, dtype) for shape in ((), state_shape))

    def forward_and_backward(net, t, x, cotangent):
        tangent, transpose = jax.vjp(lambda net, x: net(t, x, None), net, x)
        return tangent, transpose(cotangent)

    counted = jax.jit(forward_and_backward).lower(net, time_, state, state).cost_analysis()
    return counted["flops"] if counted else math.nan  # not every platform counts


def stretched(
    batch: Batch,
    *,
    environments: int | None = None,
    trajectories: int | None = None,
    points: int | None = None,
    grid: int | None = None,
) -> Batch:
    """The data in other sizes, repeated as needed. For timing, not for learning."""
    m, n, k = batch.times.shape
    some = lambda new, old: jnp.arange(new or old) % old
    pick = np.ix_(some(environments, m), some(trajectories, n), some(points, k))
    first, second = np.asarray(batch.times[0, 0, :2])
    times = first + (second - first) * np.arange(points or k)
    batch = jax.tree.map(lambda a: a[pick], batch)
    batch = batch._replace(times=jnp.broadcast_to(jnp.asarray(times, batch.times.dtype), batch.times.shape))
    if grid is None:
        return batch
    repeat = lambda a: jnp.tile(a, [1] * 3 + [grid // size for size in a.shape[3:-1]] + [1])
    return batch._replace(states=repeat(batch.states), observed=repeat(batch.observed))


def product_rate() -> float:
    """Floating-point operations per second in a product of two 2048 × 2048 float32 matrices: the best of 8."""
    a = jnp.ones((2048, 2048), jnp.float32)
    product = jax.jit(lambda a: a @ a)
    product(a).block_until_ready()
    return 2 * 2048**3 / min(_seconds(lambda: product(a).block_until_ready()) for _ in range(8))


def interleaved(runners: dict[str, tuple[Callable[[int], Any], int]], rounds: int) -> dict[str, float]:
    """Milliseconds per step of each runner: medians over rounds in which the runners take turns.

    - `runners`: a function of the number of steps, and the steps in each of its turns, by name.
    """
    times: dict[str, list[float]] = {name: [] for name in runners}
    for _ in range(rounds):
        for name, (run, steps) in runners.items():
            times[name].append(1e3 * _seconds(partial(run, steps)) / steps)
    return {name: statistics.median(found) for name, found in times.items()}


def _seconds(work: Callable[[], Any]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def measured(system: str, seconds: float = 5.0) -> dict[str, float]:
    """The time of one step on this machine, the limit, their ratio, and the time until the first step.

    The limit is the time that the operations of a step would take at the rate of large matrix products.
    """
    problem = Problem.of(system)
    begin = time.perf_counter()
    run = problem.program()
    run(1)
    first = time.perf_counter() - begin
    steps = max(1, math.ceil(seconds / 5 / _seconds(partial(run, 1))))
    rates: list[float] = []
    ms = interleaved({system: (run, steps), "products": (lambda _: rates.append(product_rate()), 1)}, rounds=5)[system]
    rate = statistics.median(rates)
    limit = 1e3 * problem.operations / rate
    return {
        "ms_per_step": ms,
        "limit_ms": limit,
        "share_of_limit": limit / ms,
        "first_step_s": first,
        "product_gflop_per_s": rate / 1e9,
    }


def reference() -> dict[str, dict[str, Any]]:
    """What `make bench` measured on the reference machine: a link to benchmarks/results.json."""
    return json.loads(resources.files("leadax").joinpath("speed.json").read_text())
