"""How a gradient becomes a step: Adam or Muon, and what becomes of the learning rate on the way."""

from typing import Any, Literal, get_args

import equinox as eqx
import jax
import optax
from jaxtyping import PyTree

from .errors import InputError, lookup
from .nets.base import LinearLayer

Rule = Literal["adam", "muon"]
Decay = Literal["cosine", "constant", "one-cycle"]


def optimiser(rule: str, learning_rate: float, decay: str, steps: int) -> optax.GradientTransformation:
    """The optimiser of a phase of so many steps.

    **Arguments**

    - `rule`: `adam`, or `muon`: the step of a weight matrix is the nearest one whose singular values are all alike, as
      long as one of Adam would be; biases and whatever else is not the matrix of a layer learn by Adam (Nesterov's);
    - `learning_rate`: the highest on the way;
    - `decay`: `cosine` from `learning_rate` to zero at the last step; `constant`; or `one-cycle`: rising over the first
      twentieth of the steps, then as a cosine, and with β₂ = .99 in place of .999: the mean of squared gradients then
      follows a high rate fast enough.
    """
    rate, b2 = learning_rate, 0.999
    if decay == "cosine":
        rate = optax.cosine_decay_schedule(learning_rate, steps)
    elif decay == "one-cycle":
        rate, b2 = optax.warmup_cosine_decay_schedule(0.05 * learning_rate, learning_rate, steps // 20, steps), 0.99
    if rule == "adam":
        return optax.adam(rate, b2=b2)
    return optax.contrib.muon(rate, consistent_rms=0.2, adam_b2=b2, muon_weight_dimension_numbers=matrix_axes)


def check_optimiser(asked: object) -> None:
    """`InputError` unless it is the name of a rule, or an optimiser of Optax."""
    if isinstance(asked, str):
        lookup("optimiser", asked, dict.fromkeys(get_args(Rule)))
    elif not isinstance(asked, optax.GradientTransformation):
        names = " or ".join(f"`{name}`" for name in get_args(Rule))
        raise InputError(f"`optimiser` must be {names}, or an optimiser of Optax, got {asked!r}")


def chosen(
    asked: str | optax.GradientTransformation, learning_rate: float, decay: str, steps: int
) -> optax.GradientTransformation:
    """The optimiser of a phase: the rule of that name, or what was given in its place."""
    return optimiser(asked, learning_rate, decay, steps) if isinstance(asked, str) else asked


def matrix_axes(parameters: PyTree) -> PyTree:
    """For each array, which axes make it a matrix if it is the weight of a layer; None if it is anything else."""
    is_layer = lambda node: isinstance(node, LinearLayer)
    return jax.tree.map(lambda node: _axes(node) if is_layer(node) else None, parameters, is_leaf=is_layer)


def _axes(layer: Any) -> Any:
    nothing = jax.tree.map(lambda _: None, layer)
    if layer.summed_axes == 0 or layer.weight is None:  # no one matrix, or it does not learn
        return nothing
    # The axes before those of one layer are environments.
    last = layer.weight.ndim - 1
    axes = optax.contrib.MuonDimensionNumbers(tuple(range(last - layer.summed_axes, last)), (last,))
    return eqx.tree_at(lambda layer: layer.weight, nothing, axes, is_leaf=lambda leaf: leaf is None)
