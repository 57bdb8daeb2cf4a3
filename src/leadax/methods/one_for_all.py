"""One-For-All: one model for all environments, as if they did not differ."""

from collections.abc import Callable
from typing import Any, ClassVar

import jax
from jaxtyping import PyTree

from .._types import PRNGKey, VectorField
from ..nets.architecture import Architecture
from ..nets.mlp import begun_at
from ..trend import Trend
from .base import Method, Sizes, built, sum_of, zero_field, zeros
from .dynamics import DEFAULT_SOLVER, Dynamics, Flow
from .settings import known_setting, net_setting, parameters_setting, solver_setting, substeps_setting, without_formula


class OneForAll(Method):
    """One model $f + g$ for all environments; two nets, so that it has as many parameters as LEADS uses in each.

    `net`, `solver`, `substeps`, `known` and `parameters` are as in `Leads`.

    >>> import jax
    >>> from leadax.nets import MLP
    >>> OneForAll(net=MLP).init(Sizes((2,), 10), key=jax.random.key(0))[1]
    ()
    """

    begins_at: ClassVar[tuple[str, ...]] = ("pooled",)

    net: Architecture | None = net_setting()
    solver: str | None = solver_setting()
    substeps: int = substeps_setting()
    known: Callable[..., Any] | None = known_setting()
    parameters: Any = parameters_setting()

    def init(self, sizes: Sizes, *, key: PRNGKey) -> tuple[PyTree, PyTree]:
        """f and g, both shared."""
        without_formula(self)
        return tuple(built(self.net, sizes, k) for k in jax.random.split(key)), ()

    def dynamics(self, shared: PyTree, specific: PyTree) -> Dynamics:
        """dx/dt = f + g."""
        without_formula(self)
        return Flow(sum_of(*shared), self.solver or DEFAULT_SOLVER)

    def begun_at(self, shared: PyTree, specific: PyTree, trend: Trend) -> tuple[PyTree, PyTree]:
        """f begins at one polynomial for all."""
        whole, rest = shared
        return (begun_at(whole, trend.pooled), begun_at(rest, zeros(trend.pooled))), specific

    def split(self, shared: PyTree, specific: PyTree) -> tuple[VectorField, VectorField]:
        """All of it is shared."""
        return sum_of(*shared), zero_field

    def without_specific(self, known: PyTree) -> PyTree:
        """Nothing: the model is the same in every environment."""
        return known
