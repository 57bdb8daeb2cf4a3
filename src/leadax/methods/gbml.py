"""Meta-learning by gradients: a start for all environments, from which each goes its own way."""

from collections.abc import Callable
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .._types import PRNGKey, VectorField
from ..errors import InputError
from .assembled import Assembled
from .base import Parts, Phase, first, repeated, zeros


@dataclass(frozen=True)
class Gbml(Assembled):
    """The paper's GBML-like baseline: One-For-All first, then fitted individually to each environment.

    $\\theta_e = \\theta + \\delta_e$: only $\\theta$ learns in the first part of training, then only $\\delta_e$.

    - `first_share`: the share of the steps that belongs to the first part.

    A novel environment learns its $\\delta$ from zero.

    >>> import jax
    >>> from leadax.nets import MLP
    >>> parts = Gbml(net=MLP).init((2,), 10, key=jax.random.key(0))
    >>> parts.specific[0].denses[0].weight.shape
    (10, 2, 64)
    """

    first_share: float | int = 0.5

    def __post_init__(self):
        if not 0 < self.first_share < 1:
            raise InputError(f"`first_share` must be between 0 and 1, got {self.first_share}")

    @property
    def phases(self) -> tuple[Phase, ...]:
        """First what is common, then what is not."""
        return (Phase(self.first_share, ("shared",)), Phase(1 - self.first_share, ("specific",)))

    def init(self, state_shape: tuple[int, ...], environments: int, *, key: PRNGKey) -> Parts:
        """f and g, as One-For-All has them, and no difference between environments."""
        nets = tuple(self.build(state_shape, k) for k in jax.random.split(key))
        return Parts(nets, repeated(zeros(nets), environments))

    def assemble(self, shared: PyTree, specific: PyTree | None) -> VectorField:
        """The sum of both nets."""
        f, g = shared if specific is None else jax.tree.map(jnp.add, shared, specific)
        return lambda x: f(x) + g(x)

    def novel(self, state_shape: tuple[int, ...], known: PyTree, environments: int, *, key: PRNGKey) -> PyTree:
        """δ = 0."""
        return repeated(self.neutral(known), environments)

    def neutral(self, known: PyTree) -> PyTree:
        """δ = 0."""
        return zeros(first(known))


@dataclass(frozen=True)
class Maml(Gbml):
    """Model-agnostic meta-learning (Finn et al., 2017) over environments.

    In the first part of training $\\theta$ is made such that a few gradient steps of each environment,
    $\\theta_e = \\theta - \\eta \\nabla L_e(\\theta)$ on half of its trajectories, give a small error on the other half
    (the same one, if there is only one). In the second each environment is fitted individually from there.

    - `inner_steps`, `inner_rate`: how many such steps, and $\\eta$;
    - `first_order`: leave out the second derivatives of $L_e$.
    """

    inner_steps: int = 1
    inner_rate: float | int = 0.01
    first_order: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.inner_steps < 1 or not self.inner_rate > 0:
            raise InputError(
                "`inner_steps` and `inner_rate` must be positive, "
                f"got {self.inner_steps} and {self.inner_rate}: use 1 and 0.01"
            )

    @property
    def phases(self) -> tuple[Phase, ...]:
        """First with a look ahead, then fitted individually."""
        common, individual = super().phases
        return (common._replace(meta=True), individual)

    def look_ahead(self, parts: Parts, error: Callable[[PyTree], Float[Array, ""]]) -> Parts:
        """Where a few steps of gradient descent take each environment."""

        def descend(specific: PyTree, _: None) -> tuple[PyTree, None]:
            slope = eqx.filter_grad(error)(specific)
            if self.first_order:
                slope = jax.lax.stop_gradient(slope)
            return jax.tree.map(lambda s, d: s - self.inner_rate * d, specific, slope), None

        specific, _ = jax.lax.scan(descend, parts.specific, None, length=self.inner_steps)
        return Parts(parts.shared, specific)
