"""A net for data of unknown scale: it sees standardised states and answers in units of the data."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .._types import State, Tangent
from .base import LinearLayer, Net


class Scales(NamedTuple):
    """What `measure` finds in data, one number per channel."""

    mean: Float[np.ndarray, " channel"]
    scale: Float[np.ndarray, " channel"]
    rate: Float[np.ndarray, " channel"]


class Scaled(Net):
    """A net between two changes of units: $\\mathrm{rate} \\cdot \\mathrm{net}((x - \\mathrm{mean})/\\mathrm{scale})$.

    The three vectors are arrays of the model, so that they are saved with it, but they are not learnt: their gradient
    is zero, by `stop_gradient`. (An optimiser that shrinks weights without asking the gradient, such as AdamW, must
    leave them out.)

    **Arguments:**

    - `net`: what learns; its layers and its factor are those of the whole, in standardised units;
    - `mean`, `scale`: centre and spread of the states, per channel; `rate`: size of the tangents, per channel.

    >>> import jax, jax.numpy as jnp, numpy as np
    >>> from leadax.nets import MLP, Scaled, measure
    >>> times = np.linspace(0, 1, 11)[None, None]
    >>> states = 100 + 5 * np.stack([np.sin(times), np.cos(times)], axis=-1)
    >>> net = Scaled(MLP((2,), key=jax.random.key(0)), *measure(states, times))
    >>> net(jnp.array([100.0, 100.0])).shape
    (2,)
    """

    net: Net
    mean: Float[Array, " channel"]
    scale: Float[Array, " channel"]
    rate: Float[Array, " channel"]
    factor: float = eqx.field(static=True)

    def __init__(self, net: Net, mean, scale, rate):
        self.net = net
        self.mean, self.scale, self.rate = (jnp.asarray(a, dtype=float) for a in (mean, scale, rate))
        self.factor = net.factor

    @property
    def layers(self) -> tuple[LinearLayer, ...]:
        """The layers of the net inside."""
        return self.net.layers

    def __call__(self, x: State) -> Tangent:
        """The tangent at the state `x`, both in units of the data."""
        fixed = jax.lax.stop_gradient((self.mean, self.scale, self.rate))
        mean, scale, rate = (jnp.broadcast_to(a, x.shape) for a in fixed)
        return rate * self.net((x - mean) / scale)


def measure(
    states: Float[np.ndarray, "env traj time *space channel"], times: Float[np.ndarray, "env traj time"]
) -> Scales:
    """Mean, standard deviation and root mean square derivative of each channel of the observed data.

    Derivatives are differences of successive points over their time. A channel that never changes, or was never seen
    twice in a row, gets the scale 1 and the rate scale/duration in place of 0.

    **Arguments:**

    - `states`, `times`: `(env, traj, time, *space, channel)` and `(env, traj, time)`, NaN where nothing was observed.

    >>> import numpy as np
    >>> from leadax.nets import measure
    >>> times = np.array([[[0.0, 1.0, 2.0, np.nan]]])
    >>> scales = measure(3 * times[..., None], times)
    >>> scales.mean.tolist(), scales.rate.tolist()
    ([3.0], [3.0])
    """
    seen = np.isfinite(times)[(...,) + (None,) * (states.ndim - 3)] & np.isfinite(states)
    mean = _mean(states, seen)
    deviations = np.where(seen, states, mean) - mean
    scale = _or(np.sqrt(_mean(deviations**2, seen)), np.ones_like(mean))

    steps = np.diff(times, axis=2)[(...,) + (None,) * (states.ndim - 3)]
    both = seen[:, :, 1:] & seen[:, :, :-1] & (np.nan_to_num(steps) > 0)
    differences = np.diff(deviations, axis=2) / np.where(both, steps, 1.0)
    rate = np.sqrt(_mean(differences**2, both))
    return Scales(mean, scale, _or(rate, scale / _duration(times)))


def _mean(values: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Mean of each channel over the entries that were seen, 0 if none was."""
    axes = tuple(range(values.ndim - 1))
    return np.sum(np.where(seen, values, 0.0), axis=axes) / np.maximum(np.sum(seen, axis=axes), 1)


def _or(values: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    return np.where(values > 0, values, otherwise)


def _duration(times: np.ndarray) -> float:
    finite = times[np.isfinite(times)]
    return float(np.ptp(finite)) if finite.size and np.ptp(finite) > 0 else 1.0
