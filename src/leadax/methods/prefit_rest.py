"""Where nets beside a known formula begin: at polynomials of what the formula leaves unexplained."""

import dataclasses
import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from .._types import VectorField
from ..data import Trajectories
from ..data.layout import Layout
from ..nets.architecture import Architecture
from ..nets.mlp import MLP
from ..nets.polynomial import feature_slopes
from ..trend import Polynomial, Trend, best_polynomial, highest_degree, trend_of
from ..trend.intervals import Points, with_constant
from .attribution import POINTS, SIZE_SHARE
from .base import Method
from .known import Beside, Known
from .prepare import Frozen, numbers_as_arrays

FIRST_DEGREE = 3  # at most: of polynomials that only show what the formula could explain of them
FEWEST_ROWS = 64  # programs are compiled for so many points, for twice as many, and so on
WORTH = 1e-3  # of the rates of the data: what is less than this is left to the nets

Numbers = tuple[PyTree, PyTree]


class Rest(NamedTuple):
    """What is left beside a formula, before training.

    - `polynomial`: of what kind it is; `trend`: its coefficients, in standard units; `numbers`: of the formula, anew.
    """

    polynomial: Polynomial
    trend: Trend
    numbers: Numbers

    def beside(self, method: Method) -> Known:
        """The method with nets that have such a polynomial."""
        assert isinstance(method, Known)
        options = {**dict(method.net.options), **self.polynomial.options}
        net = Architecture(MLP, tuple(sorted(options.items())))
        return dataclasses.replace(method, of=dataclasses.replace(method.of, net=net))  # pyright: ignore[reportCallIssue]


class FormulaAt:
    """A known formula with its numbers, at many points (`leadax.trend.Formula`)."""

    def __init__(self, method: Known, numbers: Numbers, dtype: Any):
        arrays, static = eqx.partition(numbers_as_arrays(method, dtype), eqx.is_array)
        self._about = Frozen(static), arrays, numbers
        self._units, self._dtype = method.units, dtype
        self.left = float(np.sqrt(np.mean(np.square(method.unit(len(method.units.mean))))))

    def rates(self, environments: np.ndarray, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The rates of change at points of these environments."""
        return self._padded(_rates, environments, t, x, u)

    def slopes(self, environments: np.ndarray, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Their derivatives by the state."""
        return self._padded(_slopes, environments, t, x, u)

    def by_numbers(
        self, environments: np.ndarray, t: np.ndarray, x: np.ndarray, u: np.ndarray
    ) -> tuple[Float[np.ndarray, "row channel number"], Float[np.ndarray, "row channel variable number"]]:
        """Derivatives by the numbers, the shared ones first: of rates, and of their slopes in states and inputs."""
        return self._padded(_by_numbers, environments, t, x, u)

    def _padded(self, of: Callable, environments: np.ndarray, t: np.ndarray, x: np.ndarray, u: np.ndarray) -> Any:
        count = len(x)
        rows = max(FEWEST_ROWS, 1 << max(count - 1, 0).bit_length())
        # A polynomial's times are not counted from the origin.
        t = self._units.clock(t * self._units.time)
        padded = lambda a, dtype: np.resize(a, (rows, *a.shape[1:])).astype(dtype)
        seen = padded(u, self._dtype) if u.shape[-1] else None
        found = of(*self._about, padded(environments, np.int32), padded(t, self._dtype), padded(x, self._dtype), seen)
        return jax.tree.map(lambda a: np.asarray(a, float)[:count], found)


def _field(static: Frozen, arrays: PyTree, numbers: Numbers, e: Array) -> VectorField:
    method: Known = eqx.combine(arrays, static.tree)
    return method.known(Beside((), numbers[0]), Beside((), jax.tree.map(lambda a: a[e], numbers[1])))


@partial(jax.jit, static_argnums=0)
def _rates(static: Frozen, arrays: PyTree, numbers: Numbers, e: Array, t: Array, x: Array, u: Array | None) -> Array:
    return jax.vmap(lambda e, *at: _field(static, arrays, numbers, e)(*at))(e, t, x, u)


@partial(jax.jit, static_argnums=0)
def _slopes(static: Frozen, arrays: PyTree, numbers: Numbers, e: Array, t: Array, x: Array, u: Array | None) -> Array:
    return jax.vmap(lambda e, *at: jax.jacfwd(_field(static, arrays, numbers, e), 1)(*at))(e, t, x, u)


@partial(jax.jit, static_argnums=0)
def _by_numbers(
    static: Frozen, arrays: PyTree, numbers: Numbers, e: Array, t: Array, x: Array, u: Array | None
) -> tuple[Array, Array]:
    def one(e: Array, t: Array, x: Array, u: Array | None) -> tuple[Array, Array]:
        own, whole = ravel_pytree((numbers[0], jax.tree.map(lambda a: a[e], numbers[1])))
        place, parts = ravel_pytree((x, u))
        method: Known = eqx.combine(arrays, static.tree)
        rates = lambda z, v: method.known(*(Beside((), part) for part in whole(z)))(t, *parts(v))
        return jax.jacfwd(rates)(own, place), jax.jacfwd(jax.jacfwd(rates, 1))(own, place)

    return jax.vmap(one)(e, t, x, u)


def rest_of(
    method: Known, data: Trajectories, layout: Layout, numbers: Numbers, longest: float | None, dtype: Any
) -> Rest | None:
    """The polynomials that nets beside a formula begin at; None where there are none, or nothing is left to explain.

    A formula alone finds its numbers as if there were no rest. So polynomials of the rest are fitted, the formula is
    given what of them it could explain, and they are fitted again.

    **Arguments**

    - `method`: with its unit of what is to be learnt; `numbers`: with which the formula alone is best;
    - `longest`: the longest step of the solver, in standard time.
    """
    about, parts = (data, method.units, layout), method.of.begins_at
    formula = FormulaAt(method, numbers, dtype)
    if data.space or layout.hidden or layout.individual or not parts or formula.left < WORTH:
        return None

    def fitted(kind: Polynomial) -> Trend:
        found = trend_of(*about, kind.degree, kind.region, kind.zero, longest, parts, formula)
        assert found is not None, "neither a grid nor a hidden state"
        return found

    def told(kind: Polynomial) -> Numbers:
        return _told(method, Points.of(*about, formula), kind, fitted(kind), numbers)

    numbers = told(Polynomial(highest_degree(Points.of(*about), FIRST_DEGREE)))
    formula = FormulaAt(method, numbers, dtype)
    polynomial = best_polynomial(*about, formula)
    if polynomial.degree == 0:
        return None
    numbers = told(polynomial)
    formula = FormulaAt(method, numbers, dtype)
    return Rest(polynomial, jax.tree.map(lambda a: jnp.asarray(a, dtype), fitted(polynomial)), numbers)


def _told(method: Known, points: Points, polynomial: Polynomial, trend: Trend, numbers: Numbers) -> Numbers:
    """The numbers that leave the flattest rest, as in `leadax.methods.attribution`: one step of Gauss and Newton."""
    formula = points.formula
    assert isinstance(formula, FormulaAt)
    flat, whole = ravel_pytree(numbers)
    if not flat.size:
        return numbers
    shared = len(ravel_pytree(numbers[0])[0])
    own = (len(flat) - shared) // len(points.times)
    rows, right = [], []
    for e in range(len(points.times)):
        at = _some(points, e)
        coefficients = _of(trend, e)
        seen = np.concatenate(at[2:], axis=1)
        values, bends = feature_slopes(seen, polynomial.degree, polynomial.region, polynomial.zero)
        rest = with_constant(values) @ coefficients, np.einsum("rpv,pc->rcv", bends, coefficients[1:])
        by_number = formula.by_numbers(*at)
        here = np.zeros((rest[0].size + rest[1].size, len(flat)))
        unit = np.asarray(method.unit(rest[0].shape[1]))
        sides = [math.sqrt(SIZE_SHARE) * by_number[0] / unit[:, None], by_number[1] / unit[:, None, None]]
        both = np.concatenate([side.reshape(-1, shared + own) for side in sides])
        here[:, :shared] = both[:, :shared]
        here[:, shared + e * own : shared + (e + 1) * own] = both[:, shared:]
        rows.append(here)
        right += [math.sqrt(SIZE_SHARE) * (rest[0] / unit).ravel(), (rest[1] / unit[:, None]).ravel()]
    move = np.linalg.lstsq(np.concatenate(rows), np.concatenate(right), rcond=1e-6)[0]
    return whole(flat + jnp.asarray(move, flat.dtype))


def _some(points: Points, e: int) -> tuple[np.ndarray, ...]:
    """Environments, times, states and inputs at some of the points of an environment."""
    here = points.complete[e, :, :-1]
    every = math.ceil(here.sum() / POINTS)
    pick = lambda array: array[here][::every]
    times = pick(points.times[e, :, :-1])
    return np.full(len(times), e), times, pick(points.states[e, :, :-1]), pick(points.first[e])


def _of(trend: Trend, e: int) -> Float[np.ndarray, "term channel"]:
    """The coefficients of one environment."""
    parts = [trend.common, trend.pooled, *(part if part is None else part[e] for part in (trend.own, trend.alone))]
    return np.sum([part for part in parts if part is not None], axis=0)
