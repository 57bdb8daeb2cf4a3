"""FT-RNN: a recurrent predictor whose every linear map is a factored tensor with the environment's one-hot code."""

import dataclasses
from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .._types import PRNGKey, VectorField
from ..errors import InputError
from ..nets import GRU, Cell, PredRNN, Scales
from .base import Method, Observed, Parts, inside, repeated
from .factored import Codes, Factored, check_rank, matching_rank, mean_codes, parameters_of_leads


class ScaledCell(eqx.Module):
    """A recurrent cell that sees standardised states and answers in units of the data, as `leadax.nets.Scaled` does."""

    factored: Factored
    mean: Float[Array, " channel"]
    scale: Float[Array, " channel"]
    rate: Float[Array, " channel"]


@dataclass(frozen=True)
class FtRnn(Method):
    """A recurrent net in place of an ODE: a GRU for vectors, a PredRNN for fields, with factored linear maps.

    $$x_{k+1} = x_k + (t_{k+1} - t_k) \\, v_k, \\qquad (v_k, h_{k+1}) = \\mathrm{cell}_e(x_k, h_k), \\qquad h_0 = 0$$

    where $x_k$ is the data at a restart and the forecast elsewhere. A restart also empties the memory: a forecast from
    there must do without what came before, as all forecasts in use do (on Lotka-Volterra the error is a third smaller).
    It has no vector field: what it says depends on what it has seen.

    - `width`: hidden units, or channels; by default those of the cell;
    - `rank`: factors per linear map; by default as many as give it the parameters of LEADS with `net`;
    - `scales`: the units of the data, measured by `fit`.
    """

    has_field: ClassVar[bool] = False

    width: int | None = None
    rank: int | None = None
    scales: Scales | None = None

    def __post_init__(self):
        check_rank(self.rank)
        if self.width is not None and self.width < 1:
            raise InputError(f"`width` must be at least 1, got {self.width}")

    def sized(self, state_shape: tuple[int, ...], environments: int) -> "FtRnn":
        """With the rank that matches LEADS' number of parameters."""
        if self.rank is not None:
            return self
        key = jax.random.key(0)
        net = inside(jax.eval_shape(lambda: self.build(state_shape, key)))
        cell = jax.eval_shape(lambda: self._cell(state_shape, key))
        return dataclasses.replace(self, rank=matching_rank(cell, parameters_of_leads(net, environments), environments))

    def _cell(self, state_shape: tuple[int, ...], key: PRNGKey) -> Cell:
        width = {} if self.width is None else {"width": self.width}
        return (GRU if len(state_shape) == 1 else PredRNN)(state_shape, key=key, **width)

    def init(self, state_shape: tuple[int, ...], environments: int, *, key: PRNGKey) -> Parts:
        """The factors of one cell; one vector of codes per linear map and environment."""
        rank = self.sized(state_shape, environments).rank
        assert rank is not None
        for_cell, for_factors, for_codes = jax.random.split(key, 3)
        factored = Factored(self._cell(state_shape, for_cell), rank, key=for_factors)
        ones = jnp.ones(state_shape[-1])
        mean, scale, rate = (jnp.asarray(a, float) for a in self.scales or (0 * ones, ones, ones))
        codes = factored.first_codes(environments, key=for_codes)
        return Parts(ScaledCell(factored, mean, scale, rate), codes)

    def predict(self, shared: ScaledCell, specific: Codes, asked: Observed) -> Array:
        """Step from each time to the next."""
        cell: Cell = shared.factored.at(specific)
        units = jax.lax.stop_gradient((shared.mean, shared.scale, shared.rate))
        mean, scale, rate = (jnp.broadcast_to(a, asked.states.shape[1:]) for a in units)
        restart = jnp.zeros(asked.times.shape, bool) if asked.restart is None else asked.restart

        def step(loop: tuple[Array, PyTree], now: tuple[Array, Array, Array]) -> tuple[tuple[Array, PyTree], Array]:
            (forecast, memory), (data, restarts, duration) = loop, now
            x = jnp.where(restarts, data, forecast)
            memory = jax.tree.map(lambda kept, new: jnp.where(restarts, new, kept), memory, empty)
            change, memory = cell((x - mean) / scale, memory)
            forecast = x + duration * rate * change
            return (forecast, memory), forecast

        start, empty = asked.states[0], cell.empty()
        inputs = (asked.states[:-1], restart[:-1], jnp.diff(asked.times))
        _, forecasts = jax.lax.scan(step, (start, empty), inputs)
        return jnp.concatenate([start[None], forecasts])

    def decompose(self, shared: PyTree, specific: PyTree) -> tuple[VectorField, VectorField]:
        """There is none."""
        raise InputError(
            "ft-rnn has no vector field, it is a recurrent net: it cannot be divided into f and g_e, matched with "
            "derivatives or given to an adaptive solver"
        )

    def penalised(self, shared: PyTree, specific: PyTree) -> None:
        """Nothing."""

    def novel(self, state_shape: tuple[int, ...], known: PyTree, environments: int, *, key: PRNGKey) -> PyTree:
        """The mean of the known codes."""
        return repeated(mean_codes(known), environments)

    def neutral(self, known: PyTree) -> PyTree:
        """The mean of the known codes."""
        return mean_codes(known)
