"""A JSON header for what a file format cannot store itself.

Tables (CSV, Parquet) cannot store parameters, attributes, which columns are inputs, and the fingerprint. NetCDF and
Zarr cannot store names with characters that they forbid. Floats are written in the shortest form that is exact.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import InputError
from ._contents import DamageError
from .trajectories import Trajectories

# Identifies a Leadax header even if the format's own mark next to it is damaged.
MARK = '"leadax_format":'
_KEYS = {"leadax_format", "fingerprint", "parameters", "attributes", "inputs"}


@dataclass(frozen=True)
class Header:
    """The contents of the JSON header; `inputs` are the kinds of inputs by name."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    attributes: Mapping[str, str] = field(default_factory=dict)
    fingerprint: str | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)


def dump(
    parameters: Mapping[str, np.ndarray],
    attributes: Mapping[str, str],
    fingerprint: str | None = None,
    inputs: Mapping[str, str] | None = None,
) -> str:
    """The JSON header, on one line and in ASCII. Without inputs, it is as it was before there were any."""
    found: dict[str, Any] = {"leadax_format": 1}
    if fingerprint is not None:
        found["fingerprint"] = fingerprint
    found |= {"parameters": {name: values.tolist() for name, values in parameters.items()}}
    found |= {"attributes": dict(attributes)}
    return json.dumps(found | ({"inputs": dict(inputs)} if inputs else {}))


def describe(data: Trajectories) -> str:
    """The JSON header of a table."""
    inputs = dict(zip(data.input_names, data.input_kinds, strict=True))
    return dump(data.parameters, data.attributes, data.fingerprint, inputs)


def parse(text: str | bytes) -> Header:
    """Parse the JSON header. Users may remove entries; unknown entries mean that it is damaged."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise DamageError(f"its Leadax header is not valid JSON ({error})") from error
    if not isinstance(found, dict) or not {"leadax_format"} <= set(found) <= _KEYS:
        raise DamageError("its Leadax header has unknown entries")
    if found.pop("leadax_format") != 1:
        raise InputError("its Leadax header has another version: update Leadax")
    _check(**found)
    return Header(**found)


def _check(parameters: Any = {}, attributes: Any = {}, fingerprint: Any = None, inputs: Any = {}) -> None:  # noqa: B006
    valid = (
        isinstance(fingerprint, str | None)
        and all(isinstance(given, dict) for given in (attributes, inputs))
        and all(isinstance(text, str) for text in (*attributes.values(), *inputs.values()))
        and isinstance(parameters, dict)
        and all(_are_numbers(values) for values in parameters.values())
    )
    if not valid:
        raise DamageError(
            "its Leadax header must map parameters to lists of numbers, and attributes and inputs to text"
        )


def _are_numbers(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, int | float) for value in values)
