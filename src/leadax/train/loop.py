"""The training loop, from a first state to the last: looks at the test data, checkpoints, resumes, stops when told."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array, Bool, Float, Int, PyTree

from ..data import Trajectories
from ..data.batch import Batch
from ..data.units import Units
from ..errors import RunError
from ..evaluate import Evaluation, summarise
from ..evaluate.errors import error_sums, known_points
from ..methods import Levels, Method
from ..records import Config, Snapshot
from .populations import with_population
from .recipe import Interrupted, Monitor
from .run_folder import RunFolder
from .sampling import ScheduledSampling
from .step import Plan, Progress, Span, TrainState, advance, next_phase

# A call of the compiled program lasts about this long: rare enough to cost nothing, short enough to stop when told.
SECONDS_PER_CALL = 1.0
RETRIES = 8
# An error has exploded that is so many times the variance of what is learnt; or larger than that variance, and so many
# times what it was before: a run that had learnt something has lost it.
FAR, MORE = 1e4, 100.0


class Stage(NamedTuple):
    """A phase of training as it is carried out: by this plan, from one step to another."""

    plan: Plan
    begin: int
    end: int


class HeldOut(NamedTuple):
    """Data that are evaluated during training but never learnt from: to test on, or to choose the best model by.

    - `warmup`: how many points of a trajectory a forecast is told; `train`: the data that are learnt from.
    """

    batch: Batch
    units: Units
    data: Trajectories
    protocol: str
    warmup: int
    train: Batch

    def evaluated(self, method: Method, levels: Levels) -> Evaluation:
        """The errors of each member."""
        levels = with_population(method, levels, self.train)
        sums = error_sums(method, levels, self.batch, known_points(self.batch, self.warmup))
        return summarise(sums, self.batch, self.units, self.data, self.protocol, self.warmup)


class Best(NamedTuple):
    """For each member its best parameters so far by the validation data, their error, and the step they are of."""

    levels: Levels
    error: Float[Array, " member"]
    step: Int[Array, " member"]

    def improved(self, levels: Levels, error: np.ndarray, step: int) -> "Best":
        """The better one of both, member by member. An error that is not a number is never better."""
        better = np.nan_to_num(error, nan=np.inf) < np.asarray(self.error)
        now = np.asarray(error, self.error.dtype), np.full_like(self.step, step)
        return Best(*_picked(better, (levels, *now), tuple(self)))


@jax.jit
def _picked(better: Bool[Array, " member"], new: PyTree, old: PyTree) -> PyTree:
    pick = lambda a, b: jnp.where(better.reshape(-1, *(1,) * (a.ndim - 1)), a, b)
    return jax.tree.map(pick, new, old)


@dataclass(frozen=True)
class Task:
    """Everything about a training run that does not change while it runs.

    - `method`: its numbers with a leading axis over members; `retry`: go back when the loss explodes or is not finite;
    - `devices`: over how many the members are spread.
    """

    method: Method
    stages: tuple[Stage, ...]
    sampling: ScheduledSampling
    steps: int
    look_every: int
    checkpoint_every: int
    batch: Batch
    environments: Sequence[str]
    test: HeldOut | None
    validation: HeldOut | None
    config: Config
    retry: bool
    devices: int

    @cached_property
    def variance(self) -> float:
        """Of what is learnt: the error of who forecasts its mean; infinite if nothing changes."""
        target = self.batch.states if self.batch.slopes is None else self.batch.slopes
        return float(np.var(np.asarray(target, float), where=np.asarray(self.batch.observed))) or np.inf

    def stage(self, step: int) -> int:
        """The number of the stage that takes the step after this one."""
        return sum(stage.end <= step for stage in self.stages[:-1])

    def next_event(self, step: int) -> int:
        """The step of the next look, checkpoint or end of a stage."""
        following = lambda every: (step // every + 1) * every
        end = self.stages[self.stage(step)].end
        return min(following(self.look_every), following(self.checkpoint_every), end)


@dataclass
class Loop:
    """One training run on its way."""

    task: Task
    monitor: Monitor
    folder: RunFolder | None
    history: list[Snapshot] = field(default_factory=list)
    best: Best | None = None
    seconds_per_step: float | None = None

    def run(self, state: TrainState) -> TrainState:
        """Train to the end, from this state or from the newest checkpoint in the folder."""
        state = self._placed(self._resumed(state))
        step = int(state.step[0])
        begun, spent = time.perf_counter(), self.history[-1].seconds if self.history else 0.0
        good = older = jax.device_get(state)
        retries, failed = 0, -1
        while step < self.task.steps:
            if step in [stage.begin for stage in self.task.stages[1:]]:
                state = self._placed(self._entered(jax.device_get(state), self.task.stage(step)))
            state, progress, stop = self._until_next_event(state, step)
            step = int(state.step[0])
            # Only at looks, so that a resumed run notices it at the same step.
            looking = step % self.task.look_every == 0 or step == self.task.steps
            wrong = np.asarray(~progress.finite | (looking & self._exploded(progress)))
            if np.any(wrong):
                retries += 1
                # The loss that is seen at a state is that before its last step: of the newest nothing is known yet.
                failed = max(failed, int(np.max(state.step)))
                good = older = self._sent_back(older, progress, state.step, wrong, retries)
                state, step = self._placed(good), int(good.step[0])
                continue
            saving = step % self.task.checkpoint_every == 0 or step == self.task.steps
            if looking or saving:
                older, good = good, jax.device_get(state)
            if saving:  # a run that is resumed from here knows no older state
                older = good
            if looking:
                self._look(state, progress, step, spent + time.perf_counter() - begun)
            if saving and step > failed:
                retries = 0
            if self.folder and (saving or stop):
                self.folder.save_checkpoint((jax.device_get(state), self.best), step, self.task.config, self.history)
            if stop:
                where = f"; run the same command again to continue from {self.folder.path}" if self.folder else ""
                raise Interrupted(f"stopped at step {step} of {self.task.steps}{where}")
        return jax.device_get(state)

    def _exploded(self, progress: Progress) -> np.ndarray:
        """Which members have an error that only a diverged run has, by what they had at the looks before."""
        known = [snapshot.error for snapshot in self.history]
        least = np.min(known, axis=0) if known else np.inf
        limit = np.minimum(FAR * self.task.variance, np.maximum(self.task.variance, MORE * least))
        return np.asarray(progress.terms.error.mean(axis=1) > limit)

    def _resumed(self, state: TrainState) -> TrainState:
        """The state of the newest checkpoint, or this one."""
        if self.task.validation is not None:
            # Where nets begin at a polynomial, what they begin with may be best.
            begin = self.task.validation.evaluated(self.task.method, state.levels).nmse_per_seed
            error = jnp.asarray(np.nan_to_num(begin, nan=np.inf), state.rate.dtype)
            self.best = Best(state.levels, error, jnp.zeros(len(state.step), jnp.int32))
        if self.folder is None:
            return state
        template = lambda step: jax.eval_shape(lambda: (self._entered(state, self.task.stage(step - 1)), self.best))
        found = self.folder.load_checkpoint(template, self.task.config)
        if found:
            (state, self.best), _, history = found
            self.history = list(history)
        self.folder.rewrite_metrics(self.history)
        return state

    def _entered(self, state: TrainState, stage: int) -> TrainState:
        """The state as this stage begins with it. The first one needs nothing; doing it again changes nothing."""
        return state if stage == 0 else jax.vmap(partial(next_phase, self.task.stages[stage].plan))(state)

    def _until_next_event(self, state: TrainState, step: int) -> tuple[TrainState, Progress, bool]:
        """Go on to the next event, in calls of about a second. The last value is whether training was told to stop."""
        task, target = self.task, self.task.next_event(step)
        plan, begin, end = task.stages[task.stage(step)]
        span = Span(jnp.asarray(begin, jnp.int32), jnp.asarray(end - begin, jnp.int32))
        while True:
            pace = self.seconds_per_step
            count = min(1 if pace is None else max(1, int(SECONDS_PER_CALL / pace)), target - step)
            called = time.perf_counter()
            state, progress = advance(
                plan, task.method, state, task.batch, task.sampling, span, count, devices=task.devices
            )
            progress = jax.device_get(progress)
            self.seconds_per_step = (time.perf_counter() - called) / count
            step += count
            if not np.all(progress.finite):
                return state, progress, False
            # Asked after every call, also where one call reaches the target: small systems always do.
            stop = step < task.steps and self.monitor.should_stop()
            if stop or step >= target:
                return state, progress, stop

    def _sent_back(
        self, good: TrainState, progress: Progress, steps: Array, wrong: np.ndarray, retries: int
    ) -> TrainState:
        """The last good state; or a `RunError` where that is not wanted, or hopeless.

        Only members that went `wrong` get a smaller learning rate: the others take the same steps again.
        """
        # The member that went wrong, and its environment with the largest error, or the first that is not a number.
        # Members on other devices may have gone further.
        worst = np.nan_to_num(progress.terms.error.mean(axis=1), nan=np.inf, posinf=np.inf)
        member = int(np.argmax(np.where(progress.finite, worst, np.inf)))
        e = int(np.argmax(np.nan_to_num(progress.terms.error[member], nan=np.inf, posinf=np.inf)))
        kept = int(good.step[0])
        exploded = np.all(progress.finite)
        what = (
            f"the loss {'explodes' if exploded else 'is not finite'} at step {int(steps[member]) + (not exploded)}, "
            f"in environment `{self.task.environments[e]}` of seed {member}; the last good step is {kept}"
        )
        if not self.task.retry or retries > RETRIES:
            raise RunError(f"{what}: try a smaller learning rate, more substeps, or --on-divergence retry")
        self.monitor.warn(f"{what}: continuing from there with half the learning rate")
        self.history = [snapshot for snapshot in self.history if snapshot.step <= kept]
        if self.folder:
            self.folder.rewrite_metrics(self.history)
        return good._replace(rate=np.where(wrong, good.rate * np.float32(0.5), good.rate).astype(good.rate.dtype))

    def _look(self, state: TrainState, progress: Progress, step: int, seconds: float) -> None:
        method, held_out = self.task.method, (self.task.test, self.task.validation)
        test, validation = (None if data is None else data.evaluated(method, state.levels) for data in held_out)
        if self.best is not None and validation is not None:
            # Normalised: otherwise the channel with the largest numbers would decide alone.
            self.best = self.best.improved(state.levels, validation.nmse_per_seed, step)
        each = lambda values: tuple(float(value) for value in values)
        snapshot = Snapshot(
            step=step,
            loss=each(progress.loss),
            error=each(progress.terms.error.mean(axis=1)),
            penalty=each(progress.terms.penalty.sum(axis=1)),
            test=None if test is None else each(test.mse_per_seed),
            seconds=seconds,
            validation=None if validation is None else each(validation.mse_per_seed),
        )
        self.history.append(snapshot)
        if self.folder:
            self.folder.log(snapshot)
        self.monitor.listen(snapshot, self.task.steps)

    def _placed(self, state: TrainState) -> TrainState:
        """The state on its devices."""
        if self.task.devices == 1:
            return jax.tree.map(jnp.asarray, state)
        mesh = jax.make_mesh((self.task.devices,), ("member",), axis_types=(jax.sharding.AxisType.Auto,))
        return jax.device_put(state, NamedSharding(mesh, PartitionSpec("member")))


def devices_for(members: int) -> int:
    """Over how many devices the members are spread: all, if they divide evenly."""
    count = jax.local_device_count()
    return count if members % count == 0 else 1
