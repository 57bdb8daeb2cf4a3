"""The one idea: a model is two halves, shared by all environments and specific to one."""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Float, PyTree

from .._types import PRNGKey, VectorField
from ..nets import Net
from ..penalty import Penalty
from ..rollout import rollout

NetFactory: TypeAlias = Callable[..., Net]


class Parts(NamedTuple):
    """The parameters of a model: `specific` has a leading axis over environments in all its arrays."""

    shared: PyTree
    specific: PyTree


class Observed(NamedTuple):
    """What a forecast of one trajectory is asked for: from the first state, at these times.

    - `restart`: where it starts anew from the data (scheduled sampling); None for nowhere.
    """

    states: Float[Array, "time *space channel"]
    times: Float[Array, " time"]
    restart: Bool[Array, " time"] | None = None


@dataclass(frozen=True)
class Method(abc.ABC):
    """What is shared, what is specific, and how the two predict. Everything else is written once, for all methods.

    Settings that are `None` are chosen from the data.

    - `net`: `net(state_shape, key=key)` makes a vector field;
    - `solver`: a name in `leadax.rollout.TABLEAUX`; `substeps`: steps per observed interval;
    - `penalty`: Ω; `penalty_weight`: its weight 1/λ.
    """

    net: NetFactory | None = None
    solver: str | None = None
    substeps: int = 1
    penalty: Penalty | None = None
    penalty_weight: float | None = None

    @abc.abstractmethod
    def init(self, state_shape: tuple[int, ...], environments: int, *, key: PRNGKey) -> Parts:
        """Both halves before training."""

    @abc.abstractmethod
    def decompose(self, shared: PyTree, specific: PyTree) -> tuple[VectorField, VectorField]:
        """f and g_e of one environment, with dx/dt = f(x) + g_e(x)."""

    @abc.abstractmethod
    def predict(self, shared: PyTree, specific: PyTree, asked: Observed) -> Float[Array, "time *space channel"]:
        """The states of one trajectory in one environment."""

    @abc.abstractmethod
    def penalised(self, shared: PyTree, specific: PyTree) -> Net | None:
        """What Ω is taken of in one environment; None if nothing is."""

    def build(self, state_shape: tuple[int, ...], key: PRNGKey) -> Net:
        """One net of this method's architecture."""
        assert self.net is not None, "fit completes the settings first"
        return self.net(state_shape, key=key)

    def integrate(self, field: VectorField, asked: Observed) -> Float[Array, "time *space channel"]:
        """The states under a vector field, with this method's solver."""
        return rollout(field, *asked, tableau=self.solver or "rk4", substeps=self.substeps)


def stacked(build: Callable[[PRNGKey], PyTree], count: int, key: PRNGKey) -> PyTree:
    """`count` independent copies of a module as one module with a leading axis."""
    return eqx.filter_vmap(build)(jax.random.split(key, count))


def zero(state: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The vector field of a half that a method does not have."""
    return 0.0 * state
