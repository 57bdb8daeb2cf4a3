"""FT-RNN: a recurrent predictor whose every linear map is a factored tensor with the environment's one-hot code."""

import dataclasses
from functools import partial

import equinox as eqx
import jax
from jaxtyping import PyTree

from .._types import PRNGKey
from ..nets import GRU, Cell, PredRNN
from ..nets.architecture import Architecture
from .base import Method, Sizes, repeated
from .dynamics import Dynamics, Recurrence
from .factored import Factored, matching_leads, mean_codes, rank_setting
from .settings import positive


class FtRnn(Method):
    """A recurrent net in place of an ODE: a GRU for vectors, a PredRNN for fields, with factored linear maps.

    See `leadax.methods.dynamics.Recurrence` for how it steps. It has no vector field: what it says depends on what it
    has seen.

    - `width`: hidden units, or channels; by default those of the cell;
    - `rank`: factors per linear map; by default as many as give it the parameters of LEADS.
    """

    width: int | None = eqx.field(static=True, default=None)
    rank: int | None = rank_setting()

    def __check_init__(self):
        if self.width is not None:
            positive("width", self.width)

    def sized(self, sizes: Sizes, net: Architecture) -> "FtRnn":
        """With the rank that matches LEADS' number of parameters."""
        if self.rank is not None:
            return self
        return dataclasses.replace(self, rank=matching_leads(partial(self._cell, sizes), net, sizes))

    def init(self, sizes: Sizes, *, key: PRNGKey) -> tuple[PyTree, PyTree]:
        """The factors of one cell; one vector of codes per linear map and environment."""
        assert self.rank is not None, "`fit` fills in the rank"
        for_cell, for_factors, for_codes = jax.random.split(key, 3)
        factored = Factored(self._cell(sizes, for_cell), self.rank, key=for_factors)
        return factored, factored.first_codes(sizes.environments, key=for_codes)

    def _cell(self, sizes: Sizes, key: PRNGKey) -> Cell:
        width = {} if self.width is None else {"width": self.width}
        return (GRU if len(sizes.state_shape) == 1 else PredRNN)(
            sizes.state_shape, key=key, inputs=sizes.inputs, **width
        )

    def dynamics(self, shared: PyTree, specific: PyTree) -> Dynamics:
        """The cell with the weights of this environment."""
        return Recurrence(shared.at(specific))

    def split(self, shared: PyTree, specific: PyTree) -> None:
        """There is no vector field to split."""

    def new_environments(self, known: PyTree, sizes: Sizes, *, key: PRNGKey) -> PyTree:
        """The mean of the known codes."""
        return repeated(mean_codes(known), sizes.environments)

    def without_specific(self, known: PyTree) -> PyTree:
        """The mean of the known codes."""
        return mean_codes(known)
