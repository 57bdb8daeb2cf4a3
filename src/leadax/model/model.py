"""`Model`: what training gives; predicts, shows its parts, is saved and loaded."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float, PyTree

from ..data import Trajectories
from ..data.units import Box, Units
from ..errors import InputError
from ..methods import Levels, Method
from ..methods.prepare import numbers_as_arrays, steps_for
from ..records import Training
from ..rollout import Solution, Steps, kept_within, raise_if_failed, solve
from .fields import LearntField
from .files import Contents, read_model, write_model
from .forecast import Forecast


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
    - `training`: how it was trained; None for a model that was put together by hand.
    """

    levels: Levels
    method: Method = eqx.field(static=True)
    units: Units = eqx.field(static=True)
    environments: tuple[str, ...] = eqx.field(static=True)
    channels: tuple[str, ...] = eqx.field(static=True)
    state_shape: tuple[int, ...] = eqx.field(static=True)
    longest_step: float = eqx.field(static=True)
    box: Box | None = eqx.field(static=True, default=None)
    training: Training | None = eqx.field(static=True, default=None)

    @property
    def members(self) -> int:
        """How many models, trained from different seeds, this is."""
        return jax.tree.leaves(self.levels)[0].shape[0]

    @property
    def parameter_count(self) -> int:
        """How many numbers one member has."""
        return sum(leaf.size for leaf in jax.tree.leaves(self.levels)) // self.members

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
        if not 0 <= number < self.members:
            raise InputError(f"no member number {number}: the model has {self.members}, counted from 0")
        return jax.tree.map(lambda a: a[number : number + 1], self)

    @property
    def shared(self) -> "LearntField":
        """f, callable on states in the units of the data."""
        return LearntField(self.levels, self.method, self.units, 0, part=0)

    def specific(self, environment: str | int) -> "LearntField":
        """g_e of an environment, callable on states in the units of the data."""
        return LearntField(self.levels, self.method, self.units, self.environment_index(environment), part=1)

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
        solver: str | None = None,
    ) -> Forecast:
        """Forecast from a state (or many: leading axes are kept) at increasing times; the first is the state's own.

        Differentiable with respect to the state and the model's parameters.

        **Arguments**

        - `solver`: by default the steps of training, no longer than those, which may end in infinity or NaN where the
          forecast blows up; or an adaptive solver of `leadax.rollout.SOLVERS`, such as `tsit5`, or `kvaerno5` for stiff
          dynamics, where a blow-up is a `RunError`.
        """
        state = state if isinstance(state, jax.Array) else np.asarray(state, float)
        times = np.asarray(times, float)
        self._check(state, times)
        standard = jnp.asarray(self.units.standard(state), self.dtype)
        flat = standard.reshape(-1, *self.state_shape)
        e = self.environment_index(environment)
        clock, begin = (times - times[0]) / self.units.time, self.units.clock(times[0])
        forecast = self._adaptive(flat, clock, begin, e, solver) if solver else self._as_trained(flat, clock, begin, e)
        batch = state.shape[: state.ndim - len(self.state_shape)]
        return Forecast(times, self.units.raw(forecast.reshape(self.members, *batch, len(times), *self.state_shape)))

    def _check(self, state: Any, times: np.ndarray) -> None:
        if state.shape[-len(self.state_shape) :] != self.state_shape:
            raise InputError(f"`state` must have the shape (…, {self.state_shape}) of the model, got {state.shape}")
        if times.ndim != 1 or len(times) < 1 or not (np.all(np.isfinite(times)) and np.all(np.diff(times) > 0)):
            raise InputError("`times` must be one-dimensional, finite and increasing")
        if not isinstance(state, Tracer) and not np.all(np.isfinite(state)):
            raise InputError("`state` must be finite, got NaN or infinity in it: start from an observed state")

    def _as_trained(self, states: Array, clock: np.ndarray, begin: float, e: int) -> Array:
        # An interval longer than any step of training is divided: the learnt field knows no longer step.
        steps = steps_for(self.method, clock, begin, longest=self.longest_step, box=self.box, dtype=self.dtype)
        return _forecast(numbers_as_arrays(self.method, self.dtype), self.levels, jnp.asarray(e), states, steps)

    def _adaptive(self, states: Array, clock: np.ndarray, begin: float, e: int, solver: str) -> Array:
        if self.method.split(*_one_environment(self.levels)) is None:
            raise InputError(f"{type(self.method).__name__} has no vector field to give to an adaptive solver")
        method = numbers_as_arrays(self.method, self.dtype)
        bounds = None if self.box is None else jnp.asarray([self.box.low, self.box.high], self.dtype)
        moments, start = jnp.asarray(clock, self.dtype), jnp.asarray(begin, self.dtype)
        solution = _solve(method, self.levels, jnp.asarray(e), states, moments, start, bounds, solver)
        if not isinstance(states, Tracer):
            raw_time = solution._replace(
                stopped=solution.stopped * self.units.time, until=solution.until * self.units.time
            )
            raise_if_failed(raw_time, solver=solver, begin=begin * self.units.time + self.units.origin)
        return solution.states

    def for_data(self, data: Trajectories) -> Levels:
        """The parameters for the environments of a data set, in its order; `InputError` if it does not fit."""
        check_fits(data, self.state_shape, self.channels)
        chosen = np.array([self.environment_index(name) for name in data.environments])
        return self.levels._replace(specific=jax.tree.map(lambda a: a[:, chosen], self.levels.specific))

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


@eqx.filter_jit
def _forecast(method: Method, levels: Levels, e: Array, states: Array, steps: Steps) -> Array:
    """Forecasts of all members from all states in one environment."""

    def one(levels: Levels) -> Array:
        dynamics = method.dynamics(levels.shared, jax.tree.map(lambda a: a[e], levels.specific))
        return jax.vmap(lambda start: dynamics.forecast(start, steps))(states)

    return jax.vmap(one)(levels)


@eqx.filter_jit
def _solve(
    method: Method,
    levels: Levels,
    e: Array,
    states: Array,
    clock: Array,
    begin: Array,
    bounds: Array | None,
    solver: str,
) -> Solution:
    """The same by an adaptive solver."""

    def one(levels: Levels) -> Solution:
        fields = method.split(levels.shared, jax.tree.map(lambda a: a[e], levels.specific))
        assert fields is not None
        field = kept_within(lambda t, x, u: fields[0](t, x, u) + fields[1](t, x, u), bounds)
        return jax.vmap(lambda start: solve(field, start, clock, begin=begin, solver=solver))(states)

    return jax.vmap(one)(levels)


def _one_environment(levels: Levels) -> tuple[PyTree, PyTree]:
    """The shared and specific parameters of the first member in the first environment."""
    shared, specific, _ = jax.tree.map(lambda a: a[0], levels)
    return shared, jax.tree.map(lambda a: a[0], specific)


def check_fits(data: Trajectories, state_shape: tuple[int, ...], channels: tuple[str, ...]) -> None:
    """An `InputError` unless data have the states that a model was trained on."""
    if data.state_shape != state_shape:
        raise InputError(
            f"the data have states of shape {data.state_shape}, the model was trained on {state_shape}: "
            "channels and grid must agree"
        )
    check_order(data.channels, channels)


def check_order(given: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """An `InputError` if the channels are the expected ones in another order; other names may mean the same."""
    if given != expected and set(given) == set(expected):
        raise InputError(
            f"the channels are in another order, {', '.join(given)}, than those trained on, {', '.join(expected)}: "
            "reorder the states"
        )
