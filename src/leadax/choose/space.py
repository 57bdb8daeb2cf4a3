"""What a search may choose from: methods, the sizes of their nets, and numbers such as κ and the learning rate.

The rate is chosen as a multiple of the usual one, which is small where nets begin at nearly all that there is to learn.
"""

import dataclasses
import inspect
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..defaults import KAPPA, Defaults
from ..errors import InputError
from ..methods import METHODS, Method
from ..nets.architecture import Architecture, architecture

# Candidates that are trained in one program. A multiple of the usual numbers of cores to spread them over.
GROUP = 4
RATES, KAPPAS, WEIGHTS = (0.3, 1.0, 3.0, 10.0), (0.01, 0.1, 1.0), (0.1, 1.0, 10.0)
# Not zero, which would be another program: 1e-5 makes the same of it.
ALPHAS = (1e-5, 1e-3, 1e-2)
DEPTHS = (2, 3, 4)
SIZES: Mapping[str, tuple[int, ...]] = {"dimension": (1, 2, 4, 8), "rank": (4, 16, 64)}


@dataclasses.dataclass(frozen=True)
class Shape:
    """What a program is compiled for: a method and its sizes. Candidates of one shape are trained side by side."""

    method: str
    sizes: tuple[tuple[str, int | None], ...] = ()

    def __str__(self) -> str:
        return " ".join([self.method, *(f"{name} {value}" for name, value in self.sizes if value is not None)])


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A shape and its numbers.

    >>> print(Candidate(Shape("coda", (("width", 64),)), (("rate_factor", 3.0),)))
    coda width 64 rate factor 3
    """

    shape: Shape
    numbers: tuple[tuple[str, float], ...]

    def __str__(self) -> str:
        return " ".join([str(self.shape), *(f"{name.replace('_', ' ')} {value:g}" for name, value in self.numbers)])

    def to_json(self) -> dict[str, Any]:
        """All settings by name."""
        return {"method": self.shape.method, **dict(self.shape.sizes), **dict(self.numbers)}


Group = tuple[Candidate, ...]


@dataclasses.dataclass(frozen=True)
class Space:
    """What may be chosen for one method; the first value of each setting is the default.

    - `defaults`: what the method leaves open; `plain`: the method as its name gives it;
    - `sizes`, `numbers`: the settings and their values.
    """

    name: str
    plain: Method
    defaults: Defaults
    sizes: Mapping[str, tuple[int | None, ...]]
    numbers: Mapping[str, tuple[float, ...]]

    @classmethod
    def of(cls, name: str, defaults: Defaults) -> "Space":
        """The space of a method by name. Which settings there are is asked of the method and of the net."""
        try:
            plain = METHODS.find(name)()
        except TypeError as error:
            raise InputError(f"`{name}` cannot be built without settings, so it cannot be tuned: {error}") from error
        return cls(name, plain, defaults, _sizes(plain, defaults.net), _numbers(plain, defaults))

    @property
    def default(self) -> Candidate:
        """The method with all its defaults."""
        first = lambda values: tuple((name, options[0]) for name, options in values.items())
        return Candidate(Shape(self.name, first(self.sizes)), first(self.numbers))

    def groups(self, rng: np.random.Generator) -> Iterator[Group]:
        """All candidates in groups of one shape: first the one with the defaults, then the others in random order."""
        shapes = [Shape(self.name, chosen) for chosen in _products(self.sizes)]
        default, *others = _products(self.numbers)
        numbers = [default, *(others[k] for k in rng.permutation(len(others)))]
        chunks = [numbers[k : k + GROUP] for k in range(0, len(numbers), GROUP)]
        first, *rest = itertools.product(shapes, chunks)
        for shape, chunk in (first, *(rest[k] for k in rng.permutation(len(rest)))):
            yield tuple(Candidate(shape, chosen) for chosen in chunk)

    def method(self, candidate: Candidate) -> Method:
        """The method of a candidate, ready for `fit`."""
        fields = {field.name for field in dataclasses.fields(self.plain)}
        settings: dict[str, Any] = dict(candidate.shape.sizes) | dict(candidate.numbers)
        settings.pop("rate_factor")
        if (alpha := settings.pop("lipschitz_weight", None)) is not None:
            settings["penalty"] = dataclasses.replace(_penalty(self.plain, self.defaults), alpha=alpha)
        of_the_net = {name: settings.pop(name) for name in tuple(settings) if name not in fields}
        if of_the_net:
            net = self.defaults.net
            settings["net"] = architecture(partial(net.build, **dict(net.options) | of_the_net))
        return dataclasses.replace(self.plain, **settings)


def spaces(names: Sequence[str], defaults: Defaults) -> tuple[Space, ...]:
    """The spaces of several methods, each once."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InputError(f"`methods` must be a list of names, got {names!r:.60}")
    if not names:
        raise InputError("there is nothing to choose from: name at least one method")
    return tuple(Space.of(name, defaults) for name in dict.fromkeys(names))


def all_groups(choices: Sequence[Space], rng: np.random.Generator) -> Iterator[Group]:
    """The default group of each method, then a further one of each, and so on until there are no more."""
    waiting = [space.groups(rng) for space in choices]
    for turn in itertools.zip_longest(*waiting):
        yield from (group for group in turn if group is not None)


def _products(values: Mapping[str, Sequence[Any]]) -> list[tuple[tuple[str, Any], ...]]:
    return [tuple(zip(values, chosen, strict=True)) for chosen in itertools.product(*values.values())]


def _first(default: Any, *others: Any) -> tuple[Any, ...]:
    return tuple(dict.fromkeys((default, *others)))


def _sizes(method: Method, net: Architecture) -> dict[str, tuple[int | None, ...]]:
    fields = {field.name: getattr(method, field.name) for field in dataclasses.fields(method)}
    found: dict[str, tuple[int | None, ...]] = {}
    if "net" in fields and fields["net"] is None:
        options = inspect.signature(net.build).parameters.items()
        given: dict[str, Any] = {name: option.default for name, option in options} | dict(net.options)
        found |= _scaled({name: given[name] for name in ("width", "depth") if isinstance(given.get(name), int)})
    found |= _scaled({name: fields[name] for name in ("width",) if isinstance(fields.get(name), int)})
    return found | {name: _first(fields[name], *values) for name, values in SIZES.items() if name in fields}


def _scaled(sizes: Mapping[str, int]) -> dict[str, tuple[int | None, ...]]:
    ranges = {"width": lambda w: _first(w, max(1, w // 4), 2 * w), "depth": lambda d: _first(d, *DEPTHS)}
    return {name: ranges[name](value) for name, value in sizes.items()}


def _numbers(method: Method, defaults: Defaults) -> dict[str, tuple[float, ...]]:
    found: dict[str, tuple[float, ...]] = {"rate_factor": _first(1.0, *RATES)}
    names = {field.name for field in dataclasses.fields(method)}
    weight = getattr(method, "penalty_weight", None)
    if "kappa" in names and weight is None:
        found["kappa"] = _first(getattr(method, "kappa", None) or defaults.kappa or KAPPA, *KAPPAS)
        if getattr(_penalty(method, defaults), "alpha", 0.0):
            found["lipschitz_weight"] = _first(float(_penalty(method, defaults).alpha), *ALPHAS)
    elif isinstance(weight, float) and weight > 0:
        found["penalty_weight"] = _first(weight, *(weight * factor for factor in WEIGHTS))
    return found


def _penalty(method: Method, defaults: Defaults) -> Any:
    return getattr(method, "penalty", None) or defaults.penalty
