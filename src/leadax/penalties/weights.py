"""Penalties on the weights of a net: what stands for its Lipschitz norm, and the Frobenius norm."""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .._types import PRNGKey, VectorField
from ..errors import InputError, whole
from ..nets import LinearLayer
from ..nets.power import length, power_iteration, real_map
from .base import Carry, Penalty, Points, Value, Weights


class SpectralNorm(Penalty):
    """Sum over the layers of their squared spectral norms, $\\sum_l \\|W_l\\|^2$, by power iteration.

    $$v \\leftarrow W^\\top W v / |W^\\top W v|, \\quad \\|W\\|^2 \\approx |Wv|^2$$

    With $v$ held fixed, the last expression has the right gradient once $v$ has converged, for which one iteration per
    training step is enough since $v$ is carried along. The value is never too large.

    **Arguments**

    - `iterations`: power iterations per call;
    - `operator`: `"layer"` for the norm of the layer as a linear map of fields on the net's grid; `"matrix"` for that
      of its weights reshaped to one matrix, as in the experiments of the paper (there with 5 iterations);
    - `include_factor`: whether the net's output factor counts as a part of its last layer (not so in the paper).

    >>> import jax
    >>> from leadax.nets import Linear
    >>> from leadax.penalties import SpectralNorm
    >>> net = Linear((3,), key=jax.random.key(0))
    >>> penalty = SpectralNorm(iterations=100)
    >>> carry = penalty.init(net, key=jax.random.key(1))
    >>> points = Points(jnp.zeros(1), jnp.ones((1, 3)))
    >>> value, carry = penalty(net, points, jax.numpy.ones(1), carry)
    >>> bool(abs(value - jax.numpy.linalg.norm(net.dense.weight, ord=2) ** 2) < 1e-6)
    True
    """

    iterations: int = eqx.field(static=True, default=1)
    operator: str = eqx.field(static=True, default="layer")
    include_factor: bool = eqx.field(static=True, default=True)

    def __check_init__(self):
        whole("iterations", self.iterations)
        if self.operator not in ("layer", "matrix"):
            raise InputError(f"`operator` of SpectralNorm must be 'layer' or 'matrix', got {self.operator!r}")

    def init(self, net: VectorField, *, key: PRNGKey) -> Carry:
        """One random unit vector per layer."""
        layers = _layers(net)
        return tuple(self._start(layer, k) for layer, k in zip(layers, jax.random.split(key, len(layers)), strict=True))

    def __call__(self, net: VectorField, points: Points, weights: Weights, carry: Carry) -> tuple[Value, Carry]:
        """The sum of squared norms; neither `points` nor `weights` matter."""
        del points, weights
        layers = _layers(net)
        # For a ConvNet of 64 channels on 32 × 32: 10 ms per environment with the gradient, in steps of seconds.
        frozen = jax.tree.map(jax.lax.stop_gradient, layers)
        carry = tuple(
            power_iteration(self._map(layer), v, self.iterations) for layer, v in zip(frozen, carry, strict=True)
        )
        squares = [jnp.sum(self._map(layer)(v) ** 2) for layer, v in zip(layers, carry, strict=True)]
        return _total(squares, net, self.include_factor), carry

    def _map(self, layer: LinearLayer) -> Callable[[Array], Array]:
        return layer.linear if self.operator == "layer" else real_map(layer.matrix())

    def _start(self, layer: LinearLayer, key: PRNGKey) -> Float[Array, "..."]:
        shape, dtype = layer.in_shape, jax.tree.leaves(layer)[0].dtype
        if self.operator == "matrix":
            matrix = jax.eval_shape(layer.matrix)
            shape = (2, matrix.shape[1]) if jnp.iscomplexobj(matrix) else matrix.shape[1:]
        v = jax.random.normal(key, (math.prod(shape),), dtype).reshape(shape)
        return v / length(v)


class Frobenius(Penalty):
    """Sum of the squares of all weights of the layers, $\\sum_l \\|W_l\\|_F^2$: the penalty of the linear case.

    **Arguments**

    - `include_factor`: whether the net's output factor counts as a part of its last layer.

    >>> import jax, jax.numpy as jnp
    >>> from leadax.nets import Linear
    >>> from leadax.penalties import Frobenius
    >>> net = Linear((3,), init_std=0, key=jax.random.key(0))
    >>> value, _ = Frobenius()(net, Points(jnp.zeros(1), jnp.ones((1, 3))), jnp.ones(1), ())
    >>> float(value)
    0.0
    """

    include_factor: bool = eqx.field(static=True, default=True)

    def init(self, net: VectorField, *, key: PRNGKey) -> Carry:
        """Nothing."""
        del net, key
        return ()

    def __call__(self, net: VectorField, points: Points, weights: Weights, carry: Carry) -> tuple[Value, Carry]:
        """The sum of squares; neither `points` nor `weights` matter."""
        del points, weights
        matrices = [layer.matrix() for layer in _layers(net)]
        squares = [jnp.sum(matrix.real**2 + matrix.imag**2) for matrix in matrices]
        return _total(squares, net, self.include_factor), carry


def _layers(net: VectorField) -> tuple[LinearLayer, ...]:
    layers = getattr(net, "layers", None)
    if layers is None:
        raise InputError(
            f"a penalty on weights needs a net with `layers`, got {type(net).__name__}: "
            "give it that property (see `leadax.nets.Net`), or use `alpha=0`"
        )
    return layers


def _total(squares: list[Array], net: VectorField, include_factor: bool) -> Value:
    factor = getattr(net, "factor", 1.0) if include_factor else 1.0
    return sum(squares[:-1], squares[-1] * factor**2)
