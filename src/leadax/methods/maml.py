"""MAML: a start for all environments that a few gradient steps turn into a good model of each."""

from collections.abc import Callable

import equinox as eqx
import jax
from jaxtyping import Array, Float, PyTree

from .._types import PRNGKey, VectorField
from ..errors import InputError, is_number
from ..nets.architecture import Architecture
from .base import Method, Phase, Sizes, difference_of, first, repeated, sum_of, zeros
from .dynamics import DEFAULT_SOLVER, Dynamics, Flow
from .gbml import check_share, common_start, displaced
from .settings import net_setting, positive, solver_setting, substeps_setting


class Maml(Method):
    """Model-agnostic meta-learning (Finn et al., 2017) over environments.

    In the first part of training $\\theta$ is such that a few gradient steps of each environment,
    $\\theta_e = \\theta - \\eta \\nabla L_e(\\theta)$ on half of its trajectories, give a small error on the other half
    (the same one, if there is only one). In the second part each environment is fitted individually from there.

    - `first_share`: the share of the steps that the first part takes; `net`, `solver`, `substeps` as in `Leads`;
    - `inner_steps`, `inner_rate`: how many gradient steps, and $\\eta$;
    - `first_order`: leave out the second derivatives of $L_e$.
    """

    net: Architecture | None = net_setting()
    solver: str | None = solver_setting()
    substeps: int = substeps_setting()
    first_share: float = eqx.field(static=True, default=0.5)
    inner_steps: int = eqx.field(static=True, default=1)
    inner_rate: float | Float[Array, ""] = 0.01
    first_order: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        check_share(self.first_share)
        positive("inner_steps", self.inner_steps)
        rate = self.inner_rate
        if not isinstance(rate, jax.Array) and not (is_number(rate) and rate > 0):
            raise InputError(f"`inner_rate` must be positive, got {self.inner_rate}: use 0.01")

    def phases(self) -> tuple[Phase, ...]:
        """First with a look ahead, then fitted individually."""
        return (Phase(self.first_share, ("shared",), meta=True), Phase(1 - self.first_share, ("specific",)))

    def look_ahead(self, specific: PyTree, error: Callable[[PyTree], Float[Array, ""]]) -> PyTree:
        """Where a few steps of gradient descent take each environment."""

        def descend(specific: PyTree, _: None) -> tuple[PyTree, None]:
            slope = eqx.filter_grad(error)(specific)
            if self.first_order:
                slope = jax.lax.stop_gradient(slope)
            return jax.tree.map(lambda s, d: s - self.inner_rate * d, specific, slope), None

        return jax.lax.scan(descend, specific, None, length=self.inner_steps)[0]

    def init(self, sizes: Sizes, *, key: PRNGKey) -> tuple[PyTree, PyTree]:
        """f and g as in One-For-All, and no difference between environments."""
        return common_start(self.net, sizes, key)

    def dynamics(self, shared: PyTree, specific: PyTree) -> Dynamics:
        """dx/dt = f + g, with the weights of this environment."""
        return Flow(displaced(shared, specific), self.solver or DEFAULT_SOLVER)

    def split(self, shared: PyTree, specific: PyTree) -> tuple[VectorField, VectorField]:
        """The field of the common start, and what this environment adds to it."""
        return sum_of(*shared), difference_of(displaced(shared, specific), sum_of(*shared))

    def new_environments(self, known: PyTree, sizes: Sizes, *, key: PRNGKey) -> PyTree:
        """δ = 0."""
        return repeated(self.without_specific(known), sizes.environments)

    def without_specific(self, known: PyTree) -> PyTree:
        """δ = 0."""
        return zeros(first(known))
