"""The quantities in the propositions, measured on a fitted model and its data."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from ..data import Trajectories
from ..data.derivatives import spline
from ..data.units import Units
from ..errors import InputError
from ..model import Model
from ..nets import Linear, Net
from .bound import error_bound, smallest_error
from .capacity import HypothesisSpace, LinearMaps, Networks
from .lipschitz import blocks, lipschitz


@dataclass(frozen=True)
class Measured:
    """The result of `measure`: maxima over environments and members.

    All numbers are in the units of the data. A model computes in standard units, $z = (x - \\mu)/s$ and $t/\\tau$, so
    its $g$ becomes $s \\, g(z)/\\tau$. `R`, `L` and `r` are for the g_e; `R_shared`, `L_shared` and `r_shared` for f.

    - `m`: the number of environments.
    - `n`: the number of points in the environment with the fewest.
    - `d`: the dimension of a state.
    - `b`: the norm of a state, counted from μ: a linear net is a linear map of x − μ. In the paper's presets, μ = 0.
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

    **Arguments**

    - `model`: of LEADS, with any net; `data`: what it was fitted to, of the same environments.
    """
    points = [_complete_states(data.states[e]) for e in range(len(data.environments))]
    if not all(map(len, points)):
        raise InputError("the theory needs fully observed states in every environment")
    halves = _nets(model, data)
    f = _largest([(of_member[0][0], np.concatenate(points)) for of_member in halves], model.units)
    g = _largest([(g, x) for of_member in halves for (_, g), x in zip(of_member, points, strict=True)], model.units)
    mean = np.broadcast_to(model.units.mean, data.state_shape)
    b = max(float(_norms(x - mean).max()) for x in points)
    reach = f.R + g.R if f.r is None or g.r is None else b * (math.sqrt(f.r) + math.sqrt(g.r))
    slope = max(float(_norms(y).max()) for y in _slopes(data))
    net = halves[0][0][1]
    return Measured(
        m=len(points),
        n=min(map(len, points)),
        d=math.prod(data.state_shape),
        b=b,
        c=(reach + slope) ** 2,
        R=g.R,
        R_shared=f.R,
        L=g.L,
        L_shared=f.L,
        W=sum(leaf.size for leaf in jax.tree.leaves(net)),
        D=len(blocks(net)),
        r=g.r,
        r_shared=f.r,
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


class Largest(NamedTuple):
    """The largest tangent, Lipschitz bound and squared Frobenius norm of several nets, in the units of the data."""

    R: float
    L: float
    r: float | None


def _largest(nets: list[tuple[Net, np.ndarray]], units: Units) -> Largest:
    """- `nets`: each with the states at which its tangents are taken."""
    tangents = max(float(_norms(_tangents(net, x, units)).max()) for net, x in nets)
    matrices = [_raw_matrix(net, units) for net, _ in nets]
    # A linear map on a grid is one large block-diagonal matrix: there the formula for networks holds.
    vectors = nets[0][1].ndim == 2
    squares = [float(np.sum(matrix**2)) for matrix in matrices if matrix is not None and vectors]
    bounds = [_raw_lipschitz(net, matrix, units) for (net, _), matrix in zip(nets, matrices, strict=True)]
    return Largest(tangents, max(bounds), max(squares) if len(squares) == len(nets) else None)


def _tangents(net: Net, states: np.ndarray, units: Units) -> np.ndarray:
    standard = jnp.asarray(units.standard(states), jax.tree.leaves(net)[0].dtype)
    return units.raw_tangent(np.asarray(_evaluated(net, standard), float))


@eqx.filter_jit
def _evaluated(net: Net, states: Float[Array, "point *space channel"]) -> Float[Array, "point *space channel"]:
    # At time 0: the propositions are about fields that do not depend on time.
    return jax.vmap(lambda x: net(jnp.zeros((), states.dtype), x, None))(states)


def _raw_matrix(net: Net, units: Units) -> np.ndarray | None:
    """G of a linear net $x \\mapsto G(x - \\mu)$, which is $\\mathrm{diag}(s) W \\mathrm{diag}(1/s)/\\tau$."""
    if not isinstance(net, Linear):
        return None
    scale = np.asarray(units.scale)
    return net.factor * np.asarray(net.dense.matrix(), float) * scale[:, None] / scale / units.time


def _raw_lipschitz(net: Net, matrix: np.ndarray | None, units: Units) -> float:
    if matrix is not None:
        return float(np.linalg.norm(matrix, 2))
    return lipschitz(net) * max(units.scale) / min(units.scale) / units.time


def _nets(model: Model, data: Trajectories) -> list[list[tuple[Net, Net]]]:
    """f and g_e of each member and environment."""
    levels, at = model.for_data(data), lambda tree, index: jax.tree.map(lambda a: a[index], tree)
    members = [at(levels, k) for k in range(model.members)]
    environments = range(len(data.environments))
    return [[_split(model, member.shared, at(member.specific, e)) for e in environments] for member in members]


def _split(model: Model, shared: PyTree, specific: PyTree) -> tuple[Net, Net]:
    f, g = model.method.split(shared, specific) or (None, None)
    if not (isinstance(f, Net) and isinstance(g, Net)):
        raise InputError(f"the theory needs a model f + g_e, got one of {type(model.method).__name__}: fit Leads()")
    return f, g


def _norms(values: np.ndarray) -> np.ndarray:
    return np.linalg.norm(values.reshape(len(values), -1), axis=1)


def _complete_states(states: np.ndarray) -> np.ndarray:
    """The fully observed states, `(point, *space, channel)`."""
    rows = states.reshape(-1, *states.shape[2:])
    return rows[np.isfinite(rows).reshape(len(rows), -1).all(axis=1)]


def _trajectories(data: Trajectories) -> list[tuple[np.ndarray, np.ndarray]]:
    """The times and states of each trajectory, without padding."""
    places = [(e, i, data.lengths[e, i]) for e, i in np.argwhere(data.lengths > 0)]
    return [(data.times[e, i, :length], data.states[e, i, :length]) for e, i, length in places]


def _slopes(data: Trajectories) -> list[np.ndarray]:
    return [spline(times, states, np.isfinite(states))[0] for times, states in _trajectories(data)]
