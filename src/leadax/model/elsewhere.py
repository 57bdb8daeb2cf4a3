"""Forecasts and learnt fields for other libraries: what the methods of `Forecast` and `Model` return."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data._dataset import space_names
from ..errors import InputError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


def _xarray() -> Any:
    try:
        import xarray
    except ImportError as error:
        raise InputError("`to_xarray` needs xarray: pip install 'leadax[data]'") from error
    return xarray


def fields_as_xarray(
    states: np.ndarray, fields: Mapping[str, np.ndarray], environments: Sequence[str], channels: Sequence[str]
) -> "xr.Dataset":
    """See `Model.to_xarray`; `states`: `(point, *space, channel)`; `fields`: the same for each environment."""
    dims = ["environment", "point", *space_names(states.ndim - 2), "channel"]
    variables = {name: (dims, values) for name, values in fields.items()}
    names = {"environment": list(environments), "channel": list(channels)}
    return _xarray().Dataset({**variables, "state": (dims[1:], states)}, names)


def forecast_as_xarray(times: np.ndarray, members: np.ndarray, channels: Sequence[str], space: int) -> "xr.DataArray":
    """See `Forecast.to_xarray`; `space`: how many axes of the members belong to a grid."""
    starts = members.ndim - space - 3
    axes = ["start"] if starts == 1 else [f"start{i}" for i in range(starts)]
    dims = ["member", *axes, "time", *space_names(space), "channel"]
    names = list(channels) or [f"x{i}" for i in range(members.shape[-1])]
    return _xarray().DataArray(members, {"time": times, "channel": names}, dims, "forecast")


def forecast_as_pandas(array: "xr.DataArray") -> "pd.DataFrame":
    """See `Forecast.to_pandas`; `array`: the forecast in xarray."""
    if {"x", "y", "s0"} & set(map(str, array.dims)):
        raise InputError("fields on a grid do not fit into a table: use `to_xarray`")
    try:
        table = array.to_dataset("channel").to_dataframe().reset_index()
    except ImportError as error:
        raise InputError("`to_pandas` needs pandas: pip install pandas") from error
    return table.reindex(columns=[*map(str, array.dims[:-1]), *array["channel"].to_numpy()])
