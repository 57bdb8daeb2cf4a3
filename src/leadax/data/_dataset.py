"""Trajectories as an `xarray.Dataset`, the common layout of NetCDF and Zarr files."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .._memory import check_fits
from ..errors import InputError
from . import _header, dates
from ._contents import Contents, shared_times
from ._trajectory_names import padded
from .trajectories import Trajectories

if TYPE_CHECKING:
    import xarray as xr

LEADING = ("environment", "trajectory", "time")
# The attribute that holds all parameters and attributes whose names HDF5 or xarray would interpret, such as "a/b".
OTHER_NAMES = "leadax"
NAMES = "trajectory_name"
INPUT = "input"
INPUT_NAMES, INPUT_KINDS = "input_name", "input_kind"
CALENDAR = "proleptic_gregorian"
_PLAIN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_RESERVED = re.compile(
    rf"environment|trajectory|time|channel|state|x|y|z|s\d+|coordinates|CLASS|NAME|{OTHER_NAMES}|{NAMES}"
    rf"|{INPUT}|{INPUT_NAMES}|{INPUT_KINDS}"
)
_Value = TypeVar("_Value")


def to_dataset(data: Trajectories) -> "xr.Dataset":
    """A dataset with the variables `state` and `input`. Parameters are coordinates along `environment`."""
    import xarray as xr

    times = shared_times(data)
    parameters, other_parameters = _partition(data.parameters)
    attributes, other_attributes = _partition(data.attributes)
    if other_parameters or other_attributes:
        attributes[OTHER_NAMES] = _header.dump(other_parameters, other_attributes)
    coordinates = {
        # Variable-length strings: Zarr 3 has no specification for fixed-length ones.
        "environment": ("environment", np.array(data.environments, object)),
        "time": (LEADING if times.ndim == 3 else "time", times, _units(data)),
        "channel": ("channel", np.array(data.channels, object)),
        **{name: ("environment", values) for name, values in parameters.items()},
    }
    if data.trajectory_names is not None:
        coordinates[NAMES] = (LEADING[:2], padded(data.trajectory_names))
    if data.inputs is not None:
        space = space_names(data.inputs.ndim - 4)
        coordinates[INPUT] = ((*LEADING, *space, INPUT), data.inputs)
        coordinates[INPUT_NAMES] = (INPUT, np.array(data.input_names, object))
        coordinates[INPUT_KINDS] = (INPUT, np.array(data.input_kinds, object))
    state = ((*LEADING, *space_names(len(data.space)), "channel"), data.states)
    return xr.Dataset({"state": state}, coords=xr.Coordinates(coordinates, indexes={}), attrs=attributes)


def from_dataset(dataset: "xr.Dataset", fingerprint: str | None) -> Contents:
    """The contents of a dataset, whoever wrote it. Its dimensions may be in any order."""
    state = _state(dataset)
    # Nothing but shapes has been read so far.
    check_fits("what it holds", sum(variable.nbytes for variable in dataset.variables.values()))
    space = sorted((str(name) for name in state.dims if name not in (*LEADING, "channel")), key=_space_rank)
    attributes = dict(dataset.attrs)
    other = _header.parse(attributes.pop(OTHER_NAMES)) if OTHER_NAMES in attributes else _header.Header()
    return Contents(
        times=_times(dataset, state),
        states=state.transpose(*LEADING, *space, "channel").to_numpy(),
        environments=_labels(dataset, "environment"),
        channels=_labels(dataset, "channel"),
        parameters={**_parameters(dataset), **other.parameters},
        attributes={**{str(name): str(value) for name, value in attributes.items()}, **other.attributes},
        fingerprint=fingerprint,
        trajectory_names=_names(dataset, state),
        **_inputs(dataset, state, space),
    )


def space_names(count: int) -> tuple[str, ...]:
    """Names of the spatial dimensions: `x`, or `y, x`, or `s0, s1, s2, …`."""
    return ("y", "x")[2 - count :] if count <= 2 else tuple(f"s{i}" for i in range(count))


def _space_rank(name: str) -> tuple[int, int]:
    # Sorting is stable: axes with other names keep their order.
    if name in ("z", "y", "x"):
        return 0, "zyx".index(name)
    return (1, int(name[1:])) if re.fullmatch(r"s\d+", name) else (2, 0)


def _partition(given: Mapping[str, _Value]) -> tuple[dict[str, _Value], dict[str, _Value]]:
    """The entries whose names can be used as they are, and the others."""
    plain = {name: bool(_PLAIN_NAME.fullmatch(name)) and not _RESERVED.fullmatch(name) for name in given}
    return {k: v for k, v in given.items() if plain[k]}, {k: v for k, v in given.items() if not plain[k]}


def _state(dataset: "xr.Dataset") -> "xr.DataArray":
    if "state" not in dataset.variables:
        found = ", ".join(f"`{name}`" for name in dataset.variables) or "none"
        raise InputError(f"no variable `state`: it has {found}; rename the variable that holds the states")
    state = dataset["state"]
    for name in (*LEADING, "channel"):
        if name not in state.dims:
            raise InputError(
                f"`state` has no dimension `{name}`, it has {', '.join(map(str, state.dims)) or 'none'}: rename one, "
                f'or add it with `dataset["state"].expand_dims("{name}")`'
            )
    return state


def _times(dataset: "xr.Dataset", state: "xr.DataArray") -> np.ndarray:
    if "time" not in dataset.variables:
        raise InputError("no variable `time`: add the times as a coordinate along `time`")
    times = dataset.variables["time"]
    if "time" not in times.dims or not set(times.dims) <= set(LEADING):
        raise InputError(f"`time` must have the dimensions ({', '.join(LEADING)}) or (time), it has {times.dims}")
    return times.set_dims({name: state.sizes[name] for name in LEADING}).transpose(*LEADING).to_numpy()


def _labels(dataset: "xr.Dataset", name: str) -> tuple[str, ...] | None:
    if name not in dataset.variables:
        return None
    return tuple(_text(label) for label in dataset.variables[name].to_numpy())


def _text(label: object) -> str:
    return label.decode() if isinstance(label, bytes) else str(label)


def _names(dataset: "xr.Dataset", state: "xr.DataArray") -> list[list[str]] | None:
    """Names of trajectories: a variable of our own along both axes, or labels that all environments share."""
    for name, dims in ((NAMES, set(LEADING[:2])), ("trajectory", {"trajectory"})):
        if name in dataset.variables and set(dataset.variables[name].dims) == dims:
            sizes = {axis: state.sizes[axis] for axis in LEADING[:2]}
            grid = dataset.variables[name].set_dims(sizes).transpose(*LEADING[:2]).to_numpy()
            return [[_text(label) for label in row] for row in grid]
    return None


def _inputs(dataset: "xr.Dataset", state: "xr.DataArray", space: Sequence[str]) -> dict[str, Any]:
    """The variable `input` if it has times. What it does not depend on it has in common."""
    if INPUT not in dataset.variables or "time" not in dataset.variables[INPUT].dims:
        return {}
    given = dataset.variables[INPUT]
    own = [str(name) for name in given.dims if name not in (*LEADING, *space)]
    if len(own) > 1:
        raise InputError(
            f"`{INPUT}` must have the dimensions of `state`, with `{INPUT}` for `channel`, got {given.dims}"
        )
    axis = own[0] if own else INPUT
    grid = space if set(space) & set(given.dims) else ()
    sizes = {name: state.sizes[name] for name in (*LEADING, *grid)} | ({} if own else {axis: 1})
    values = given.set_dims({**sizes, **dict(zip(given.dims, given.shape, strict=True))})
    found: dict[str, Any] = {"inputs": values.transpose(*LEADING, *grid, axis).to_numpy()}
    labels = {"input_names": (INPUT_NAMES, axis), "input_kinds": (INPUT_KINDS,)}
    for field, names in labels.items():
        for name in names:
            if field not in found and name in dataset.variables and dataset.variables[name].dims == (axis,):
                found[field] = _labels(dataset, name)
    return found


def _units(data: Trajectories) -> dict[str, str]:
    """The unit of the times by the CF conventions, if they are dates: others then read them as dates."""
    return {"units": dates.UNIT, "calendar": CALENDAR} if dates.are_dates(data.attributes) else {}


def decoded(dataset: "xr.Dataset") -> "xr.Dataset":
    """A dataset with dates and durations, from one that was opened without decoding them.

    Times in our unit stay numbers, since as dates they would be rounded to nanoseconds.
    """
    import xarray as xr

    # Decode durations only if xarray wrote them: a parameter in units of "days" stays a number.
    durations = xr.coders.CFTimedeltaCoder(decode_via_units=False)
    time = dataset.variables.get("time")
    units = {"units": dates.UNIT, "calendar": CALENDAR}
    if time is not None and time.dtype.kind == "f" and {**time.attrs, **units} == time.attrs:
        dataset = dataset.assign_coords(time=(time.dims, time.to_numpy()))
        dataset.attrs[dates.ATTRIBUTE] = dates.UNIT
    return xr.decode_cf(dataset, decode_timedelta=durations)


def _parameters(dataset: "xr.Dataset") -> dict[str, np.ndarray]:
    return {
        str(name): variable.to_numpy()
        for name, variable in dataset.variables.items()
        if variable.dims == ("environment",) and name != "environment" and variable.dtype.kind in "fiub"
    }
