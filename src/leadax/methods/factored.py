"""Factored tensors (Spieckermann et al., 2015): every linear map of a module gets a factor of each environment."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .._types import PRNGKey
from ..nets import LinearLayer
from ..nets.architecture import Architecture
from ..nets.layers import normal
from .base import Sizes, built
from .settings import positive

Codes = tuple[Float[Array, "... rank"], ...]


class Factored(eqx.Module):
    """A net or cell whose weights are $W_e = A \\, \\mathrm{diag}(B e) \\, C$ with the one-hot code $e$.

    A column of $B$, one number per factor, is what is specific to an environment: `codes`, one vector per linear map.
    A convolution and a Fourier layer are matrices too: from all inputs of an output (taps or frequencies included).

    **Arguments**

    - `module`: gives the architecture, the biases, and the size that weights start with;
    - `rank`: factors per linear map.
    """

    frame: PyTree
    left: tuple[Float[Array, "merged rank"], ...]
    right: tuple[Float[Array, "rank out"], ...]
    shapes: tuple[tuple[int, ...], ...] = eqx.field(static=True)

    def __init__(self, module: PyTree, rank: int, *, key: PRNGKey):
        weights = _weights(module)
        self.shapes = tuple(w.shape for w in weights)
        self.frame = eqx.tree_at(_weights, module, [None] * len(weights))
        keys = jax.random.split(key, 2 * len(weights))
        # The product of the two is of the size of the weights that it stands for. Their deviation would be zero for a
        # single weight, and what starts at zero here never moves.
        sizes = [jnp.sqrt(jnp.sqrt(jnp.mean(w**2)) / math.sqrt(rank)) for w in weights]
        self.left = tuple(
            normal((w.size // w.shape[-1], rank), key=k) * s for w, s, k in zip(weights, sizes, keys[::2], strict=True)
        )
        self.right = tuple(
            normal((rank, w.shape[-1]), key=k) * s for w, s, k in zip(weights, sizes, keys[1::2], strict=True)
        )

    def at(self, codes: Codes) -> PyTree:
        """The module of the environment with these codes."""
        weights = [
            ((a * jnp.broadcast_to(b, a.shape)) @ c).reshape(shape)
            for a, b, c, shape in zip(self.left, codes, self.right, self.shapes, strict=True)
        ]
        return eqx.tree_at(_weights, self.frame, weights, is_leaf=lambda leaf: leaf is None)

    def ones(self) -> Codes:
        """The codes of no environment in particular."""
        return tuple(jnp.ones(a.shape[-1], a.dtype) for a in self.left)

    def first_codes(self, environments: int, *, key: PRNGKey) -> Codes:
        """Codes to begin with: around one, different in each environment."""
        keys = jax.random.split(key, len(self.left))
        shapes = [(environments, a.shape[-1]) for a in self.left]
        return tuple(1 + 0.1 * jax.random.normal(k, shape) for k, shape in zip(keys, shapes, strict=True))


def mean_codes(known: Codes) -> Codes:
    """The mean over environments."""
    return tuple(jnp.mean(b, axis=0) for b in known)


def rank_setting() -> Any:
    """Factors per linear map; None: as many as give the method the number of parameters that LEADS has."""
    return eqx.field(static=True, default=None, converter=lambda rank: rank if rank is None else positive("rank", rank))


def matching_rank(module: PyTree, parameters: int, environments: int) -> int:
    """The rank with which the factored module has about so many parameters, codes of all environments included."""
    weights = _weights(module)
    others = _count(module) - sum(w.size for w in weights)
    per_factor = sum(w.size // w.shape[-1] + w.shape[-1] + environments for w in weights)
    return max(1, round((parameters - others) / per_factor))


def matching_leads(module: Callable[[PRNGKey], PyTree], net: Architecture, sizes: Sizes) -> int:
    """The rank with which the factored module has about as many parameters as LEADS: f, and a g per environment."""
    key = jax.random.key(0)
    of_leads = (sizes.environments + 1) * _count(jax.eval_shape(lambda: built(net, sizes, key)))
    return matching_rank(jax.eval_shape(lambda: module(key)), of_leads, sizes.environments)


def _weights(module: PyTree) -> list[Any]:
    """The weights of all linear maps: arrays, or what stands in for them."""
    is_layer = lambda node: isinstance(node, LinearLayer)
    return [node.weight for node in jax.tree.leaves(module, is_leaf=is_layer) if is_layer(node)]


def _count(tree: PyTree) -> int:
    return sum(math.prod(a.shape) for a in jax.tree.leaves(tree) if hasattr(a, "shape"))
