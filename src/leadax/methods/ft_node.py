"""FT-NODE: one neural ODE whose every linear map is a factored tensor with the environment's one-hot code."""

import dataclasses
from dataclasses import dataclass

import jax
from jaxtyping import PyTree

from .._types import PRNGKey, VectorField
from .assembled import Assembled
from .base import Parts, inside, repeated, with_inside
from .factored import Factored, check_rank, matching_rank, mean_codes, parameters_of_leads


@dataclass(frozen=True)
class FtNode(Assembled):
    """A neural ODE with $W_e = A \\, \\mathrm{diag}(B e) \\, C$ in every linear map (Spieckermann et al., 2015).

    - `rank`: factors per linear map; by default as many as give it the parameters of LEADS.

    A novel environment learns its column of $B$ alone, from the mean of the known ones.

    >>> import jax
    >>> from leadax.nets import MLP
    >>> parts = FtNode(net=MLP, rank=8).init((2,), 10, key=jax.random.key(0))
    >>> [codes.shape for codes in parts.specific]
    [(10, 8), (10, 8), (10, 8), (10, 8)]
    """

    rank: int | None = None

    def __post_init__(self):
        check_rank(self.rank)

    def sized(self, state_shape: tuple[int, ...], environments: int) -> "FtNode":
        """With the rank that matches LEADS' number of parameters."""
        if self.rank is not None:
            return self
        net = inside(jax.eval_shape(lambda: self.build(state_shape, jax.random.key(0))))
        return dataclasses.replace(self, rank=matching_rank(net, parameters_of_leads(net, environments), environments))

    def init(self, state_shape: tuple[int, ...], environments: int, *, key: PRNGKey) -> Parts:
        """The factors of one net; one vector of codes per linear map and environment."""
        rank = self.sized(state_shape, environments).rank
        assert rank is not None
        for_net, for_factors, for_codes = jax.random.split(key, 3)
        net = self.build(state_shape, for_net)
        factored = Factored(inside(net), rank, key=for_factors)
        return Parts(with_inside(net, factored), factored.first_codes(environments, key=for_codes))

    def assemble(self, shared: PyTree, specific: PyTree | None) -> VectorField:
        """The net with the weights of this environment, or with all codes one."""
        factored: Factored = inside(shared)
        return with_inside(shared, factored.at(factored.ones() if specific is None else specific))

    def novel(self, state_shape: tuple[int, ...], known: PyTree, environments: int, *, key: PRNGKey) -> PyTree:
        """The mean of the known codes."""
        return repeated(mean_codes(known), environments)

    def neutral(self, known: PyTree) -> PyTree:
        """The mean of the known codes."""
        return mean_codes(known)
