"""The training loop, from a first state to the last: looks at the test data, checkpoints, resumes, stops when told."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from jaxtyping import Array

from ..data.batch import Batch
from ..data.units import Units
from ..errors import RunError
from ..evaluate import summarise
from ..evaluate.errors import error_sums
from ..methods import Method
from ..records import Config, Look
from .recipe import Interrupted, Monitor
from .run_folder import RunFolder
from .sampling import ScheduledSampling
from .step import Plan, Progress, Span, TrainState, advance, next_phase

# A call of the compiled program lasts about this long: rare enough to cost nothing, short enough to stop when told.
SECONDS_PER_CALL = 1.0
RETRIES = 8


class Stage(NamedTuple):
    """A phase of training as it is carried out: by this plan, from one step to another."""

    plan: Plan
    begin: int
    end: int


class TestData(NamedTuple):
    """What is looked at on the way and never learnt from."""

    batch: Batch
    units: Units
    environments: Sequence[str]
    protocol: str


@dataclass(frozen=True)
class Task:
    """Everything about a training run that does not change while it runs.

    - `method`: its numbers with a leading axis over members; `retry`: go back when the loss is not finite;
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
    test: TestData | None
    config: Config
    retry: bool
    devices: int

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
    looks: list[Look] = field(default_factory=list)
    seconds_per_step: float | None = None

    def run(self, state: TrainState) -> TrainState:
        """Train to the end, from this state or from the newest checkpoint in the folder."""
        state = self._placed(self._resumed(state))
        step = int(state.step[0])
        begun, spent = time.perf_counter(), self.looks[-1].seconds if self.looks else 0.0
        good, retries = jax.device_get(state), 0
        while step < self.task.steps:
            if step in [stage.begin for stage in self.task.stages[1:]]:
                state = self._placed(self._entered(jax.device_get(state), self.task.stage(step)))
            state, progress, stop = self._until_next_event(state, step)
            step = int(state.step[0])
            if not np.all(progress.finite):
                retries += 1
                state = self._sent_back(good, progress, state.step, retries)
                step = int(state.step[0])
                continue
            if step % self.task.look_every == 0 or step == self.task.steps:
                self._look(state, progress, step, spent + time.perf_counter() - begun)
            if step % self.task.checkpoint_every == 0 or step == self.task.steps or stop:
                good, retries = jax.device_get(state), 0
                if self.folder:
                    self.folder.save_checkpoint(good, step, self.task.config, self.looks)
            if stop:
                where = f"; run the same again to go on from {self.folder.path}" if self.folder else ""
                raise Interrupted(f"stopped at step {step} of {self.task.steps}{where}")
        return jax.device_get(state)

    def _resumed(self, state: TrainState) -> TrainState:
        """The state of the newest checkpoint, or this one."""
        if self.folder is None:
            return state
        template = lambda step: jax.eval_shape(lambda: self._entered(state, self.task.stage(step - 1)))
        found = self.folder.load_checkpoint(template, self.task.config)
        if found:
            state, _, looks = found
            self.looks = list(looks)
        self.folder.rewrite_metrics(self.looks)
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

    def _sent_back(self, good: TrainState, progress: Progress, steps: Array, retries: int) -> TrainState:
        """The last good state with a smaller learning rate; or a `RunError` where that is not wanted, or hopeless."""
        # The member that went wrong, and its environment with the largest error, or the first that is not a number.
        # Members on other devices may have gone further.
        member = int(np.argmin(progress.finite))
        e = int(np.argmax(np.nan_to_num(progress.terms.error[member], nan=np.inf, posinf=np.inf)))
        kept = int(good.step[0])
        what = (
            f"the loss is not finite at step {int(steps[member]) + 1}, in environment `{self.task.environments[e]}` "
            f"of seed {member}; " + (f"the last good checkpoint is of step {kept}" if kept else "no checkpoint yet")
        )
        if not self.task.retry or retries > RETRIES:
            raise RunError(f"{what}: try a smaller learning rate, more substeps, or --on-divergence retry")
        scale = 0.5**retries
        self.monitor.warn(f"{what}: going on from there with {scale:g} times the learning rate")
        self.looks = [look for look in self.looks if look.step <= kept]
        if self.folder:
            self.folder.rewrite_metrics(self.looks)
        return self._placed(good._replace(rate=good.rate * scale))

    def _look(self, state: TrainState, progress: Progress, step: int, seconds: float) -> None:
        test = None
        if self.task.test is not None:
            batch, units, environments, protocol = self.task.test
            sums = error_sums(self.task.method, state.levels, batch)
            test = summarise(sums, batch, units, environments, protocol).mse_per_seed
        each = lambda values: tuple(float(value) for value in values)
        look = Look(
            step=step,
            loss=each(progress.loss),
            error=each(progress.terms.error.mean(axis=1)),
            penalty=each(progress.terms.penalty.sum(axis=1)),
            test=None if test is None else each(test),
            seconds=seconds,
        )
        self.looks.append(look)
        if self.folder:
            self.folder.log(look)
        self.monitor.listen(look, self.task.steps)

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
