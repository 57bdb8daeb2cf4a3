"""CoDA: the weights of an environment are those of a common centre, moved in a few learnt directions."""

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .._types import PRNGKey, VectorField
from ..errors import InputError
from ..nets.layers import normal
from ..penalty import Carry, Penalty, Points, Value, Weights
from .assembled import Assembled
from .base import Parts, inside, with_inside


class Hypernet(eqx.Module):
    """The net with weights $\\theta$, and directions $W$ in which they may move: one for each number of a context."""

    net: PyTree
    directions: tuple[Float[Array, "... dimension"], ...]

    def at(self, context: Float[Array, " dimension"]) -> PyTree:
        """The net with weights $\\theta + W \\xi$."""
        weights, structure = jax.tree.flatten(inside(self.net))
        moved = [a + jnp.tensordot(w, context, axes=1) for a, w in zip(weights, self.directions, strict=True)]
        return with_inside(self.net, jax.tree.unflatten(structure, moved))


@dataclass(frozen=True)
class ContextPenalty(Penalty):
    """What keeps the adaptation small: $a |\\xi_e|^2 + b \\sum_i |W_i| + c \\sum_i |W_i|^2$.

    $W_i$ are the rows of $W$, one for each weight of the net: $b$ picks out the weights that move at all.

    - `context`, `rows`, `squares`: $a$, $b$ and $c$.
    """

    context: float | int = 1e-4
    rows: float | int = 1e-6
    squares: float | int = 0.0

    def init(self, net: Any, *, key: PRNGKey) -> Carry:
        """Nothing."""
        del net, key
        return ()

    def __call__(self, net: Any, states: Points, weights: Weights, carry: Carry) -> tuple[Value, Carry]:
        """The penalty of directions and a context; where the data are does not matter."""
        directions, context = net
        squares = [jnp.sum(w**2, axis=-1) for w in jax.tree.leaves(directions)]
        tiny = jnp.finfo(context.dtype).tiny  # a slope at zero
        rows = sum(jnp.sum(jnp.sqrt(s + tiny)) for s in squares)
        total = sum(jnp.sum(s) for s in squares)
        return self.context * jnp.sum(context**2) + self.rows * rows + self.squares * total, carry


@dataclass(frozen=True)
class Coda(Assembled):
    """Context-informed dynamics adaptation (Kirchmeyer et al., 2022): $\\theta_e = \\theta + W \\xi_e$.

    The weights of all environments lie in a plane of few dimensions; a novel one learns only where, from $\\xi = 0$.

    - `dimension`: numbers in a context $\\xi_e$; as many as parameters of the system that vary is a good choice;
    - `direction_std`: standard deviation that $W$ starts with.

    >>> import jax
    >>> from leadax.nets import MLP
    >>> parts = Coda(net=MLP, dimension=2).init((2,), 10, key=jax.random.key(0))
    >>> parts.specific.shape
    (10, 2)
    """

    penalty: Penalty | None = ContextPenalty()
    penalty_weight: float | None = 1.0
    dimension: int = 2
    direction_std: float | int = 0.1

    def __post_init__(self):
        if self.dimension < 1:
            raise InputError(f"`dimension` of a context must be at least 1, got {self.dimension}: use 2")
        if not isinstance(self.penalty, ContextPenalty):
            raise InputError(
                f"CoDA has a penalty of its own, a `ContextPenalty`, got {self.penalty}: "
                "for none use `penalty_weight=0`"
            )

    def init(self, state_shape: tuple[int, ...], environments: int, *, key: PRNGKey) -> Parts:
        """θ and W; all contexts zero."""
        for_net, for_directions = jax.random.split(key)
        net = self.build(state_shape, for_net)
        weights = jax.tree.leaves(inside(net))
        keys = jax.random.split(for_directions, len(weights))
        directions = tuple(
            self.direction_std * normal((*a.shape, self.dimension), key=k) for a, k in zip(weights, keys, strict=True)
        )
        return Parts(Hypernet(net, directions), jnp.zeros((environments, self.dimension)))

    def assemble(self, shared: PyTree, specific: PyTree | None) -> VectorField:
        """The net at a context, or at zero."""
        return shared.net if specific is None else shared.at(specific)

    def penalised(self, shared: PyTree, specific: PyTree) -> Any:
        """W and ξ_e, which a `ContextPenalty` knows what to do with."""
        return shared.directions, specific

    def novel(self, state_shape: tuple[int, ...], known: PyTree, environments: int, *, key: PRNGKey) -> PyTree:
        """ξ = 0."""
        return jnp.zeros((environments, self.dimension), known.dtype)

    def neutral(self, known: PyTree) -> PyTree:
        """ξ = 0."""
        return jnp.zeros_like(known[0])
