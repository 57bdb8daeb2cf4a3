"""The unknown numbers of a known formula: their starts, bounds and priors, and whether environments share them."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..errors import InputError
from ..registry import Registry

# An optimiser moves each weight by about the learning rate. These few numbers are of size one and may move faster.
PACE = 10.0


@dataclass(frozen=True)
class Parameter:
    """An unknown number $\\varphi$ of a known formula, in the units of the data.

    - `start`: where learning begins; `shared`: one number for all environments, instead of one for each;
    - `low`, `high`: bounds, which it never reaches; None for no bound. `low=0` keeps it positive;
    - `prior`: the mean and the standard deviation of a Gaussian prior; None for none. It has the weight of one
      observation whose noise is as large as the present error.

    >>> Parameter(2.0, low=0.0).value(jnp.zeros(())).item()
    2.0
    """

    start: float
    shared: bool = False
    low: float | None = None
    high: float | None = None
    prior: tuple[float, float] | None = None
    name: str = ""

    def __post_init__(self):
        low, high = (-math.inf if self.low is None else self.low), (math.inf if self.high is None else self.high)
        if not _is_number(self.start) or not low < self.start < high:
            what = f"parameter `{self.name}`" if self.name else "a parameter"
            raise InputError(f"{what} must start at a number between its bounds {low} and {high}, got {self.start!r}")
        if self.prior is not None:
            good = len(self.prior) == 2 and all(map(_is_number, self.prior)) and self.prior[1] > 0
            if not good:
                raise InputError(f"`prior` must be a mean and a positive standard deviation, got {self.prior!r}")
            object.__setattr__(self, "prior", tuple(float(number) for number in self.prior))

    def value(self, z: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The number, from one without bounds that is 0 at the start."""
        z = PACE * z
        if self.low is not None and self.high is not None:
            share = (self.start - self.low) / (self.high - self.low)
            return self.low + (self.high - self.low) * jax.nn.sigmoid(z + math.log(share / (1 - share)))
        if self.low is not None:
            return self.low + (self.start - self.low) * jnp.exp(z)
        if self.high is not None:
            return self.high - (self.high - self.start) * jnp.exp(z)
        return self.start + (abs(self.start) or 1.0) * z

    def surprise(self, value: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        """The distance from the prior's mean in units of its width; 0 without one."""
        if self.prior is None:
            return jnp.zeros_like(value)
        mean, width = self.prior
        return (value - mean) / width


class Numbers(dict[str, Any]):
    """The numbers of a formula by name: `p["length"]` or `p.length`."""

    def __getattr__(self, name: str) -> Any:
        if name not in self:
            raise InputError(f"the formula asks for `{name}`, which is not among its parameters: {', '.join(self)}")
        return self[name]

    __missing__ = __getattr__


def as_parameters(given: Any) -> tuple[Parameter, ...]:
    """Parameters with their names, from a mapping of names to `Parameter`s or to the numbers at which they start.

    >>> as_parameters({"length": 1})
    (Parameter(start=1.0, shared=False, low=None, high=None, prior=None, name='length'),)
    """
    if isinstance(given, Mapping):
        return tuple(_named(str(name), value) for name, value in given.items())
    if given is None:
        return ()
    if not isinstance(given, Iterable) or not all(isinstance(item, Parameter) and item.name for item in given):
        raise InputError(f"`parameters` must map names to numbers or to `Parameter`s, got {given!r}")
    return tuple(given)


def _named(name: str, value: Any) -> Parameter:
    if not name.isidentifier():
        raise InputError(f"a parameter needs a name that can follow a dot, such as `length`, got `{name}`")
    if isinstance(value, Parameter):
        return replace(value, name=name)
    if not _is_number(value):
        raise InputError(f"parameter `{name}` must be a number, or a `Parameter`, got {value!r}")
    return Parameter(float(value), name=name)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


# So that files can name it.
Registry("parameter", Parameter, {"parameter": Parameter})
