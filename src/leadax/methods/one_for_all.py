"""One-For-All: one model for all environments, as if they did not differ."""

from dataclasses import dataclass

import jax
from jaxtyping import Array, PyTree

from .._types import PRNGKey, VectorField
from .base import Method, Observed, Parts, zero


@dataclass(frozen=True)
class OneForAll(Method):
    """One model $f + g$ for all environments; two nets, so that it has as many parameters as LEADS uses in each.

    >>> import jax
    >>> from leadax.nets import MLP
    >>> OneForAll(net=MLP).init((2,), 10, key=jax.random.key(0)).specific
    ()
    """

    def init(self, state_shape: tuple[int, ...], environments: int, *, key: PRNGKey) -> Parts:
        """f and g, both shared."""
        return Parts(shared=tuple(self.build(state_shape, k) for k in jax.random.split(key)), specific=())

    def decompose(self, shared: PyTree, specific: PyTree) -> tuple[VectorField, VectorField]:
        """All of it is shared."""
        return lambda x: shared[0](x) + shared[1](x), zero

    def predict(self, shared: PyTree, specific: PyTree, asked: Observed) -> Array:
        """Integrate f + g."""
        return self.integrate(self.decompose(shared, specific)[0], asked)

    def penalised(self, shared: PyTree, specific: PyTree) -> None:
        """Nothing."""

    def neutral(self, known: PyTree) -> PyTree:
        """Nothing: the model is that of any environment."""
        return known
