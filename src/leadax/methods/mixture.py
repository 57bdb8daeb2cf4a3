"""A new environment as a mixture of known ones: a few numbers, where a net of its own would have thousands."""

import math
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .._types import PRNGKey, VectorField
from ..registry import Registry
from .base import Method, Regulariser, Sizes, sum_of
from .coda import ContextPenalty
from .dynamics import DEFAULT_SOLVER, Dynamics, Flow

MOST_DIRECTIONS = 8


class Family(NamedTuple):
    """The environments that a model knows, and the main directions in which they differ.

    - `shared`, `specific`: the model's parameters; `directions`: how much of each environment is in each direction.
    """

    shared: PyTree
    specific: PyTree
    directions: Float[Array, "known direction"]


class Mixture(Method):
    """$dx/dt = \\bar F(x) + \\sum_e w_e (F_e(x) - \\bar F(x))$ with $w = D c$: known fields $F_e$ and their mean.

    The columns of $D$ are the principal directions in which the known fields differ, scaled so that the numbers $c$ of
    known environments have mean 0 and variance 1. Only $c$ is learnt, from 0. Where the parameters of a system enter
    its equation linearly, every environment is a mixture of sufficiently many others.

    - `of`: the method of the known environments; `known`: how many there are; `count`: how many numbers are learnt.
    """

    of: Method
    known: int = eqx.field(static=True)
    count: int = eqx.field(static=True)
    penalty: ContextPenalty = ContextPenalty(1.0, 0.0)
    penalty_weight: float | Float[Array, ""] = 1e-5

    @property
    def substeps(self) -> int:
        """Those of the known environments."""
        return getattr(self.of, "substeps", 1)

    def init(self, sizes: Sizes, *, key: PRNGKey) -> tuple[PyTree, PyTree]:
        """The known environments, untrained, and c = 0."""
        shared, specific = self.of.init(sizes._replace(environments=self.known), key=key)
        family = Family(shared, specific, jnp.zeros((self.known, self.count)))
        return family, jnp.zeros((sizes.environments, self.count))

    def dynamics(self, shared: Family, specific: Float[Array, " count"]) -> Dynamics:
        """The mixed field, by the solver of the known environments."""
        return Flow(sum_of(*self.split(shared, specific)), getattr(self.of, "solver", None) or DEFAULT_SOLVER)

    def split(self, shared: Family, specific: Float[Array, " count"]) -> tuple[VectorField, VectorField]:
        """The mean of the known fields, and what this environment adds to it."""
        weights = shared.directions @ specific
        mean = lambda t, x, u: jnp.mean(self.known_fields(shared, t, x, u), axis=0)

        def deviation(t: Array, x: Array, u: Array | None) -> Array:
            fields = self.known_fields(shared, t, x, u)
            return jnp.tensordot(weights, fields - jnp.mean(fields, axis=0, keepdims=True), axes=1)

        return mean, deviation

    def known_fields(self, family: Family, t: Array, x: Array, u: Array | None) -> Float[Array, "known ..."]:
        """The tangents of all known environments at one state."""
        return jax.vmap(partial(_tangent, self.of, family.shared, t, x, u))(family.specific)

    def regulariser(self) -> Regulariser:
        """|c|²: an environment that is unlike all known ones must have a reason in its data."""
        return Regulariser(self.penalty, self.penalty_weight, lambda shared, specific: ((), specific))

    def without_specific(self, known: PyTree) -> PyTree:
        """c = 0: the mean of the known environments."""
        return jnp.zeros_like(known[0])


def family_of(
    method: Mixture,
    shared: PyTree,
    specific: PyTree,
    states: Float[Array, "point *state"],
    inputs: Float[Array, "point input"] | None = None,
) -> Family:
    """The known environments of one member with their principal directions, measured at these states and inputs."""
    blank = Family(shared, specific, jnp.zeros((method.known, method.count), states.dtype))
    now = jnp.zeros((), states.dtype)
    fields = jax.vmap(lambda x, u: method.known_fields(blank, now, x, u), out_axes=1)(states, inputs)
    flat = fields.reshape(method.known, -1)
    left, _, _ = jnp.linalg.svd(flat - flat.mean(axis=0, keepdims=True), full_matrices=False)
    return blank._replace(directions=left[:, : method.count] / math.sqrt(method.known))


def _tangent(method: Method, shared: PyTree, t: Array, x: Array, u: Array | None, specific: PyTree) -> Array:
    fields = method.split(shared, specific)
    assert fields is not None, "only methods with a vector field can be mixed"
    return fields[0](t, x, u) + fields[1](t, x, u)


# So that files can name it; it is not a method to train on data with.
Registry("mixture", Mixture, {"mixture": Mixture})
