"""Bounds on the Lipschitz constants of nets."""

import math
from functools import singledispatch

import jax
import numpy as np

from ..nets import FNO, MLP, Dense, LinearLayer, Net
from ..nets.mlp import PACE
from ..nets.polynomial import steepest
from ..nets.power import length, power_iteration

POWER_ITERATIONS = 200


def lipschitz(net: Net) -> float:
    """A bound on the Lipschitz constant of a net: the product of the spectral norms of its layers, times its factor.

    It is in the units that the net computes in, the standard units of its model. Activations have slopes of at most 1.
    For branches that are added, as in the FNO or past the layers of an MLP, the norms are added too. Norms of layers
    other than dense ones are estimated from below, by power iteration.

    >>> import jax
    >>> from leadax.nets import Linear
    >>> lipschitz(Linear((2,), init_std=0, key=jax.random.key(0)))
    0.0
    """
    through = abs(net.factor) * math.prod(sum(_spectral_norm(layer) for layer in block) for block in blocks(net))
    if not isinstance(net, MLP) or net.polynomial is None:
        return through
    variables = net.denses[0].in_shape[0]
    return through + PACE * steepest(variables, net.degree, net.region, net.zero) * _spectral_norm(net.polynomial)


@singledispatch
def blocks(net: Net) -> list[tuple[LinearLayer, ...]]:
    """The layers of a net in sequence; layers whose outputs are added are in one tuple."""
    return [(layer,) for layer in net.layers]


@blocks.register
def _(net: MLP) -> list[tuple[LinearLayer, ...]]:
    return [(layer,) for layer in net.denses]


@blocks.register
def _(net: FNO) -> list[tuple[LinearLayer, ...]]:
    fourier = [(layer.spectral, layer.pointwise) for layer in net.fourier]
    return [(net.lift,), *fourier, (net.hidden,), (net.last,)]


def _spectral_norm(layer: LinearLayer) -> float:
    if isinstance(layer, Dense):
        return float(np.linalg.norm(np.asarray(layer.matrix(), float), 2))
    start = jax.random.normal(jax.random.key(0), layer.in_shape, jax.tree.leaves(layer)[0].dtype)
    v = power_iteration(layer.linear, start / length(start), POWER_ITERATIONS)
    return float(length(layer.linear(v)))
