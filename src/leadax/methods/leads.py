"""LEADS: dx/dt = f(x) + g_e(x), with f shared, g_e specific and kept small by Ω."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import jax
from jaxtyping import Array, PyTree

from .._types import PRNGKey, VectorField
from ..nets import Net
from .base import Method, Observed, Parts, first, inside, repeated, stacked, with_inside, zeros


@dataclass(frozen=True)
class Leads(Method):
    """LEADS (Yin et al., NeurIPS 2021): $dx/dt = f(x) + g_e(x)$, learnt with the penalty $\\Omega(g_e) / \\lambda$.

    `penalty_weight=0` is the paper's ablation *LEADS no min.*

    >>> import jax
    >>> from leadax.nets import MLP
    >>> parts = Leads(net=MLP).init((2,), 10, key=jax.random.key(0))
    >>> parts.specific.denses[0].weight.shape
    (10, 2, 64)
    """

    has_omega: ClassVar[bool] = True

    def init(self, state_shape: tuple[int, ...], environments: int, *, key: PRNGKey) -> Parts:
        """f, and one g for each environment."""
        for_f, for_g = jax.random.split(key)
        build = partial(self.build, state_shape)
        return Parts(shared=build(for_f), specific=stacked(build, environments, for_g))

    def decompose(self, shared: PyTree, specific: PyTree) -> tuple[VectorField, VectorField]:
        """f and g_e."""
        return shared, specific

    def predict(self, shared: PyTree, specific: PyTree, asked: Observed) -> Array:
        """Integrate f + g_e."""
        return self.integrate(lambda x: shared(x) + specific(x), asked)

    def penalised(self, shared: PyTree, specific: PyTree) -> Net | None:
        """g_e."""
        return specific

    def novel(self, state_shape: tuple[int, ...], known: PyTree, environments: int, *, key: PRNGKey) -> PyTree:
        """New nets g, in the units of the known ones."""
        fresh = self.init(state_shape, environments, key=key).specific
        return with_inside(repeated(first(known), environments), inside(fresh))

    def neutral(self, known: PyTree) -> PyTree:
        """g = 0: f predicts alone."""
        net = first(known)
        return with_inside(net, zeros(inside(net)))
