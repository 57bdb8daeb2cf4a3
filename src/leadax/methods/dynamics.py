"""How a state moves: along a vector field, or by the steps of a recurrent net."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .._types import State, VectorField
from ..nets import Cell
from ..rollout import Restart, Steps, departures, rollout

DEFAULT_SOLVER = "rk4"


class Dynamics(eqx.Module):
    """What every kind of model can do: forecast from a state along the steps of a solver."""

    @abc.abstractmethod
    def forecast(
        self, start: State, steps: Steps, restart: Restart | None = None
    ) -> Float[Array, "time *space channel"]:
        """The states of one trajectory at its observations, the start included.

        - `restart`: where the forecast starts anew from the data (scheduled sampling); None for nowhere.
        """


class Flow(Dynamics):
    """dx/dt = field(t, x, u), integrated by a Runge–Kutta method.

    - `tableau`: its name in `leadax.rollout.TABLEAUX`.
    """

    field: VectorField
    tableau: str = eqx.field(static=True)

    def forecast(
        self, start: State, steps: Steps, restart: Restart | None = None
    ) -> Float[Array, "time *space channel"]:
        """The solution at the observations."""
        return rollout(self.field, start, steps, restart, tableau=self.tableau)


class Recurrence(Dynamics):
    """$x_{k+1} = x_k + h_k v_k$ with $(v_k, m_{k+1}) = \\mathrm{cell}(x_k, m_k)$ and an empty memory $m_0$.

    A restart also empties the memory: a forecast from there must do without what came before, as all forecasts in use
    do (on Lotka–Volterra the error is a third smaller).
    """

    cell: Cell

    def forecast(
        self, start: State, steps: Steps, restart: Restart | None = None
    ) -> Float[Array, "time *space channel"]:
        """One step of the cell per step of a solver."""
        empty = self.cell.empty()
        nowhere = Restart(jnp.zeros(len(steps.sizes), bool), jnp.broadcast_to(start, (len(steps.sizes), *start.shape)))
        where, states = nowhere if restart is None else departures(steps, restart)

        def step(loop: tuple[Array, PyTree], now: tuple) -> tuple[tuple[Array, PyTree], Array]:
            (forecast, memory), (restarts, data, size, ends, impulse) = loop, now
            x = jnp.where(restarts, data, forecast)
            x = x if impulse is None else x + jnp.broadcast_to(impulse, x.shape)
            memory = jax.tree.map(lambda kept, new: jnp.where(restarts, new, kept), memory, empty)
            # A cell takes a whole step at once: of inputs that change on the way it sees the mean.
            change, memory = self.cell(x, memory, None if ends is None else jnp.mean(ends, axis=0))
            forecast = x + size * change
            if steps.bounds is not None:
                forecast = jnp.clip(forecast, *(jnp.broadcast_to(side, x.shape) for side in steps.bounds))
            return (forecast, memory), forecast

        rows = (where, states, steps.sizes, steps.inputs, steps.impulses)
        _, forecasts = jax.lax.scan(step, (start, empty), rows)
        path = jnp.concatenate([start[None], forecasts])
        return path if steps.landing is None else path[steps.landing]
