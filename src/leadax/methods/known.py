"""A known formula beside what is learnt: dx/dt = known(t, x, u; φ_e) + f + g_e, for any method with a vector field."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .._types import PRNGKey, VectorField
from ..data.units import Units
from ..errors import InputError
from ..registry import ONLY_IF_GIVEN, Registry
from ..trend import Trend
from .base import Levels, Method, Phase, Regulariser, Sizes, difference_of, repeated, sum_of
from .dynamics import Dynamics, Flow
from .parameters import Numbers, Parameter, as_parameters
from .remainder import Remainder
from .settings import weight_setting


class Beside(NamedTuple):
    """A level of the method that learns the rest, and the numbers of the formula on that level; () for none.

    - `numbers`: with which the formula is computed;
    - `moved`: added to them, those that are told, see `leadax.methods.attribution`. It never learns.
    """

    rest: PyTree
    numbers: Float[Array, "*env number"] | tuple[()] = ()
    moved: Float[Array, "*env number"] | tuple[()] = ()


def _scales(values: Any) -> tuple[float, ...]:
    good = isinstance(values, tuple | list) and all(isinstance(v, int | float) and 0 < v < math.inf for v in values)
    if not good:
        raise InputError(f"`scale` must hold positive numbers, got {values!r}")
    return tuple(float(value) for value in values)


class Known(Method):
    """$dx/dt = h(t, x, u; \\varphi_e) + f(x) + g_e(x)$ with a known $h$: physics where it is known, nets for the rest.

    `fit` makes it of a method with the setting `known`, such as `Leads(known=pendulum, parameters={"length": 1.0})`.
    The numbers $\\varphi_e$ are learnt together with the nets. Among all that fit the data equally well, the smallest
    $f + g_e$ is preferred (Yin et al., APHYNITY, 2021), so that the formula explains what it can.

    - `of`: the method that learns the rest; `formula`: `h(t, x, u, p)` in the units of the data;
    - `parameters`: the numbers in `p`; `units`: the standard units that the rest computes in;
    - `kappa`: the weight κ · error/Ω of the penalty, where `of` has none that is relative to the error;
    - `scale`: the unit of what is learnt, one per observed channel, in standard units; empty for 1. `fit` takes the
      rate that the formula alone leaves unexplained: the steps of an optimiser have a size of their own, and must not
      amount to more where there is little to learn.
    """

    of: Method
    formula: Callable[..., Any] = eqx.field(static=True)
    parameters: tuple[Parameter, ...] = eqx.field(static=True, converter=as_parameters)
    units: Units = eqx.field(static=True)
    kappa: float | Float[Array, ""] = weight_setting(0.1)
    scale: tuple[float, ...] = eqx.field(static=True, default=(), converter=_scales, metadata=ONLY_IF_GIVEN)

    def __check_init__(self):
        if self.scale and len(self.scale) != len(self.units.mean):
            raise InputError(f"`scale` needs one number for each of {len(self.units.mean)} channels, got {self.scale}")

    @property
    def net(self) -> Any:
        """The architecture of what is learnt."""
        return getattr(self.of, "net", None)

    @property
    def solver(self) -> Any:
        """That of the method which learns the rest."""
        return getattr(self.of, "solver", None)

    @property
    def substeps(self) -> int:
        """Those of the method which learns the rest."""
        return getattr(self.of, "substeps", 1)

    def init(self, sizes: Sizes, *, key: PRNGKey) -> tuple[PyTree, PyTree]:
        """The levels of the rest, and all numbers at their starts."""
        shared, specific = self.of.init(sizes, key=key)
        common, own = self.first_numbers(sizes.environments)
        return Beside(shared, common, common), Beside(specific, own, own)

    def first_numbers(self, environments: int) -> tuple[PyTree, PyTree]:
        """All numbers at their starts: those that are shared, and those of each environment; () for none."""
        count = sum(parameter.shared for parameter in self.parameters)
        own = len(self.parameters) - count
        return jnp.zeros(count) if count else (), jnp.zeros((environments, own)) if own else ()

    def with_numbers(self, levels: Levels, numbers: tuple[PyTree, PyTree]) -> Levels:
        """The levels with these numbers, shared and specific."""
        shared, specific = (level._replace(numbers=own) for level, own in zip(levels[:2], numbers, strict=True))
        return levels._replace(shared=shared, specific=specific)

    def dynamics(self, shared: Beside, specific: Beside) -> Dynamics:
        """The formula plus the rest, by the solver of the rest."""
        rest = self.of.dynamics(shared.rest, specific.rest)
        if not isinstance(rest, Flow):
            raise InputError(f"{type(self.of).__name__} has no vector field that a formula could be added to")
        return Flow(sum_of(self.known(shared, specific), self._scaled(rest.field)), rest.tableau)

    def split(self, shared: Beside, specific: Beside) -> tuple[VectorField, VectorField] | None:
        """f and g_e; the formula belongs to f if environments share all of its numbers, else to g_e."""
        return self._with(self.known(shared, specific), shared, specific)

    def learnt(self, shared: Beside, specific: Beside) -> tuple[VectorField, VectorField] | None:
        """f and g_e without the formula with the numbers that are told."""
        told = self.known(told_of(shared), told_of(specific))
        return self._with(difference_of(self.known(shared, specific), told), shared, specific)

    def _with(self, field: VectorField, shared: Beside, specific: Beside) -> tuple[VectorField, VectorField] | None:
        """f and g_e of the nets, with this field added to the one that the formula belongs to."""
        parts = self.of.split(shared.rest, specific.rest)
        if parts is None:
            return None
        f, g = self._scaled(parts[0]), self._scaled(parts[1])
        return (f, sum_of(field, g)) if len(specific.numbers) else (sum_of(field, f), g)

    def _scaled(self, field: VectorField) -> VectorField:
        """A learnt field in standard units."""
        if not self.scale:
            return field

        def scaled(t: Array, x: Array, u: Array | None) -> Array:
            return field(t, x, u) * jnp.broadcast_to(jnp.asarray(self.unit(x.shape[-1]), x.dtype), x.shape)

        return scaled

    def unit(self, channels: int) -> tuple[float, ...]:
        """The unit of what is learnt in each channel of a state; in those that are hidden the mean of the others."""
        mean = sum(self.scale) / len(self.scale) if self.scale else 1.0
        return (*self.scale, *(mean,) * (channels - len(self.scale)))

    def known(self, shared: Beside, specific: Beside) -> VectorField:
        """The formula in standard units."""
        numbers = Numbers(self._values(shared, specific))

        def field(t: Array, x: Array, u: Array | None) -> Array:
            units = self.units.with_hidden(x.shape[-1] - len(self.units.mean))
            raw = units.raw(x)
            inputs = None if u is None else units.raw_inputs(u)
            found = self._called(t * units.time + units.origin, raw, inputs, numbers)
            return units.standard_tangent(found.astype(x.dtype))

        return field

    def _called(self, t: Array, x: Array, u: Array | None, numbers: Numbers) -> Array:
        # The formula is the user's: rules that hold for our code are none of its business.
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
            found = self.formula(t, x, u, numbers)
        shape = getattr(found, "shape", None)
        if shape != x.shape:
            given = type(found).__name__ if shape is None else f"shape {shape}"
            raise InputError(
                f"the known formula must return an array of the shape {x.shape} of the state, got {given}: "
                "use `jax.numpy.stack([...], axis=-1)`"
            )
        return found

    def estimates(self, shared: Beside, specific: Beside) -> Mapping[str, Array]:
        """The numbers of the formula, as they are told, in one environment (or in all: leading axes are kept)."""
        return self._values(told_of(shared), told_of(specific))

    def _values(self, shared: Beside, specific: Beside) -> Mapping[str, Array]:
        found, places = {}, {True: 0, False: 0}
        for parameter in self.parameters:
            numbers = shared.numbers if parameter.shared else specific.numbers
            assert not isinstance(numbers, tuple), "`init` makes them"
            found[parameter.name] = parameter.value(numbers[..., places[parameter.shared]])
            places[parameter.shared] += 1
        return found

    def regulariser(self) -> Regulariser:
        """That of the rest, and the size of f + g_e in its own unit; always relative to the error."""
        own = self.of.regulariser()

        def subject(shared: Beside, specific: Beside) -> Any:
            fields = self.of.split(shared.rest, specific.rest)
            assert fields is not None, "`dynamics` refuses a method without a field"
            return None if own is None else own.subject(shared.rest, specific.rest), sum_of(*fields)

        if own is None:
            return Regulariser(Remainder(None), self.kappa, subject, relative=True)
        if own.relative:
            return Regulariser(Remainder(own.penalty), own.weight, subject, relative=True)
        return Regulariser(Remainder(own.penalty, own.weight), self.kappa, subject, relative=True)

    def begun_at(self, shared: Beside, specific: Beside, trend: Trend) -> tuple[Beside, Beside]:
        """Nets that begin at polynomials of the rest."""
        unit = lambda like: jnp.broadcast_to(jnp.asarray(self.unit(like.shape[-1]), like.dtype), like.shape)
        scaled = jax.tree.map(lambda each: each / unit(each), trend)
        common, own = self.of.begun_at(shared.rest, specific.rest, scaled)
        return shared._replace(rest=common), specific._replace(rest=own)

    def settled(self, trend: Trend) -> bool:
        """Where the method that learns the rest is."""
        return self.of.settled(trend)

    def prior(self, shared: Beside, specific: Beside) -> Float[Array, ""] | None:
        """How unlikely the numbers are by their priors; those of all environments together."""
        if not any(parameter.prior for parameter in self.parameters):
            return None
        return jnp.sum(self.surprises(shared, specific) ** 2)

    def surprises(self, shared: Beside, specific: Beside) -> Float[Array, " prior"]:
        """How far each number is from the mean of its prior, in units of its width; empty without priors."""
        values = self._values(shared, specific)
        found = [parameter.surprise(values[parameter.name]).ravel() for parameter in self.parameters if parameter.prior]
        return jnp.concatenate(found) if found else jnp.zeros(0)

    def phases(self) -> tuple[Phase, ...]:
        """Those of the rest."""
        return self.of.phases()

    def look_ahead(self, specific: Beside, error: Callable[[PyTree], Float[Array, ""]]) -> PyTree:
        """That of the rest."""
        return specific._replace(
            rest=self.of.look_ahead(specific.rest, lambda rest: error(specific._replace(rest=rest)))
        )

    def new_environments(self, known: Beside, sizes: Sizes, *, key: PRNGKey) -> PyTree:
        """Those of the rest; the numbers of the formula start at their mean in known environments."""
        numbers = repeated(_middle(known.numbers), sizes.environments)
        rest = self.of.new_environments(known.rest, sizes, key=key)
        return Beside(rest, numbers, jax.tree.map(jnp.zeros_like, numbers))

    def without_specific(self, known: Beside) -> PyTree:
        """The same of the rest; the mean of the formula's numbers."""
        return Beside(self.of.without_specific(known.rest), _middle(known.numbers), _middle(known.moved))


def with_formula(method: Method, units: Units) -> Method:
    """The method itself; or, where it has the setting `known`, that formula beside what the method learns."""
    formula, parameters = getattr(method, "known", None), getattr(method, "parameters", ())
    if isinstance(method, Known) or not callable(formula):
        if parameters and not isinstance(method, Known):
            raise InputError("`parameters` are the numbers of a known formula: give it too, as `known`")
        return method
    return Known(dataclasses.replace(method, known=None, parameters=()), formula, parameters, units)


def told_of(level: Beside) -> Beside:
    """The level with the numbers that are told; both are the same where nothing was attributed yet."""
    return level._replace(numbers=jax.tree.map(jnp.add, level.numbers, level.moved)) if len(level.moved) else level


def _middle(numbers: PyTree) -> PyTree:
    return jax.tree.map(lambda each: jnp.mean(each, axis=0), numbers)


# So that files can name it; methods have it as a setting.
Registry("known formula", Known, {"known": Known})
