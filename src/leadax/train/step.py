"""One pure training step; many of them per call of one program, all environments and all members in one pass."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Float, Int, PyTree

from .._types import PRNGKey
from ..data.batch import Batch
from ..errors import InputError
from ..methods import Levels, Method
from ..methods.prepare import Frozen
from .loss import Terms, first_carry, loss
from .optimisers import Optimiser
from .sampling import ScheduledSampling

# What is local are numbers of size one, each of which matters to one trajectory only: they may move faster, and have to
# where a net begins at the law and learns slowly.
LOCAL_RATE, LEAST_LOCAL_RATE = 10.0, 1e-2


class TrainState(NamedTuple):
    """All that the next step needs, and so all that a checkpoint holds. Every array has a leading axis over members.

    - `carry`: what the penalty carries between steps;
    - `rate`: the highest learning rate; smaller than asked for where a diverging run was sent back.
    """

    levels: Levels
    optimiser: PyTree
    carry: PyTree
    step: Int[Array, " member"]
    key: Array
    rate: Float[Array, " member"]


class Progress(NamedTuple):
    """What the reader needs after some steps; axes (member, …)."""

    loss: Float[Array, " member"]
    terms: Terms
    finite: Bool[Array, " member"]


@dataclass(frozen=True)
class Plan:
    """How one phase of training goes: everything that a program is compiled for, beside method and shapes.

    - `batch_size`: trajectories per environment and step, drawn at random; None for all;
    - `trainable`: which levels learn; `("specific",)` is what adapting to a new environment means;
    - `meta`: whether the loss is taken where the method looks ahead to, as in meta-learning;
    - `weight_decay`: γ of `leadax.train.loss.loss`.
    """

    optimiser: Optimiser = field(default_factory=Optimiser)
    batch_size: int | None = None
    trainable: tuple[str, ...] = Levels._fields
    meta: bool = False
    weight_decay: float = 0.0

    def __post_init__(self):
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"`batch_size` must be at least 1, got {self.batch_size}")
        if not self.trainable or not set(self.trainable) <= set(Levels._fields):
            raise InputError(f"`trainable` must name some of {', '.join(Levels._fields)}, got {self.trainable}")


class Span(NamedTuple):
    """The steps that a phase takes: the learning rate follows them."""

    begin: Int[Array, ""]
    length: Int[Array, ""]


def first_state(plan: Plan, method: Method, levels: Levels, environments: int, key: PRNGKey, rate: Array) -> TrainState:
    """The state of one member before its first step."""
    for_carry, for_steps = jax.random.split(key)
    learnt, _ = _divide(plan, levels)
    return TrainState(
        levels=levels,
        optimiser=plan.optimiser.transformation().init(learnt),
        carry=first_carry(method, levels, for_carry, environments),
        step=jnp.array(0, jnp.int32),
        key=jax.random.key_data(for_steps),
        rate=rate,
    )


def next_phase(plan: Plan, state: TrainState) -> TrainState:
    """The state of one member as another phase goes on with it: the optimiser begins anew, with what learns now."""
    learnt, _ = _divide(plan, state.levels)
    return state._replace(optimiser=plan.optimiser.transformation().init(learnt))


def advance(
    plan: Plan,
    method: Method,
    state: TrainState,
    batch: Batch,
    sampling: ScheduledSampling,
    span: Span,
    steps: int,
    *,
    devices: int = 1,
) -> tuple[TrainState, Progress]:
    """Take so many steps in one call of a compiled program. `state` is used up: its memory is reused.

    It stops before a step whose loss is not finite: the state returned is the last good one. Everything that may change
    without compiling again is an array: the number of steps, learning rates, weights of penalties. With several devices
    the members are spread over them; each goes through its own steps without waiting for the others.

    **Arguments**

    - `method`: its numbers as arrays with a leading axis over members (`side_by_side`).
    """
    numbers, static = eqx.partition(method, eqx.is_array)
    count = jnp.asarray(steps, jnp.int32)
    return _advance(plan, Frozen(static), devices, numbers, state, batch, sampling, span, count)


@partial(jax.jit, static_argnums=(0, 1, 2), donate_argnums=4)
def _advance(
    plan: Plan,
    static: Frozen,
    devices: int,
    numbers: PyTree,
    state: TrainState,
    batch: Batch,
    sampling: ScheduledSampling,
    span: Span,
    count: Array,
) -> tuple[TrainState, Progress]:
    run = partial(_run, plan, static)
    if devices > 1:
        member, same = PartitionSpec("member"), PartitionSpec()
        mesh = jax.make_mesh((devices,), ("member",), axis_types=(jax.sharding.AxisType.Auto,))
        specs = (member, member, same, same, same, same)
        run = jax.shard_map(run, mesh=mesh, in_specs=specs, out_specs=member, check_vma=False)
    return run(numbers, state, batch, sampling, span, count)


def _run(
    plan: Plan,
    static: Frozen,
    numbers: PyTree,
    state: TrainState,
    batch: Batch,
    sampling: ScheduledSampling,
    span: Span,
    count: Array,
) -> tuple[TrainState, Progress]:
    def one(numbers: PyTree, state: TrainState) -> tuple[TrainState, Progress]:
        return train_step(plan, eqx.combine(numbers, static.tree), state, batch, sampling, span)

    # Written out, not asked of `eval_shape`: tracing a step twice would double what a second start waits for.
    members, environments, dtype = len(state.step), len(batch.times), batch.states.dtype
    each = jnp.zeros((members, environments), dtype)
    nothing = Progress(jnp.zeros(members, dtype), Terms(each, each), jnp.ones(members, bool))

    def going_on(loop: tuple[Array, TrainState, Progress]) -> Array:
        done, _, progress = loop
        return (done < count) & jnp.all(progress.finite)

    def once(loop: tuple[Array, TrainState, Progress]) -> tuple[Array, TrainState, Progress]:
        done, state, _ = loop
        new, progress = jax.vmap(one)(numbers, state)
        good = jnp.all(progress.finite)
        return done + 1, jax.tree.map(lambda a, b: jnp.where(good, a, b), new, state), progress

    _, state, progress = jax.lax.while_loop(going_on, once, (jnp.array(0, jnp.int32), state, nothing))
    return state, progress


def train_step(
    plan: Plan, method: Method, state: TrainState, batch: Batch, sampling: ScheduledSampling, span: Span
) -> tuple[TrainState, Progress]:
    """One step of gradient descent of one member. Pure: the same state gives the same bits."""
    # Keys depend on the step alone, not on what came before: resuming cannot change them.
    key = jax.random.fold_in(jax.random.wrap_key_data(state.key), state.step)
    for_points, for_trajectories = jax.random.split(key)
    batch, drawn = _drawn(plan, batch, for_trajectories)
    restart = sampling.restart(state.step, batch.complete, for_points)
    learnt, fixed = _divide(plan, state.levels)

    def loss_of(learnt: PyTree) -> tuple[Array, Any]:
        levels: Levels = drawn(eqx.combine(learnt, fixed))
        if not plan.meta:
            return loss(method, levels, state.carry, batch, restart, plan.weight_decay)
        support, query = _halves(batch, jax.random.fold_in(for_trajectories, 1))
        error = lambda specific: _error(method, levels._replace(specific=specific), state.carry, support, restart)
        ahead = levels._replace(specific=method.look_ahead(levels.specific, error))
        return loss(method, ahead, state.carry, query, restart, plan.weight_decay)

    (value, (terms, carry)), gradient = jax.value_and_grad(loss_of, has_aux=True)(learnt)
    with jax.numpy_dtype_promotion("standard"):  # Optax raises a float to an integer power
        updates, optimiser = plan.optimiser.transformation().update(gradient, state.optimiser, learnt)
    share = plan.optimiser.share_of_rate(state.step - span.begin, span.length).astype(state.rate.dtype)
    rates = Levels(state.rate, state.rate, jnp.maximum(LOCAL_RATE * state.rate, LEAST_LOCAL_RATE))
    moves: Levels = updates  # pyright: ignore[reportAssignmentType]  # Optax has no types
    scaled = zip(rates, moves, strict=True)
    updates = Levels(*(jax.tree.map(lambda u, r=rate: u * (share * r), level) for rate, level in scaled))
    moved = jax.tree.map(lambda weight, update: weight + update.astype(weight.dtype), learnt, updates)
    levels: Levels = eqx.combine(moved, fixed)
    finite = jnp.isfinite(value) & jnp.all(jnp.isfinite(optax.tree.norm(updates)))
    new = TrainState(levels, optimiser, carry, state.step + 1, state.key, state.rate)
    return new, Progress(value, terms, finite)


def _error(method: Method, levels: Levels, carry: PyTree, batch: Batch, restart: Array) -> Float[Array, ""]:
    """The error alone, summed over environments."""
    _, (terms, _) = loss(method, levels, carry, batch, restart)
    return jnp.sum(terms.error)


def _drawn(plan: Plan, batch: Batch, key: PRNGKey) -> tuple[Batch, Callable[[Levels], Levels]]:
    """`batch_size` trajectories of each environment, without repetition; padded ones only where there are too few.

    The second value picks what is local to them out of the parameters.
    """
    if plan.batch_size is None or plan.batch_size >= batch.times.shape[1]:
        return batch, lambda levels: levels
    real = batch.complete[:, :, 0]
    order = jnp.argsort(jnp.where(real, jax.random.uniform(key, real.shape), 1.0), axis=1)[:, : plan.batch_size]
    pick = lambda tree: jax.tree.map(lambda array: jax.vmap(lambda a, i: a[i])(array, order), tree)
    return pick(batch), lambda levels: levels._replace(local=pick(levels.local))


def _halves(batch: Batch, key: PRNGKey) -> tuple[Batch, Batch]:
    """The trajectories of each environment in two random halves; twice the same where there is only one."""
    real = batch.complete[:, :, 0]
    place = jnp.argsort(jnp.argsort(jnp.where(real, jax.random.uniform(key, real.shape), 1.0), axis=1), axis=1)
    count = jnp.sum(real, axis=1, keepdims=True, dtype=place.dtype)
    middle = (count + 1) // 2
    only = lambda chosen: batch._replace(
        observed=batch.observed & chosen.reshape(*chosen.shape, *(1,) * (batch.observed.ndim - 2))
    )
    return only(place < middle), only((place >= middle) | (count == 1))


def _divide(plan: Plan, levels: Levels) -> tuple[Levels, Levels]:
    """What learns, and what does not."""
    learns = Levels(
        *(jax.tree.map(lambda a, n=name: n in plan.trainable and eqx.is_inexact_array(a), level)
          for name, level in levels._asdict().items())
    )  # fmt: skip
    return eqx.partition(levels, learns)
