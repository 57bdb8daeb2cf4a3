"""Settings as plain JSON, and back: what a run folder and a model file say about a method. Never code."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import jax
import numpy as np

from ._atomic import one_line
from .errors import InputError, LeadaxError
from .registry import class_named, name_of, object_named

NUMBERS = ("nan", "inf", "-inf")  # those that JSON has no word for


def describe(value: Any) -> Any:
    """A setting as JSON: numbers and text as they are, objects by the name of their class and their fields.

    >>> from leadax.penalties import Frobenius
    >>> describe(Frobenius())
    {'type': 'frobenius', 'include_factor': True}
    """
    if isinstance(value, np.generic | np.ndarray | jax.Array):
        return describe(np.asarray(value).tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if isinstance(value, Mapping):
        return {"mapping": {str(key): describe(item) for key, item in value.items()}}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        said = [field.name for field in dataclasses.fields(value) if _is_said(field, value)]
        return {"type": name_of(type(value))} | {name: describe(getattr(value, name)) for name in said}
    if isinstance(value, Callable):
        return {"object": name_of(value)}
    raise InputError(
        f"a setting of type {type(value).__name__} cannot be written to a file: use numbers, text or a class"
    )


def _is_said(field: dataclasses.Field, value: Any) -> bool:
    """Whether a field belongs in a description."""
    omitted = "only_if_given" in field.metadata and getattr(value, field.name) == field.default
    return field.init and not omitted


def check_named(document: Any, what: str) -> None:
    """An `InputError` if a description names a function that another program could not find, such as a lambda."""
    if isinstance(document, Mapping):
        name = document.get("object") or document.get("type") or ""
        if isinstance(name, str) and ("<lambda>" in name or "<locals>" in name):
            raise InputError(
                f"{what} has a setting without a name of its own, `{name}`: define it with `def` or `class` at the top "
                "of a module, so that it can be told from others"
            )
    if isinstance(document, Mapping | list):
        for item in document.values() if isinstance(document, Mapping) else document:
            check_named(item, what)


def restore(document: Any, using: Iterable[Any] = ()) -> Any:
    """What `describe` described.

    **Arguments**

    - `using`: classes and functions of your own that the description may name.
    """
    using = tuple(using)
    if isinstance(document, list):
        return tuple(restore(item, using) for item in document)
    if not isinstance(document, Mapping):
        return document
    if document.get("number") in NUMBERS:
        return float(document["number"])
    if isinstance(document.get("mapping"), Mapping):
        return {key: restore(item, using) for key, item in document["mapping"].items()}
    if "object" in document:
        return _object(str(document["object"]), using)
    if "type" not in document:
        raise InputError("a description of settings lacks its type: the file is damaged or was changed by hand")
    return _instance(document, using)


def _instance(document: Mapping[str, Any], using: tuple[Any, ...]) -> Any:
    kind = class_named(str(document["type"]), using)
    fields = {key: restore(value, using) for key, value in document.items() if key != "type"}
    try:
        return kind(**fields)
    except LeadaxError:
        raise
    except Exception as error:  # a class of anyone's, given fields that may be of another version
        raise InputError(f"`{document['type']}` cannot be made from its description: {one_line(error)}") from error


def _object(name: str, using: tuple[Any, ...]) -> Any:
    """A class of a net; or a function, which must be given: a file may not choose what is called."""
    if (found := object_named(name, using)) is not None:
        return found
    return class_named(name, using)
