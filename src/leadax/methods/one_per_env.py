"""One-Per-Env: a model of its own for each environment, as if they had nothing in common."""

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import jax
from jaxtyping import PyTree

from .._types import PRNGKey, VectorField
from ..nets.architecture import Architecture
from ..nets.mlp import begun_at
from ..trend import Trend
from .base import Method, Sizes, built, stacked, sum_of, zero_field, zeros
from .dynamics import DEFAULT_SOLVER, Dynamics, Flow
from .settings import known_setting, net_setting, parameters_setting, solver_setting, substeps_setting, without_formula


class OnePerEnv(Method):
    """A model $(f + g)_e$ for each environment; two nets, so that each has as many parameters as LEADS uses there.

    `net`, `solver`, `substeps`, `known` and `parameters` are as in `Leads`.

    >>> import jax
    >>> from leadax.nets import MLP
    >>> OnePerEnv(net=MLP).init(Sizes((2,), 10), key=jax.random.key(0))[0]
    ()
    """

    begins_at: ClassVar[tuple[str, ...]] = ("alone",)

    net: Architecture | None = net_setting()
    solver: str | None = solver_setting()
    substeps: int = substeps_setting()
    known: Callable[..., Any] | None = known_setting()
    parameters: Any = parameters_setting()

    def init(self, sizes: Sizes, *, key: PRNGKey) -> tuple[PyTree, PyTree]:
        """f and g for each environment."""
        without_formula(self)
        build = partial(built, self.net, sizes)
        return (), tuple(stacked(build, sizes.environments, k) for k in jax.random.split(key))

    def dynamics(self, shared: PyTree, specific: PyTree) -> Dynamics:
        """dx/dt = (f + g)_e."""
        without_formula(self)
        return Flow(sum_of(*specific), self.solver or DEFAULT_SOLVER)

    def begun_at(self, shared: PyTree, specific: PyTree, trend: Trend) -> tuple[PyTree, PyTree]:
        """Each environment begins at a polynomial of its own."""
        whole, rest = specific
        return shared, (begun_at(whole, trend.alone), begun_at(rest, zeros(trend.alone)))

    def settled(self, trend: Trend) -> bool:
        """They do."""
        del trend
        return True

    def split(self, shared: PyTree, specific: PyTree) -> tuple[VectorField, VectorField]:
        """All of it is specific."""
        return zero_field, sum_of(*specific)
