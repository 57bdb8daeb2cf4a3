"""The one idea: a model is two halves, shared by all environments and specific to one."""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from .._types import PRNGKey, VectorField
from ..errors import InputError
from ..nets import Net, Scaled
from ..penalty import Penalty
from ..rollout import rollout

NetFactory: TypeAlias = Callable[..., Net]


class Parts(NamedTuple):
    """The parameters of a model: `specific` has a leading axis over environments in all its arrays."""

    shared: PyTree
    specific: PyTree


class Phase(NamedTuple):
    """A stretch of training.

    - `share`: of all steps;
    - `trainable`: the halves that learn in it;
    - `meta`: whether the loss is that of the method's `look_ahead`.
    """

    share: float
    trainable: tuple[str, ...] = ("shared", "specific")
    meta: bool = False


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

    has_omega: ClassVar[bool] = False
    """Whether Ω and its weights mean something."""
    has_field: ClassVar[bool] = True
    """Whether there is an f and a g_e at all: a recurrent net has none."""

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
    def penalised(self, shared: PyTree, specific: PyTree) -> Any:
        """What the penalty is taken of in one environment: for Ω a net; None if nothing is."""

    @property
    def phases(self) -> tuple[Phase, ...]:
        """How training goes: by default both halves learn from the first step to the last."""
        return (Phase(1.0),)

    def look_ahead(self, parts: Parts, error: Callable[[PyTree], Float[Array, ""]]) -> Parts:
        """What the loss of a `meta` phase is taken of; by default the parts as they are.

        - `error`: that of a specific half, summed over environments.
        """
        del error
        return parts

    def sized(self, state_shape: tuple[int, ...], environments: int) -> "Method":
        """The method with sizes filled in that depend on the data."""
        del state_shape, environments
        return self

    def novel(self, state_shape: tuple[int, ...], known: PyTree, environments: int, *, key: PRNGKey) -> PyTree:
        """The specific half from which novel environments learn; `known` is that of the environments trained on."""
        del known
        return self.init(state_shape, environments, key=key).specific

    def neutral(self, known: PyTree) -> PyTree:
        """The specific half of one environment that is not known at all: what is shared predicts alone."""
        del known
        raise InputError(f"{type(self).__name__} cannot predict with what is shared alone: use another scheme")

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


def inside(net: PyTree) -> PyTree:
    """What learns of a net: all but its changes of units."""
    return net.net if isinstance(net, Scaled) else net


def with_inside(net: PyTree, new: PyTree) -> PyTree:
    """The net with another inside, in the same units."""
    return eqx.tree_at(lambda n: n.net, net, new) if isinstance(net, Scaled) else new


def first(stacked: PyTree) -> PyTree:
    """The half of the first environment."""
    return jax.tree.map(lambda a: a[0], stacked)


def repeated(half: PyTree, environments: int) -> PyTree:
    """The same half for each of so many environments."""
    return jax.tree.map(lambda b: jnp.broadcast_to(b, (environments, *b.shape)), half)


def zeros(tree: PyTree) -> PyTree:
    """The same structure, all numbers zero."""
    return jax.tree.map(jnp.zeros_like, tree)


def zero(state: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The vector field of a half that a method does not have."""
    return 0.0 * state
