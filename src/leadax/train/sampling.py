"""Scheduled sampling: on the way to whole forecasts, training restarts them from the data."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from .._types import PRNGKey
from ..errors import InputError, is_number, whole


class ScheduledSampling(eqx.Module):
    """At step s each point restarts the forecast with probability ε = decay^(1 + ⌊s/every⌋).

    One draw of points holds for all trajectories and environments of a step. `decay=0` never restarts, 1 always.

    >>> round(float(ScheduledSampling().probability(jnp.array(20))), 6)
    0.970299
    """

    decay: float = 0.99
    every: int = 10

    def __check_init__(self):
        if not is_number(self.decay) or not 0 <= self.decay <= 1:
            raise InputError(f"`decay` of ScheduledSampling must be from 0 to 1, got {self.decay}")
        whole("every", self.every)

    @classmethod
    def falling_to(cls, last: float, steps: int) -> "ScheduledSampling":
        """ε that falls to `last` in so many steps.

        >>> round(float(ScheduledSampling.falling_to(0.1, 200).probability(jnp.array(199))), 3)
        0.1
        """
        if not 0 < last <= 1 or steps < 1:
            raise InputError(f"`last` must be above 0 and at most 1, `steps` at least 1; got {last} and {steps}")
        return cls(last ** (1 / steps), 1)

    @classmethod
    def until(cls, share: float, steps: int) -> "ScheduledSampling":
        """ε that falls to 0.01 within this share of all steps, and on.

        >>> round(float(ScheduledSampling.until(0.3, 1_000).probability(jnp.array(299))), 3)
        0.01
        """
        return cls.falling_to(0.01, max(1, round(share * steps)))

    def probability(self, step: Int[Array, ""]) -> Float[Array, ""]:
        """ε at this step."""
        return jnp.asarray(self.decay, float) ** jnp.asarray(1 + step // self.every, float)

    def restart(self, step: Int[Array, ""], complete: Bool[Array, "env traj time"], key: PRNGKey) -> Bool[Array, "..."]:
        """Where forecasts restart from the data: only where the whole state was observed."""
        drawn = jax.random.uniform(key, complete.shape[-1:]) < self.probability(step)
        return jnp.broadcast_to(drawn, complete.shape) & complete
