"""Models in files: one safetensors file each, sealed by a SHA-256, with everything that is needed to use it."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from .._atomic import checked_path, one_line, replacing
from ..arrays import cast, fill, read_arrays, write_tree
from ..data.layout import Layout
from ..data.units import Box, Units
from ..describe import check_named, describe, restore
from ..errors import InputError
from ..methods import Levels, Method, Sizes
from ..methods.population import blank_population
from ..records import Training, entry, texts

FORMAT = 2
T = TypeVar("T")


class Contents(NamedTuple):
    """What a model file holds: the fields of a `Model`."""

    levels: Levels
    method: Method
    units: Units
    environments: tuple[str, ...]
    channels: tuple[str, ...]
    state_shape: tuple[int, ...]
    longest_step: float
    box: Box | None
    training: Training | None
    layout: Layout
    covariates: tuple[tuple[float, ...], ...]
    warmup: int


def write_model(path: str | Path, contents: Contents, *, overwrite: bool) -> None:
    """Write a model to one file, whole or not at all."""
    leaf = jax.tree.leaves(contents.levels)[0]
    about = {
        "format": FORMAT,
        "kind": "model",
        "method": describe(contents.method),
        "units": describe(contents.units),
        "members": len(leaf),
        "environments": contents.environments,
        "channels": contents.channels,
        "state_shape": contents.state_shape,
        "longest_step": contents.longest_step,
        "box": describe(contents.box),
        "layout": describe(contents.layout),
        "covariates": [list(row) for row in contents.covariates],
        "warmup": contents.warmup,
        "dtype": str(leaf.dtype),
        "training": contents.training.to_json() if contents.training else None,
    }
    check_named(about["method"], "the model")
    with replacing(path, overwrite=overwrite) as temporary:
        write_tree(temporary, contents.levels, about)


def read_model(path: str | Path, using: Iterable[Any] = (), method: Method | None = None) -> Contents:
    """Read what `write_model` wrote; every entry is checked, nothing in the file is executed."""
    arrays, about = read_arrays(checked_path(path))
    what = str(path)
    if entry(about, "kind", str, what) != "model":
        raise InputError(f"{path} holds a `{about['kind']}`, expected a model: a run's is model.safetensors")
    _check_format(entry(about, "format", int, what), what)
    dtype = entry(about, "dtype", str, what)
    if dtype == "float64" and jnp.result_type(float) != jnp.float64:
        raise InputError(f'{path} is a model in float64: call `jax.config.update("jax_enable_x64", True)` first')
    method = method or restore(entry(about, "method", dict, what), using)
    if not isinstance(method, Method):
        raise InputError(f"{path} does not describe a method: it was changed by hand")
    environments, shape = texts(about, "environments", what), _shape(about, what)
    longest = float(entry(about, "longest_step", (int, float), what))
    if not 0 < longest < float("inf"):
        raise InputError(f"`longest_step` of {path} must be a positive number, got {longest}")
    layout = _layout(about, what)
    sizes = Sizes(layout.state_shape(shape), len(environments), layout.seen)
    template = _template(method, sizes, layout, entry(about, "members", int, what), dtype, what)
    record = entry(about, "training", (dict, type(None)), what)
    _check_finite(arrays, what)
    return Contents(
        levels=fill(template, arrays, what),
        method=method,
        units=_described(about, "units", Units, what),
        environments=environments,
        channels=texts(about, "channels", what),
        state_shape=shape,
        longest_step=longest,
        box=None if entry(about, "box", (dict, type(None)), what) is None else _described(about, "box", Box, what),
        training=None if record is None else Training.from_json(record, what),
        layout=layout,
        covariates=_covariates(about, environments, layout, what),
        warmup=_warmup(about, what),
    )


def _template(method: Method, sizes: Sizes, layout: Layout, members: int, dtype: str, what: str) -> Levels:
    """The shapes of a model's parameters."""
    if not 0 < members < 2**20:
        raise InputError(f"`members` of {what} must be a positive number, got {members}")
    init = lambda key: cast(Levels(*method.init(sizes, key=key), blank_population(layout, sizes.environments)), dtype)
    try:
        return jax.eval_shape(jax.vmap(init), jax.random.split(jax.random.key(0), members))
    except (TypeError, ValueError, AssertionError) as error:
        raise InputError(f"{what} describes a model that cannot be built: {one_line(error)}") from error


def _shape(about: dict[str, Any], what: str) -> tuple[int, ...]:
    shape = entry(about, "state_shape", list, what)
    if not shape or not all(isinstance(size, int) and 0 < size < 2**31 for size in shape):
        raise InputError(f"`state_shape` of {what} must be a list of positive numbers, got {shape}")
    return tuple(shape)


def _layout(about: dict[str, Any], what: str) -> Layout:
    layout = _described(about, "layout", Layout, what)
    if layout.channels != texts(about, "channels", what):
        raise InputError(f"`layout` of {what} does not describe its states: it was changed by hand")
    return layout


def _covariates(
    about: dict[str, Any], environments: tuple[str, ...], layout: Layout, what: str
) -> tuple[tuple[float, ...], ...]:
    rows = entry(about, "covariates", list, what)
    good = lambda row: isinstance(row, list) and len(row) == len(layout.covariates) and _all_numbers(row)
    if len(rows) != (len(environments) if layout.covariates else 0) or not all(good(row) for row in rows):
        raise InputError(f"`covariates` of {what} must have {len(layout.covariates)} numbers for each environment")
    return tuple(tuple(float(number) for number in row) for row in rows)


def _all_numbers(row: list[Any]) -> bool:
    return all(isinstance(number, int | float) and not isinstance(number, bool) for number in row)


def _warmup(about: dict[str, Any], what: str) -> int:
    warmup = entry(about, "warmup", int, what)
    if warmup < 1:
        raise InputError(f"`warmup` of {what} must be a positive number, got {warmup}")
    return warmup


def _described(about: dict[str, Any], name: str, kind: type[T], what: str) -> T:
    """An entry that describes an object of ours: nothing may be left out, and everything must be of its type."""
    document = entry(about, name, dict, what)
    found = restore(document)
    same = lambda value: json.dumps(value, sort_keys=True)  # in JSON, false is not 0
    if not isinstance(found, kind) or same(describe(found)) != same(document):
        raise InputError(f"`{name}` of {what} is not as Leadax writes it: it was changed by hand")
    return found


def _check_finite(arrays: Mapping[str, np.ndarray], what: str) -> None:
    for name, array in arrays.items():
        if np.issubdtype(array.dtype, np.floating) and not np.isfinite(array).all():
            raise InputError(f"`{name}` of {what} has numbers that are not finite: it was changed by hand")


def _check_format(found: int, what: str) -> None:
    if found > FORMAT:
        raise InputError(f"{what} is a model of format {found}, this version reads {FORMAT}: install a newer Leadax")
    if found < FORMAT:
        raise InputError(
            f"{what} is a model of Leadax 0.1 (format {found}), which this version cannot read: train again"
        )
