"""Models as StableHLO, which needs no Leadax to run: `export_forecast` and `export_field`.

What `jax.export` makes is a compiled function with its weights in it. Any program with JAX loads it by
`jax.export.deserialize`; other tools for StableHLO read the text in it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from .arrays import numbers
from .errors import InputError, expect
from .methods.prepare import numbers_as_arrays
from .model import Model
from .model.programs import forecast_states

PLATFORMS = ("cpu", "cuda", "tpu")


def export_forecast(model: Model, times: Sequence[float], *, platforms: Sequence[str] = PLATFORMS) -> Any:
    """`(environment, states) -> forecasts` as a `jax.export.Exported`: `(n, *state)` to `(n, time, *state)`.

    Environments are counted as in `model.environments`; states and forecasts are in the units of the data, forecasts
    are means over members. The steps are those of training.

    **Arguments**

    - `times`: when, increasing; the first is that of the states. They are part of what is exported;
    - `platforms`: what it can run on.

    >>> import jax, jax.random as jr, numpy as np
    >>> from leadax import Leads, Linear, Trajectories, fit
    >>> t = np.linspace(0, 2, 9)
    >>> data = Trajectories.from_arrays(t, np.stack([np.exp(-a * t) for a in (0.5, 1.0)])[:, None, :, None])
    >>> exported = export_forecast(fit(Leads(net=Linear), data, steps=20, key=jr.key(0)), t)
    >>> elsewhere = jax.export.deserialize(exported.serialize())
    >>> elsewhere.call(np.int32(1), np.ones((5, 1), np.float32)).shape
    (5, 9, 1)
    """
    expect("model", model, Model, "leadax.Model.load(FILE)")
    if model.layout.inputs:
        raise InputError("a forecast with inputs cannot be exported: inputs are part of its steps. Export a field")
    moments = numbers("times", times)
    if moments.ndim != 1 or len(moments) < 2 or not (np.all(np.isfinite(moments)) and np.all(np.diff(moments) > 0)):
        raise InputError("`times` must be two or more finite numbers that increase")
    every = [model.steps(moments, model.forcing(moments, None, e)) for e in range(len(model.environments))]
    steps = jax.tree.map(lambda *parts: jnp.stack(parts), *every)
    method = numbers_as_arrays(model.method, model.dtype)

    def forecast(e: Array, states: Array) -> Array:
        starts, constants = model.starts(states, e), model.individual_constants(e)
        along = jax.tree.map(lambda a: a[e], steps)
        found = forecast_states(method, model.levels, e, starts, along, constants)
        observed = found[..., : len(model.channels)]
        return jnp.mean(model.units.raw(observed), axis=0).astype(model.dtype)

    return _exported(forecast, model, platforms)


def export_field(model: Model, *, platforms: Sequence[str] = PLATFORMS) -> Any:
    """`(environment, states, time) -> tangents` in the same way: dx/dt, for a solver of your own.

    `time` is a number, which only matters to models that see it. A model with inputs has them as a fourth argument,
    `(n, input)`. Nothing may be hidden: what is exported is a law of the observed states.
    """
    expect("model", model, Model, "leadax.Model.load(FILE)")
    if model.layout.hidden:
        raise InputError("the field of a model with hidden states is of no use without them: export a forecast")
    fields = [model.field(e) for e in range(len(model.environments))]

    def tangents(e: Array, states: Array, time: Array, *inputs: Array) -> Array:
        branches = [lambda x, *u, field=field: field(x, time, *(u or (None,))) for field in fields]
        return jax.vmap(lambda x, *u: jax.lax.switch(e, branches, x, *u))(states, *inputs).astype(model.dtype)

    inputs = [len(model.layout.inputs)] if model.layout.inputs else []
    return _exported(tangents, model, platforms, jax.ShapeDtypeStruct((), model.dtype), *inputs)


def _exported(function: Callable[..., Array], model: Model, platforms: Sequence[str], *more: Any) -> Any:
    """The function for any number of states; `more`: scalars after them, or the widths of further arrays."""
    try:
        from jax import export
    except ImportError as error:  # flatbuffers is an extra
        raise InputError("to export a model needs flatbuffers: pip install 'leadax[export]'") from error
    (count,) = export.symbolic_shape("n")
    array = lambda *shape: jax.ShapeDtypeStruct((count, *shape), model.dtype)
    rest = [array(part) if isinstance(part, int) else part for part in more]
    arguments = (jax.ShapeDtypeStruct((), jnp.int32), array(*model.state_shape), *rest)
    return export.export(jax.jit(function), platforms=tuple(platforms))(*arguments)
