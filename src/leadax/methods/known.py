"""A known formula beside what is learnt: dx/dt = known(t, x, u; φ_e) + f + g_e, for any method with a vector field."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .._types import PRNGKey, VectorField
from ..data.units import Units
from ..errors import InputError
from ..penalties import Carry, EmpiricalNorm, Penalty, Points
from ..penalties.base import Value, Weights
from ..registry import Registry
from .base import Method, Phase, Regulariser, Sizes, repeated, sum_of
from .dynamics import Dynamics, Flow
from .parameters import Numbers, Parameter, as_parameters
from .settings import weight_setting


class Beside(NamedTuple):
    """A level of the method that learns the rest, and the numbers of the formula on that level; () for none."""

    rest: PyTree
    numbers: Float[Array, "*env number"] | tuple[()] = ()


class Remainder(Penalty):
    """$w \\, \\Omega(g_e) + \\|f + g_e\\|^2$ on the data: what is learnt is small where the formula can explain it.

    It is f + g_e that is kept small, not f: the division of the sum into f and g_e remains that of LEADS.

    - `own`, `weight`: the penalty of the method itself, None for none, and w.
    """

    own: Penalty | None
    weight: float | Float[Array, ""] = 1.0
    norm: Penalty = EmpiricalNorm(relative=False, per_pixel=True)

    def init(self, net: Any, *, key: PRNGKey) -> Carry:
        """What the method's own penalty carries."""
        return () if self.own is None else self.own.init(net[0], key=key)

    def __call__(self, net: Any, points: Points, weights: Weights, carry: Carry) -> tuple[Value, Carry]:
        """Both parts; `net` is what the method's own penalty looks at, and the field f + g_e."""
        size, _ = self.norm(net[1], points, weights, ())
        if self.own is None:
            return size, carry
        own, carry = self.own(net[0], points, weights, carry)
        return self.weight * own + size, carry


class Known(Method):
    """$dx/dt = h(t, x, u; \\varphi_e) + f(x) + g_e(x)$ with a known $h$: physics where it is known, nets for the rest.

    `fit` makes it of a method with the setting `known`, such as `Leads(known=pendulum, parameters={"length": 1.0})`.
    The numbers $\\varphi_e$ are learnt together with the nets. Among all that fit the data equally well, the smallest
    $f + g_e$ is preferred (Yin et al., APHYNITY, 2021), so that the formula explains what it can.

    - `of`: the method that learns the rest; `formula`: `h(t, x, u, p)` in the units of the data;
    - `parameters`: the numbers in `p`; `units`: the standard units that the rest computes in;
    - `kappa`: the weight κ · error/Ω of the penalty, where `of` has none that is relative to the error.
    """

    of: Method
    formula: Callable[..., Any] = eqx.field(static=True)
    parameters: tuple[Parameter, ...] = eqx.field(static=True, converter=as_parameters)
    units: Units = eqx.field(static=True)
    kappa: float | Float[Array, ""] = weight_setting(0.1)

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
        count = sum(parameter.shared for parameter in self.parameters)
        own = len(self.parameters) - count
        return (
            Beside(shared, jnp.zeros(count) if count else ()),
            Beside(specific, jnp.zeros((sizes.environments, own)) if own else ()),
        )

    def dynamics(self, shared: Beside, specific: Beside) -> Dynamics:
        """The formula plus the rest, by the solver of the rest."""
        rest = self.of.dynamics(shared.rest, specific.rest)
        if not isinstance(rest, Flow):
            raise InputError(f"{type(self.of).__name__} has no vector field that a formula could be added to")
        return Flow(sum_of(self.known(shared, specific), rest.field), rest.tableau)

    def split(self, shared: Beside, specific: Beside) -> tuple[VectorField, VectorField] | None:
        """f and g_e; the formula belongs to f if environments share all of its numbers, else to g_e."""
        parts = self.learnt(shared, specific)
        if parts is None:
            return None
        f, g = parts
        known = self.known(shared, specific)
        return (f, sum_of(known, g)) if len(specific.numbers) else (sum_of(known, f), g)

    def learnt(self, shared: Beside, specific: Beside) -> tuple[VectorField, VectorField] | None:
        """f and g_e without the formula."""
        return self.of.split(shared.rest, specific.rest)

    def known(self, shared: Beside, specific: Beside) -> VectorField:
        """The formula in standard units."""
        numbers = Numbers(self.estimates(shared, specific))

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
        """The numbers of the formula in one environment (or in all of them: leading axes are kept)."""
        found, places = {}, {True: 0, False: 0}
        for parameter in self.parameters:
            numbers = shared.numbers if parameter.shared else specific.numbers
            assert not isinstance(numbers, tuple), "`init` makes them"
            found[parameter.name] = parameter.value(numbers[..., places[parameter.shared]])
            places[parameter.shared] += 1
        return found

    def regulariser(self) -> Regulariser:
        """That of the rest, and the size of f + g_e; always relative to the error."""
        own = self.of.regulariser()

        def subject(shared: Beside, specific: Beside) -> Any:
            fields = self.learnt(shared, specific)
            assert fields is not None, "`dynamics` refuses a method without a field"
            return None if own is None else own.subject(shared.rest, specific.rest), sum_of(*fields)

        if own is None:
            return Regulariser(Remainder(None), self.kappa, subject, relative=True)
        if own.relative:
            return Regulariser(Remainder(own.penalty), own.weight, subject, relative=True)
        return Regulariser(Remainder(own.penalty, own.weight), self.kappa, subject, relative=True)

    def prior(self, shared: Beside, specific: Beside) -> Float[Array, ""] | None:
        """How unlikely the numbers are by their priors; those of all environments together."""
        if not any(parameter.prior for parameter in self.parameters):
            return None
        values = self.estimates(shared, specific)
        return jnp.sum(jnp.stack([parameter.surprise(values[parameter.name]) for parameter in self.parameters]))

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
        return Beside(
            self.of.new_environments(known.rest, sizes, key=key), repeated(_middle(known), sizes.environments)
        )

    def without_specific(self, known: Beside) -> PyTree:
        """The same of the rest; the mean of the formula's numbers."""
        return Beside(self.of.without_specific(known.rest), _middle(known))


def with_formula(method: Method, units: Units) -> Method:
    """The method itself; or, where it has the setting `known`, that formula beside what the method learns."""
    formula, parameters = getattr(method, "known", None), getattr(method, "parameters", ())
    if isinstance(method, Known) or not callable(formula):
        if parameters and not isinstance(method, Known):
            raise InputError("`parameters` are the numbers of a known formula: give it too, as `known`")
        return method
    return Known(dataclasses.replace(method, known=None, parameters=()), formula, parameters, units)


def _middle(known: Beside) -> PyTree:
    return jax.tree.map(lambda numbers: jnp.mean(numbers, axis=0), known.numbers)


# So that files can name it; methods have it as a setting.
Registry("known formula", Known, {"known": Known})
