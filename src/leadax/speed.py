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
from jaxtyping import Array, PyTree

from .arrays import cast
from .data.batch import Batch, to_batch
from .defaults import preset
from .methods import Leads, Levels, Sizes
from .methods.prepare import side_by_side
from .nets import Net
from .rollout import steps_between
from .rollout.tableaux import find_tableau
from .systems import get_system, simulate
from .train import ScheduledSampling
from .train.loss import first_carry, loss
from .train.step import Plan, Span, advance, first_state

SYSTEMS = ("lotka-volterra", "gray-scott", "navier-stokes")


@dataclass(frozen=True)
class Problem:
    """One training step of LEADS: a method with its weights, and the trajectories of one batch.

    - `carry`: what the penalty carries between steps;
    - `restart`: a draw of scheduled sampling at ε = 0.5, for comparing a step with that of another library.
    """

    method: Leads
    levels: Levels
    carry: PyTree
    batch: Batch
    restart: np.ndarray

    @classmethod
    def of(cls, system: str, **sizes: int) -> "Problem":
        """The paper's setting (protocol `paper`) with random weights. `sizes` are as in `stretched`."""
        data = simulate(get_system(system, "paper"), key=jr.key(0))
        defaults = preset(system, data, protocol="paper")
        count = defaults.batch_size or data.states.shape[1]
        batch = jax.tree.map(lambda a: a[:, :count], to_batch(data, defaults.units, jnp.float32))
        batch = stretched(batch, **sizes)
        of_data = Sizes(batch.states.shape[3:], len(batch.times))
        method = defaults.complete(Leads(), of_data)
        assert isinstance(method, Leads)
        levels = cast(Levels(*jax.jit(lambda key: method.init(of_data, key=key))(jr.key(0))), jnp.float32)
        carry = jax.jit(lambda key: first_carry(method, levels, key, of_data.environments))(jr.key(1))
        restart = np.broadcast_to(np.random.default_rng(0).uniform(size=batch.times.shape[-1]) < 0.5, batch.times.shape)
        return cls(method, levels, carry, batch, restart)

    def loss_and_gradient(self) -> tuple[float, Levels]:
        """The loss and the gradient of one step, with `restart`."""
        value = lambda levels: loss(self.method, levels, self.carry, self.batch, jnp.asarray(self.restart))
        (total, _), gradient = jax.jit(jax.value_and_grad(value, has_aux=True))(self.levels)
        return float(total), gradient

    def program(self, seeds: int = 1, devices: int = 1) -> Callable[[int], None]:
        """A function that takes a number of training steps, with scheduled sampling and Adam."""
        plan, rate = Plan(), jnp.asarray(1e-3, jnp.float32)
        one = lambda key: first_state(plan, self.method, self.levels, len(self.batch.times), key, rate)
        state = jax.jit(jax.vmap(one))(jr.split(jr.key(2), seeds))
        method, sampling = side_by_side([self.method], seeds, jnp.float32), ScheduledSampling()
        span = Span(jnp.asarray(0, jnp.int32), jnp.asarray(2**30, jnp.int32))

        def run(steps: int) -> None:
            nonlocal state
            state, progress = advance(plan, method, state, self.batch, sampling, span, steps, devices=devices)
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
        stages = len(find_tableau(self.method.solver or "rk4").b)
        per_state = operations_of(self.levels.shared, self.batch.states.shape[3:])
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

    def forward_and_backward(net: Net, t: Array, x: Array, cotangent: Array) -> tuple[Array, tuple[Net, Array]]:
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
    """The data in other sizes, repeated as needed, with the solver's steps. For timing, not for learning."""
    m, n, k = batch.times.shape
    some = lambda new, old: jnp.arange(new or old) % old
    pick = np.ix_(some(environments, m), some(trajectories, n), some(points, k))
    first, second = np.asarray(batch.times[0, 0, :2])
    times = first + (second - first) * np.arange(points or k)
    batch = jax.tree.map(lambda a: a[pick], batch._replace(steps=None, begin=None))
    times = np.broadcast_to(times, batch.times.shape)
    steps = steps_between(times, dtype=batch.times.dtype)
    batch = batch._replace(times=jnp.asarray(times, batch.times.dtype), steps=steps)
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
