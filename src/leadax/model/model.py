"""`Model`: what training gives; predicts, shows its parts, is saved and loaded."""

import dataclasses
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from ..arrays import numbers, on_device
from ..data import Trajectories
from ..data.batch import Batch
from ..data.forcing import Forcing, check_inputs, driving_at
from ..data.layout import Layout
from ..data.units import Box, Units
from ..errors import InputError
from ..methods import Levels, Method
from ..methods.base import has_field
from ..methods.population import Population
from ..methods.prepare import numbers_as_arrays, prepare, side_by_side, steps_for
from ..records import Training
from ..rollout import Steps, raise_if_failed, steps_between
from .elsewhere import fields_as_xarray
from .estimates import Estimate, estimates
from .fields import LearntField
from .files import Contents, read_model, write_model
from .forecast import Forecast
from .programs import forecast_states, solve_states

if TYPE_CHECKING:
    import xarray as xr


class _Note:
    """A record within a tree. All are alike to JAX, which compiles nothing because of them."""

    def __init__(self, record: Training):
        self.record = record

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Note)

    def __hash__(self) -> int:
        return hash(_Note)


jax.tree_util.register_pytree_node(Training, lambda record: ((), _Note(record)), lambda note, _: note.record)


class Model(eqx.Module):
    """A fitted model of several environments.

    A model has one or more *members*, trained from different seeds. One rule holds for everything it is asked: each
    member answers, and the mean of their answers is returned. `model.member(k)` is a model of one member, and a
    `Forecast` has all of them.

    It is a pytree whose leaves are the parameters, with a leading axis over members: `jit`, `grad` and `vmap` work.

    - `levels`: the parameters, in standard units; `method`: how they predict; `units`: the standard units;
    - `environments`, `channels`, `state_shape`: what it was trained on;
    - `longest_step`: the longest step that it was trained to take, in standard time;
    - `box`: the region that forecasts are kept in, so that they cannot run away; None for everywhere;
    - `training`: how it was trained; None for a model that was put together by hand. A note: it takes no part in the
      structure of the tree, so that models of the same kind can be mapped over together and share programs;
    - `layout`: what is hidden, what acts from outside, what belongs to one trajectory; by default nothing;
    - `covariates`: those of each environment, in the units of the data; `warmup`: how many points of a trajectory it
      is told before it forecasts, unless asked otherwise.
    """

    levels: Levels
    method: Method = eqx.field(static=True)
    units: Units = eqx.field(static=True)
    environments: tuple[str, ...] = eqx.field(static=True)
    channels: tuple[str, ...] = eqx.field(static=True)
    state_shape: tuple[int, ...] = eqx.field(static=True)
    longest_step: float = eqx.field(static=True)
    box: Box | None = eqx.field(static=True, default=None)
    training: Training | None = None
    layout: Layout = eqx.field(static=True, default=None)  # pyright: ignore[reportAssignmentType]
    covariates: tuple[tuple[float, ...], ...] = eqx.field(static=True, default=())
    warmup: int = eqx.field(static=True, default=1)

    def __post_init__(self):
        if self.layout is None:
            self.layout = Layout(self.channels)

    @property
    def members(self) -> int:
        """How many models, trained from different seeds, this is."""
        return jax.tree.leaves(self.levels)[0].shape[0]

    @property
    def parameter_count(self) -> int:
        """How many numbers of one member were learnt, those of single trajectories aside."""
        return sum(leaf.size for leaf in jax.tree.leaves(self.levels[:2])) // self.members

    @property
    def protocol(self) -> str:
        """How its errors are counted: `clean`, or `paper` if it was trained that way."""
        return self.training.config.protocol if self.training else "clean"

    @property
    def dtype(self) -> Any:
        """The type of its numbers."""
        return jax.tree.leaves(self.levels)[0].dtype

    def member(self, number: int) -> "Model":
        """A model of one member."""
        if not isinstance(number, int | np.integer) or not 0 <= number < self.members:
            raise InputError(f"no member number {number}: the model has {self.members}, counted from 0")
        return jax.tree.map(lambda a: a[number : number + 1], self)

    @property
    def numbers(self) -> Method:
        """The method with its numbers as arrays, one per member: what programs are given."""
        return side_by_side([self.method], self.members, self.dtype)

    @property
    def has_field(self) -> bool:
        """Whether it has a vector field, or steps from point to point in another way."""
        one = lambda tree: jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[1:], a.dtype), tree)
        return has_field(self.method, one(self.levels.shared), one(self.levels.specific))

    @property
    def shared(self) -> "LearntField":
        """f, callable on one state or many in the units of the data. Where covariates matter, with the first ones."""
        return self.shared_in(0)

    def shared_in(self, environment: str | int) -> "LearntField":
        """f with the covariates of an environment, where they matter."""
        return self._field(self.environment_index(environment), part=0)

    def specific(self, environment: str | int) -> "LearntField":
        """g_e of an environment, callable on states in the units of the data."""
        return self._field(self.environment_index(environment), part=1)

    def to_xarray(self, states: Float[Any, "point *state"]) -> "xr.Dataset":
        """f and g_e of all environments at some states, as an `xarray.Dataset`: `shared` and `specific`."""
        states, whole = np.asarray(states, float), self.layout.state_shape(self.state_shape)
        if states.shape[1:] != whole:
            raise InputError(f"`states` must have the shape (point, {', '.join(map(str, whole))}), got {states.shape}")
        at_states = lambda part: np.stack([jax.vmap(part(name))(states) for name in self.environments])
        fields = {"shared": at_states(self.shared_in), "specific": at_states(self.specific)}
        channels = (*self.channels, *(f"hidden{i}" for i in range(self.layout.hidden)))
        return fields_as_xarray(states, fields, self.environments, channels)

    def parameters(self, environment: str | int) -> dict[str, Estimate]:
        """The numbers of a known formula in an environment, in the units of the data; their spread is over members."""
        found = self.estimates(environment)
        if not found:
            raise InputError("the model has no formula with unknown numbers: give one, as in `Leads(known=…)`")
        return found

    def estimates(self, environment: str | int) -> dict[str, Estimate]:
        """The same, but nothing for a model without a formula."""
        return estimates(self.method, self.levels, self.environment_index(environment))

    def field(self, environment: str | int) -> "LearntField":
        """dx/dt in an environment, callable on states in the units of the data: f + g_e, and a formula that is known.

        Outside the region of the data, forecasts are kept near it, and follow this field no longer.
        """
        return self._field(self.environment_index(environment), part=None)

    def _field(self, e: int, part: int | None) -> "LearntField":
        units = self.units.with_hidden(self.layout.hidden)
        shape = self.layout.state_shape(self.state_shape)
        return LearntField(self.levels, self.method, units, e, part, shape, self._constants(e, None))

    def environment_index(self, environment: str | int) -> int:
        """The position of an environment given by name or by position."""
        if isinstance(environment, int | np.integer) and not isinstance(environment, bool):
            if 0 <= environment < len(self.environments):
                return int(environment)
        elif environment in self.environments:
            return self.environments.index(environment)
        known = ", ".join(self.environments[:8]) + (", …" if len(self.environments) > 8 else "")
        raise InputError(
            f"the model has never seen environment `{environment}`: it knows {known}; "
            "learn a new one from a trajectory of it with `adapt`"
        )

    def predict(
        self,
        state: Float[Any, "*batch_and_state"],
        times: Float[Any, " time"],
        *,
        environment: str | int,
        inputs: Float[Any, "time *input"] | None = None,
        individual: Float[Any, " constant"] | None = None,
        solver: str | None = None,
        hidden: bool = False,
    ) -> Forecast:
        """Forecast from a state (or many: leading axes are kept) at increasing times; the first is the state's own.

        Differentiable with respect to the state and the model's parameters.

        **Arguments**

        - `state`: what was observed; hidden channels then start at their mean in the environment. Or a whole state;
        - `inputs`: the inputs at these times, in the order of the data trained on, if there were any;
        - `individual`: the constants of the trajectory, by default their mean in the environment;
        - `hidden`: return hidden channels too, which have standard units;
        - `solver`: by default the steps of training, no longer than those, which may end in infinity or NaN where the
          forecast blows up; or an adaptive solver of `leadax.rollout.SOLVERS`, such as `tsit5`, or `kvaerno5` for stiff
          dynamics, where a blow-up is a `RunError`.
        """
        state = state if isinstance(state, jax.Array) else numbers("state", state)
        times = numbers("times", times)
        self._check(state, times)
        e = self.environment_index(environment)
        forcing = self.forcing(times, inputs, e)
        starts, constants = self.starts(state, e), self.individual_constants(e, individual)
        task = (starts, times, e, forcing, constants)
        forecast = self._as_trained(*task) if solver is None else self._adaptive(*task, solver)
        kept = self.layout.hidden if hidden else 0
        units = self.units.with_hidden(kept)
        batch = state.shape[: state.ndim - len(self.state_shape)]
        shape = (self.members, *batch, len(times), *self.layout.state_shape(self.state_shape))
        states = units.raw(forecast.reshape(shape)[..., : len(units.mean)])
        names = (*self.channels, *(f"hidden{i}" for i in range(kept)))
        return Forecast(times, states, names, len(self.state_shape) - 1)

    def starts(self, state: Any, e: int | Array) -> Float[Array, "member start *state"]:
        """Whole states to start from, in standard units."""
        whole = self.layout.state_shape(self.state_shape)
        given = state.shape[-1]
        standard = self.units.with_hidden(given - len(self.units.mean)).standard(state)
        flat = standard.reshape(-1, *whole[:-1], given)
        shape = (self.members, *flat.shape)
        if isinstance(flat, np.ndarray):
            starts = on_device(np.broadcast_to(flat, shape), self.dtype)
        else:
            starts = jnp.broadcast_to(flat.astype(self.dtype), shape)
        if given == whole[-1]:
            return starts
        mean = self.levels.local.start[:, e, given:].reshape(self.members, *(1,) * (flat.ndim - 1), -1)
        return jnp.concatenate([starts, jnp.broadcast_to(mean, (*starts.shape[:-1], mean.shape[-1]))], axis=-1)

    def individual_constants(self, e: int | Array, given: Any = None) -> Float[Array, "member constant"] | None:
        """Those given, or the mean of the environment's trajectories; None if there are no such constants."""
        count = self.layout.individual
        if given is not None and np.shape(given) != (count,):
            raise InputError(f"`individual` must have {count} numbers for this model, got shape {np.shape(given)}")
        if count == 0:
            return None
        if given is None:
            return self.levels.local.individual[:, e]
        return jnp.broadcast_to(jnp.asarray(given, self.dtype), (self.members, count))

    def _constants(self, e: int, individual: Any) -> Float[Array, "member constant"] | None:
        """What a field sees in an environment that does not change: covariates and individual constants."""
        own = self.individual_constants(e, individual)
        if not self.layout.covariates:
            return own
        driving = len(self.layout.driving)
        mean, scale = self.units.input_mean[driving:], self.units.input_scale[driving:]
        standard = (np.asarray(self.covariates[e]) - mean) / scale
        known = jnp.broadcast_to(jnp.asarray(standard, self.dtype), (self.members, len(standard)))
        return known if own is None else jnp.concatenate([known, own], axis=-1)

    def forcing(self, times: np.ndarray, inputs: Any, e: int) -> Forcing | None:
        """What acts on a trajectory of an environment from outside, its covariates included."""
        layout, names = self.layout, ", ".join(self.layout.inputs)
        if inputs is None and layout.inputs:
            raise InputError(f"the model was trained with inputs: give `inputs` with {names} at each time")
        if not layout.inputs and inputs is not None:
            raise InputError("the model was trained without inputs: leave out `inputs`")
        values = None if inputs is None else np.asarray(inputs, float)
        if values is not None and (len(values) != len(times) or values.shape[-1] != len(layout.inputs)):
            raise InputError(f"`inputs` must have a row per time and a column for each of {names}, got {values.shape}")
        covariates = {name: [self.covariates[e][i]] for i, name in enumerate(layout.covariates)}
        found = driving_at(times, values, covariates, self.units, layout)
        if found is None:
            return None
        return jax.tree.map(lambda a: a[0, 0], found.forcing())

    def _check(self, state: Any, times: np.ndarray) -> None:
        shapes = dict.fromkeys([self.state_shape, self.layout.state_shape(self.state_shape)])
        if state.shape[-len(self.state_shape) :] not in shapes:
            allowed = " or ".join(f"(…, {shape})" for shape in shapes)
            raise InputError(f"`state` must have the shape {allowed} of the model, got {state.shape}")
        if times.ndim != 1 or len(times) < 1 or not (np.all(np.isfinite(times)) and np.all(np.diff(times) > 0)):
            raise InputError("`times` must be one-dimensional, finite and increasing")
        if not isinstance(state, Tracer) and not np.all(np.isfinite(state)):
            raise InputError("`state` must be finite, got NaN or infinity in it: start from an observed state")

    def _clock(self, times: np.ndarray) -> tuple[np.ndarray, float]:
        return (times - times[0]) / self.units.time, self.units.clock(times[0])

    def _as_trained(self, starts: Array, times: np.ndarray, e: int, forcing: Forcing | None, constants: Any) -> Array:
        method, steps = numbers_as_arrays(self.method, self.dtype), self.steps(times, forcing)
        return forecast_states(method, self.levels, jnp.asarray(e), starts, steps, constants)

    def steps(self, times: np.ndarray, forcing: Forcing | None) -> Steps:
        """The steps of training between these times."""
        clock, begin = self._clock(times)
        # An interval longer than any step of training is divided: the learnt field knows no longer step.
        rules = {"longest": self.longest_step, "box": self.whole_box, "dtype": self.dtype}
        return steps_for(self.method, clock, begin, forcing, **rules)

    def _adaptive(
        self, starts: Array, times: np.ndarray, e: int, forcing: Forcing | None, constants: Any, solver: str
    ) -> Array:
        if not self.has_field:
            raise InputError(f"{type(self.method).__name__} has no vector field to give to an adaptive solver")
        method = numbers_as_arrays(self.method, self.dtype)
        clock, begin = self._clock(times)
        steps = steps_between(clock, dtype=self.dtype, begin=begin, forcing=forcing)
        if self.whole_box is not None:
            steps = steps._replace(bounds=on_device([self.whole_box.low, self.whole_box.high], self.dtype))
        moments = on_device(clock, self.dtype)
        solution = solve_states(method, self.levels, jnp.asarray(e), starts, moments, steps, constants, solver)
        if not isinstance(starts, Tracer):
            raw_time = solution._replace(
                stopped=solution.stopped * self.units.time, until=solution.until * self.units.time
            )
            raise_if_failed(raw_time, solver=solver, begin=begin * self.units.time + self.units.origin)
        return solution.states

    @property
    def whole_box(self) -> Box | None:
        """The region that whole states are kept in."""
        return None if self.box is None else self.box.with_hidden(self.layout.hidden)

    def batch(self, data: Trajectories) -> Batch:
        """A data set as the model's programs take it."""
        rules = {"longest": self.longest_step, "box": self.whole_box, "dtype": self.dtype, "layout": self.layout}
        return prepare(self.with_covariates(data), self.units, self.method, **rules)

    def with_covariates(self, data: Trajectories) -> Trajectories:
        """The data with the covariates of environments that the model knows, where the data do not say."""
        missing = [name for name in self.layout.covariates if name not in data.parameters]
        if not missing or not set(data.environments) <= set(self.environments):
            return data
        rows = [self.covariates[self.environment_index(name)] for name in data.environments]
        place = self.layout.covariates.index
        found = {name: np.array([row[place(name)] for row in rows]) for name in missing}
        return dataclasses.replace(data, parameters={**data.parameters, **found})

    def for_data(self, data: Trajectories) -> Levels:
        """The parameters for the environments of a data set, in its order; `InputError` if it does not fit."""
        check_fits(data, self.state_shape, self.channels)
        check_inputs(self.with_covariates(data), self.layout)
        self._check_covariates(data)
        if data.environments == self.environments:
            return self.levels
        chosen = np.array([self.environment_index(name) for name in data.environments])
        # In NumPy, where nothing is compiled for another order of environments.
        picked = lambda a: a[:, chosen] if isinstance(a, Tracer) else on_device(np.asarray(a)[:, chosen], a.dtype)
        pick = lambda tree: jax.tree.map(picked, tree)
        local = self.levels.local
        if isinstance(local, Population):
            local = local._replace(start=pick(local.start), individual=pick(local.individual))
        return Levels(self.levels.shared, pick(self.levels.specific), local)

    def _check_covariates(self, data: Trajectories) -> None:
        """An `InputError` where data and model disagree about an environment that both know."""
        for i, name in enumerate(self.layout.covariates):
            given = dict(zip(data.environments, data.parameters.get(name, ()), strict=False))
            for e, known in zip(self.environments, self.covariates, strict=True):
                if e in given and not math.isclose(given[e], known[i], rel_tol=1e-6):
                    raise InputError(
                        f"the covariate `{name}` of environment `{e}` is {given[e]:g} in the data, but was "
                        f"{known[i]:g} in training: use the same, or give the environment another name"
                    )

    def save(self, path: str | Path, *, overwrite: bool = True) -> None:
        """Write the model to one safetensors file that carries all that is needed to use it."""
        write_model(path, Contents(*(getattr(self, name) for name in Contents._fields)), overwrite=overwrite)

    @classmethod
    def load(cls, path: str | Path, *, using: Iterable[Any] = (), method: Method | None = None) -> "Model":
        """Read a model that `save` wrote; nothing in the file is executed.

        **Arguments**

        - `using`: methods, nets, penalties or functions of your own that the model is made of. Classes that your
          program has imported already are found without;
        - `method`: the method itself, in place of its description in the file.
        """
        return cls(*read_model(path, using, method))


def check_fits(data: Trajectories, state_shape: tuple[int, ...], channels: tuple[str, ...]) -> None:
    """An `InputError` unless data have the states that a model was trained on."""
    if len(data.state_shape) == len(state_shape) == 1 and data.state_shape != state_shape:
        listed = lambda names: ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        raise InputError(
            f"the data have the channels {listed(data.channels)}, the model was trained on {listed(channels)}: choose "
            "them with `--channels`, and inputs with `--inputs`"
        )
    if data.state_shape != state_shape:
        raise InputError(
            f"the data have states of shape {data.state_shape}, the model was trained on {state_shape}: "
            "channels and grid must agree"
        )
    check_order(data.channels, channels)


def check_order(given: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """An `InputError` if channels are the expected ones in another order, or only some of them are.

    Quite other names may mean the same.
    """
    if given != expected and 0 < len(set(given) & set(expected)) < len(expected):
        raise InputError(
            f"the channels are {', '.join(given)}, those trained on are {', '.join(expected)}: choose them with "
            "`--channels`, or rename them"
        )
    if given != expected and set(given) == set(expected):
        raise InputError(
            f"the channels are in another order, {', '.join(given)}, than those trained on, {', '.join(expected)}: "
            f"choose them with `--channels {','.join(expected)}`"
        )
