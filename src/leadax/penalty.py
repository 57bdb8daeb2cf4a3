"""Ω: how large one environment's own part of the dynamics is. Training keeps it small, so that f explains the rest.

A penalty is a ready object. Power iterations carry vectors from one training step to the next, hence two methods:

    carry = penalty.init(net, key=key)
    value, carry = penalty(net, states, weights, carry)

`states` are the points `(point, *space, channel)` of one environment, `weights` is 1 where a point was observed and 0
where it is padding; what is written in the padding does not matter. `vmap` over environments.
"""

import abc
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree

from ._types import PRNGKey, VectorField
from .errors import InputError
from .nets.base import LinearLayer
from .nets.power import length, power_iteration, real_map

Carry = PyTree[Float[Array, "..."]]
Points = Float[Array, "point *space channel"]
Weights = Float[Array, " point"] | Bool[Array, " point"]
Value = Float[Array, ""]


class Penalty(abc.ABC):
    """Interface of all penalties: pure, and fit for `jit`, `vmap` and `grad` with respect to the net."""

    @abc.abstractmethod
    def init(self, net: VectorField, *, key: PRNGKey) -> Carry:
        """What to carry into the first call; `()` for a penalty that needs nothing."""

    @abc.abstractmethod
    def __call__(self, net: VectorField, states: Points, weights: Weights, carry: Carry) -> tuple[Value, Carry]:
        """The penalty of `net`, and what to carry to the next call."""


@dataclass(frozen=True)
class EmpiricalNorm(Penalty):
    """Squared empirical norm on the data, $\\|g\\|_{L^p}^2 = (\\frac1n \\sum_x |g(x)|^p)^{2/p}$ (supplement C).

    With the defaults it is the paper's $\\frac1n \\sum_x \\|g(x)\\|^2 / \\|x\\|^2$.

    **Arguments:**

    - `p`: from 1 to `math.inf`, the largest value;
    - `relative`: divide $|g(x)|$ by $|x|$ + `epsilon`, so that states of all sizes count alike;
    - `per_pixel`: take $|\\cdot|$ over the channels of one pixel and the mean over pixels too, as the experiments of
      the paper did, in place of over the whole state. Heavy-tailed where a field crosses zero;
    - `epsilon`: what keeps the ratio finite at $x = 0$, in units of the states.

    >>> import jax.numpy as jnp
    >>> from leadax.penalty import EmpiricalNorm
    >>> value, _ = EmpiricalNorm(relative=False)(lambda x: 2 * x, jnp.ones((3, 2)), jnp.ones(3), ())
    >>> float(value)
    8.0
    """

    p: float | int = 2.0
    relative: bool = True
    per_pixel: bool = False
    epsilon: float | int = 1e-5

    def __post_init__(self):
        if not self.p >= 1:
            raise InputError(f"`p` of EmpiricalNorm must be from 1 to infinity, got {self.p}: use 2")
        if not self.epsilon > 0:
            raise InputError(f"`epsilon` of EmpiricalNorm must be positive, got {self.epsilon}: use 1e-5")

    def init(self, net: VectorField, *, key: PRNGKey) -> Carry:
        """Nothing."""
        del net, key
        return ()

    def __call__(self, net: VectorField, states: Points, weights: Weights, carry: Carry) -> tuple[Value, Carry]:
        """The squared norm of `net` on the observed states."""
        # The net must not see the padding at all: 0 times the gradient at a wild state is still NaN.
        states = jnp.where(_like(weights.astype(bool), states), states, 1.0)
        squares = self._squares(jax.vmap(net)(states))
        if self.relative:
            squares = squares / (_power(self._squares(states), 0.5) + self.epsilon) ** 2
        return _mean_power(squares, _like(weights, squares).astype(squares.dtype), self.p), carry

    def _squares(self, x: Points) -> Float[Array, "..."]:
        return jnp.sum(x**2, axis=-1 if self.per_pixel else tuple(range(1, x.ndim)))


@dataclass(frozen=True)
class SpectralNorm(Penalty):
    """Sum over the layers of their squared spectral norms, $\\sum_l \\|W_l\\|^2$, by power iteration.

    $$v \\leftarrow W^\\top W v / |W^\\top W v|, \\quad \\|W\\|^2 \\approx |Wv|^2$$

    With $v$ held fixed, the last expression has the right gradient once $v$ has converged, for which one iteration per
    training step is enough since $v$ is carried along. The value is never too large.

    **Arguments:**

    - `iterations`: power iterations per call;
    - `operator`: `"layer"` for the norm of the layer as a linear map of fields on the net's grid; `"matrix"` for that
      of its weights reshaped to one matrix, as in the experiments of the paper (there with 5 iterations);
    - `include_factor`: whether the net's output factor counts as a part of its last layer (not so in the paper).

    >>> import jax
    >>> from leadax.nets import Linear
    >>> from leadax.penalty import SpectralNorm
    >>> net = Linear((3,), key=jax.random.key(0))
    >>> penalty = SpectralNorm(iterations=100)
    >>> carry = penalty.init(net, key=jax.random.key(1))
    >>> value, carry = penalty(net, jax.numpy.ones((1, 3)), jax.numpy.ones(1), carry)
    >>> bool(abs(value - jax.numpy.linalg.norm(net.dense.weight, ord=2) ** 2) < 1e-6)
    True
    """

    iterations: int = 1
    operator: str = "layer"
    include_factor: bool = True

    def __post_init__(self):
        if self.iterations < 1:
            raise InputError(f"`iterations` of SpectralNorm must be at least 1, got {self.iterations}: use 1")
        if self.operator not in ("layer", "matrix"):
            raise InputError(f"`operator` of SpectralNorm must be 'layer' or 'matrix', got {self.operator!r}")

    def init(self, net: VectorField, *, key: PRNGKey) -> Carry:
        """One random unit vector per layer."""
        layers = _layers(net)
        return tuple(self._start(layer, k) for layer, k in zip(layers, jax.random.split(key, len(layers)), strict=True))

    def __call__(self, net: VectorField, states: Points, weights: Weights, carry: Carry) -> tuple[Value, Carry]:
        """The sum of squared norms; neither `states` nor `weights` matter."""
        del states, weights
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


@dataclass(frozen=True)
class Frobenius(Penalty):
    """Sum of the squares of all weights of the layers, $\\sum_l \\|W_l\\|_F^2$: the penalty of the linear case.

    **Arguments:**

    - `include_factor`: whether the net's output factor counts as a part of its last layer.

    >>> import jax, jax.numpy as jnp
    >>> from leadax.nets import Linear
    >>> from leadax.penalty import Frobenius
    >>> net = Linear((3,), init_std=0, key=jax.random.key(0))
    >>> value, _ = Frobenius()(net, jnp.ones((1, 3)), jnp.ones(1), ())
    >>> float(value)
    0.0
    """

    include_factor: bool = True

    def init(self, net: VectorField, *, key: PRNGKey) -> Carry:
        """Nothing."""
        del net, key
        return ()

    def __call__(self, net: VectorField, states: Points, weights: Weights, carry: Carry) -> tuple[Value, Carry]:
        """The sum of squares; neither `states` nor `weights` matter."""
        del states, weights
        matrices = [layer.matrix() for layer in _layers(net)]
        squares = [jnp.sum(matrix.real**2 + matrix.imag**2) for matrix in matrices]
        return _total(squares, net, self.include_factor), carry


@dataclass(frozen=True)
class Omega(Penalty):
    """The paper's penalty (eq. 7), with norms that can be computed.

    $$\\Omega(g) = \\|g\\|_\\infty^2 + \\alpha \\|g\\|_\\mathrm{Lip}^2$$

    **Arguments:**

    - `norm`: what stands for the largest value; `lipschitz`: what stands for the Lipschitz norm;
    - `alpha`: weight α of the second; with 0 it is not computed.

    The paper's experiments used `Omega(EmpiricalNorm(per_pixel=True), SpectralNorm(5, "matrix", include_factor=False),
    alpha)`.

    >>> import jax, jax.numpy as jnp
    >>> from leadax.nets import MLP
    >>> from leadax.penalty import Omega
    >>> net, omega = MLP((2,), init_std=0, key=jax.random.key(0)), Omega(alpha=1e-3)
    >>> value, carry = omega(net, jnp.ones((5, 2)), jnp.ones(5), omega.init(net, key=jax.random.key(1)))
    >>> float(value)
    0.0
    """

    norm: Penalty = field(default_factory=EmpiricalNorm)
    lipschitz: Penalty = field(default_factory=SpectralNorm)
    alpha: float | int = 1e-2

    def __post_init__(self):
        if not 0 <= self.alpha < math.inf:
            raise InputError(f"`alpha` of Omega must be zero or a positive number, got {self.alpha}: use 1e-2")

    def init(self, net: VectorField, *, key: PRNGKey) -> Carry:
        """What both parts carry."""
        keys = jax.random.split(key)
        lipschitz = self.lipschitz.init(net, key=keys[1]) if self.alpha else ()
        return self.norm.init(net, key=keys[0]), lipschitz

    def __call__(self, net: VectorField, states: Points, weights: Weights, carry: Carry) -> tuple[Value, Carry]:
        """The weighted sum of both parts."""
        norm, ours = self.norm(net, states, weights, carry[0])
        if not self.alpha:
            return norm, (ours, ())
        lipschitz, theirs = self.lipschitz(net, states, weights, carry[1])
        return norm + self.alpha * lipschitz, (ours, theirs)


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


def _like(weights: Array, x: Array) -> Array:
    """`weights` of points, as large as `x` whose first axis are the points."""
    return jnp.broadcast_to(weights.reshape(-1, *(1,) * (x.ndim - 1)), x.shape)


def _mean_power(squares: Float[Array, "*shape"], weights: Float[Array, "*shape"], p: float | int) -> Value:
    """(mean of squares^(p/2))^(2/p), with zero gradient where the squares are zero."""
    squares = jnp.where(weights > 0, squares, 0.0)
    if math.isinf(p):
        return jnp.max(squares)
    total = jnp.sum(weights)
    weights = weights / jnp.where(total > 0, total, 1.0)
    if p == 2:
        return jnp.sum(weights * squares)
    # In units of the largest, so that high powers neither overflow nor vanish. The unit cancels, also in the gradient.
    largest = jax.lax.stop_gradient(jnp.max(squares))
    unit = jnp.where(largest > 0, largest, 1.0)
    return unit * _power(jnp.sum(weights * _power(squares / unit, p / 2)), 2 / p)


def _power(x: Float[Array, "*shape"], exponent: float) -> Float[Array, "*shape"]:
    """`x` ≥ 0 to a power, with zero gradient at 0 in place of an infinite one."""
    positive = x > 0
    return jnp.where(positive, jnp.where(positive, x, 1.0) ** exponent, 0.0)
