"""Settings as plain JSON, and back: what a run folder and a model file say about a method. Never code."""

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import penalty as penalties
from .errors import InputError, lookup
from .methods import METHODS, ContextPenalty, Method, NetFactory
from .nets import NETS, Net, Scaled, Scales

PENALTIES = {kind.__name__: kind for kind in (
    penalties.Omega, penalties.EmpiricalNorm, penalties.SpectralNorm, penalties.Frobenius, ContextPenalty
)}  # fmt: skip
_CLASSES = {METHODS[name]: name for name in METHODS if isinstance(METHODS[name], type)}


def scaled(factory: NetFactory, scales: Scales | None = None) -> NetFactory:
    """An architecture between two changes of units, for data of unknown scale; see `leadax.nets.Scaled`.

    - `scales`: None where the true ones come with the arrays of a model.
    """
    return functools.partial(_build_scaled, factory=factory, scales=scales)


def rescaled(factory: NetFactory | None, scales: Scales | None) -> NetFactory | None:
    """The same architecture in the units of other data, if it has units at all."""
    if isinstance(factory, functools.partial) and factory.func is _build_scaled:
        return scaled(factory.keywords["factory"], scales)
    return factory


def describe_method(method: Method) -> dict[str, Any]:
    """A method as JSON.

    >>> from leadax.methods import Leads
    >>> from leadax.nets import MLP
    >>> describe_method(Leads(net=functools.partial(MLP, width=8), solver="rk4"))["net"]
    {'name': 'mlp', 'options': {'width': 8}, 'scaled': False}
    """
    return {
        "name": _CLASSES.get(type(method), type(method).__qualname__),
        "net": None if method.net is None else _describe_net(method.net),
        "solver": method.solver,
        "substeps": method.substeps,
        "penalty": None if method.penalty is None else _describe_penalty(method.penalty),
        "penalty_weight": method.penalty_weight,
        **{name: getattr(method, name) for name in _own_settings(method)},
    }


def _own_settings(method: Method) -> list[str]:
    """What this method can be told beyond what all can. The units of the data come with the arrays of a model."""
    common = {field.name for field in dataclasses.fields(Method)}
    return [field.name for field in dataclasses.fields(method) if field.name not in common | {"scales"}]


def method_from(description: Mapping[str, Any], *, net: NetFactory | None = None) -> Method:
    """The method that `describe_method` described; `net` stands in for an architecture of your own."""
    build = lookup("method", description["name"], METHODS)
    settings = {key: value for key, value in description.items() if key != "name"}
    settings["net"] = _net_from(description["net"], net)
    settings["penalty"] = None if description["penalty"] is None else _penalty_from(description["penalty"])
    return build(**settings)


def _build_scaled(state_shape: tuple[int, ...], *, key: Any, factory: NetFactory, scales: Scales | None) -> Net:
    ones = np.ones(state_shape[-1])
    return Scaled(factory(state_shape, key=key), *(scales or (ones, ones, ones)))


def _describe_net(factory: NetFactory) -> dict[str, Any]:
    options: dict[str, Any] = {}
    is_scaled = False
    while isinstance(factory, functools.partial):
        if factory.func is _build_scaled:
            is_scaled, factory = True, factory.keywords["factory"]
        else:
            options = {**factory.keywords, **options}
            factory = factory.func
    known = {kind: name for name, kind in NETS.items()}
    plain = {name: _plain(value) for name, value in options.items()}
    return {"name": known.get(factory, _name(factory)), "options": plain, "scaled": is_scaled}


def _plain(value: Any) -> Any:
    """An option as JSON; a function or an object, which only a net of your own has, by its name."""
    if isinstance(value, np.generic):
        return value.item()
    return value if value is None or isinstance(value, str | int | float | list | tuple) else _name(value)


def _name(thing: Any) -> str:
    return f"{thing.__module__}.{getattr(thing, '__qualname__', type(thing).__qualname__)}"


def _net_from(description: Mapping[str, Any], own: NetFactory | None) -> NetFactory:
    if own is None and description["name"] not in NETS:
        raise InputError(
            f"the net `{description['name']}` is not one of {', '.join(NETS)}: give the class it was made of, "
            "for instance `Model.load(path, net=MyNet)`"
        )
    factory = own or functools.partial(NETS[description["name"]], **description["options"])
    return scaled(factory) if description["scaled"] and not _describe_net(factory)["scaled"] else factory


def _describe_penalty(penalty: Any) -> Any:
    if not dataclasses.is_dataclass(penalty):
        return "inf" if isinstance(penalty, float) and math.isinf(penalty) else penalty
    fields = {f.name: _describe_penalty(getattr(penalty, f.name)) for f in dataclasses.fields(penalty)}
    return {"type": type(penalty).__name__, **fields}


def _penalty_from(description: Any) -> Any:
    if not isinstance(description, Mapping):
        return math.inf if description == "inf" else description
    fields = {key: _penalty_from(value) for key, value in description.items() if key != "type"}
    return lookup("penalty", description["type"], PENALTIES)(**fields)
