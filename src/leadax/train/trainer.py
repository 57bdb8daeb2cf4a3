"""A training run that is ready to go: what `fit` was asked for, checked and completed."""

import dataclasses
from collections.abc import Sequence
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, PyTree

from .._types import PRNGKey
from ..arrays import cast, fill, fingerprint, flatten
from ..data import Trajectories
from ..data.batch import Batch, with_slopes
from ..data.derivatives import ESTIMATES
from ..defaults import Defaults, chosen_for
from ..describe import describe
from ..errors import InputError
from ..methods import Levels, Method, Phase, Sizes
from ..methods.prepare import Frozen, prepare, side_by_side
from ..methods.settings import positive
from ..model import Model, check_order
from ..records import Config, Look, Training
from .loop import Loop, Stage, Task, TestData, devices_for
from .optimisers import Optimiser, rate_for
from .recipe import Monitor, Recipe, Start, key_numbers
from .run_folder import RunFolder
from .step import Plan, TrainState, first_state


@dataclasses.dataclass(frozen=True)
class Asked:
    """What `fit` was asked for, checked; without the method."""

    train: Trajectories
    key: PRNGKey
    steps: int
    seeds: int
    test: Trajectories | None
    optimiser: str | optax.GradientTransformation
    defaults: Defaults | None
    recipe: Recipe
    start: Start | None

    def __post_init__(self):
        if not isinstance(self.train, Trajectories):
            raise InputError(f"`train` must be Trajectories, got {type(self.train).__name__}: use `leadax.load(FILE)`")
        positive("steps", self.steps)
        positive("seeds", self.seeds)
        key_numbers(self.key)
        if self.test is not None:
            check_test(self.train, self.test)

    def trainer(self, methods: Sequence[Method], rates: Sequence[float | None]) -> "Trainer":
        """Everything that training these methods takes."""
        defaults = self.defaults or chosen_for(self.train)
        sizes = Sizes(self.train.state_shape, len(self.train.environments))
        methods = [self._completed(method, defaults, sizes) for method in methods]
        optimiser = self._optimiser()
        numbers = [rate_for(optimiser, rate) for rate in rates]
        configs = [self._config(m, r, defaults) for m, r in zip(methods, numbers, strict=True)]
        units, dtype = defaults.units, self.recipe.dtype
        batch = prepare(self.train, units, methods[0], dtype=dtype)
        if self.recipe.match in ESTIMATES:
            batch = with_slopes(batch, ESTIMATES[self.recipe.match])
        task = Task(
            method=side_by_side(methods, self.seeds, dtype),
            stages=self._stages(methods[0], optimiser, defaults),
            sampling=self.recipe.sampling,
            steps=self.steps,
            look_every=self.recipe.look_every,
            checkpoint_every=self.recipe.checkpoint_every,
            batch=batch,
            environments=self.train.environments,
            test=self._test_data(methods[0], defaults, batch),
            config=configs[0],
            retry=self.recipe.on_divergence == "retry",
            devices=devices_for(len(methods) * self.seeds),
        )
        return Trainer(self, task, sizes, tuple(methods), tuple(numbers), tuple(configs), defaults)

    def _completed(self, method: Method, defaults: Defaults, sizes: Sizes) -> Method:
        if not isinstance(method, Method):
            raise InputError(f"`method` must be a method, such as `Leads()`, got {method!r}")
        return defaults.complete(method, sizes)

    def _optimiser(self) -> Optimiser:
        if not isinstance(self.optimiser, str) and self.recipe.decay is not None:
            raise InputError("`decay` means nothing beside an optimiser of Optax: give it a schedule of its own")
        return Optimiser(self.optimiser, self.recipe.decay or "cosine")

    def _stages(self, method: Method, optimiser: Optimiser, defaults: Defaults) -> tuple[Stage, ...]:
        phases = method.phases() if self.start is None else (Phase(1.0, self.start.trainable),)
        ends = np.round(np.cumsum([phase.share for phase in phases]) * self.steps).astype(int).tolist()
        size = self.recipe.batch_size or (defaults.batch_size if self.start is None else None)
        plans = [Plan(optimiser, size, phase.trainable, phase.meta) for phase in phases]
        stages = zip(plans, [0, *ends[:-1]], ends, strict=True)
        return tuple(Stage(plan, begin, end) for plan, begin, end in stages if end > begin)

    def _test_data(self, method: Method, defaults: Defaults, batch: Batch) -> TestData | None:
        if self.test is None:
            return None
        longest = longest_step(batch)
        testing = prepare(self.test, defaults.units, method, longest=longest, dtype=self.recipe.dtype)
        return TestData(testing, defaults.units, self.test.environments, self.recipe.protocol)

    def _config(self, method: Method, rate: float, defaults: Defaults) -> Config:
        recipe, start = self.recipe, self.start
        return Config(
            method=describe(method),
            units=describe(defaults.units),
            steps=int(self.steps),
            learning_rate=rate,
            decay=recipe.decay or "cosine",
            optimiser=self._optimiser().name,
            sampling=describe(recipe.sampling),
            batch_size=recipe.batch_size or (defaults.batch_size if start is None else None),
            match=recipe.match,
            trainable=None if start is None else start.trainable,
            look_every=recipe.look_every,
            seeds=int(self.seeds),
            key=key_numbers(self.key),
            protocol=recipe.protocol,
            dtype=str(jnp.dtype(recipe.dtype)),
            train=self.train.fingerprint,
            test=None if self.test is None else self.test.fingerprint,
            start=None if start is None else fingerprint(start.levels),
        )


@dataclasses.dataclass(frozen=True)
class Trainer:
    """A training run of one or more candidates, each with several seeds, that is ready to go."""

    asked: Asked
    task: Task
    sizes: Sizes
    methods: tuple[Method, ...]
    rates: tuple[float, ...]
    configs: tuple[Config, ...]
    defaults: Defaults

    def trained(self, monitor: Monitor, folder: RunFolder | None) -> tuple[TrainState, list[Look]]:
        """The last state of all members, and what was seen on the way."""
        if self.task.batch.slopes is not None and self._has_no_field():
            raise InputError(f"{type(self.methods[0]).__name__} has no vector field that could match derivatives")
        loop = Loop(self.task, monitor, folder)
        state = loop.run(self._first_state())
        return state, loop.looks

    def _has_no_field(self) -> bool:
        levels = jax.eval_shape(lambda: self.methods[0].init(self.sizes, key=jax.random.key(0)))
        one = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[1:], a.dtype), levels[1])
        found: list[bool] = []
        jax.eval_shape(lambda s, e: found.append(self.methods[0].split(s, e) is None), levels[0], one)
        return found[0]

    def _first_state(self) -> TrainState:
        asked, dtype = self.asked, self.asked.recipe.dtype
        # Seed k has the same weights whether it is trained alone or with others, and whatever the candidate.
        keys = jax.vmap(lambda k: jax.random.fold_in(asked.key, k))(jnp.arange(asked.seeds))
        keys = jnp.tile(keys, len(self.methods))
        rates = jnp.repeat(jnp.asarray(self.rates, dtype), asked.seeds)
        numbers, static = eqx.partition(self.task.method, eqx.is_array)
        plan, name = self.task.stages[0].plan, str(jnp.dtype(dtype))
        state = _first_states(plan, Frozen(static), self.sizes, name, numbers, keys, rates)
        if asked.start is None:
            return state
        return state._replace(levels=fill(state.levels, flatten(cast(asked.start.levels, dtype)), "`start`"))

    def models(self, state: TrainState, looks: Sequence[Look]) -> list[Model]:
        """The model of each candidate."""
        seeds = self.asked.seeds
        return [
            self._model(c, jax.tree.map(lambda a, c=c: jnp.asarray(a[c * seeds : (c + 1) * seeds]), state), looks)
            for c in range(len(self.methods))
        ]

    def _model(self, candidate: int, state: TrainState, looks: Sequence[Look]) -> Model:
        seeds, data = self.asked.seeds, self.asked.train
        own = slice(candidate * seeds, (candidate + 1) * seeds)
        return Model(
            levels=state.levels,
            method=self.methods[candidate],
            units=self.defaults.units,
            environments=data.environments,
            channels=data.channels,
            state_shape=data.state_shape,
            longest_step=longest_step(self.task.batch),
            training=Training(self.configs[candidate], int(state.step[0]), tuple(_part(look, own) for look in looks)),
        )


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _first_states(
    plan: Plan, static: Frozen, sizes: Sizes, dtype: str, numbers: PyTree, keys: Array, rates: Array
) -> TrainState:
    """The states of all members before the first step."""

    def one(numbers: PyTree, key: PRNGKey, rate: Array) -> TrainState:
        method = eqx.combine(numbers, static.tree)
        for_levels, for_state = jax.random.split(key)
        levels = cast(Levels(*method.init(sizes, key=for_levels)), dtype)
        return first_state(plan, method, levels, sizes.environments, for_state, rate)

    return jax.vmap(one)(numbers, keys, rates)


def longest_step(batch: Batch) -> float:
    """The longest step that training takes, in standard time."""
    return float(np.max(np.asarray(batch.steps.sizes)))


def check_test(train: Trajectories, test: Trajectories) -> None:
    """An `InputError` unless test data are of the kind trained on."""
    if not isinstance(test, Trajectories):
        raise InputError(f"`test` must be Trajectories, got {type(test).__name__}: use `leadax.load(FILE)`")
    if test.environments != train.environments or test.state_shape != train.state_shape:
        raise InputError(
            "the test data must have the environments and the state shape of the training data, "
            f"{', '.join(train.environments)} and {train.state_shape}; "
            f"got {', '.join(test.environments)} and {test.state_shape}"
        )
    check_order(test.channels, train.channels)


def _part(look: Look, own: slice) -> Look:
    """What a look saw of one candidate."""
    test = None if look.test is None else look.test[own]
    return dataclasses.replace(look, loss=look.loss[own], error=look.error[own], penalty=look.penalty[own], test=test)
