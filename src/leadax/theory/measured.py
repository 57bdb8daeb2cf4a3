"""The quantities in the propositions, measured on a fitted model and its data."""

import math
from dataclasses import dataclass
from functools import singledispatch

import jax
import jax.numpy as jnp
import numpy as np

from ..data import Trajectories
from ..data.derivatives import spline
from ..errors import InputError
from ..model import Model
from ..nets import FNO, Linear, Net, Scaled
from ..nets.base import LinearLayer
from ..nets.layers import Dense
from ..nets.power import length, power_iteration
from .bound import error_bound, smallest_error
from .capacity import HypothesisSpace, LinearMaps, Networks

POWER_ITERATIONS = 200


@dataclass(frozen=True)
class Measured:
    """The result of `measure`: maxima over environments and seeds, in units of the data.

    `R`, `L` and `r` are for the g_e; `R_shared`, `L_shared` and `r_shared` for f.

    - `m`: the number of environments.
    - `n`: the number of points in the environment with the fewest.
    - `d`: the dimension of a state.
    - `b`: the norm of a state.
    - `c`: the largest possible squared error of a derivative, (sup|f| + sup|g| + sup|dx/dt|)².
    - `R`: the norm of a tangent.
    - `L`: a bound on the Lipschitz constant.
    - `W`, `D`: the number of parameters and of layers of one net.
    - `r`: the squared Frobenius norm; None unless the nets are linear.
    """

    m: int
    n: int
    d: int
    b: float
    c: float
    R: float
    R_shared: float
    L: float
    L_shared: float
    W: int
    D: int
    r: float | None = None
    r_shared: float | None = None

    def spaces(self) -> tuple[HypothesisSpace, HypothesisSpace]:
        """The smallest hypothesis spaces that contain f and the g_e."""
        if self.r is not None and self.r_shared is not None:
            return LinearMaps(self.r_shared, self.b, self.c, self.d), LinearMaps(self.r, self.b, self.c, self.d)
        rest = {"W": self.W, "D": self.D, "c": self.c}
        return Networks(R=self.R_shared, L=self.L_shared, **rest), Networks(R=self.R, L=self.L, **rest)

    def error(self, delta: float = 0.05) -> float:
        """A bound on the test error minus the training error (Prop. 5, or Prop. 2 with Prop. S2)."""
        if self.r is not None and self.r_shared is not None:
            norms = {"r": self.r, "r_shared": self.r_shared}
            return error_bound(m=self.m, n=self.n, b=self.b, c=self.c, d=self.d, delta=delta, **norms).epsilon
        return smallest_error(*self.spaces(), m=self.m, n=self.n, delta=delta)

    def looseness(self, delta: float = 0.05) -> str:
        """A sentence that says how much the bound is worth."""
        start = f"The squared error of a derivative is never above c = {self.c:.3g}; "
        try:
            bound = self.error(delta)
        except InputError:
            return f"{start}from {self.n} points the theorem guarantees nothing: only its trend is meaningful."
        verdict = (
            f"{bound / self.c:.2g} times that, so it guarantees nothing: only its trend is meaningful."
            if bound >= self.c
            else f"{bound / self.c:.2g} times that, so it is meaningful."
        )
        return f"{start}the bound from {self.n} points is {bound:.3g}, {verdict}"


def measure(model: Model, data: Trajectories) -> Measured:
    """Measure the quantities in the propositions, on a LEADS model and the data that it was fitted to.

    >>> import jax.random as jr, numpy as np
    >>> import leadax as lx
    >>> t = np.linspace(0, 2, 9)
    >>> x = np.stack([np.exp(-a * t) for a in (0.5, 1.0)])[:, None, :, None]
    >>> data = lx.Trajectories.from_arrays(t, x)
    >>> found = measure(lx.fit(lx.Leads(net=lx.Linear), data, steps=5, key=jr.key(0)), data)
    >>> found.m, found.n, found.d, found.b
    (2, 9, 1, 1.0)
    """
    points = [_complete_states(data.states[e]) for e in range(len(data.environments))]
    if not all(map(len, points)):
        raise InputError("the theory needs fully observed states in every environment")
    halves = [
        (*_nets(model, seed, name), points[e])
        for seed in range(model.seeds)
        for e, name in enumerate(data.environments)
    ]
    b = max(float(_norms(x).max()) for x in points)
    found = {
        "R": max(_largest_tangent(g, x) for _, g, x in halves),
        "R_shared": max(_largest_tangent(f, x) for f, _, x in halves),
        "L": max(lipschitz(g) for _, g, _ in halves),
        "L_shared": max(lipschitz(f) for f, _, _ in halves),
    }
    norms: dict[str, float] = {}
    reach = found["R"] + found["R_shared"]
    if isinstance(halves[0][0], Linear) and not data.space:
        norms = {
            "r": max(_square(g) for _, g, _ in halves),
            "r_shared": max(_square(f) for f, _, _ in halves),
        }
        reach = b * sum(math.sqrt(norm) for norm in norms.values())
    net = halves[0][1]
    return Measured(
        m=len(points),
        n=min(map(len, points)),
        d=math.prod(data.state_shape),
        b=b,
        c=(reach + max(float(_norms(y).max()) for y in _slopes(data))) ** 2,
        W=sum(leaf.size for leaf in jax.tree.leaves(net)),
        D=len(_blocks(net)),
        **found,
        **norms,
    )


def kappa(data: Trajectories) -> float:
    """$\\kappa = \\sum_e \\sum_i \\int \\|dx/dt\\|^2 dt$, the loss of f = g_e = 0.

    Training with the penalty weight 1/λ therefore gives Ω(g_e) ≤ λκ (corollary of Prop. S3). The derivatives are
    estimated by splines through the data, the integral by the trapezoidal rule.

    >>> import numpy as np
    >>> t = np.linspace(0, 2, 9)
    >>> round(kappa(Trajectories.from_arrays(t, 3 * t[None, None, :, None])), 9)
    18.0
    """
    total = 0.0
    for times, states in _trajectories(data):
        slopes, known = spline(times, states, np.isfinite(states))
        squares = np.sum(np.where(known, slopes, 0.0) ** 2, axis=tuple(range(1, states.ndim)))
        total += float(np.trapezoid(squares, times))
    return total


@singledispatch
def lipschitz(net: Net) -> float:
    """A bound on the Lipschitz constant of a net: the product of the spectral norms of its layers, times its factor.

    Activations have slopes of at most 1. For branches that are added, as in the FNO, the norms are added too. Norms of
    layers other than dense ones are estimated from below, by power iteration.

    >>> import jax
    >>> from leadax.nets import Linear
    >>> lipschitz(Linear((2,), init_std=0, key=jax.random.key(0)))
    0.0
    """
    return abs(net.factor) * math.prod(sum(_spectral_norm(layer) for layer in block) for block in _blocks(net))


@lipschitz.register
def _(net: Scaled) -> float:
    return float(jnp.max(net.rate)) * lipschitz(net.net) / float(jnp.min(net.scale))


@singledispatch
def _blocks(net: Net) -> list[tuple[LinearLayer, ...]]:
    """The layers of a net in sequence; layers whose outputs are added are in one tuple."""
    return [(layer,) for layer in net.layers]


@_blocks.register
def _(net: FNO) -> list[tuple[LinearLayer, ...]]:
    fourier = [(layer.spectral, layer.pointwise) for layer in net.fourier]
    return [(net.lift,), *fourier, (net.hidden,), (net.last,)]


@_blocks.register
def _(net: Scaled) -> list[tuple[LinearLayer, ...]]:
    return _blocks(net.net)


def _spectral_norm(layer: LinearLayer) -> float:
    if isinstance(layer, Dense):
        return float(np.linalg.norm(np.asarray(layer.matrix(), float), 2))
    start = jax.random.normal(jax.random.key(0), layer.in_shape, jax.tree.leaves(layer)[0].dtype)
    v = power_iteration(layer.linear, start / length(start), POWER_ITERATIONS)
    return float(length(layer.linear(v)))


def _nets(model: Model, seed: int, environment: str) -> tuple[Net, Net]:
    f, g = model.method.decompose(*model.member(seed, environment))
    if not (isinstance(f, Net) and isinstance(g, Net)):
        raise InputError(f"the theory needs a model f + g_e, got one of {type(model.method).__name__}: fit Leads()")
    return f, g


def _square(net: Net) -> float:
    """The squared Frobenius norm of the matrix of a linear net."""
    return float(jnp.sum(net.layers[0].matrix() ** 2)) * net.factor**2


def _largest_tangent(net: Net, points: np.ndarray) -> float:
    values = jax.vmap(net)(jnp.asarray(points, jax.tree.leaves(net)[0].dtype))
    return float(_norms(np.asarray(values)).max())


def _norms(values: np.ndarray) -> np.ndarray:
    return np.linalg.norm(values.reshape(len(values), -1), axis=1)


def _complete_states(states: np.ndarray) -> np.ndarray:
    """The fully observed states, `(point, *space, channel)`."""
    rows = states.reshape(-1, *states.shape[2:])
    return rows[np.isfinite(rows).reshape(len(rows), -1).all(axis=1)]


def _trajectories(data: Trajectories) -> list[tuple[np.ndarray, np.ndarray]]:
    flat = data.states.reshape(-1, *data.states.shape[2:])
    cut = [np.isfinite(times) for times in data.times.reshape(-1, data.times.shape[-1])]
    times = data.times.reshape(-1, data.times.shape[-1])
    return [(t[c], x[c]) for t, x, c in zip(times, flat, cut, strict=True) if c.sum() > 1]


def _slopes(data: Trajectories) -> list[np.ndarray]:
    return [spline(times, states, np.isfinite(states))[0] for times, states in _trajectories(data)] or [
        np.zeros((1, 1))
    ]
