"""One pure training step, compiled once, many steps per call, all environments and all seeds in one pass."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import PartitionSpec
from jaxtyping import Array, Bool, Float, Int, PyTree

from ._types import PRNGKey
from .data.batch import Batch
from .errors import InputError
from .methods import Method, Parts
from .objective import ScheduledSampling, Terms, init_carry, objective


class TrainState(NamedTuple):
    """All that the next step needs, and so all that a checkpoint holds. Every array has a leading axis over seeds.

    - `carry`: what the penalty carries between steps;
    - `rate_scale`: what the learning rate is multiplied by; 1 unless a diverging run was sent back with less.
    """

    parts: Parts
    optimiser: PyTree
    carry: PyTree
    step: Int[Array, " seed"]
    key: Array
    rate_scale: Float[Array, " seed"]


class Progress(NamedTuple):
    """What the reader needs after some steps; axes (seed, …)."""

    loss: Float[Array, " seed"]
    terms: Terms
    finite: Bool[Array, " seed"]


@dataclass(frozen=True)
class Recipe:
    """How a method is trained: all that is fixed while a program runs.

    - `batch_size`: trajectories per environment and step, drawn at random; None for all;
    - `trainable`: which halves learn; `("specific",)` is what adapting to a novel environment means;
    - `meta`: whether the loss is that of where the method looks ahead to, as in meta-learning.
    """

    method: Method
    optimiser: optax.GradientTransformation
    sampling: ScheduledSampling
    batch_size: int | None = None
    trainable: tuple[str, ...] = ("shared", "specific")
    meta: bool = False
    error_scale: np.ndarray = field(default_factory=lambda: np.ones(1))

    def __post_init__(self):
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"`batch_size` must be at least 1, got {self.batch_size}")
        if not self.trainable or not set(self.trainable) <= set(Parts._fields):
            raise InputError(f"`trainable` must name `shared`, `specific` or both, got {self.trainable}")


def init_state(recipe: Recipe, parts: Parts, environments: int, key: PRNGKey) -> TrainState:
    """The state before the first step of one seed, from the two halves of its model."""
    for_carry, for_steps = jax.random.split(key)
    learnt, _ = _divide(recipe, parts)
    return TrainState(
        parts=parts,
        optimiser=recipe.optimiser.init(learnt),
        carry=init_carry(recipe.method, parts, for_carry, environments),
        step=jnp.array(0, jnp.int32),
        key=jax.random.key_data(for_steps),
        rate_scale=jnp.ones((), _dtype(parts)),
    )


def next_phase(recipe: Recipe, state: TrainState) -> TrainState:
    """The state of one seed as another recipe goes on with it: the optimiser begins anew, with what learns now."""
    learnt, _ = _divide(recipe, state.parts)
    return state._replace(optimiser=recipe.optimiser.init(learnt))


def advance_program(
    recipe: Recipe, devices: int = 1
) -> Callable[[TrainState, Batch, int], tuple[TrainState, Progress]]:
    """The compiled function `(state, batch, steps) -> (state, progress)`: runs so many steps in one call.

    It stops before a step whose loss is not finite: the state returned is the last good one. The number of steps is
    data, not a part of the program, so that it is compiled once. With several devices the seeds are spread over them;
    each goes through its own steps without waiting for the others.
    """
    run = partial(_run, recipe)
    if devices > 1:
        seed, same = PartitionSpec("seed"), PartitionSpec()
        mesh = jax.make_mesh((devices,), ("seed",), axis_types=(jax.sharding.AxisType.Auto,))
        run = jax.shard_map(run, mesh=mesh, in_specs=(seed, same, same), out_specs=seed, check_vma=False)
    compiled = jax.jit(run, donate_argnums=0)
    return lambda state, batch, steps: compiled(state, batch, jnp.asarray(steps, jnp.int32))


def _run(recipe: Recipe, state: TrainState, batch: Batch, steps: Int[Array, ""]) -> tuple[TrainState, Progress]:
    step = jax.vmap(partial(train_step, recipe), in_axes=(0, None))
    # Written out, not asked of `eval_shape`: tracing a step twice would double what a second start waits for.
    seeds, environments, dtype = len(state.step), len(batch.times), batch.states.dtype
    each = jnp.zeros((seeds, environments), dtype)
    nothing = Progress(jnp.zeros(seeds, dtype), Terms(each, each), jnp.ones(seeds, bool))

    def going_on(loop: tuple[Array, TrainState, Progress]) -> Array:
        count, _, progress = loop
        return (count < steps) & jnp.all(progress.finite)

    def once(loop: tuple[Array, TrainState, Progress]) -> tuple[Array, TrainState, Progress]:
        count, state, _ = loop
        new, progress = step(state, batch)
        good = jnp.all(progress.finite)
        return count + 1, jax.tree.map(lambda a, b: jnp.where(good, a, b), new, state), progress

    _, state, progress = jax.lax.while_loop(going_on, once, (jnp.array(0, jnp.int32), state, nothing))
    return state, progress


def train_step(recipe: Recipe, state: TrainState, batch: Batch) -> tuple[TrainState, Progress]:
    """One step of gradient descent of one seed on the objective. Pure: the same state gives the same bits."""
    # Keys depend on the step alone, not on what came before: resuming cannot change them.
    key = jax.random.fold_in(jax.random.wrap_key_data(state.key), state.step)
    for_points, for_trajectories = jax.random.split(key)
    batch = _drawn(recipe, batch, for_trajectories)
    restart = recipe.sampling.restart(state.step, batch.complete, for_points)
    learnt, fixed = _divide(recipe, state.parts)
    scale = jnp.asarray(recipe.error_scale, batch.states.dtype)

    def loss_of(learnt: PyTree) -> tuple[Array, Any]:
        parts: Parts = eqx.combine(learnt, fixed)
        if not recipe.meta:
            return objective(recipe.method, parts, state.carry, batch, restart, scale)
        support, query = _halves(batch, jax.random.fold_in(for_trajectories, 1))

        def error(specific: PyTree) -> Array:
            _, (terms, _) = objective(
                recipe.method, parts._replace(specific=specific), state.carry, support, restart, scale
            )
            return jnp.sum(terms.error)

        return objective(recipe.method, recipe.method.look_ahead(parts, error), state.carry, query, restart, scale)

    (loss, (terms, carry)), gradient = jax.value_and_grad(loss_of, has_aux=True)(learnt)
    with jax.numpy_dtype_promotion("standard"):  # Optax raises a float to an integer power
        updates, optimiser = recipe.optimiser.update(gradient, state.optimiser, learnt)
    updates = jax.tree.map(lambda u: u * state.rate_scale, updates)
    parts: Parts = eqx.combine(optax.apply_updates(learnt, updates), fixed)  # type: ignore[arg-type]
    finite = jnp.isfinite(loss) & jnp.all(jnp.isfinite(optax.tree.norm(updates)))
    new = TrainState(parts, optimiser, carry, state.step + 1, state.key, state.rate_scale)
    return new, Progress(loss, terms, finite)


def _drawn(recipe: Recipe, batch: Batch, key: PRNGKey) -> Batch:
    """`batch_size` trajectories of each environment, without repetition; padded ones only where there are too few."""
    if recipe.batch_size is None or recipe.batch_size >= batch.times.shape[1]:
        return batch
    real = batch.complete[:, :, 0]
    order = jnp.argsort(jnp.where(real, jax.random.uniform(key, real.shape), 1.0), axis=1)[:, : recipe.batch_size]
    return jax.tree.map(lambda array: jax.vmap(lambda a, i: a[i])(array, order), batch)


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


def _divide(recipe: Recipe, parts: Parts) -> tuple[Parts, Parts]:
    """What learns, and what does not."""
    learns = Parts(
        *(jax.tree.map(lambda a, n=name: n in recipe.trainable and eqx.is_inexact_array(a), half)
          for name, half in parts._asdict().items())
    )  # fmt: skip
    return eqx.partition(parts, learns)


def _dtype(parts: Parts) -> Any:
    return next(a.dtype for a in jax.tree.leaves(parts) if eqx.is_inexact_array(a))
