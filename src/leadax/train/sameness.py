"""When two functions are the same: made by the same code from the same values."""

import functools
from collections.abc import Hashable, Mapping
from types import CellType, FunctionType, MethodType
from typing import Any


def identity(value: Any) -> Hashable:
    """A key that is equal for two values only if they do the same; for functions, by their code and what they enclose.

    Optax optimisers are closures: two of `optax.adam(1e-3)` are different objects, but need not be compiled twice. What
    cannot be compared is equal only to itself, and so must be kept for as long as its key.

    >>> import optax
    >>> identity(optax.adam(1e-3)) == identity(optax.adam(1e-3))
    True
    >>> identity(optax.adam(1e-3)) == identity(optax.adam(2e-3))
    False
    """
    return _identity(value, ())


def _identity(value: Any, above: tuple[int, ...]) -> Hashable:
    if id(value) in above:  # a function that encloses itself
        return ("above", above.index(id(value)))
    inside = functools.partial(_identity, above=(*above, id(value)))
    if isinstance(value, FunctionType):
        parts = (*(value.__closure__ or ()), value.__defaults__, value.__kwdefaults__)
        return (value.__code__, id(value.__globals__), *map(inside, parts))
    if isinstance(value, CellType) and value != CellType():  # an empty one is an object like any other
        return inside(value.cell_contents)
    if isinstance(value, functools.partial):
        return ("partial", *map(inside, (value.func, value.args, value.keywords)))
    if isinstance(value, MethodType):
        return ("method", inside(value.__func__), inside(value.__self__))
    if isinstance(value, tuple | list):
        return (type(value), *map(inside, value))
    if isinstance(value, Mapping):
        return (type(value), *((inside(key), inside(item)) for key, item in value.items()))
    if value is None or isinstance(value, bool | int | float | complex | str | bytes | type):
        return (type(value), repr(value) if isinstance(value, float | complex) else value)
    return ("object", id(value))
