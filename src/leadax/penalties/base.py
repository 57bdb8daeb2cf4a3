"""The interface of Ω: how large one environment's own part of the dynamics is."""

import abc
from typing import Any, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from .._types import PRNGKey

Carry: TypeAlias = PyTree[Float[Array, "..."]]
Weights: TypeAlias = Float[Array, " point"] | Bool[Array, " point"]
Value: TypeAlias = Float[Array, ""]


class Points(NamedTuple):
    """Where a vector field is evaluated: the data of one environment, all trajectories in a row.

    - `times`, `states`, `inputs`: the arguments t, x and u of the field.
    """

    times: Float[Array, " point"]
    states: Float[Array, "point *space channel"]
    inputs: Float[Array, "point ..."] | None = None


class Penalty(eqx.Module):
    """Interface of all penalties: pure, and fit for `jit`, `vmap` and `grad` with respect to the net.

    Some penalties carry something from one training step to the next, hence two methods:

        carry = penalty.init(net, key=key)
        value, carry = penalty(net, points, weights, carry)

    `weights` is 1 where a point was observed and 0 where it is padding; what is written in the padding does not matter.
    `vmap` over environments. Numbers that may be tuned (weights, not sizes) should be plain fields: as arrays, several
    values of them can be trained side by side in one program. Everything else is `eqx.field(static=True)`.
    """

    @abc.abstractmethod
    def init(self, net: Any, *, key: PRNGKey) -> Carry:
        """What to carry into the first call; `()` for nothing."""

    @abc.abstractmethod
    def __call__(self, net: Any, points: Points, weights: Weights, carry: Carry) -> tuple[Value, Carry]:
        """The penalty of `net`, and what to carry to the next call."""


class NoPenalty(Penalty):
    """Zero, whatever the net.

    >>> value, carry = NoPenalty()(None, Points(jnp.zeros(1), jnp.ones((1, 2))), jnp.ones(1), ())
    >>> float(value), carry
    (0.0, ())
    """

    def init(self, net: Any, *, key: PRNGKey) -> Carry:
        """Nothing."""
        del net, key
        return ()

    def __call__(self, net: Any, points: Points, weights: Weights, carry: Carry) -> tuple[Value, Carry]:
        """Zero."""
        return jnp.zeros((), points.states.dtype), carry


def evaluated(net: Any, points: Points) -> Float[Array, "point *space channel"]:
    """A vector field at many points."""
    return jax.vmap(net)(*points)
