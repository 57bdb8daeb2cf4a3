"""`Forecast`: what a model predicts, member by member."""

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .elsewhere import forecast_as_pandas, forecast_as_xarray

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


class Forecast(eqx.Module):
    """Forecasts of all members of a model, in the units of the data.

    - `times`: when; `members`: `(member, *batch, time, *space, channel)`;
    - `mean`: over members, which is what `numpy.asarray(forecast)` gives too; `std`: their spread;
    - `channels`: their names, where they are known; `space`: how many axes the grid of a field has.

    >>> import jax.numpy as jnp
    >>> forecast = Forecast(jnp.array([0.0, 1.0]), jnp.array([[[1.0], [2.0]], [[1.0], [4.0]]]))
    >>> np.asarray(forecast)[:, 0].tolist()
    [1.0, 3.0]
    """

    times: Float[Array | np.ndarray, " time"]
    members: Float[Array, "member ..."]
    channels: tuple[str, ...] = eqx.field(static=True, default=())
    space: int = eqx.field(static=True, default=0)

    @property
    def mean(self) -> Float[Array, "..."]:
        """The mean over members."""
        return jnp.mean(self.members, axis=0)

    @property
    def std(self) -> Float[Array, "..."]:
        """The standard deviation over members; 0 for a single one."""
        return jnp.std(self.members, axis=0, ddof=min(1, len(self.members) - 1))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one member."""
        return self.members.shape[1:]

    def to_xarray(self) -> "xr.DataArray":
        """An `xarray.DataArray` along `member`, (`start`,) `time`, (`y`, `x`,) `channel`.

        >>> import jax.numpy as jnp
        >>> Forecast(jnp.array([0.0, 1.0]), jnp.ones((3, 2, 1)), ("prey",)).to_xarray().sel(channel="prey").dims
        ('member', 'time')
        """
        return forecast_as_xarray(np.asarray(self.times), np.asarray(self.members), self.channels, self.space)

    def to_pandas(self) -> "pd.DataFrame":
        """A `pandas.DataFrame` with a row per member, (start) and time, and a column per channel.

        >>> import jax.numpy as jnp
        >>> Forecast(jnp.array([0.0, 1.0]), jnp.ones((1, 2, 1)), ("prey",)).to_pandas()
           member  time  prey
        0       0   0.0   1.0
        1       0   1.0   1.0
        """
        return forecast_as_pandas(self.to_xarray())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        del copy  # an array of JAX becomes a new one of NumPy
        with np.errstate(invalid="ignore"):  # fixed steps may blow up to infinity
            mean = np.asarray(self.members, float).mean(axis=0)
        return mean if dtype is None else mean.astype(dtype)

    def __getitem__(self, index: Any) -> np.ndarray:
        """A part of the mean, as NumPy has it."""
        return np.asarray(self)[index]
