"""One JSON text for what a format has no place of its own for.

A table (CSV, Parquet) has no place for parameters, attributes and the fingerprint; NetCDF and Zarr have none for names
with characters that they forbid. Floats are written in their shortest exact form.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError
from ._contents import DamageError
from .trajectories import Trajectories

# The mark of our header: stands in the text itself, so that it is there twice together with the format's own mark.
MARK = '"leadax_format":'
_KEYS = {"leadax_format", "fingerprint", "parameters", "attributes"}


@dataclass(frozen=True)
class Header:
    """What the JSON text says."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    fingerprint: str | None = None


def dump(parameters: Mapping[str, np.ndarray], attributes: Mapping[str, str], fingerprint: str | None = None) -> str:
    """The JSON text, on one line and in ASCII."""
    found: dict[str, Any] = {"leadax_format": 1}
    if fingerprint is not None:
        found["fingerprint"] = fingerprint
    found |= {"parameters": {name: values.tolist() for name, values in parameters.items()}}
    return json.dumps(found | {"attributes": dict(attributes)})


def describe(data: Trajectories) -> str:
    """The header of a table."""
    return dump(data.parameters, data.attributes, data.fingerprint)


def parse(text: str | bytes) -> Header:
    """Read the JSON text; a user may drop entries, but unknown ones are damaged ones."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise DamageError(f"its Leadax header is no JSON ({error})") from error
    if not isinstance(found, dict) or not {"leadax_format"} <= set(found) <= _KEYS:
        raise DamageError("its Leadax header has unknown entries")
    if found.pop("leadax_format") != 1:
        raise InputError("its Leadax header is of another version: use a newer Leadax")
    _check(**found)
    return Header(**found)


def _check(parameters: Any = {}, attributes: Any = {}, fingerprint: Any = None) -> None:  # noqa: B006 (never changed)
    right = (
        isinstance(fingerprint, str | None)
        and isinstance(attributes, dict)
        and all(isinstance(text, str) for text in attributes.values())
        and isinstance(parameters, dict)
        and all(_are_numbers(values) for values in parameters.values())
    )
    if not right:
        raise DamageError("its Leadax header must map names to lists of numbers (parameters) and to text (attributes)")


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, int | float) for value in values)
