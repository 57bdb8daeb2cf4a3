"""One-Per-Env: a model of its own for each environment, as if they had nothing in common."""

from dataclasses import dataclass
from functools import partial

import jax
from jaxtyping import Array, PyTree

from .._types import PRNGKey, VectorField
from .base import Method, Observed, Parts, stacked, zero


@dataclass(frozen=True)
class OnePerEnv(Method):
    """A model $(f + g)_e$ for each environment; two nets, so that each has as many parameters as LEADS uses there.

    >>> import jax
    >>> from leadax.nets import MLP
    >>> OnePerEnv(net=MLP).init((2,), 10, key=jax.random.key(0)).shared
    ()
    """

    def init(self, state_shape: tuple[int, ...], environments: int, *, key: PRNGKey) -> Parts:
        """f and g for each environment."""
        build = partial(self.build, state_shape)
        return Parts(shared=(), specific=tuple(stacked(build, environments, k) for k in jax.random.split(key)))

    def decompose(self, shared: PyTree, specific: PyTree) -> tuple[VectorField, VectorField]:
        """All of it is specific."""
        return zero, lambda x: specific[0](x) + specific[1](x)

    def predict(self, shared: PyTree, specific: PyTree, asked: Observed) -> Array:
        """Integrate (f + g)_e."""
        return self.integrate(self.decompose(shared, specific)[1], asked)

    def penalised(self, shared: PyTree, specific: PyTree) -> None:
        """Nothing."""
