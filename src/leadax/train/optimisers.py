"""How a gradient becomes a step: Adam, Muon or one of your own, and how the learning rate changes on the way."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from ..defaults import LEARNING_RATE
from ..errors import InputError, lookup
from ..nets import Convolution, Dense, LinearLayer
from .sameness import identity

Rule = Literal["adam", "muon"]
Decay = Literal["cosine", "constant", "one-cycle"]


@dataclass(frozen=True)
class Optimiser:
    """A rule and a decay of the learning rate. The rate itself is an argument of the program, not a part of it.

    - `rule`: `adam`, or `muon`: the step of a weight matrix is the nearest one whose singular values are all alike,
      as long as one of Adam would be; biases and whatever else is not the matrix of a layer learn by Adam (Nesterov's).
      Or an Optax optimiser, with a learning rate of its own;
    - `decay`: `cosine` to zero at the last step; `constant`; or `one-cycle`: rising over the first twentieth of the
      steps, then as a cosine, with β₂ = .99 instead of .999, so that the mean of squared gradients follows a high rate;
    - `clip`: the largest length of a gradient; a longer one is shortened to it. None for any length.
    """

    rule: str | optax.GradientTransformation = field(default="adam", compare=False)
    decay: str = "cosine"
    clip: float | None = None
    same_rule: Hashable = field(init=False, repr=False)  # compared in place of the rule: see `identity`

    def __post_init__(self):
        object.__setattr__(self, "same_rule", identity(self.rule))
        if isinstance(self.rule, str):
            lookup("optimiser", self.rule, dict.fromkeys(get_args(Rule)))
        elif not isinstance(self.rule, optax.GradientTransformation):
            names = " or ".join(f"`{name}`" for name in get_args(Rule))
            raise InputError(f"`optimiser` must be {names}, or an Optax optimiser, got {self.rule!r}")
        lookup("decay", self.decay, dict.fromkeys(get_args(Decay)))

    @property
    def name(self) -> str:
        """For records."""
        return self.rule if isinstance(self.rule, str) else "custom"

    def transformation(self) -> optax.GradientTransformation:
        """From gradients to steps of a learning rate of 1."""
        if isinstance(self.rule, optax.GradientTransformation):
            return self.rule
        b2 = 0.99 if self.decay == "one-cycle" else 0.999
        rule = optax.adam(1.0, b2=b2)
        if self.rule == "muon":
            rule = optax.contrib.muon(1.0, consistent_rms=0.2, adam_b2=b2, muon_weight_dimension_numbers=matrix_axes)
        return rule if self.clip is None else optax.chain(optax.clip_by_global_norm(self.clip), rule)

    def share_of_rate(self, step: Int[Array, ""], steps: Int[Array, ""]) -> Float[Array, ""]:
        """What the learning rate is multiplied by at a step of a phase of so many steps.

        >>> float(Optimiser().share_of_rate(jnp.array(50), jnp.array(100)))
        0.5
        """
        if not isinstance(self.rule, str) or self.decay == "constant":
            return jnp.ones((), float)
        half_wave = lambda share: 0.5 * (1 + jnp.cos(jnp.pi * share))
        now, whole = jnp.asarray(step, float), jnp.asarray(steps, float)
        if self.decay == "cosine":
            return half_wave(now / whole)
        rise = jnp.floor(whole / 20)
        rising = 0.05 + 0.95 * now / jnp.maximum(rise, 1.0)
        return jnp.where(now < rise, rising, half_wave((now - rise) / jnp.maximum(whole - rise, 1.0)))


class Times(NamedTuple):
    """A learning rate that is so many times the usual one, whatever that is for the data and the method."""

    factor: float


def rate_for(optimiser: Optimiser, learning_rate: float | Times | None, usual: float = LEARNING_RATE) -> float:
    """The learning rate to train with; an Optax optimiser has its own, and takes no other."""
    if isinstance(learning_rate, Times):
        learning_rate = usual * learning_rate.factor
    if not isinstance(optimiser.rule, str):
        if learning_rate is not None:
            raise InputError("`learning_rate` cannot be combined with an Optax optimiser: set it in that optimiser")
        return 1.0
    rate = usual if learning_rate is None else learning_rate
    if not isinstance(rate, int | float) or not 0 < rate < float("inf"):
        raise InputError(f"`learning_rate` must be a positive number, got {rate!r}")
    return float(rate)


# How many axes of a layer's `weight` before the last one, the outputs, make the rows of its matrix. A spectral
# convolution is not one matrix: it learns by Adam.
_ROW_AXES: dict[type, Callable[[Any], int]] = {Dense: lambda layer: 1, Convolution: lambda layer: len(layer.space) + 1}


def matrix_axes(parameters: PyTree) -> PyTree:
    """For each array, which axes make it a matrix if it is the weight of a layer; None if it is anything else."""
    is_layer = lambda node: isinstance(node, LinearLayer)
    return jax.tree.map(lambda node: _axes(node) if is_layer(node) else None, parameters, is_leaf=is_layer)


def _axes(layer: Any) -> Any:
    nothing = jax.tree.map(lambda _: None, layer)
    if type(layer) not in _ROW_AXES or layer.weight is None:  # not one matrix, or it does not learn
        return nothing
    # The axes before those of one layer are environments.
    last = layer.weight.ndim - 1
    axes = optax.contrib.MuonDimensionNumbers(tuple(range(last - _ROW_AXES[type(layer)](layer), last)), (last,))
    return eqx.tree_at(lambda layer: layer.weight, nothing, axes, is_leaf=lambda leaf: leaf is None)
