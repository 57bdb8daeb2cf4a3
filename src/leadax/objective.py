"""What training makes small: the error of whole trajectories plus Ω/λ."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from ._types import PRNGKey
from .data.batch import Batch
from .errors import InputError
from .methods import Method, Observed, Parts
from .nets import Scaled


@dataclass(frozen=True)
class ScheduledSampling:
    """Exponential scheduled sampling: at step s a point restarts the forecast with probability decay^(1 + ⌊s/every⌋).

    One draw of points holds for all trajectories and environments of a step. `decay=0` never restarts, 1 always.

    >>> float(ScheduledSampling().probability(jnp.array(20)))
    0.970299
    """

    decay: float = 0.99
    every: int = 10

    def __post_init__(self):
        if not 0 <= self.decay <= 1:
            raise InputError(f"`decay` of ScheduledSampling must be from 0 to 1, got {self.decay}")
        if self.every < 1:
            raise InputError(f"`every` of ScheduledSampling must be at least 1, got {self.every}")

    @classmethod
    def falling_to(cls, last: float, steps: int) -> "ScheduledSampling":
        """ε that falls to `last` in so many steps.

        >>> round(float(ScheduledSampling.falling_to(0.1, 200).probability(jnp.array(199))), 3)
        0.1
        """
        if not 0 < last <= 1 or steps < 1:
            raise InputError(f"`last` must be above 0 and at most 1, `steps` at least 1; got {last} and {steps}")
        return cls(last ** (1 / steps), 1)

    def probability(self, step: Int[Array, ""]) -> Float[Array, ""]:
        """ε at this step."""
        return jnp.asarray(self.decay, float) ** jnp.asarray(1 + step // self.every, float)

    def restart(self, step: Int[Array, ""], complete: Bool[Array, "env traj time"], key: PRNGKey) -> Bool[Array, "..."]:
        """Where forecasts restart from the data: only where all of a state was observed."""
        drawn = jax.random.uniform(key, complete.shape[-1:]) < self.probability(step)
        return jnp.broadcast_to(drawn, complete.shape) & complete


class Terms(NamedTuple):
    """The parts of the objective, for the reader; `error` is the mean squared error of each environment."""

    error: Float[Array, " env"]
    penalty: Float[Array, " env"]


def objective(
    method: Method,
    parts: Parts,
    carry: PyTree,
    batch: Batch,
    restart: Bool[Array, "env traj time"] | None,
    error_scale: Float[Array, " channel"],
) -> tuple[Float[Array, ""], tuple[Terms, PyTree]]:
    """Mean squared error over all observed values + (1/λ)·Σ_e Ω(g_e).

    The error is that of forecast states; or, where the batch has slopes, that of (f + g_e)(x) against them.

    The error is a *mean* over environments, trajectories, times, channels and pixels while Ω is *summed* over
    environments, as in the experiments of the paper: λ does not carry over to other numbers of them.

    **Arguments**

    - `carry`: what the penalty carries between steps, stacked over environments;
    - `error_scale`: what the error of each channel is divided by before it is squared.

    Returns the loss, and its terms together with the new carry.
    """
    in_env = partial(_of_environment, method, parts.shared, error_scale)
    sums, counts, penalties, carry = jax.vmap(in_env)(parts.specific, carry, batch, restart)
    weight = method.penalty_weight or 0.0
    loss = jnp.sum(sums) / jnp.sum(counts) + weight * jnp.sum(penalties)
    return loss, (Terms(sums / jnp.maximum(counts, 1), penalties), carry)


def _of_environment(method: Method, shared, error_scale, specific, carry, batch: Batch, restart):
    def squares(trajectory: Batch, restart) -> tuple[Array, Array]:
        if trajectory.slopes is None:
            predicted = method.predict(shared, specific, Observed(trajectory.states, trajectory.times, restart))
            error = squared_error(predicted, trajectory, error_scale)
        else:
            f, g = method.decompose(shared, specific)
            predicted = jax.vmap(lambda x: f(x) + g(x))(trajectory.states)
            error = squared_error(predicted, trajectory._replace(states=trajectory.slopes), error_scale)
        return jnp.sum(error), jnp.sum(trajectory.observed, dtype=error.dtype)

    sums, counts = jax.vmap(squares)(batch, restart)
    net = method.penalised(shared, specific)
    if net is None or not method.penalty_weight or method.penalty is None:
        return jnp.sum(sums), jnp.sum(counts), jnp.zeros_like(sums[0]), carry
    # Points of all trajectories in a row: fewer axes, which a CPU is faster with.
    points = batch.states.reshape(-1, *batch.states.shape[2:])
    net, points = _in_its_own_units(net, points)
    penalty, carry = method.penalty(net, points, batch.complete.reshape(-1).astype(points.dtype), carry)
    return jnp.sum(sums), jnp.sum(counts), penalty, carry


def squared_error(
    predicted: Float[Array, "time *space channel"], trajectory: Batch, error_scale: Float[Array, " channel"]
) -> Float[Array, "time value"]:
    """Squared errors of the observed values of one trajectory, each state in a row, 0 where nothing was observed."""
    rows = lambda array: array.reshape(array.shape[0], math.prod(array.shape[1:]))
    error = (predicted - trajectory.states) / jnp.broadcast_to(error_scale, predicted.shape)
    # A forecast may be wild where nobody looks: not even its gradient may count there.
    return jnp.square(jnp.where(rows(trajectory.observed), rows(error), 0.0))


def init_carry(method: Method, parts: Parts, key: PRNGKey, environments: int) -> PyTree:
    """What the penalty carries into the first step, for all environments."""
    keys = jax.random.split(key, environments)

    def one(specific: PyTree, key: PRNGKey) -> PyTree:
        net = method.penalised(parts.shared, specific)
        if net is None or not method.penalty_weight or method.penalty is None:
            return ()
        return method.penalty.init(net.net if isinstance(net, Scaled) else net, key=key)

    return jax.vmap(one)(parts.specific, keys)


def _in_its_own_units(net: Any, points: Array) -> tuple[Any, Array]:
    """Ω of a scaled net is that of the net inside, which sees standardised states: it must not depend on units."""
    if not isinstance(net, Scaled):
        return net, points
    fixed = lambda a: jnp.broadcast_to(jax.lax.stop_gradient(a), points.shape)
    return net.net, (points - fixed(net.mean)) / fixed(net.scale)
