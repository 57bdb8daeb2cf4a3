"""CoDA: the weights of an environment are those of a common centre, moved in a few learnt directions."""

from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .._types import PRNGKey, VectorField
from ..errors import InputError, is_number
from ..nets.architecture import Architecture
from ..nets.layers import normal
from ..nets.mlp import begun_at
from ..penalties import Carry, Penalty, Points
from ..penalties.base import Value, Weights
from ..trend import Trend
from .base import Method, Regulariser, Sizes, built, difference_of, zeros
from .dynamics import DEFAULT_SOLVER, Dynamics, Flow
from .settings import (
    known_setting,
    net_setting,
    parameters_setting,
    positive,
    solver_setting,
    substeps_setting,
    weight_setting,
    without_formula,
)

FEW = 1e-6  # of the squared differences between environments that contexts may leave out


class Hypernet(eqx.Module):
    """The net with weights $\\theta$, and directions $W$ in which they may move: one for each number of a context."""

    net: PyTree
    directions: tuple[Float[Array, "... dimension"], ...]

    def at(self, context: Float[Array, " dimension"]) -> PyTree:
        """The net with weights $\\theta + W \\xi$."""
        weights, structure = jax.tree.flatten(self.net)
        moved = [a + jnp.tensordot(w, context, axes=1) for a, w in zip(weights, self.directions, strict=True)]
        return jax.tree.unflatten(structure, moved)


class ContextPenalty(Penalty):
    """What keeps the adaptation small: $a |\\xi_e|^2 + b \\sum_i |W_i| + c \\sum_i |W_i|^2$.

    $W_i$ are the rows of $W$, one for each weight of the net: $b$ picks out the weights that move at all.

    - `context`, `rows`, `squares`: $a$, $b$ and $c$.
    """

    context: float | Float[Array, ""] = 1e-4
    rows: float | Float[Array, ""] = 1e-6
    squares: float | Float[Array, ""] = 0.0

    def init(self, net: Any, *, key: PRNGKey) -> Carry:
        """Nothing."""
        del net, key
        return ()

    def __call__(self, net: Any, points: Points, weights: Weights, carry: Carry) -> tuple[Value, Carry]:
        """The penalty of directions and a context; where the data are does not matter."""
        directions, context = net
        squares = [jnp.sum(w**2, axis=-1) for w in jax.tree.leaves(directions)]
        tiny = jnp.finfo(context.dtype).tiny  # a slope at zero
        rows = sum(jnp.sum(jnp.sqrt(s + tiny)) for s in squares)
        total = sum(jnp.sum(s) for s in squares)
        return self.context * jnp.sum(context**2) + self.rows * rows + self.squares * total, carry


class Coda(Method):
    """Context-informed dynamics adaptation (Kirchmeyer et al., 2022): $\\theta_e = \\theta + W \\xi_e$.

    The weights of all environments lie in a plane of few dimensions. A new environment only learns where, from
    $\\xi = 0$.

    - `dimension`: numbers in a context $\\xi_e$; a good choice is the number of parameters that vary in the system;
    - `direction_std`: standard deviation that $W$ starts with;
    - `penalty`: a `ContextPenalty`; `penalty_weight`: its weight, 0 for none;
    - `net`, `solver`, `substeps`, `known`, `parameters`: as in `Leads`.

    >>> import jax
    >>> from leadax.nets import MLP
    >>> shared, specific = Coda(net=MLP, dimension=2).init(Sizes((2,), 10), key=jax.random.key(0))
    >>> specific.shape
    (10, 2)
    """

    begins_at: ClassVar[tuple[str, ...]] = ("common", "own")

    net: Architecture | None = net_setting()
    solver: str | None = solver_setting()
    substeps: int = substeps_setting()
    penalty: ContextPenalty = ContextPenalty()
    penalty_weight: float | Float[Array, ""] = weight_setting(1.0)
    dimension: int = eqx.field(static=True, default=2)
    direction_std: float = eqx.field(static=True, default=0.1)
    known: Callable[..., Any] | None = known_setting()
    parameters: Any = parameters_setting()

    def __check_init__(self):
        positive("dimension", self.dimension)
        if not is_number(self.direction_std) or self.direction_std < 0:
            raise InputError(f"`direction_std` must be zero or a positive number, got {self.direction_std!r:.60}")
        if not isinstance(self.penalty, ContextPenalty):
            raise InputError(
                f"CoDA has a penalty of its own, a `ContextPenalty`, got {self.penalty}: "
                "for none use `penalty_weight=0`"
            )

    def init(self, sizes: Sizes, *, key: PRNGKey) -> tuple[PyTree, PyTree]:
        """θ and W; all contexts zero."""
        without_formula(self)
        for_net, for_directions = jax.random.split(key)
        net = built(self.net, sizes, for_net)
        weights = jax.tree.leaves(net)
        keys = jax.random.split(for_directions, len(weights))
        directions = tuple(
            self.direction_std * normal((*a.shape, self.dimension), key=k) for a, k in zip(weights, keys, strict=True)
        )
        return Hypernet(net, directions), jnp.zeros((sizes.environments, self.dimension))

    def dynamics(self, shared: PyTree, specific: PyTree) -> Dynamics:
        """The net at the environment's context."""
        without_formula(self)
        return Flow(shared.at(specific), self.solver or DEFAULT_SOLVER)

    def begun_at(self, shared: PyTree, specific: PyTree, trend: Trend) -> tuple[PyTree, PyTree]:
        """The centre begins at what environments have in common, W at the directions in which they differ most."""
        net = begun_at(shared.net, trend.common)
        polynomial = getattr(net, "polynomial", None)
        if polynomial is None or trend.own is None:
            return Hypernet(net, shared.directions), specific
        contexts, directions = _principal(trend.own, self.dimension)
        # As a net that begins there, and zero for all that is no part of the polynomial.
        moved = jax.vmap(lambda one: begun_at(zeros(net), one))(directions)
        stacked = tuple(jnp.moveaxis(a, 0, -1) for a in jax.tree.leaves(moved))
        return Hypernet(net, stacked), contexts.astype(specific.dtype)

    def settled(self, trend: Trend) -> bool:
        """Where environments differ in so few directions that contexts have them all."""
        if trend.own is None:
            return False
        sizes = jnp.linalg.svd(trend.own.reshape(len(trend.own), -1), compute_uv=False)
        return bool(jnp.sum(sizes[self.dimension :] ** 2) <= FEW * jnp.sum(sizes**2))

    def split(self, shared: PyTree, specific: PyTree) -> tuple[VectorField, VectorField]:
        """The net at ξ = 0, and what this environment adds to it."""
        return shared.net, difference_of(shared.at(specific), shared.net)

    def regulariser(self) -> Regulariser | None:
        """The penalty on W and ξ_e."""
        if isinstance(self.penalty_weight, float) and self.penalty_weight == 0:
            return None
        subject = lambda shared, specific: (shared.directions, specific)
        return Regulariser(self.penalty, self.penalty_weight, subject)

    def new_environments(self, known: PyTree, sizes: Sizes, *, key: PRNGKey) -> PyTree:
        """ξ = 0."""
        return jnp.zeros((sizes.environments, self.dimension), known.dtype)

    def without_specific(self, known: PyTree) -> PyTree:
        """ξ = 0."""
        return jnp.zeros_like(known[0])


def _principal(
    own: Float[Array, "env term channel"], count: int
) -> tuple[Float[Array, "env dimension"], Float[Array, "dimension term channel"]]:
    """Contexts of size one, and the directions in which coefficients differ most: own ≈ Σ context · direction."""
    flat = own.reshape(len(own), -1)
    left, sizes, right = jnp.linalg.svd(flat, full_matrices=False)
    pad = max(0, count - len(sizes))
    left, sizes = jnp.pad(left, ((0, 0), (0, pad))), jnp.pad(sizes, (0, pad))
    right = jnp.pad(right, ((0, pad), (0, 0)))
    root = jnp.sqrt(jnp.asarray(len(own), own.dtype))
    directions = right[:count] * sizes[:count, None] / root
    return left[:, :count] * root, directions.reshape(count, *own.shape[1:])
