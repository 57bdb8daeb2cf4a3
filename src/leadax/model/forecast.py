"""`Forecast`: what a model predicts, member by member."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class Forecast(eqx.Module):
    """Forecasts of all members of a model, in the units of the data.

    - `times`: when; `members`: `(member, *batch, time, *space, channel)`;
    - `mean`: over members, which is what `numpy.asarray(forecast)` gives too; `std`: their spread.

    >>> import jax.numpy as jnp
    >>> forecast = Forecast(jnp.array([0.0, 1.0]), jnp.array([[[1.0], [2.0]], [[1.0], [4.0]]]))
    >>> np.asarray(forecast)[:, 0].tolist()
    [1.0, 3.0]
    """

    times: Float[Array | np.ndarray, " time"]
    members: Float[Array, "member ..."]

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

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        del copy  # an array of JAX becomes a new one of NumPy
        with np.errstate(invalid="ignore"):  # fixed steps may blow up to infinity
            mean = np.asarray(self.members, float).mean(axis=0)
        return mean if dtype is None else mean.astype(dtype)

    def __getitem__(self, index: Any) -> np.ndarray:
        """A part of the mean, as NumPy has it."""
        return np.asarray(self)[index]
