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
from ..data.forcing import covariate_rows
from ..data.latent import Latent
from ..data.layout import Layout
from ..defaults import Defaults, chosen_for, median_gap
from ..describe import describe
from ..errors import InputError
from ..evaluate.errors import check_warmup
from ..methods import Known, Levels, Method, Phase, Sizes
from ..methods.attribution import attributed
from ..methods.local import first_local
from ..methods.prefit import Beginning, beginning
from ..methods.prepare import Frozen, prepare, side_by_side
from ..methods.settings import positive
from ..model import Model, check_order
from ..records import Config, Snapshot, Training
from .loop import Best, HeldOut, Loop, Stage, Task, devices_for
from .optimisers import Optimiser, rate_for
from .populations import with_population
from .recipe import Monitor, Recipe, Start, key_numbers
from .run_folder import RunFolder
from .sampling import ScheduledSampling
from .step import Plan, TrainState, first_state

WARMUP = 5  # points that a forecast is told where something is hidden


@dataclasses.dataclass(frozen=True)
class Request:
    """What `fit` was asked for, checked; without the method."""

    train: Trajectories
    key: PRNGKey
    steps: int
    seeds: int
    test: Trajectories | None
    validation: Trajectories | None
    optimiser: str | optax.GradientTransformation
    defaults: Defaults
    recipe: Recipe
    start: Start | None

    def __post_init__(self):
        positive("steps", self.steps)
        positive("seeds", self.seeds)
        key_numbers(self.key)
        if self.test is not None:
            check_held_out(self.train, self.test, "test")
        if self.validation is not None:
            check_held_out(self.train, self.validation, "validation")
        for data in (self.test, self.validation):
            if data is not None and self.recipe.warmup is not None:
                check_warmup(self.recipe.warmup, data)
        if self.recipe.match in ESTIMATES and (self.layout.hidden or self.layout.individual):
            raise InputError("derivatives of what is hidden or individual cannot be matched: match `trajectories`")

    def trainer(self, methods: Sequence[Method], rates: Sequence[float | None]) -> "Trainer":
        """Everything that training these methods takes."""
        defaults, layout = self.defaults, self.layout
        sizes = Sizes(layout.state_shape(self.train.state_shape), len(self.train.environments), layout.seen)
        methods = [self._completed(method, defaults, sizes) for method in methods]
        begin = self._beginning(methods[0])
        if begin is not None:
            methods = [dataclasses.replace(method, scale=begin.scale) for method in methods]
            defaults = dataclasses.replace(defaults, longest_step=self._longest(begin.finer))
        optimiser = self._optimiser(defaults)
        numbers = [rate_for(optimiser, rate) for rate in rates]
        configs = [self._config(m, r, defaults) for m, r in zip(methods, numbers, strict=True)]
        longest = None if defaults.longest_step is None else defaults.longest_step / defaults.units.time
        batch = self._prepared(self.train, methods[0], longest)
        if self.recipe.match in ESTIMATES:
            batch = with_slopes(batch, ESTIMATES[self.recipe.match])
        task = Task(
            method=side_by_side(methods, self.seeds, self.recipe.dtype),
            stages=self._stages(methods[0], optimiser, defaults),
            sampling=self.sampling,
            steps=self.steps,
            look_every=self.recipe.look_every,
            checkpoint_every=self.recipe.checkpoint_every,
            batch=batch,
            environments=self.train.environments,
            test=self._held_out(self.test, methods[0], defaults, batch),
            validation=self._held_out(self.validation, methods[0], defaults, batch),
            config=configs[0],
            retry=self.recipe.on_divergence == "retry",
            devices=devices_for(len(methods) * self.seeds),
        )
        return Trainer(self, task, sizes, tuple(methods), tuple(numbers), tuple(configs), defaults, begin)

    def _beginning(self, method: Method) -> Beginning | None:
        """What a known formula explains by itself; None where there is none, or training has begun elsewhere."""
        if not isinstance(method, Known) or self.start is not None:
            return None
        unit, dtype = self.defaults.units.time, self.recipe.dtype

        def prepared(finer: int) -> Batch:
            longest = self._longest(finer)
            return self._prepared(self.train, method, None if longest is None else longest / unit)

        return beginning(method, prepared, lambda batch: first_local(batch, self.layout, dtype))

    def _longest(self, finer: int) -> float | None:
        """The longest step of the solver where steps are to be so many times finer."""
        longest = self.defaults.longest_step
        if finer == 1:
            return longest
        return (median_gap(self.train) if longest is None else longest) / finer

    @property
    def layout(self) -> Layout:
        """What states and inputs are made of."""
        assert self.defaults.layout is not None, "`chosen_defaults` fills it in"
        return self.defaults.layout

    @property
    def sampling(self) -> ScheduledSampling:
        """How often forecasts restart."""
        share = self.defaults.restart_share
        chosen = ScheduledSampling() if share is None else ScheduledSampling.until(share, self.steps)
        return self.recipe.sampling or chosen

    @property
    def weight_decay(self) -> float:
        """γ of the prior of weights."""
        asked = self.recipe.weight_decay
        return self.defaults.weight_decay if asked is None else asked

    @property
    def warmup(self) -> int:
        """How many points of a held-out trajectory a forecast is told."""
        unseen = self.layout.hidden or self.layout.individual
        return self.recipe.warmup or (_shortened(WARMUP, self.train) if unseen else 1)

    def _prepared(self, data: Trajectories, method: Method, longest: float | None) -> Batch:
        defaults = self.defaults
        box = None if defaults.box is None else defaults.box.with_hidden(self.layout.hidden)
        rules = {"longest": longest, "box": box, "dtype": self.recipe.dtype, "layout": self.layout}
        return prepare(data, defaults.units, method, **rules)

    def _completed(self, method: Method, defaults: Defaults, sizes: Sizes) -> Method:
        if not isinstance(method, Method):
            raise InputError(f"`method` must be a method, such as `Leads()`, got {method!r}")
        return defaults.complete(method, sizes)

    def _optimiser(self, defaults: Defaults) -> Optimiser:
        if not isinstance(self.optimiser, str) and self.recipe.decay is not None:
            raise InputError("`decay` cannot be combined with an Optax optimiser: give that optimiser a schedule")
        return Optimiser(self.optimiser, self.recipe.decay or "cosine", defaults.clip)

    def _stages(self, method: Method, optimiser: Optimiser, defaults: Defaults) -> tuple[Stage, ...]:
        phases = method.phases() if self.start is None else (Phase(1.0, self.start.trainable),)
        ends = np.round(np.cumsum([phase.share for phase in phases]) * self.steps).astype(int).tolist()
        size = self.recipe.batch_size or (defaults.batch_size if self.start is None else None)
        # What is local learns in every phase: it belongs to the data, not to what is known of other environments.
        learns = lambda phase: tuple(dict.fromkeys((*phase.trainable, "local")))
        plans = [Plan(optimiser, size, learns(p), p.meta, self.weight_decay) for p in phases]
        stages = zip(plans, [0, *ends[:-1]], ends, strict=True)
        return tuple(Stage(plan, begin, end) for plan, begin, end in stages if end > begin)

    def _held_out(self, data: Trajectories | None, method: Method, defaults: Defaults, batch: Batch) -> HeldOut | None:
        if data is None:
            return None
        prepared = self._prepared(data, method, longest_step(batch))
        return HeldOut(prepared, defaults.units, data, self.recipe.protocol, self.warmup, batch)

    def _config(self, method: Method, rate: float, defaults: Defaults) -> Config:
        recipe, start = self.recipe, self.start
        named = isinstance(self.optimiser, str)  # an Optax optimiser has a schedule and a clipping of its own
        return Config(
            method=describe(method),
            units=describe(defaults.units),
            steps=int(self.steps),
            learning_rate=rate,
            decay=(recipe.decay or "cosine") if named else "none",
            optimiser=self._optimiser(defaults).name,
            clip=defaults.clip if named else None,
            longest_step=defaults.longest_step,
            box=describe(defaults.box),
            sampling=describe(self.sampling),
            weight_decay=self.weight_decay,
            batch_size=recipe.batch_size or (defaults.batch_size if start is None else None),
            match=recipe.match,
            trainable=None if start is None else start.trainable,
            look_every=recipe.look_every,
            seeds=int(self.seeds),
            key=key_numbers(self.key),
            protocol=recipe.protocol,
            layout=describe(self.layout),
            warmup=self.warmup,
            dtype=str(jnp.dtype(recipe.dtype)),
            train=self.train.fingerprint,
            test=None if self.test is None else self.test.fingerprint,
            validation=None if self.validation is None else self.validation.fingerprint,
            start=None if start is None else fingerprint(start.levels),
        )


@dataclasses.dataclass(frozen=True)
class Trainer:
    """A training run of one or more candidates, each with several seeds, that is ready to go."""

    request: Request
    task: Task
    sizes: Sizes
    methods: tuple[Method, ...]
    rates: tuple[float, ...]
    configs: tuple[Config, ...]
    defaults: Defaults
    begin: Beginning | None = None

    def trained(self, monitor: Monitor, folder: RunFolder | None) -> list[Model]:
        """The model of each candidate: of the last step, or of the one that was best on the validation data."""
        if self.task.batch.slopes is not None and self._has_no_field():
            raise InputError(f"{type(self.methods[0]).__name__} has no vector field to match derivatives with")
        loop = Loop(self.task, monitor, folder)
        state = loop.run(self._first_state())
        best = loop.best or Best(state.levels, state.rate, state.step)
        seeds = self.request.seeds
        parts = [slice(c * seeds, (c + 1) * seeds) for c in range(len(self.methods))]
        return [self._model(c, part, best, int(state.step[0]), loop) for c, part in enumerate(parts)]

    def _has_no_field(self) -> bool:
        levels = jax.eval_shape(lambda: self.methods[0].init(self.sizes, key=jax.random.key(0)))
        one = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[1:], a.dtype), levels[1])
        found: list[bool] = []
        jax.eval_shape(lambda s, e: found.append(self.methods[0].split(s, e) is None), levels[0], one)
        return found[0]

    def _first_state(self) -> TrainState:
        request, dtype = self.request, self.request.recipe.dtype
        # Seed k has the same weights whether it is trained alone or with others, and whatever the candidate.
        keys = jax.vmap(lambda k: jax.random.fold_in(request.key, k))(jnp.arange(request.seeds))
        keys = jnp.tile(keys, len(self.methods))
        rates = jnp.repeat(jnp.asarray(self.rates, dtype), request.seeds)
        numbers, static = eqx.partition(self.task.method, eqx.is_array)
        about = (self.task.stages[0].plan, Frozen(static), self.sizes, str(jnp.dtype(dtype)))
        local = first_local(self.task.batch, request.layout, dtype)
        if request.start is None:
            return _first_states(*about, None, local, numbers, keys, rates, self.begin and self.begin.numbers)
        template = jax.eval_shape(partial(_first_states, *about, None, ()), numbers, keys, rates).levels
        levels = fill(template, flatten(cast(request.start.levels._replace(local=()), dtype)), "`start`")
        return _first_states(*about, levels, local, numbers, keys, rates)

    def _model(self, candidate: int, part: slice, best: Best, steps: int, loop: Loop) -> Model:
        data = self.request.train
        history = tuple(_part(snapshot, part) for snapshot in loop.history)
        kept = None if loop.best is None else tuple(int(k) for k in best.step[part])
        levels = jax.tree.map(jnp.asarray, best.levels)
        levels = attributed(self.task.method, levels, self.task.batch, shared=self.request.start is None)
        levels = with_population(self.task.method, levels, self.task.batch)
        layout = self.request.layout
        return Model(
            levels=jax.tree.map(lambda a: a[part], levels),
            method=self.methods[candidate],
            units=self.defaults.units,
            environments=data.environments,
            channels=data.channels,
            state_shape=data.state_shape,
            longest_step=longest_step(self.task.batch),
            box=self.defaults.box,
            training=Training(self.configs[candidate], steps, history, kept),
            layout=layout,
            covariates=covariate_rows(data, layout),
            warmup=self.request.warmup,
        )


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _first_states(
    plan: Plan,
    static: Frozen,
    sizes: Sizes,
    dtype: str,
    levels: Levels | None,
    local: PyTree,
    numbers: PyTree,
    keys: Array,
    rates: Array,
    known: tuple[PyTree, PyTree] | None = None,
) -> TrainState:
    """The states of all members before the first step, with these parameters or with random ones.

    - `known`: the numbers of a formula.
    """

    def one(levels: Levels | None, numbers: PyTree, key: PRNGKey, rate: Array) -> TrainState:
        method = eqx.combine(numbers, static.tree)
        for_levels, for_state = jax.random.split(key)
        begin = cast(Levels(*method.init(sizes, key=for_levels)), dtype) if levels is None else levels
        begin = begin._replace(local=local)
        begin = begin if known is None else method.with_numbers(begin, known)
        return first_state(plan, method, begin, sizes.environments, for_state, rate)

    return jax.vmap(one)(levels, numbers, keys, rates)


def chosen_defaults(
    train: Trajectories, defaults: Defaults | None, latent: Latent | None, covariates: Sequence[str]
) -> Defaults:
    """The settings given, or those chosen from the data, with the layout of the data."""
    if not isinstance(train, Trajectories):
        raise InputError(f"`train` must be Trajectories, got {type(train).__name__}: use `leadax.load(FILE)`")
    check_learnable(train)
    if latent is not None and not isinstance(latent, Latent):
        raise InputError(f"`latent` must be a `Latent`, such as `Latent(hidden=1)`, got {latent!r}")
    return (defaults or chosen_for(train)).laid_out(train, latent, covariates)


def check_learnable(data: Trajectories) -> None:
    """An `InputError` unless every trajectory has two observed points to learn from."""
    seen = data.observed.reshape(*data.times.shape, -1).any(axis=-1).sum(axis=-1)
    for e, i in np.argwhere((data.lengths > 0) & (seen < 2))[:1]:
        raise InputError(
            f"{data.place(e, i)} has {seen[e, i]} observed point: at least 2 are needed to learn from it, remove it"
        )


def _shortened(warmup: int, data: Trajectories) -> int:
    """A warm-up that leaves at least half of each trajectory to forecast."""
    return max(1, min(warmup, int(data.lengths[data.lengths > 0].min()) // 2))


def longest_step(batch: Batch) -> float:
    """The longest step that training takes, in standard time."""
    return float(np.max(np.asarray(batch.steps.sizes)))


def check_held_out(train: Trajectories, data: Trajectories, name: str) -> None:
    """An `InputError` unless test or validation data are of the kind trained on."""
    if not isinstance(data, Trajectories):
        raise InputError(f"`{name}` must be Trajectories, got {type(data).__name__}: use `leadax.load(FILE)`")
    if data.environments != train.environments or data.state_shape != train.state_shape:
        raise InputError(
            f"the {name} data must have the environments and the state shape of the training data, "
            f"{', '.join(train.environments)} and {train.state_shape}; "
            f"got {', '.join(data.environments)} and {data.state_shape}"
        )
    check_order(data.channels, train.channels)
    if (data.input_names, data.input_kinds) != (train.input_names, train.input_kinds):
        raise InputError(
            f"the {name} data must have the inputs of the training data, {', '.join(train.input_names) or 'none'}, "
            f"got {', '.join(data.input_names) or 'none'}"
        )


def _part(snapshot: Snapshot, own: slice) -> Snapshot:
    """What a snapshot says of one candidate."""
    names = ("loss", "error", "penalty", "test", "validation")
    values = {name: getattr(snapshot, name) for name in names}
    return dataclasses.replace(snapshot, **{name: v if v is None else v[own] for name, v in values.items()})
