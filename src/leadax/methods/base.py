"""The one idea: parameters live on three levels, shared by all environments, specific to one, local to a trajectory."""

import abc
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .._types import PRNGKey, VectorField
from ..errors import InputError
from ..nets import Net
from ..nets.architecture import Architecture
from ..penalties import Penalty
from ..trend import Trend
from .dynamics import Dynamics


class Levels(NamedTuple):
    """The parameters of a model.

    - `shared`: learnt from all environments;
    - `specific`: learnt from one environment; every array has a leading axis over environments;
    - `local`: learnt from one trajectory; leading axes over environments and trajectories. Empty where every
      trajectory starts from its first observation.
    """

    shared: PyTree
    specific: PyTree
    local: PyTree = ()


class Sizes(NamedTuple):
    """What a method must know of the data to make its parameters."""

    state_shape: tuple[int, ...]
    environments: int
    inputs: int = 0


class Phase(NamedTuple):
    """A stretch of training.

    - `share`: of all steps;
    - `trainable`: the levels that learn in it;
    - `meta`: whether the loss is taken where the method's `look_ahead` leads.
    """

    share: float
    trainable: tuple[str, ...] = Levels._fields
    meta: bool = False


class Regulariser(NamedTuple):
    """What keeps the specific level small: `weight` · Σ_e `penalty(subject(shared, specific_e), …)`.

    - `relative`: the weight is in units of error/Ω, which is not differentiated. It then needs no units and no tuning.
    """

    penalty: Penalty
    weight: float | Float[Array, ""]
    subject: Callable[[PyTree, PyTree], Any]
    relative: bool = False


class Method(eqx.Module):
    """What is shared, what is specific, and how the two make dynamics. All else is written once, for all methods.

    A method is a set of settings. Those that are `None` are chosen from the data by `fit`. Sizes and names are static
    fields; numbers to be tuned are plain fields, so that candidates can be trained side by side in one program.

    A method of your own implements the three abstract methods, and others where their defaults do not suit it.

    - `begins_at`: the parts of a `Trend` that its nets can begin at (`begun_at`).
    """

    begins_at: ClassVar[tuple[str, ...]] = ()

    @abc.abstractmethod
    def init(self, sizes: Sizes, *, key: PRNGKey) -> tuple[PyTree, PyTree]:
        """The shared level, and the specific level of all environments, before training."""

    @abc.abstractmethod
    def dynamics(self, shared: PyTree, specific: PyTree) -> Dynamics:
        """How the state moves in one environment."""

    @abc.abstractmethod
    def split(self, shared: PyTree, specific: PyTree) -> tuple[VectorField, VectorField] | None:
        """f and g_e of one environment, with dx/dt = f + g_e; None for a method without a vector field."""

    def learnt(self, shared: PyTree, specific: PyTree) -> tuple[VectorField, VectorField] | None:
        """f and g_e of one environment as far as they are learnt: without a formula that was known before."""
        return self.split(shared, specific)

    def estimates(self, shared: PyTree, specific: PyTree) -> Mapping[str, Array]:
        """Numbers with a meaning of their own that are learnt along, by name; by default there are none."""
        del shared, specific
        return {}

    def prior(self, shared: PyTree, specific: PyTree) -> Float[Array, ""] | None:
        """How unlikely such numbers are before any data: squares in units of their priors' widths; None for nothing.

        - `specific`: of all environments.
        """
        del shared, specific
        return None

    def regulariser(self) -> Regulariser | None:
        """What keeps the specific level small, if anything does."""
        return None

    def begun_at(self, shared: PyTree, specific: PyTree, trend: Trend) -> tuple[PyTree, PyTree]:
        """Both levels with nets that begin at polynomials fitted to the data; by default as they are."""
        del trend
        return shared, specific

    def settled(self, trend: Trend) -> bool:
        """Whether all environments begin at a law of their own, so that nets have only the rest to learn."""
        del trend
        return False

    def phases(self) -> tuple[Phase, ...]:
        """How training proceeds: by default all levels learn from the first step to the last."""
        return (Phase(1.0),)

    def look_ahead(self, specific: PyTree, error: Callable[[PyTree], Float[Array, ""]]) -> PyTree:
        """The specific level at which the loss of a `meta` phase is taken.

        - `error`: the error of a specific level, summed over environments.
        """
        del error
        return specific

    def sized(self, sizes: Sizes, net: Architecture) -> "Method":
        """The method with those sizes filled in that depend on the data.

        - `net`: the architecture that a vector field would have for these data.
        """
        del sizes, net
        return self

    def new_environments(self, known: PyTree, sizes: Sizes, *, key: PRNGKey) -> PyTree:
        """The specific level from which new environments learn; `known` is that of the environments trained on."""
        del known
        return self.init(sizes, key=key)[1]

    def without_specific(self, known: PyTree) -> PyTree:
        """The specific level of one environment of which nothing is known, where shared parameters predict alone."""
        del known
        raise InputError(f"{type(self).__name__} cannot predict from shared parameters alone: use another scheme")


def has_field(method: Method, shared: PyTree, specific: PyTree) -> bool:
    """Whether a method has a vector field; of its levels, with an axis `env`, only the shapes are looked at."""
    one = jax.tree.map(lambda a: jax.ShapeDtypeStruct(a.shape[1:], a.dtype), specific)
    found: list[bool] = []
    jax.eval_shape(lambda *levels: found.append(method.split(*levels) is not None), shared, one)
    return found[0]


def built(net: Architecture | None, sizes: Sizes, key: PRNGKey) -> Net:
    """One net of an architecture."""
    assert net is not None, "`fit` fills in the architecture"
    return net(sizes.state_shape, key=key, inputs=sizes.inputs)


def stacked(build: Callable[[PRNGKey], PyTree], count: int, key: PRNGKey) -> PyTree:
    """`count` independent copies of a module as one module with a leading axis."""
    return eqx.filter_vmap(build)(jax.random.split(key, count))


def first(stacked: PyTree) -> PyTree:
    """The parameters of the first environment."""
    return jax.tree.map(lambda a: a[0], stacked)


def repeated(parameters: PyTree, environments: int) -> PyTree:
    """The same parameters for each of so many environments."""
    return jax.tree.map(lambda b: jnp.broadcast_to(b, (environments, *b.shape)), parameters)


def zeros(tree: PyTree) -> PyTree:
    """The same structure, all numbers zero."""
    return jax.tree.map(jnp.zeros_like, tree)


def zero_field(t: Array, x: Array, u: Array | None) -> Array:
    """The vector field of a part that a method does not have."""
    del t, u
    return jnp.zeros_like(x)


def sum_of(f: VectorField, g: VectorField) -> VectorField:
    """The vector field f + g."""
    return lambda t, x, u: f(t, x, u) + g(t, x, u)


def difference_of(whole: VectorField, part: VectorField) -> VectorField:
    """The vector field whole − part."""
    return lambda t, x, u: whole(t, x, u) - part(t, x, u)
