"""`Model`: what training gives; predicts, shows its two halves, is saved and loaded."""

from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from ._atomic import replacing
from ._types import VectorField
from .arrays import fill, read_arrays, write_tree
from .data import Trajectories
from .describe import describe_method, method_from
from .errors import InputError
from .methods import Method, NetFactory, Observed, Parts
from .rollout import Solution, raise_if_failed, solve

FORMAT = 1


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted model of several environments.

    - `method`: how it predicts;
    - `parts`: its parameters, with a leading axis over the seeds it was trained from;
    - `environments`, `channels`, `state_shape`: what it was trained on;
    - `time_step`: the longest step that it was trained to take;
    - `about`: where it comes from (protocol, steps, fingerprint of the data, …).

    `model.shared` and `model.specific("e3")` are the learnt f and g_e, callable on states.
    """

    method: Method
    parts: Parts
    environments: tuple[str, ...]
    channels: tuple[str, ...]
    state_shape: tuple[int, ...]
    time_step: float
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def seeds(self) -> int:
        """How many models, trained from different seeds, this is."""
        return jax.tree.leaves(self.parts)[0].shape[0]

    @property
    def parameters(self) -> int:
        """How many numbers one seed's model has."""
        return sum(leaf.size for leaf in jax.tree.leaves(self.parts)) // self.seeds

    def member(self, seed: int, environment: str | int = 0) -> Parts:
        """The two halves of one seed in one environment."""
        if not 0 <= seed < self.seeds:
            raise InputError(f"no seed number {seed}: the model has {self.seeds}, counted from 0")
        e = self.environment_index(environment)
        shared, specific = jax.tree.map(lambda a: a[seed], self.parts)
        return Parts(shared, jax.tree.map(lambda a: a[e], specific))

    @property
    def shared(self) -> VectorField:
        """f of the first seed."""
        return self.method.decompose(*self.member(0))[0]

    def specific(self, environment: str | int) -> VectorField:
        """g_e of the first seed in an environment."""
        return self.method.decompose(*self.member(0, environment))[1]

    def environment_index(self, environment: str | int) -> int:
        """The position of an environment given by name or by position."""
        if isinstance(environment, int):
            if 0 <= environment < len(self.environments):
                return environment
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
    ) -> Float[np.ndarray, "*batch_and_time_and_state"]:
        """Forecast from a state (or many: leading axes are kept) at increasing times; the first is the state's own.

        With several seeds, the mean of their forecasts.

        **Arguments**

        - `solver`: by default the steps of training, no longer than those, which may end in infinity or NaN where the
          forecast blows up; or the name of an adaptive solver of `leadax.rollout.SOLVERS`, such as `tsit5`, or
          `kvaerno5` for stiff dynamics, where that is a `RunError`.
        """
        state, times = np.asarray(state), np.asarray(times, float)
        if state.shape[-len(self.state_shape) :] != self.state_shape:
            raise InputError(f"`state` must have the shape (…, {self.state_shape}) of the model, got {state.shape}")
        if times.ndim != 1 or len(times) < 1 or not (np.all(np.isfinite(times)) and np.all(np.diff(times) > 0)):
            raise InputError("`times` must be one-dimensional, finite and increase")
        if not np.all(np.isfinite(state)):
            raise InputError("`state` must be finite, got NaN or infinity in it: start from an observed state")
        flat = jnp.asarray(state.reshape(-1, *self.state_shape), self._dtype)
        e = self.environment_index(environment)
        forecast = self._adaptive(flat, times, e, solver) if solver else self._as_trained(flat, times, e)
        with np.errstate(invalid="ignore"):  # fixed steps may blow up to infinity
            mean = np.asarray(forecast, float).mean(axis=0)
        return mean.reshape(*state.shape[: state.ndim - len(self.state_shape)], len(times), *self.state_shape)

    def _as_trained(self, states: Array, times: np.ndarray, e: int) -> Array:
        # An interval longer than any in training is divided: the learnt field knows no longer step.
        counts = np.maximum(1, np.ceil(np.diff(times) / self.time_step - 1e-6)).astype(int)
        chosen = np.concatenate([[0], np.cumsum(counts)])
        fine = jnp.asarray(np.interp(np.arange(chosen[-1] + 1), chosen, times - times[0]), self._dtype)
        return self._compiled(self.parts, states, fine, e)[:, :, chosen]

    @cached_property
    def _compiled(self):
        def one(parts: Parts, e: Array, times: Array, state: Array) -> Array:
            specific = jax.tree.map(lambda a: a[e], parts.specific)
            asked = Observed(jnp.broadcast_to(state, (len(times), *state.shape)), times)
            return self.method.predict(parts.shared, specific, asked)

        each_state = lambda parts, states, times, e: jax.vmap(partial(one, parts, e, times))(states)
        return jax.jit(jax.vmap(each_state, in_axes=(0, None, None, None)))

    def _adaptive(self, states: Array, times: np.ndarray, e: int, solver: str) -> Array:
        clock = jnp.asarray(times - times[0], self._dtype)
        solution = self._compiled_adaptive(self.parts, states, clock, e, solver=solver)
        raise_if_failed(solution, solver=solver, start=float(times[0]))
        return solution.states

    @cached_property
    def _compiled_adaptive(self):
        def one(parts: Parts, e: Array, times: Array, solver: str, state: Array) -> Solution:
            specific = jax.tree.map(lambda a: a[e], parts.specific)
            f, g = self.method.decompose(parts.shared, specific)
            return solve(lambda x: f(x) + g(x), state, times, solver=solver)

        def each_state(parts: Parts, states: Array, times: Array, e: Array, solver: str) -> Solution:
            return jax.vmap(lambda p: jax.vmap(partial(one, p, e, times, solver))(states))(parts)

        return jax.jit(each_state, static_argnames="solver")

    @property
    def _dtype(self) -> Any:
        return jax.tree.leaves(self.parts)[0].dtype

    def for_data(self, data: Trajectories) -> Parts:
        """The parameters for the environments of a data set, in its order; `InputError` if it does not fit."""
        if data.state_shape != self.state_shape:
            raise InputError(
                f"the data have states of shape {data.state_shape}, the model was trained on {self.state_shape}: "
                "channels and grid must agree"
            )
        check_order(data.channels, self.channels)
        chosen = np.array([self.environment_index(name) for name in data.environments])
        return Parts(self.parts.shared, jax.tree.map(lambda a: a[:, chosen], self.parts.specific))

    def save(self, path: str | Path, *, overwrite: bool = True) -> None:
        """Write the model to one safetensors file that carries all that is needed to use it."""
        about = {
            "format": FORMAT,
            "kind": "model",
            "method": describe_method(self.method),
            "seeds": self.seeds,
            "environments": self.environments,
            "channels": self.channels,
            "state_shape": self.state_shape,
            "time_step": self.time_step,
            "dtype": str(self._dtype),
            "about": self.about,
        }
        with replacing(path, overwrite=overwrite) as temporary:
            write_tree(temporary, self.parts, about)

    @classmethod
    def load(cls, path: str | Path, *, net: NetFactory | None = None) -> "Model":
        """Read a model that `save` wrote; nothing in the file is executed.

        **Arguments**

        - `net`: the architecture, if it was one of your own.
        """
        arrays, about = read_arrays(Path(path))
        if about.get("kind") != "model":
            raise InputError(
                f"{path} holds a `{about.get('kind')}`, expected a model: that of a run is model.safetensors"
            )
        if about["format"] > FORMAT:
            raise InputError(
                f"{path} is a model of format {about['format']}, this version of Leadax reads up to {FORMAT}: "
                "install a newer one"
            )
        if about["dtype"] == "float64" and not jax.config.jax_enable_x64:  # pyright: ignore[reportAttributeAccessIssue]
            raise InputError(f'{path} is a model in float64: call `jax.config.update("jax_enable_x64", True)` first')
        method = method_from(about["method"], net=net)
        shape = tuple(about["state_shape"])
        init = lambda key: cast(method.init(shape, len(about["environments"]), key=key), about["dtype"])
        template = jax.eval_shape(jax.vmap(init), jax.random.split(jax.random.key(0), about["seeds"]))
        return cls(
            method=method,
            parts=fill(template, arrays, str(path)),
            environments=tuple(about["environments"]),
            channels=tuple(about["channels"]),
            state_shape=shape,
            time_step=about["time_step"],
            about=about["about"],
        )


def check_order(given: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """An `InputError` if the channels are the expected ones in another order; other names may mean the same."""
    if given != expected and set(given) == set(expected):
        raise InputError(
            f"the channels are in another order, {', '.join(given)}, than those trained on, {', '.join(expected)}: "
            "reorder the states"
        )


def cast(tree: PyTree, dtype: Any) -> PyTree:
    """All real numbers of a tree in one type."""
    return jax.tree.map(lambda a: a.astype(dtype) if eqx.is_inexact_array(a) else a, tree)
