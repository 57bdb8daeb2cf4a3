"""A training run that is ready to go."""

import dataclasses
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from .._types import PRNGKey
from ..arrays import cast, fill, flatten, on_device
from ..data import Trajectories
from ..data.batch import Batch, with_slopes
from ..data.derivatives import ESTIMATES
from ..data.forcing import covariate_rows
from ..defaults import median_gap
from ..errors import InputError
from ..methods import Known, Levels, Method, Phase, Sizes
from ..methods.attribution import attributed
from ..methods.base import has_field
from ..methods.local import Local, first_local
from ..methods.prefit import Beginning, beginning
from ..methods.prefit_rest import Rest, rest_of
from ..methods.prepare import Frozen, prepare, side_by_side
from ..model import Model
from ..nets import MLP
from ..nets.architecture import Architecture
from ..records import Config, Snapshot, Training
from ..trend import Trend, trend_of
from .loop import Best, HeldOut, Loop, Stage, Task, devices_for
from .optimisers import Times, rate_for
from .populations import with_population
from .recipe import Monitor
from .request import Request
from .run_folder import RunFolder
from .step import Plan, TrainState, first_state


@dataclasses.dataclass(frozen=True)
class Trainer:
    """A training run of one or more candidates, each with several seeds, that is ready to go."""

    request: Request
    task: Task
    methods: tuple[Method, ...]
    rates: tuple[float, ...]
    configs: tuple[Config, ...]
    begin: Beginning | None = None
    trend: Trend | None = None

    @classmethod
    def of(cls, request: Request, methods: Sequence[Method], rates: Sequence[float | Times | None]) -> Self:
        """Everything that training these methods takes."""
        given, methods = methods[0], [request.completed(method) for method in methods]
        begin = _beginning(request, methods[0])
        trend = None
        if begin is not None:
            methods = [dataclasses.replace(method, scale=begin.scale) for method in methods]
            finer = dataclasses.replace(request.defaults, longest_step=_longest(request, begin.finer))
            request = dataclasses.replace(request, defaults=finer)
            rest = _rest(request, given, methods[0], begin)
            if rest is not None:
                methods = [rest.beside(method) for method in methods]
                begin, trend = begin._replace(numbers=rest.numbers), rest.trend
                request = dataclasses.replace(request, defaults=request.defaults.settled_with(rest.polynomial.rest))
        else:
            trend = _trend(request, methods[0])
        settled = trend is not None and methods[0].settled(trend)
        request = request.with_steps(settled=settled)
        usual = (settled and request.defaults.settled_rate) or request.usual_rate
        numbers = [rate_for(request.own_optimiser(), rate, usual) for rate in rates]
        configs = [request.config(m, r) for m, r in zip(methods, numbers, strict=True)]
        task = _task(request, methods, configs[0])
        return cls(request, task, tuple(methods), tuple(numbers), tuple(configs), begin, trend)

    def trained(self, monitor: Monitor, folder: RunFolder | None) -> list[Model]:
        """The model of each candidate: of the last step, or of the one that was best on the validation data."""
        init = lambda: self.methods[0].init(self.request.sizes, key=jax.random.key(0))
        if self.task.batch.slopes is not None and not has_field(self.methods[0], *jax.eval_shape(init)):
            raise InputError(f"{type(self.methods[0]).__name__} has no vector field to match derivatives with")
        loop = Loop(self.task, monitor, folder)
        state = loop.run(self._first_state())
        best = loop.best or Best(state.levels, state.rate, state.step)
        seeds = self.request.seeds
        parts = [slice(c * seeds, (c + 1) * seeds) for c in range(len(self.methods))]
        return [self._model(c, part, best, int(state.step[0]), loop) for c, part in enumerate(parts)]

    def _first_state(self) -> TrainState:
        request, dtype = self.request, self.request.recipe.dtype
        # Seed k has the same weights whether it is trained alone or with others, and whatever the candidate.
        keys = _keys(request.key, request.seeds, len(self.methods))
        rates = on_device(np.repeat(self.rates, request.seeds), dtype)
        numbers, static = eqx.partition(self.task.method, eqx.is_array)
        about = (self.task.stages[0].plan, Frozen(static), self.request.sizes, str(jnp.dtype(dtype)))
        local = first_local(self.task.batch, request.layout, dtype)
        if self.begin is not None and self.begin.local is not None:
            local = self.begin.local
        elif isinstance(local, Local) and self.trend is not None and self.trend.states is not None:
            local = local._replace(path=self.trend.states)
        if request.start is None:
            known = self.begin and self.begin.numbers
            return _first_states(*about, None, local, numbers, keys, rates, known, self.trend)
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
            levels=levels if len(self.methods) == 1 else jax.tree.map(lambda a: a[part], levels),
            method=self.methods[candidate],
            units=self.request.defaults.units,
            environments=data.environments,
            channels=data.channels,
            state_shape=data.state_shape,
            longest_step=longest_step(self.task.batch),
            box=self.request.defaults.box,
            training=Training(self.configs[candidate], steps, history, kept),
            layout=layout,
            covariates=covariate_rows(data, layout),
            warmup=self.request.warmup,
        )


def _task(request: Request, methods: Sequence[Method], config: Config) -> Task:
    defaults, recipe, method = request.defaults, request.recipe, methods[0]
    longest = None if defaults.longest_step is None else defaults.longest_step / defaults.units.time
    batch = _prepared(request, request.train, method, longest)
    if recipe.match in ESTIMATES:
        batch = with_slopes(batch, ESTIMATES[recipe.match])
    return Task(
        method=side_by_side(methods, request.seeds, recipe.dtype),
        stages=_stages(request, method),
        sampling=request.sampling,
        steps=request.number_of_steps,
        look_every=recipe.look_every,
        checkpoint_every=recipe.checkpoint_every,
        batch=batch,
        environments=request.train.environments,
        test=_held_out(request, request.test, method, batch),
        validation=_held_out(request, request.validation, method, batch),
        config=config,
        retry=recipe.on_divergence == "retry",
        devices=devices_for(len(methods) * request.seeds),
    )


def _beginning(request: Request, method: Method) -> Beginning | None:
    """What a known formula explains by itself; None where there is none, or training has begun elsewhere."""
    if not isinstance(method, Known) or request.start is not None:
        return None
    unit, dtype = request.defaults.units.time, request.recipe.dtype

    def prepared(finer: int) -> Batch:
        longest = _longest(request, finer)
        return _prepared(request, request.train, method, None if longest is None else longest / unit)

    return beginning(method, prepared, lambda batch: first_local(batch, request.layout, dtype))


def _rest(request: Request, given: Method, method: Method, begin: Beginning) -> Rest | None:
    """The polynomials of what a formula leaves, for nets that were chosen and not asked for."""
    net, defaults = getattr(method, "net", None), request.defaults
    asked_for = getattr(given, "net", None) is not None
    if asked_for or defaults.clock is not None or not isinstance(net, Architecture) or net.build is not MLP:
        return None
    assert isinstance(method, Known)
    longest = None if defaults.longest_step is None else defaults.longest_step / defaults.units.time
    return rest_of(method, request.train, request.layout, begin.numbers, longest, request.recipe.dtype)


def _trend(request: Request, method: Method) -> Trend | None:
    """The polynomials that nets begin at, where they have one."""
    net = getattr(method, "net", None)
    # A method of your own may hold a plain class of nets.
    options: dict[str, Any] = dict(net.options) if isinstance(net, Architecture) else {}
    if not options.get("degree") or not method.begins_at or request.start is not None:
        return None
    units, longest = request.defaults.units, request.defaults.longest_step
    longest = None if longest is None else longest / units.time
    law = options["degree"], options.get("region"), options.get("zero")
    found = trend_of(request.train, units, request.layout, *law, longest, method.begins_at)
    return found and jax.tree.map(lambda a: jnp.asarray(a, request.recipe.dtype), found)


def _longest(request: Request, finer: int) -> float | None:
    """The longest step of the solver where steps are to be so many times finer."""
    longest = request.defaults.longest_step
    if finer == 1:
        return longest
    return (median_gap(request.train) if longest is None else longest) / finer


def _prepared(request: Request, data: Trajectories, method: Method, longest: float | None) -> Batch:
    defaults, layout = request.defaults, request.layout
    box = None if defaults.box is None else defaults.box.with_hidden(layout.hidden)
    return prepare(data, defaults.units, method, longest=longest, box=box, dtype=request.recipe.dtype, layout=layout)


def _stages(request: Request, method: Method) -> tuple[Stage, ...]:
    phases = method.phases() if request.start is None else (Phase(1.0, request.start.trainable),)
    ends = np.round(np.cumsum([phase.share for phase in phases]) * request.number_of_steps).astype(int).tolist()
    # What is local learns in every phase: it belongs to the data, not to what is known of other environments.
    learns = lambda phase: tuple(dict.fromkeys((*phase.trainable, "local")))
    common = (request.own_optimiser(), request.batch_size)
    plans = [Plan(*common, learns(phase), phase.meta, request.weight_decay) for phase in phases]
    stages = zip(plans, [0, *ends[:-1]], ends, strict=True)
    return tuple(Stage(plan, begin, end) for plan, begin, end in stages if end > begin)


def _held_out(request: Request, data: Trajectories | None, method: Method, batch: Batch) -> HeldOut | None:
    if data is None:
        return None
    prepared = _prepared(request, data, method, longest_step(batch))
    return HeldOut(prepared, request.defaults.units, data, request.recipe.protocol, request.warmup, batch)


def longest_step(batch: Batch) -> float:
    """The longest step that training takes, in standard time."""
    return float(np.max(np.asarray(batch.steps.sizes)))


@partial(jax.jit, static_argnums=(1, 2))
def _keys(key: PRNGKey, seeds: int, candidates: int) -> PRNGKey:
    """One for each member."""
    return jnp.tile(jax.vmap(lambda k: jax.random.fold_in(key, k))(jnp.arange(seeds)), candidates)


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
    trend: Trend | None = None,
) -> TrainState:
    """The states of all members before the first step, with these parameters or with random ones.

    - `known`: the numbers of a formula; `trend`: where nets begin.
    """

    def one(levels: Levels | None, numbers: PyTree, key: PRNGKey, rate: Array) -> TrainState:
        method = eqx.combine(numbers, static.tree)
        for_levels, for_state = jax.random.split(key)
        begin = cast(Levels(*method.init(sizes, key=for_levels)), dtype) if levels is None else levels
        begin = begin._replace(local=local)
        begin = begin if known is None else method.with_numbers(begin, known)
        if trend is not None:
            shared, specific = method.begun_at(begin.shared, begin.specific, trend)
            begin = begin._replace(shared=shared, specific=specific)
        return first_state(plan, method, begin, sizes.environments, for_state, rate)

    return jax.vmap(one)(levels, numbers, keys, rates)


def _part(snapshot: Snapshot, own: slice) -> Snapshot:
    """What a snapshot says of one candidate."""
    names = ("loss", "error", "penalty", "test", "validation")
    values = {name: getattr(snapshot, name) for name in names}
    return dataclasses.replace(snapshot, **{name: v if v is None else v[own] for name, v in values.items()})
