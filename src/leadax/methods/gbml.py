"""The paper's GBML-like baseline: a start for all environments, from which each is fitted individually."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from .._types import PRNGKey, VectorField
from ..errors import InputError, is_number
from ..nets.architecture import Architecture
from .base import Method, Phase, Sizes, built, difference_of, first, repeated, sum_of, zeros
from .dynamics import DEFAULT_SOLVER, Dynamics, Flow
from .settings import net_setting, solver_setting, substeps_setting


class Gbml(Method):
    """One-For-All first, then fitted individually to each environment: $\\theta_e = \\theta + \\delta_e$.

    Only $\\theta$ learns in the first part of training, only $\\delta_e$ in the second. A new environment learns its
    $\\delta$ from zero.

    - `first_share`: the share of the steps that the first part takes; `net`, `solver`, `substeps` as in `Leads`.

    >>> import jax
    >>> from leadax.nets import MLP
    >>> shared, specific = Gbml(net=MLP).init(Sizes((2,), 10), key=jax.random.key(0))
    >>> specific[0].denses[0].weight.shape
    (10, 2, 64)
    """

    net: Architecture | None = net_setting()
    solver: str | None = solver_setting()
    substeps: int = substeps_setting()
    first_share: float = eqx.field(static=True, default=0.5)

    def __check_init__(self):
        check_share(self.first_share)

    def phases(self) -> tuple[Phase, ...]:
        """First what is common, then what is not."""
        return (Phase(self.first_share, ("shared",)), Phase(1 - self.first_share, ("specific",)))

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


def check_share(share: float) -> None:
    """An `InputError` unless both parts of training get some of the steps."""
    if not is_number(share) or not 0 < share < 1:
        raise InputError(f"`first_share` must be between 0 and 1, got {share}")


def common_start(net: Architecture | None, sizes: Sizes, key: PRNGKey) -> tuple[PyTree, PyTree]:
    """θ: two nets as in One-For-All; δ = 0 in every environment."""
    nets = tuple(built(net, sizes, k) for k in jax.random.split(key))
    return nets, repeated(zeros(nets), sizes.environments)


def displaced(shared: PyTree, specific: PyTree) -> VectorField:
    """The field with weights θ + δ."""
    return sum_of(*jax.tree.map(jnp.add, shared, specific))
