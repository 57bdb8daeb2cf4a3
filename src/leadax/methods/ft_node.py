"""FT-NODE: one neural ODE whose every linear map is a factored tensor with the environment's one-hot code."""

import dataclasses
from functools import partial

import jax
from jaxtyping import PyTree

from .._types import PRNGKey, VectorField
from ..nets.architecture import Architecture
from .base import Method, Sizes, built, difference_of, repeated
from .dynamics import DEFAULT_SOLVER, Dynamics, Flow
from .factored import Factored, matching_leads, mean_codes, rank_setting
from .settings import net_setting, solver_setting, substeps_setting


class FtNode(Method):
    """A neural ODE with $W_e = A \\, \\mathrm{diag}(B e) \\, C$ in every linear map (Spieckermann et al., 2015).

    - `rank`: factors per linear map; by default as many as give it the parameters of LEADS;
    - `net`, `solver`, `substeps`: as in `Leads`.

    A new environment learns its column of $B$ alone, from the mean of the known ones.

    >>> import jax
    >>> from leadax.nets import MLP
    >>> shared, specific = FtNode(net=MLP, rank=8).init(Sizes((2,), 10), key=jax.random.key(0))
    >>> [codes.shape for codes in specific]
    [(10, 8), (10, 8), (10, 8), (10, 8)]
    """

    net: Architecture | None = net_setting()
    solver: str | None = solver_setting()
    substeps: int = substeps_setting()
    rank: int | None = rank_setting()

    def sized(self, sizes: Sizes, net: Architecture) -> "FtNode":
        """With the rank that matches LEADS' number of parameters."""
        if self.rank is not None:
            return self
        own = self.net or net
        return dataclasses.replace(self, rank=matching_leads(partial(built, own, sizes), own, sizes))

    def init(self, sizes: Sizes, *, key: PRNGKey) -> tuple[PyTree, PyTree]:
        """The factors of one net; one vector of codes per linear map and environment."""
        assert self.rank is not None, "`fit` fills in the rank"
        for_net, for_factors, for_codes = jax.random.split(key, 3)
        factored = Factored(built(self.net, sizes, for_net), self.rank, key=for_factors)
        return factored, factored.first_codes(sizes.environments, key=for_codes)

    def dynamics(self, shared: PyTree, specific: PyTree) -> Dynamics:
        """The net with the weights of this environment."""
        return Flow(shared.at(specific), self.solver or DEFAULT_SOLVER)

    def split(self, shared: PyTree, specific: PyTree) -> tuple[VectorField, VectorField]:
        """The net with all codes one, and what this environment adds to it."""
        common = shared.at(shared.ones())
        return common, difference_of(shared.at(specific), common)

    def new_environments(self, known: PyTree, sizes: Sizes, *, key: PRNGKey) -> PyTree:
        """The mean of the known codes."""
        return repeated(mean_codes(known), sizes.environments)

    def without_specific(self, known: PyTree) -> PyTree:
        """The mean of the known codes."""
        return mean_codes(known)
