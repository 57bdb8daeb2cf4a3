"""A training run, from its first state to a model: looks at the test set, checkpoints, resumes, stops when told."""

import time
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array, DTypeLike

from ._types import PRNGKey
from .arrays import fill, flatten
from .checkpoint import RunFolder
from .data import Trajectories
from .data.batch import Batch, to_batch, with_slopes
from .derivatives import ESTIMATES
from .errors import InputError, LeadaxError, RunError, lookup
from .evaluation import error_program, summarise
from .methods import Method, Parts
from .model import Model, cast, check_order
from .optimisers import Decay
from .training import Progress, Recipe, TrainState, advance_program, init_state, next_phase

# A call of the compiled program lasts about this long: rare enough to cost nothing, short enough to stop when told.
SECONDS_PER_CALL = 1.0
RETRIES = 8


class Interrupted(LeadaxError):
    """Training was told to stop, and saved what it had."""

    exit_status = 130


class Look(NamedTuple):
    """What a listener hears of: where training stands. Errors have one number per seed."""

    step: int
    steps: int
    loss: np.ndarray
    test: np.ndarray | None
    seconds: float


@dataclass(frozen=True)
class Schedule:
    """How long to train and how fast.

    - `steps`: gradient steps; `learning_rate`: the highest on the way, that of the first step but in one cycle;
    - `decay`: `cosine` to zero at the last step; `constant` as in the paper; or `one-cycle`, up and down;
    - `look_every`, `checkpoint_every`: steps between looks at the test set, and between checkpoints.
    """

    steps: int = 12_000
    learning_rate: float = 1e-3
    decay: Decay = "cosine"
    look_every: int = 50
    checkpoint_every: int = 1_000

    def __post_init__(self):
        for name in ("steps", "learning_rate", "look_every", "checkpoint_every"):
            if not getattr(self, name) > 0:
                raise InputError(f"`{name}` must be positive, got {getattr(self, name)}")
        lookup("decay", self.decay, dict.fromkeys(get_args(Decay)))


class Stage(NamedTuple):
    """A phase of training as it is carried out: by this recipe, up to this step."""

    end: int
    recipe: Recipe


class Job:
    """One training run: holds what does not change, so that the loop reads as what happens."""

    def __init__(self, stages, schedule, train, test, config, dtype, listen, warn, should_stop, on_divergence):
        self.stages: tuple[Stage, ...] = stages
        self.method: Method = stages[0].recipe.method
        self.schedule: Schedule = schedule
        self.train: Trajectories = train
        self.test: Trajectories | None = test
        self.config: dict[str, Any] = config
        self.listen, self.warn, self.should_stop = listen, warn, should_stop
        self.retry = on_divergence == "retry"
        self.dtype = dtype
        self.batch = to_batch(train, dtype)
        if match := config.get("match"):
            self.batch = with_slopes(self.batch, ESTIMATES[match])
        self.test_batch = checked_test(train, test, dtype)
        self.devices = _devices(config["seeds"])
        self.advance = [advance_program(stage.recipe, self.devices) for stage in stages]
        self.errors = error_program(self.method)
        self.looks: list[dict[str, Any]] = []

    def first_state(self, key: PRNGKey, seeds: int, start: Parts | None) -> TrainState:
        """The states of all seeds before the first step, from random weights or from these parts."""
        state = self._random_state(key, seeds)
        if start is None:
            return state
        return state._replace(parts=fill(state.parts, flatten(cast(start, self.dtype)), "`start`"))

    def _random_state(self, key: PRNGKey, seeds: int) -> TrainState:
        environments = len(self.train.environments)

        def one(key: PRNGKey) -> TrainState:
            for_parts, for_state = jax.random.split(key)
            parts = self.method.init(self.train.state_shape, environments, key=for_parts)
            return init_state(self.stages[0].recipe, cast(parts, self.dtype), environments, for_state)

        # Seed k has the same weights whether it is trained alone or with others.
        keys = jax.vmap(lambda k: jax.random.fold_in(key, k))(jnp.arange(seeds))
        return jax.jit(jax.vmap(one))(keys)

    def run(self, state: TrainState, folder: RunFolder | None) -> Model:
        """Train to the end from this state, or from the newest checkpoint in the folder."""
        template = lambda step: jax.eval_shape(lambda: self._entered(state, self._stage(step - 1)))
        found = folder.load_checkpoint(template) if folder else None
        if found:
            state, _ = found
        state = self._placed(state)
        step = int(state.step[0])
        self._forget_looks_after(step, folder)
        begun, spent = time.perf_counter(), self.looks[-1]["seconds"] if self.looks else 0.0
        good, retries = jax.device_get(state), 0
        while step < self.schedule.steps:
            if step in self._beginnings:
                state = self._placed(self._entered(jax.device_get(state), self._stage(step)))
            state, progress, stop = self._until_next_event(state, step)
            step = int(state.step[0])
            if not np.all(progress.finite):
                retries += 1
                state = self._go_back(good, progress, state.step, retries)
                step = int(state.step[0])
                self._forget_looks_after(step, folder)
                continue
            if step % self.schedule.look_every == 0 or step == self.schedule.steps:
                self._look(state, progress, step, spent + time.perf_counter() - begun, folder)
            if step % self.schedule.checkpoint_every == 0 or step == self.schedule.steps or stop:
                good, retries = jax.device_get(state), 0
                if folder:
                    folder.save_checkpoint(good, step)
            if stop:
                where = f"; run the same again to go on from {folder.path}" if folder else ""
                raise Interrupted(f"stopped at step {step} of {self.schedule.steps}{where}")
        return self._model(jax.device_get(state))

    @property
    def _beginnings(self) -> list[int]:
        return [stage.end for stage in self.stages[:-1]]

    def _stage(self, step: int) -> int:
        """The number of the stage that takes the step after this one."""
        return sum(end <= step for end in self._beginnings)

    def _entered(self, state: TrainState, stage: int) -> TrainState:
        """The state as this stage begins with it. The first one needs nothing; doing it again changes nothing."""
        return state if stage == 0 else jax.vmap(partial(next_phase, self.stages[stage].recipe))(state)

    def _until_next_event(self, state: TrainState, step: int) -> tuple[TrainState, Progress, bool]:
        """Go on to the next look, checkpoint or end, in calls of about a second; True at last if told to stop."""
        schedule = self.schedule
        following = lambda every: (step // every + 1) * every
        stage = self._stage(step)
        events = (following(schedule.look_every), following(schedule.checkpoint_every), self.stages[stage].end)
        target = min(events)
        size = 1 if not hasattr(self, "_pace") else max(1, int(SECONDS_PER_CALL / self._pace))
        while True:
            count = min(size, target - step)
            begin = time.perf_counter()
            state, progress = self.advance[stage](state, self.batch, count)
            progress = jax.device_get(progress)
            self._pace = (time.perf_counter() - begin) / count
            step += count
            if not np.all(progress.finite):
                return state, progress, False
            # Asked after every call, also where one call reaches the target: small systems always do.
            stop = step < schedule.steps and self.should_stop()
            if stop or step >= target:
                return state, progress, stop
            size = max(1, int(SECONDS_PER_CALL / self._pace))

    def _go_back(self, good: TrainState, progress: Progress, steps: Array, retries: int) -> TrainState:
        # The seed that went wrong, and its environment with the largest error, or the first that is not a number.
        # Seeds on other devices may have gone further.
        seed = int(np.argmin(progress.finite))
        step = int(steps[seed])
        e = int(np.argmax(np.nan_to_num(progress.terms.error[seed], nan=np.inf, posinf=np.inf)))
        what = (
            f"the loss is not finite at step {step + 1}, in environment `{self.train.environments[e]}` of seed {seed}; "
            + (f"the last good checkpoint is of step {int(good.step[0])}" if good.step[0] else "no checkpoint yet")
        )
        if not self.retry or retries > RETRIES:
            raise RunError(f"{what}: try a smaller learning rate, more substeps, or --on-divergence retry")
        scale = good.rate_scale * 0.5**retries
        self.warn(f"{what}: going on from there with {float(scale.min()):g} times the learning rate")
        return self._placed(good._replace(rate_scale=scale))

    def _forget_looks_after(self, step: int, folder: RunFolder | None) -> None:
        """What comes after this step will be computed again."""
        self.looks = folder.metrics(up_to=step) if folder else [line for line in self.looks if line["step"] <= step]

    def _look(self, state: TrainState, progress: Progress, step: int, seconds: float, folder: RunFolder | None) -> None:
        test = None
        if self.test is not None and self.test_batch is not None:
            sums = self.errors(state.parts, self.test_batch)
            test = summarise(sums, self.test_batch, self.test.environments, self.config["protocol"]).mse_per_seed
        line = {
            "step": step,
            "loss": progress.loss.tolist(),
            "error": progress.terms.error.mean(axis=1).tolist(),
            "penalty": progress.terms.penalty.sum(axis=1).tolist(),
            "test": None if test is None else test.tolist(),
            "seconds": seconds,
        }
        self.looks.append(line)
        if folder:
            folder.log(line)
        self.listen(Look(step, self.schedule.steps, np.asarray(progress.loss), test, seconds))

    def _placed(self, state: TrainState) -> TrainState:
        if self.devices == 1:
            return jax.tree.map(jnp.asarray, state)
        mesh = jax.make_mesh((self.devices,), ("seed",), axis_types=(jax.sharding.AxisType.Auto,))
        return jax.device_put(state, NamedSharding(mesh, PartitionSpec("seed")))

    def _model(self, state: TrainState) -> Model:
        steps = np.diff(self.batch.times, axis=-1)
        about = {
            key: self.config[key]
            for key in ("protocol", "train", "test", "key", "schedule", "optimiser", "sampling", "batch_size")
        }
        about["error_scale"] = self.stages[0].recipe.error_scale.tolist()
        return Model(
            method=self.method,
            parts=jax.tree.map(jnp.asarray, state.parts),
            environments=self.train.environments,
            channels=self.train.channels,
            state_shape=self.train.state_shape,
            time_step=float(steps.max()),
            about={**about, "steps": int(state.step[0]), "looks": self.looks},
        )


def _devices(seeds: int) -> int:
    """Over how many devices the seeds are spread: all, if they divide evenly."""
    count = jax.local_device_count()
    return count if seeds % count == 0 else 1


def checked_test(train: Trajectories, test: Trajectories | None, dtype: DTypeLike) -> Batch | None:
    """The test data as a batch; `InputError` unless they are of the kind trained on."""
    if test is None:
        return None
    if test.environments != train.environments or test.state_shape != train.state_shape:
        raise InputError(
            "the test data must have the environments and the state shape of the training data, "
            f"{', '.join(train.environments)} and {train.state_shape}; "
            f"got {', '.join(test.environments)} and {test.state_shape}"
        )
    check_order(test.channels, train.channels)
    return to_batch(test, dtype)
